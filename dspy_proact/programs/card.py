"""What every card of a compiled program holds: what was shown, at what price, and with what it was made."""

from collections.abc import Iterable, Sequence
from typing import Literal, Self, get_args

from pydantic import Field, model_validator

from dspy_proact.calls import Call, Price
from dspy_proact.models import ModelIdentity
from dspy_proact.plain_text import html_table
from dspy_proact.stats import Estimate
from dspy_proact.types import Frozen

Optimizer = Literal["labeled", "bootstrap", "miprov2", "gepa", "search"]
OPTIMIZERS: tuple[Optimizer, ...] = get_args(Optimizer)


class Recipe(Frozen):
    """How a compile is done, whatever is compiled."""

    optimizer: Optimizer = "search"
    trials: int = Field(default=20, ge=1)
    """Candidates to try."""
    max_demos: int = Field(default=4, ge=0)
    """Worked examples of a candidate, at most."""
    folds: int = Field(default=5, ge=2)
    """Folds of whole units, each tested by a program that never saw it."""
    seed: int = Field(default=0, ge=0)
    """Of folds, draws and studies."""


class DataSource(Frozen):
    """What a program was compiled on."""

    name: str
    sha256: str
    revision: str | None = None
    """Of a dataset, or the commit of a study; None where it has none."""
    files: dict[str, str] = Field(default_factory=dict[str, str])
    """sha256 of each file of a study."""
    dialogues: tuple[str, ...] = ()
    """Marks of the dialogues in it (`views.dialogue_mark`), sorted."""


class Provenance(Frozen):
    """With what a program was made."""

    models: dict[str, ModelIdentity]
    """By what each was asked for: the program's own name, `proposer`, and so on."""
    recipe: Recipe
    start: str
    """sha256 of what the start says to its model."""
    data: DataSource
    embedded: bool
    """Whether a stand-in that measures nothing took part."""
    versions: dict[str, str]
    created: str
    """ISO 8601, UTC."""


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

    def __str__(self) -> str:
        if self.value is None or self.low is None or self.high is None:
            return "-" if self.value is None else f"{self.value:.2f}"
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"

    @property
    def points(self) -> str:
        """A difference with its interval, in whole points of a hundred; a dash where it is not known."""
        if self.value is None or self.low is None or self.high is None:
            return "-" if self.value is None else f"{100 * self.value:+.0f}"
        return f"{100 * self.value:+.0f} [{100 * self.low:+.0f}, {100 * self.high:+.0f}]"

    @property
    def estimate(self) -> Estimate:
        """The estimate that it was."""
        return Estimate(
            self.value, self.low, self.high, self.reason or (None if self.low is not None else "none given")
        )


class Change(Frozen):
    """A number out of fold, before and after, on the same turns."""

    count: int
    """Turns that could be graded, before and after; no response is graded 0, or is no offer to grade."""
    total: int
    """Turns that were asked."""
    before: CardNumber
    after: CardNumber
    difference: CardNumber
    """After minus before; of lengths after by before. With its 95 % interval."""
    low98: float | None = None
    """Lower end of the 98 % interval of the difference: above 0 it carries the claim."""
    p: float | None = None
    """Of exchanging before and after within whole scenarios; of phases adjusted by Holm."""
    low98_unread: float | None = None
    """`low98` over all turns, the unread at their worst, which a claim needs above 0 too; None where all were read."""
    least: CardNumber | None = None
    """The difference over all turns, the unread 1 before and 0 after; None where all were read."""
    most: CardNumber | None = None
    """The difference over all turns, the unread 0 before and 1 after; None where all were read."""


class CardUsage(Frozen):
    """What 1,000 answers of a program take."""

    prompt_tokens: int | None
    completion_tokens: int | None
    usd: float | None

    @classmethod
    def of(cls, calls: Sequence[Call], answers: int, price: Price) -> Self:
        """That of so many answers by the calls that they took, repairs included; unknown where none was counted.

        A call whose tokens were not counted counts as the mean of those that were. An answer that stood in the record
        counts with the calls that it took when it was asked for.
        """
        counted = [(call.prompt_tokens, call.completion_tokens) for call in calls]
        known = [(asked, answered) for asked, answered in counted if asked is not None and answered is not None]
        if not known or not answers:
            return cls(prompt_tokens=None, completion_tokens=None, usd=None)
        uncounted = sum(call.error is None and None in tokens for call, tokens in zip(calls, counted, strict=True))
        each = 1000 * (len(known) + uncounted) / answers / len(known)
        prompt, completion = (round(each * sum(tokens)) for tokens in zip(*known, strict=True))
        return cls(prompt_tokens=prompt, completion_tokens=completion, usd=price.of(prompt, completion))

    @property
    def tokens(self) -> int | None:
        """Of prompts and answers."""
        if self.prompt_tokens is None or self.completion_tokens is None:
            return None
        return self.prompt_tokens + self.completion_tokens


def tokens_ratio(before: CardUsage, after: CardUsage) -> float | None:
    """Tokens of an answer after by those before; None where they are not known."""
    return None if not before.tokens or after.tokens is None else after.tokens / before.tokens


class Card(Frozen):
    """What a compile showed.

    The numbers are of the procedure, out of fold; the program itself was compiled on everything and has no score of
    its own.
    """

    statement: str
    """`improvement shown` or `no improvement shown`, and what follows from it."""
    shown: bool
    usage_before: CardUsage
    usage_after: CardUsage
    scenarios: int
    """Scenarios that it was compiled on; of another benchmark its groups, which its card names."""
    fold_scores: tuple[float | None, ...]
    """Mean score of each fold's program on its test items; None where none could be scored."""
    provenance: Provenance

    @property
    def told(self) -> str:
        """What it shows and how it was made, in two sentences."""
        made, data = self.provenance.recipe, self.provenance.data
        how = f"Compiled by {made.optimizer}, seed {made.seed}, on {data.name} (sha256 {data.sha256[:16]})"
        return f"{how}. Its card, out of fold: {self.statement}."

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.statement!r})"

    def __str__(self) -> str:
        return repr(self)

    def html(self, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
        """What is claimed, above a table of numbers, for a notebook."""
        stand_in = ["embedded stand-in"] if self.provenance.embedded else []
        return html_table(headings, rows, above=[*stand_in, f"{self.statement}."])

    @property
    def learned_from(self) -> frozenset[str]:
        """Marks of the dialogues that it was compiled on."""
        return frozenset(self.provenance.data.dialogues)
