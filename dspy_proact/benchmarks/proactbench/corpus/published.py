"""Figures of the published ProactBench study, with their source in NOTICE."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files

from dspy_proact.benchmarks.benchmark import Counts, pooled
from dspy_proact.files.data_file import csv_rows

DATA = files("dspy_proact.benchmarks.proactbench") / "data"

HUMAN_ALPHA: Mapping[str, float] = {"EMERGENT": 0.17, "CRITICAL": 0.16, "RECOVERY": 0.28}
"""Krippendorff's ordinal alpha among the human raters of 60 responses, by phase: 1 is perfect agreement, 0 chance."""
TRIGGERS_PER_PHASE: Mapping[str, int] = {"EMERGENT": 201, "CRITICAL": 232, "RECOVERY": 191}
"""Triggers of the published corpus, 624 in all."""


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
