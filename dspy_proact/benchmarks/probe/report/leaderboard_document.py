"""PROBE's leaderboard as a JSON document."""

from typing import Any

from dspy_proact.benchmarks.probe.corpus.published import DOUBTS, PublishedScores, published_failures
from dspy_proact.benchmarks.probe.report.failures import failures_document
from dspy_proact.benchmarks.probe.report.leaderboard import Leaderboard, OwnEntry, overall_of
from dspy_proact.benchmarks.probe.report.leaderboard_headline import leaderboard_headline


def leaderboard_document(board: Leaderboard) -> dict[str, Any]:
    """The document of `leaderboard --benchmark probe --json`. A value that cannot be given is null."""
    return {
        "headline": leaderboard_headline(board),
        "published": [_published_document(row) for row in board.published],
        "published_failures": [{"model": each.model, **each.shares} for each in published_failures()],
        "runs": [_run_document(entry) for entry in board.runs],
    }


def _published_document(row: PublishedScores) -> dict[str, Any]:
    scores = {name: getattr(row, name) for name in ("precision", "recall", "f1", "identification", "task")}
    named = {"kind": row.kind, "name": row.name, "entries": row.entries}
    return {**named, **scores, "overall": overall_of(row), "doubts": [DOUBTS[word] for word in row.doubts]}


def _run_document(entry: OwnEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "path": entry.path,
        "embedded": entry.embedded,
        "tasks": entry.tasks,
        "people": entry.people,
        **{name: estimate.for_json() for name, estimate in entry.scores.items()},
        "failures": failures_document(entry.failures),
        "differences": list(entry.differences),
    }
