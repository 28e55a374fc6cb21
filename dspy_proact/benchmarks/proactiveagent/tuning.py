"""How ProactiveAgent's agent and judge are compiled: on whole traces, the judge to shares of votes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dspy_proact.benchmarks.proactiveagent.turns import Assistance, ProactiveAgentSettings
from dspy_proact.errors import UsageError
from dspy_proact.evaluation.tuning import UNREAD, Aim, CardRows, Feedback, Tuning, proposals_of
from dspy_proact.programs.artefact import ProgramRole
from dspy_proact.runs import Case, Scored

_OF_VOTES = frozenset({"silence", "window"})
"""Settings that decide which votes are read, and what is shown of their turns."""
_RECENT = 8
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
        settings.require_effect(settings.model_fields_set)

    def aim(self, role: ProgramRole, predictor: str, words: float | None, harm: float | None) -> Aim:
        """With what a right decision is."""
        usual = super().aim(role, predictor, words, harm)
        score = "A proposal counts 1 where it is accepted, silence where no help is wanted; anything else counts 0."
        return replace(usual, purpose=f"{usual.purpose}\n{score}") if role == "assistant" else usual

    def excerpt(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """The last events, and how many there were before."""
        del outputs
        events = list(inputs["events"])
        earlier = [f"({len(events) - _RECENT} earlier events)"] if len(events) > _RECENT else []
        return {**inputs, "events": [*earlier, *events[-_RECENT:]]}

    def feedback(self, case: Case, answer: Assistance, scored: Scored[Any] | None) -> Feedback:
        """What the judge said, which sees no more than the agent does."""
        usual = super().feedback(case, answer, scored)
        if not usual.error or usual.error == UNREAD:
            return usual
        return replace(
            usual, error="proposed what is not accepted" if answer.proposals else "silent where help is wanted"
        )

    def notes(self, demos: int, raters: Sequence[str]) -> Sequence[str]:
        """Of worked examples, and of who voted."""
        return [*super().notes(demos, raters), *(sentence.rstrip(".") for sentence in raters)]
