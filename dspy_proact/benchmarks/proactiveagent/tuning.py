"""How ProactiveAgent's agent and judge are compiled: on whole traces, the judge to shares of votes."""

from collections.abc import Mapping, Sequence

from dspy_proact.benchmarks.proactiveagent.turns import ACCEPTED, Assistance, ProactiveAgentSettings, TurnView
from dspy_proact.compile.training import Proposal
from dspy_proact.compile.tuning import GradedAnswer, ProposeJudge, ProposeProgram, ScoredPrediction, Tuning
from dspy_proact.errors import UsageError
from dspy_proact.programs.artefact import ProgramRole
from dspy_proact.runs import Case

PROPOSALS: Mapping[ProgramRole, Proposal] = {
    "assistant": Proposal(
        ProposeProgram,
        (
            "Say at which moments a person needs help, and at which to stay silent.",
            "Say what a proposal must name, so that the person can tell what they would get.",
            "Say which proposals people reject: too early, too late, too general, done already.",
        ),
    ),
    "judge": Proposal(
        ProposeJudge,
        (
            "Say what people accept that the judge rejects.",
            "Say what people reject that the judge accepts, however helpful it sounds.",
            "Say what in the events shows whether a proposal fits the moment.",
        ),
    ),
}
_OF_VOTES = frozenset({"silence", "window"})
"""Settings that decide which votes are read, and what is shown of their turns."""
_RECENT = 3
"""Events that a proposer is shown."""


class OwnTuning(Tuning):
    """How ProactiveAgent's programs are compiled."""

    measures = ("accept_rate", "acted", "value")  # the score is the accuracy already

    def require(self, role: ProgramRole) -> None:
        """Raise a `UsageError` where what is set cannot be tuned, or has no effect."""
        settings = ProactiveAgentSettings.of(self.settings)
        if role == "judge":
            if name := min(settings.model_fields_set - _OF_VOTES, default=None):
                raise UsageError(
                    f"`settings.{name}`: a compile of the judge reads {' and '.join(sorted(_OF_VOTES))} only"
                )
            return
        super().require(role)
        if settings.history:
            why = "a compile asks about each turn by itself, and has no earlier proposals to show"
            raise UsageError(f"`settings.history={settings.history}`: {why}; leave it out")
        settings.require_effect(settings.model_fields_set)

    def proposal(self, role: ProgramRole) -> Proposal:
        """In ProactiveAgent's words."""
        return PROPOSALS[role]

    def shortfall(self, case: Case, answer: Assistance, told: str) -> str:
        """The last events, what the agent did, and what the judge said of it."""
        return f"{_last_events(case)}\nThe agent: {' / '.join(answer.proposals) or '(silence)'}\n{told}"

    def judge_feedback(self, item: GradedAnswer, verdict: ScoredPrediction) -> str:
        """How people voted, and what the judge said."""
        votes = [each.grade for grades in item.grades.values() for each in grades]
        said = verdict.scored.label.lower()
        return f"{votes.count(ACCEPTED)} of {len(votes)} people accepted it; the judge: {said}."

    def judge_shortfall(self, item: GradedAnswer, verdict: ScoredPrediction, told: str) -> str:
        """The last events, the proposal, and where judge and people differ."""
        assert isinstance(item.answer, Assistance), "people vote on the benchmark's own answers"
        proposal = next(iter(item.answer.proposals), "(silence)")
        reason = verdict.prediction.reason
        return f"{_last_events(item.case)}\nProposal: {proposal}\n{told}\nThe judge's reason: {reason}"

    def notes(self, demos: int) -> Sequence[str]:
        """Of worked examples, and of who voted."""
        return [*super().notes(demos), *(said.rstrip(".") for said in self.about)]


def _last_events(case: Case) -> str:
    return "\n".join(f"Event: {event.event}" for event in case.view_as(TurnView).events[-_RECENT:])
