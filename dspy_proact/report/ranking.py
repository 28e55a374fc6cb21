"""Runs and published results in one table, as a page shows it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dspy_proact.errors import UsageError

Place = str | int
"""A key of an object, or a number of a list."""


@dataclass(frozen=True)
class RankingColumn:
    """A number of every row."""

    title: str
    path: tuple[Place, ...]
    """Where it stands in a row's part of the document; null, or not there, where a row has none."""
    kind: Literal["count", "range", "score"] = "score"
    """A whole number, the ends of a range, or a share with its interval if it has one."""


@dataclass(frozen=True)
class RankingRow:
    """A published result or a run."""

    name: str
    path: tuple[Place, ...]
    """Of its part of the document."""
    own: bool
    """Whether it is a run."""
    notes: tuple[str, ...] = ()
    """What is to be known of it."""


@dataclass(frozen=True)
class Ranking:
    """What a table shows, and the document that its numbers are from."""

    document: Mapping[str, Any]
    caption: str
    columns: tuple[RankingColumn, ...]
    """The first `leading` of them stand before the name."""
    blocks: tuple[tuple[RankingRow, ...], ...]
    """Rows in their order, with a line between blocks."""
    stands: bool
    """Whether a run stands among the published results or beside them: the page of one run has no table without."""
    notes: tuple[str, ...] = ()
    """What the table rests on, in sentences."""
    leading: int = 0


def require_each_once(paths: Iterable[str]) -> None:
    """Raise a `UsageError` where two paths of runs lead to the same place."""
    seen = set[Path]()
    for path in paths:
        if (place := Path(path).resolve()) in seen:
            raise UsageError(f"{path}: given twice; name each run once")
        seen.add(place)
