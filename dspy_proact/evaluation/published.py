"""Published scores: counts of labels, and rows of a leaderboard."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import zip_longest
from operator import add
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from dspy_proact.evaluation.benchmark import Benchmark
    from dspy_proact.evaluation.measured_run import MeasuredRun


@dataclass(frozen=True)
class Counts:
    """How many cases earned each label, of how many that were tried; a `ValueError` where the counts do not fit.

    Lenient means are over scored cases, which is the published convention; strict ones are over all that were tried,
    unscored counting 0. Both are in [0, 1], higher is better.
    """

    total: int
    """Cases that were tried."""
    labels: tuple[int, ...] = ()
    """Those with each label, from the best to the worst."""

    def __post_init__(self):
        if min(*self.labels, self.unscored, 0) < 0:
            raise ValueError(f"counts are at least 0, and labels at most one a case: {self!r}")

    def __add__(self, other: Self) -> "Counts":
        both = zip_longest(self.labels, other.labels, fillvalue=0)
        return Counts(self.total + other.total, tuple(map(sum, both)))

    @property
    def scored(self) -> int:
        """Cases with a label."""
        return sum(self.labels)

    @property
    def unscored(self) -> int:
        """Cases that were tried and have no grade."""
        return self.total - self.scored

    def weighted(self, scores: Sequence[float] = ()) -> float | None:
        """Lenient mean of the labels' scores, which fall in equal steps from 1 to 0 where none are given.

        None when nothing was scored.
        """
        return self._sum(scores) / self.scored if self.scored else None

    def strict_weighted(self, scores: Sequence[float] = ()) -> float | None:
        """Strict mean, as `weighted`; None when nothing was tried."""
        return self._sum(scores) / self.total if self.total else None

    def _sum(self, scores: Sequence[float]) -> float:
        scores = scores or equal_steps(len(self.labels))
        return sum(count * score for count, score in zip(self.labels, scores, strict=True))


def equal_steps(labels: int) -> list[float]:
    """Scores of so many labels, from 1 down to 0."""
    return [1 - label / max(labels - 1, 1) for label in range(labels)]


def pooled(counts: Iterable[Counts]) -> Counts:
    """The counts of all together; zeros when there are none."""
    return reduce(add, counts, Counts(0))


def unranked(_: "MeasuredRun") -> Iterable[str]:
    """Why a run is not ranked where nothing says how the published rows were measured."""
    return ("no condition is declared under which a run is ranked",)


def several_answers(run: "MeasuredRun") -> Iterable[str]:
    """That a run has several answers to a case, where published rows have one."""
    assert run.manifest is not None, "the leaderboard asks of runs only"
    return [f"{run.manifest.epochs} answers to each {run.nouns.case}"] if run.manifest.epochs > 1 else []


@dataclass(frozen=True)
class PublishedRow:
    """Scores that were published."""

    name: str
    scores: Mapping[str, float | None]
    """Shares in [0, 1], by the name of a measure or a stratum, or `score`, the mean score, and `strict`."""
    kind: str = "model"
    """What it is of; the rows of the first one's kind are ranked."""
    counts: Mapping[str, Counts] = field(default_factory=dict[str, Counts])
    """By stratum; empty where means alone were published. With counts there are ranges of ranks."""
    cases: int | None = None
    """How many cases it was measured on; None where that is not known."""
    notes: Sequence[str] = ()
    """What speaks against it, in sentences without their end."""


@dataclass(frozen=True)
class Published:
    """What was published of a benchmark, and how runs stand beside it."""

    rows: Callable[[], Sequence[PublishedRow]]
    """The published scores, the best first."""
    differences: "Callable[[MeasuredRun], Iterable[str]]" = unranked
    """How the conditions of a run differ from those of the rows; a run without differences is ranked among them."""
    headline: str = "score"
    """Name of the score that ranks."""
    columns: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    """Heading of each score, by its name; the scores of the first row where none are given."""
    notes: Sequence[str] = ()
    """What the table is to be read with, in sentences."""
    as_published: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    """Arguments of an evaluation made as the published scores were, as `settings.history`, with their values."""
    source: str = ""
    """Where the scores stand."""


def best_published(declared: "Benchmark[Any, Any]") -> str:
    """The best published score, whose it is and its source; empty where nothing was published."""
    published, rows = declared.published, published_rows(declared)
    if published is None or not rows or (score := rows[0].scores.get(published.headline)) is None:
        return ""
    best = [row.name for row in rows if (row.kind, row.scores.get(published.headline)) == (rows[0].kind, score)]
    source = f" ({published.source})" if published.source else ""
    return f"{100 * score:.1f} % {published.columns.get(published.headline, 'score')}: {' and '.join(best)}{source}"


def published_rows(declared: "Benchmark[Any, Any]") -> Sequence[PublishedRow]:
    """The published scores, the best first; none where nothing was published."""
    return tuple(declared.published.rows()) if declared.published else ()
