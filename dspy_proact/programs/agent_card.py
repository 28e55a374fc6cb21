"""The card of a compiled agent: what each measure of its benchmark was, out of fold, before and after."""

from dspy_proact.programs.card import Card, Change
from dspy_proact.types import Frozen


class AgentCandidate(Frozen):
    """An agent that was tried, by the tuning judge on what candidates were compared on: chosen, not tested, there."""

    score: float
    """Mean score in [0, 1], as far as it was compared."""
    share: float
    """Share in (0, 1] of the cases on which it was compared, before it was dropped as unlikely to win."""
    chosen: bool


class AgentCard(Card):
    """What a compile of an agent showed, by the reporting judge."""

    warnings: tuple[str, ...]
    """What weakens it, such as one judge for tuning and for reporting."""
    aim: str
    """What it was tuned for."""
    target: Change
    """Mean of that."""
    case: str
    """What a case is called."""
    stages: dict[str, Change]
    """Mean of each measure, by its title; p adjusted by Holm over them."""
    cases: int
    unscored: int
    """Cases left out because a verdict on them could not be read, before or after."""
    group: str
    """What a group of cases is called, of which `scenarios` is the number."""
    groups: str
    """What several are called."""
    candidates: tuple[AgentCandidate, ...]
    """Of the last compile, on everything, in the order of trying."""

    def _repr_html_(self) -> str:
        rows = {"tuned for": self.target, **self.stages}
        told = ((name, str(of.count), str(of.before), str(of.after), str(of.difference)) for name, of in rows.items())
        return self.html(("mean", "n", "before", "after", "change"), told)
