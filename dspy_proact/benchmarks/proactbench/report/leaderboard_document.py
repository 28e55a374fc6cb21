"""A leaderboard as a JSON document."""

from typing import Any

from dspy_proact.benchmarks.proactbench.report.leaderboard import DESIGN_EFFECT, Entry, Leaderboard, PhaseFigures
from dspy_proact.benchmarks.proactbench.report.leaderboard_headline import leaderboard_headline


def leaderboard_document(board: Leaderboard) -> dict[str, Any]:
    """The document of `leaderboard --json`. A value that cannot be given is null; scores have a `reason` then."""
    return {
        "headline": leaderboard_headline(board),
        "models": [_entry_document(entry) for entry in board.entries],
        "design_effect": DESIGN_EFFECT,
    }


def _entry_document(entry: Entry) -> dict[str, Any]:
    scores = entry.scores
    return {
        "model": entry.model,
        "published": entry.published,
        **({} if entry.published else {"name": entry.name, "path": entry.path, "embedded": entry.embedded}),
        "rank_lenient": entry.rank_lenient,
        "rank_strict": entry.rank_strict,
        "rank_range": entry.rank_range and list(entry.rank_range),
        "lenient": {"weighted": scores.weighted.for_json(), "pass_rate": scores.pass_rate.for_json()},
        "strict": {"weighted": scores.strict_weighted.for_json(), "pass_rate": scores.strict_pass_rate.for_json()},
        "phases": {name: _phase_document(phase, entry.published) for name, phase in entry.phases.items()},
        "differences": list(entry.differences),
    }


def _phase_document(phase: PhaseFigures, published: bool) -> dict[str, int]:
    tried = phase.tried
    grades = {"pass": tried.full, "partial": tried.partial, "fail": tried.fail, "unscored": tried.unscored}
    return {"total": tried.total + phase.pending, **grades, **({} if published else {"pending": phase.pending})}
