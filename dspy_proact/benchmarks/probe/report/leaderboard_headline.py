"""What PROBE's leaderboard shows: one plain sentence that claims no more than means without a spread carry."""

from dspy_proact.benchmarks.probe.report.leaderboard import Leaderboard, OwnEntry
from dspy_proact.report.numbers import MEASURES_NOTHING, bounds, counted, listed, share


def leaderboard_headline(board: Leaderboard) -> str:
    """The task score of each run, which is not ranked; without runs the best published one."""
    begin = MEASURES_NOTHING if any(entry.embedded for entry in board.runs) else ""
    told = [*map(_scored, board.runs), _beside(board)] if board.runs else [_first(board)]
    return f"{begin}{'; '.join(told)}."


def _first(board: Leaderboard) -> str:
    models = [row for row in board.published if row.kind == "model"]
    most = max(row.task for row in models)
    names = [row.name for row in models if row.task == most]
    verb = "have" if len(names) > 1 else "has"
    best = f"{listed(names)} {verb} the highest task score of {len(models)} published models, {share(most, 0)} %"
    return f"{best}; no spread was published, so that no difference can be told from chance"


def _scored(entry: OwnEntry) -> str:
    task = entry.scores["task"]
    told = "no task score" if task.value is None else f"a task score of {share(task.value)} % ({bounds(task)})"
    return f"{entry.name} has {told} on {counted(entry.tasks, 'task')}"


def _beside(board: Leaderboard) -> str:
    verb = "stands" if len(board.runs) == 1 else "stand"
    return f"{'it' if len(board.runs) == 1 else 'they'} {verb} beside the published rows and not among them"
