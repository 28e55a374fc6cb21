"""How varied a set of items is: commonest values, cells that hold nothing, beginnings that repeat, and lengths."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from statistics import quantiles

from dspy_proact.stats.likeness import words
from dspy_proact.types import Frozen

_ENDS = 3
"""Words of an opening or a closing."""


class Common(Frozen):
    """A value, and how many items have it."""

    value: str
    count: int
    total: int
    """Items, with the value or not."""

    @property
    def share(self) -> float:
        """In [0, 1]; lower is more varied."""
        return self.count / self.total


def commonest(values: Iterable[Iterable[str]], most: int = 1) -> list[Common]:
    """The values that most items have, the commonest first, of equals the one that came first; at most so many.

    Args:
        values: Of each item its values, of which one that comes twice counts once; an item may have none.
        most: How many.
    """
    rows = [dict.fromkeys(row) for row in values]
    counts = Counter(value for row in rows for value in row)
    return [Common(value=value, count=count, total=len(rows)) for value, count in counts.most_common(most)]


def openings(texts: Sequence[str], most: int = 5) -> list[Common]:
    """The first three words of texts, those that more than one text begins with, the commonest first."""
    return _repeated([" ".join(words(text)[:_ENDS]) for text in texts], most)


def closings(texts: Sequence[str], most: int = 5) -> list[Common]:
    """The last three words of texts, likewise."""
    return _repeated([" ".join(words(text)[-_ENDS:]) for text in texts], most)


def _repeated(ends: Sequence[str], most: int) -> list[Common]:
    return [end for end in commonest(([end] if end else [] for end in ends), most) if end.count > 1]


class Lengths(Frozen):
    """How long texts are, in words; in Chinese and Japanese in characters."""

    count: int
    """Texts, at least one."""
    least: int
    lower: float
    """The lower quartile."""
    median: float
    upper: float
    """The upper quartile."""
    most: int

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Lengths | None":
        """Those of texts; None of no text."""
        if not texts:
            return None
        lengths = sorted(len(words(text)) for text in texts)
        lower, median, upper = quantiles(lengths * (2 if len(lengths) == 1 else 1), n=4, method="inclusive")
        return cls(count=len(texts), least=lengths[0], lower=lower, median=median, upper=upper, most=lengths[-1])


@dataclass(frozen=True)
class Coverage:
    """How many items stand in each cell of a table of several columns."""

    columns: Mapping[str, Sequence[str]]
    """The values that each column may have."""
    rows: Sequence[tuple[str, ...]]
    """Of each item its value in each column; one that is not among a column's values stands in no table with it."""

    @cached_property
    def cells(self) -> int:
        """The number of cells of all columns."""
        return prod(len(values) for values in self.columns.values())

    @cached_property
    def empty(self) -> int:
        """How many of them hold no item."""
        known = [set(values) for values in self.columns.values()]
        held = {row for row in self.rows if all(value in of for value, of in zip(row, known, strict=True))}
        return self.cells - len(held)

    def table(self, down: str, across: str) -> list[list[int]]:
        """Counts by two of the columns: a row for each value of the one, a number for each value of the other."""
        at = [list(self.columns).index(name) for name in (down, across)]
        counts = Counter((row[at[0]], row[at[1]]) for row in self.rows)
        return [[counts[one, other] for other in self.columns[across]] for one in self.columns[down]]

    def empty_cells(self, down: str, across: str) -> list[tuple[str, str]]:
        """The cells of that table which hold no item, in its order."""
        rows = zip(self.columns[down], self.table(down, across), strict=True)
        return [(one, other) for one, row in rows for other, n in zip(self.columns[across], row, strict=True) if not n]
