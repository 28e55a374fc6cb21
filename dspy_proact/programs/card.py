"""The card of a compiled judge: what was shown, on how many labels, with what it was made."""

from collections.abc import Sequence
from typing import Any, Self, cast

from pydantic import model_validator

from dspy_proact.stats import Estimate
from dspy_proact.types import Frozen, Phase


class CardNumber(Frozen):
    """A number with its interval, or the reason why there is none."""

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str | None = None

    @model_validator(mode="after")
    def _is_an_estimate(self) -> Self:
        _ = self.estimate  # raises where bounds do not enclose the value, or a number is not finite
        return self

    @classmethod
    def of(cls, estimate: Estimate) -> Self:
        """An estimate, to be kept."""
        return cls(value=estimate.value, low=estimate.low, high=estimate.high, reason=estimate.reason)

    @property
    def estimate(self) -> Estimate:
        """The estimate that it was."""
        return Estimate(
            self.value, self.low, self.high, self.reason or (None if self.low is not None else "none given")
        )


def marks_in(value: object) -> frozenset[str]:
    """The marks of dialogues in what a file holds of them."""
    given = cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()
    return frozenset(mark for mark in given if isinstance(mark, str))


class Gain(Frozen):
    """Agreement with people, out of fold, before and after: quadratic kappa against their soft labels."""

    labels: int
    """Labelled responses."""
    before: CardNumber
    after: CardNumber
    difference: CardNumber
    """With its 95 % interval."""
    low98: float | None
    """Lower end of the 98 % interval of the difference: above 0 it carries the claim."""
    p: float | None
    """Of exchanging before and after within whole scenarios; of phases adjusted by Holm."""


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


class CardUsage(Frozen):
    """What 1,000 verdicts or responses take."""

    prompt_tokens: int | None
    completion_tokens: int | None
    usd: float | None


class JudgeCard(Frozen):
    """What a compile showed.

    The numbers are of the procedure, out of fold; the program itself was compiled on all labels and has no score of
    its own.
    """

    statement: str
    """`improvement shown` or `no improvement shown`, and what to label next."""
    shown: bool
    overall: Gain
    """Within phases, averaged over them."""
    phases: dict[Phase, PhaseCard]
    scenarios: int
    raters: int
    unread: int
    """Items left out because a verdict on them could not be read, before or after."""
    evidence_before: tuple[int, int]
    """Verdicts with a quote that stands in the response, and verdicts that had to quote."""
    evidence_after: tuple[int, int]
    usage_before: CardUsage
    usage_after: CardUsage
    folds: int
    fold_scores: tuple[float, ...]
    """Mean metric of each fold's program on its test items."""
    overlap: float
    """Share of the compiled instruction's runs of eight words that stand in a labelled item."""
    judge: dict[str, Any]
    """Model, endpoint and decoding."""
    proposer: str
    optimizer: dict[str, Any]
    """Its name and settings."""
    ratings: dict[str, Any]
    """Where they are from, with hashes."""
    embedded: bool
    versions: dict[str, str]
    created: str

    @property
    def learned_from(self) -> frozenset[str]:
        """Marks of the dialogues that it was compiled on; none where the file does not say."""
        return marks_in(self.ratings.get("dialogues"))
