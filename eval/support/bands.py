"""What is asked of a share of simulated data sets, such as those whose interval holds the truth."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

OUT = "OUT"


def share_error(share: float, count: int) -> float:
    """Standard error of a share, in [0, 1], of so many independent data sets."""
    return (share * (1 - share) / count) ** 0.5


@dataclass(frozen=True)
class Band:
    """Where a share ought to lie."""

    low: float
    """In [0, 1]."""
    high: float
    """In [0, 1], at least `low`."""

    def holds(self, share: float, count: int | None = None) -> bool:
        """Whether a share is within; where it is known of how many data sets, it may be out by two standard errors."""
        below, above = (2 * share_error(edge, count) if count else 0.0 for edge in (self.low, self.high))
        return self.low - below <= share <= self.high + above

    def wider(self, slack: float) -> "Band":
        """The same with so much more on either side, within [0, 1]."""
        return Band(max(0.0, self.low - slack), min(1.0, self.high + slack))

    def text(self, share: float, count: int, *, marked: bool = False) -> str:
        """The share in %, and OUT if it is; where intervals are marked that is no fault."""
        return f"{100 * share:.1f}{'' if self.holds(share, count) else ' marked' if marked else f' {OUT}'}"


COVERAGE = Band(0.93, 0.98)
"""Of intervals of 95 %."""


def of_data_sets(count: int, seed: int) -> str:
    """What shares of simulated data sets are of, as the heading of their tables."""
    errors = " and ".join(f"{100 * share_error(at, count):.1f} at {100 * at:.0f}" for at in (0.95, 0.5))
    return f"{count:,} data sets a cell, seed {seed}, in %; standard error of a share {errors}"


@dataclass(frozen=True)
class Banded:
    """Tables of measured shares, as Markdown, and how many of them are out of band."""

    heading: str
    """What they are of, without an end of line."""
    tables: Mapping[str, Sequence[str]]
    """The rows of each table by its heads; of either the cells, ` | ` between them."""

    @property
    def out(self) -> int:
        """How many shares are OUT."""
        return sum(row.count(OUT) for rows in self.tables.values() for row in rows)

    def __str__(self) -> str:
        tables = (_markdown(heads, rows) for heads, rows in self.tables.items())
        return "\n\n".join([self.heading, *tables, f"{self.out} out of band"])


def _markdown(heads: str, rows: Sequence[str]) -> str:
    rule = "---" + " | ---" * heads.count("|")
    return "\n".join(f"| {line} |" for line in [heads, rule, *rows])
