"""How ProactiveAgent's agent and judge are compiled: on whole traces, the judge to shares of votes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dspy_proact.benchmarks.proactiveagent.turns import ACCEPTED, Assistance, ProactiveAgentSettings, TurnView
from dspy_proact.errors import UsageError
from dspy_proact.evaluation.ratings import RatedItem
from dspy_proact.evaluation.tuning import CardRows, Feedback, ScoredPrediction, Tuning, proposals_of
from dspy_proact.programs.artefact import ProgramRole
from dspy_proact.runs import Case, Scored

_OF_VOTES = frozenset({"silence", "window"})
"""Settings that decide which votes are read, and what is shown of their turns."""
_RECENT = 3
"""Events that a proposer is shown."""


class OwnTuning(Tuning):
    """How ProactiveAgent's programs are compiled."""

    proposals = proposals_of(
        assistant=(
            "Say at which moments a person needs help, and at which to stay silent.",
            "Say what a proposal must name, so that the person can tell what they would get.",
            "Say which proposals people reject: too early, too late, too general, done already.",
        ),
        judge=(
            "Say what people accept that the judge rejects.",
            "Say what people reject that the judge accepts, however helpful it sounds.",
            "Say what in the events shows whether a proposal fits the moment.",
        ),
    )
    rows = CardRows(measures=("accept_rate", "acted", "value"))  # the score is the accuracy already

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

    def feedback(self, case: Case, answer: Assistance, scored: Scored[Any] | None) -> Feedback:
        """What the judge said; for those who have not seen it the last events, and what the agent did."""
        usual = super().feedback(case, answer, scored)
        done = " / ".join(answer.proposals) or "(silence)"
        return replace(usual, shortfall=f"{_last_events(case)}\nThe agent: {done}\n{usual.text}")

    def judge_feedback(self, item: RatedItem, judgement: ScoredPrediction) -> Feedback:
        """How people voted, and what the judge said."""
        assert isinstance(item.answer, Assistance), "people vote on the benchmark's own answers"
        votes = [grade.grade for grades in item.grades.values() for grade in grades]
        counts = f"{votes.count(ACCEPTED)} of {len(votes)} people accepted it"
        text = f"{counts}; the judge: {judgement.scored.label.lower()}."
        proposal = next(iter(item.answer.proposals), "(silence)")
        reason = f"The judge's reason: {judgement.prediction.reason}"
        return Feedback(text, f"{_last_events(item.case)}\nProposal: {proposal}\n{text}\n{reason}")

    def notes(self, demos: int, raters: Sequence[str]) -> Sequence[str]:
        """Of worked examples, and of who voted."""
        return [*super().notes(demos, raters), *(sentence.rstrip(".") for sentence in raters)]


def _last_events(case: Case) -> str:
    return "\n".join(f"Event: {event.event}" for event in case.view_as(TurnView).events[-_RECENT:])
