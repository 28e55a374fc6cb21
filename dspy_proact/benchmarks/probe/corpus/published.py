"""Figures of the published PROBE study (arXiv 2510.19771), with their source in NOTICE."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Literal, cast, get_args

from dspy_proact.files.data_file import csv_rows

DATA = files("dspy_proact.benchmarks.probe") / "data"

Kind = Literal["model", "agent", "person"]
_PUBLISHED = DATA / "published"
DOUBTS: Mapping[str, str] = {
    "identification": (
        "identification at or near 0 beside a task score that is not: the released evaluator gives 0 wherever a judge "
        "answers without facets, which would look so; that it was the cause cannot be shown"
    ),
    "baseline": (
        "the text names GPT-5-mini among the models that were tested alone, and no table has that row: what an agent "
        "adds to its model cannot be told"
    ),
    "search": (
        "the text describes a search by meaning; the released harness counts words, and takes every id that a tool "
        "returned for retrieved"
    ),
    "steps": "14.90 % is no mean of 7 scores of 0, 0.5 and 1, which come in steps of 7.14 %",
    "average": (
        "called an average, and weighted by entries: the plain means of the three would be 30.80 % F1 and 7.74 % task"
    ),
}
"""Where a row does not go together with the paper's own text or with what was released, by a word."""


@dataclass(frozen=True)
class PublishedScores:
    """A row of the published tables; every score is a mean over tasks, in [0, 1], higher is better."""

    kind: Kind
    name: str
    precision: float | None
    """None for people, as `recall` is: only their F1 is published."""
    recall: float | None
    f1: float
    identification: float
    task: float
    entries: int | None
    """Tasks that a person did; None where it is not said of the row."""
    doubts: tuple[str, ...] = ()
    """Keys of `DOUBTS`."""


@dataclass(frozen=True)
class PublishedFailures:
    """Of a model's failures the share that shows each mode; they overlap."""

    model: str
    shares: Mapping[str, float] = field(hash=False)
    """By mode, as `report.probe` names them."""


def published_scores() -> tuple[PublishedScores, ...]:
    """Tables 3, 4 and 2: models and agents by their task score, the best first, and people as published."""
    rows = [_scores(row) for row in csv_rows(_PUBLISHED / "probe_scores.csv")]
    kinds = get_args(Kind)
    return tuple(sorted(rows, key=lambda row: (kinds.index(row.kind), -row.task if row.kind != "person" else 0)))


def published_failures() -> tuple[PublishedFailures, ...]:
    """The published failure modes, as published."""
    return tuple(
        PublishedFailures(row.pop("model"), {mode: float(share) for mode, share in row.items()})
        for row in csv_rows(_PUBLISHED / "probe_failures.csv")
    )


def _scores(row: dict[str, str]) -> PublishedScores:
    precision, recall = (float(row[name]) if row[name] else None for name in ("precision", "recall"))
    return PublishedScores(
        cast("Kind", row["kind"]),
        row["name"],
        precision,
        recall,
        float(row["f1"]),
        float(row["identification"]),
        float(row["task"]),
        int(row["entries"]) if row["entries"] else None,
        tuple(row["doubt"].split()),
    )
