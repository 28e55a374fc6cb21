"""The card of a compiled judge: what was shown, on how many items, with what it was made."""

from dspy_proact.benchmarks.proactbench.types import Phase
from dspy_proact.programs.card import Card, CardNumber
from dspy_proact.types import Frozen


class Gain(Frozen):
    """Agreement with people, out of fold, before and after: quadratic kappa against their soft labels."""

    labels: int
    """Rated items, whatever the number of ratings of each."""
    before: CardNumber
    after: CardNumber
    difference: CardNumber
    """With its 95 % interval."""
    low98: float | None
    """Lower end of the 98 % interval of the difference: above 0 it carries the claim."""
    p: float | None
    """Of exchanging before and after within whole scenarios; of phases adjusted by Holm."""
    low98_unread: float | None = None
    """`low98` over all items, the unread at their worst, which a claim needs above 0 too; None where all were read."""


class PhaseCard(Gain):
    """The same of one phase, with what stands beside it."""

    exact_before: CardNumber
    """Share of verdicts equal to the people's consensus."""
    exact_after: CardNumber
    exact_commonest: CardNumber
    """What always answering the commonest grade would earn."""
    one_human: CardNumber
    """Agreement of one person with another, by the same weights."""
    best_attainable: CardNumber
    bias_before: CardNumber
    """Mean score of the judge minus that of people: above 0 it is the more lenient."""
    bias_after: CardNumber


class CasesRight(Frozen):
    """Worked cases of the judge's rules under a guard, by the program in the file."""

    before: int
    """That the start gets right."""
    after: int
    """That the program gets right, those of the start among them."""
    of: int
    dropped: int
    """Candidates that lost one, and were left out for it, of those that were looked at."""


class JudgeCard(Card):
    """What a compile of the judge showed; the statement says what to have rated next."""

    overall: Gain
    """Within phases, averaged over them."""
    phases: dict[Phase, PhaseCard]
    raters: int
    unread: int
    """Items left out because a verdict on them could not be read, before or after."""
    evidence_before: tuple[int, int]
    """Verdicts with a quote that stands in the response, and verdicts that had to quote."""
    evidence_after: tuple[int, int]
    cases: CasesRight | None = None
    """None without the guard."""
    overlap: float
    """Share in [0, 1] of the compiled instruction's runs of eight words that stand in an item."""

    def _repr_html_(self) -> str:
        rows = {"average": self.overall, **self.phases}
        told = ((name, str(of.labels), str(of.before), str(of.after), str(of.difference)) for name, of in rows.items())
        return self.html(("kappa", "items", "before", "after", "gain"), told)
