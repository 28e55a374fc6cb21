"""The card of a compiled assistant: what was bought, and what it cost."""

from dspy_proact.benchmarks.proactbench.types import Phase
from dspy_proact.programs.card import Card, Change
from dspy_proact.types import Frozen


class CandidateCard(Frozen):
    """A program that was tried, by the tuning judge on what candidates were compared on: chosen, not tested, there."""

    score: float
    """Mean score on triggers of the chosen phases, as far as it was compared."""
    share: float
    """Share in (0, 1] of these triggers on which it was compared, before it was dropped as unlikely to win."""
    offers: float | None
    """Share of control turns with an unwanted offer; None where that was not looked at, or there are none."""
    broken: tuple[str, ...]
    """Guards that it does not keep; those of candidates that were not looked at, being worse, are not known."""
    chosen: bool


class AssistantCard(Card):
    """What a compile of the assistant showed, by the reporting judge; the statement says what it cost."""

    warnings: tuple[str, ...]
    """What weakens it, such as one judge for tuning and for reporting."""
    chosen: tuple[Phase, ...]
    """The phases that it was tuned on."""
    target: Change
    """Mean score over their triggers."""
    phases: dict[Phase, Change]
    """Mean score of each phase's triggers."""
    offers: Change
    """Share of control turns with an unwanted offer."""
    length: Change
    """Mean words of a response at triggers."""
    tokens: Change | None = None
    """Mean tokens of a response, prompt included, at all turns; None where the card is older than this number."""
    unscored: int
    """Turns left out of their number because a verdict on them could not be read, before or after."""
    triggers: int
    """Of all phases."""
    controls: int
    """Control turns; none where the corpus has none."""
    guards: dict[str, float]
    """Margin of each guard."""
    candidates: tuple[CandidateCard, ...]
    """Of the last compile, on all triggers, in the order of trying."""
    withheld: tuple[int, int]
    """Sentences of the tuning judge that were kept from the proposer because they speak with the rubric's words, of
    all."""
    rubric_overlap: float
    """Share in [0, 1] of the instruction's runs of eight words that stand in a rubric."""
    conversation_overlap: float
    """Share in [0, 1] of the instruction's runs of eight words that stand in a conversation."""

    def _repr_html_(self) -> str:
        rows = {**self.phases, "unwanted offers": self.offers}
        told = ((name, str(of.count), str(of.before), str(of.after), str(of.difference)) for name, of in rows.items())
        return self.html(("mean score", "n", "before", "after", "change"), told)
