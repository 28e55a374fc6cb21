"""Figures of the published ProactBench study, with their source in NOTICE."""

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, field
from functools import reduce
from operator import add
from typing import Self

from dspy_proact.benchmarks.proactbench.corpus.dialogues import DATA
from dspy_proact.files.rows import csv_rows

HUMAN_ALPHA: Mapping[str, float] = {"EMERGENT": 0.17, "CRITICAL": 0.16, "RECOVERY": 0.28}
"""Krippendorff's ordinal alpha among the human raters of 60 responses, by phase: 1 is perfect agreement, 0 chance."""
TRIGGERS_PER_PHASE: Mapping[str, int] = {"EMERGENT": 201, "CRITICAL": 232, "RECOVERY": 191}
"""Triggers of the published corpus, 624 in all."""


@dataclass(frozen=True)
class Counts:
    """How many triggers earned each grade, of how many that were tried.

    Lenient figures are over scored triggers, which is the published convention; strict ones are over all that were
    tried, unscored counting 0. All are in [0, 1], higher is better.

    Raises:
        ValueError: A count is negative, or more triggers are graded than were tried.
    """

    total: int
    """Triggers that were tried."""
    full: int
    """Those with a PASS, the full score."""
    partial: int
    """Those with a PARTIAL."""
    fail: int
    """Those with a FAIL."""

    def __post_init__(self):
        if min(self.full, self.partial, self.fail, self.unscored) < 0:
            raise ValueError(f"counts are at least 0, and grades at most one a trigger: {self!r}")

    def __add__(self, other: Self) -> "Counts":
        return Counts(*map(add, astuple(self), astuple(other)))

    @property
    def scored(self) -> int:
        """Triggers with a grade."""
        return self.full + self.partial + self.fail

    @property
    def unscored(self) -> int:
        """Triggers that were tried and have no grade."""
        return self.total - self.scored

    @property
    def weighted(self) -> float | None:
        """Lenient mean score; None when nothing was scored."""
        return _share(self.full + 0.5 * self.partial, self.scored)

    @property
    def pass_rate(self) -> float | None:
        """Lenient share of PASS; None when nothing was scored."""
        return _share(self.full, self.scored)

    @property
    def strict_weighted(self) -> float | None:
        """Strict mean score; None when nothing was tried."""
        return _share(self.full + 0.5 * self.partial, self.total)

    @property
    def strict_pass_rate(self) -> float | None:
        """Strict share of PASS; None when nothing was tried."""
        return _share(self.full, self.total)


@dataclass(frozen=True)
class PublishedModel:
    """A model of the published leaderboard."""

    model: str
    """Its published name, with the vendor before a slash where there is one."""
    phases: Mapping[str, Counts] = field(hash=False)
    """Counts of EMERGENT, CRITICAL and RECOVERY, in this order."""

    @property
    def overall(self) -> Counts:
        """Counts of all phases together; figures of them are micro averages, as published."""
        return pooled(self.phases.values())


def pooled(counts: Iterable[Counts]) -> Counts:
    """The counts of all together; zeros when there are none."""
    return reduce(add, counts, Counts(0, 0, 0, 0))


def published_models() -> tuple[PublishedModel, ...]:
    """The 16 models of the published leaderboard, best first by the overall lenient weighted score.

    The published SKIPPED counts are all 0 and are not read: a trigger of the corpus without a published grade is
    unscored here.
    """
    phases: dict[str, dict[str, Counts]] = {}
    for row in csv_rows(DATA / "published" / "leaderboard_counts.csv"):
        grades = (int(row[label]) for label in ("pass", "partial", "fail"))
        phase = row["type"]
        phases.setdefault(row["model"].replace("__", "/"), {})[phase] = Counts(TRIGGERS_PER_PHASE[phase], *grades)
    models = (PublishedModel(name, counts) for name, counts in phases.items())
    return tuple(sorted(models, key=lambda model: -(model.overall.weighted or 0)))


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None
