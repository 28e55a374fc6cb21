"""A leaderboard as a person reads it on a terminal."""

from rich.console import Console
from rich.text import Text

from dspy_proact.benchmarks.proactbench.corpus import TRIGGERS_PER_PHASE
from dspy_proact.benchmarks.proactbench.report.leaderboard import DESIGN_EFFECT, Entry, Leaderboard, own_name
from dspy_proact.benchmarks.proactbench.report.leaderboard_headline import leaderboard_headline
from dspy_proact.report.numbers import counted, percent, share
from dspy_proact.report.terminal import Table, show, table


def print_leaderboard(board: Leaderboard, console: Console, explain: bool = False) -> None:
    """Print what it shows, the order, what each run is and how it differs; fits in 80 columns.

    Args:
        board: What is reported.
        console: Where it is printed.
        explain: Whether what the ranks rest on follows.
    """
    about = (line for number, entry in enumerate(board.runs, start=1) for line in _about(number, entry))
    show(console, leaderboard_headline(board), _table(board), *about, *_legend(board))
    show(console, *(_notes(board) if explain else ()))


def _table(board: Leaderboard) -> Table:
    numbers = ("scored", "lenient", "strict", *(phase[0] for phase in TRIGGERS_PER_PHASE))
    marks = {entry.path: f" [{number}]" for number, entry in enumerate(board.runs, start=1)}
    rows = [_row(entry, "" if entry.published else marks[entry.path]) for entry in board.entries]
    ranked = len(board.ranked)
    return table(("rank", "range", Text("strict\nrank"), "model", *numbers), rows[:ranked], rows[ranked:], names=3)


def _row(entry: Entry, mark: str) -> list[str]:
    placed = (entry.rank_lenient, entry.rank_range, entry.rank_strict)
    scored = f"{entry.tried.scored}/{entry.tried.total + entry.pending}"
    overall = (entry.scores.weighted.value, entry.scores.strict_weighted.value)
    phases = (phase.weighted for phase in entry.phases.values())
    return [*map(_rank, placed), own_name(entry.model) + mark, scored, *map(_share, (*overall, *phases))]


def _about(number: int, entry: Entry) -> list[str]:
    """What the table has no room for."""
    lenient, strict = entry.scores.weighted, entry.scores.strict_weighted
    reason = f" ({lenient.reason})" if lenient.reason else ""
    about = f"[{number}] {entry.name}, {entry.path}: lenient {percent(lenient)}, strict {percent(strict)}{reason}"
    return [about, *(f"    not ranked: {difference}" for difference in entry.differences)]


def _legend(board: Leaderboard) -> list[str]:
    initials, names = ", ".join(phase[0] for phase in TRIGGERS_PER_PHASE), ", ".join(TRIGGERS_PER_PHASE)
    dropped = sum(entry.tried.unscored for entry in board.entries if entry.published)
    return [
        f"lenient: weighted score in % over scored triggers, as published; {initials}: the same by phase ({names}).",
        f"strict: over all that were tried, the unscored counting 0; of the published models' triggers {dropped} "
        "were dropped without a trace. range: the ranks that the tests leave open.",
    ]


def _notes(board: Leaderboard) -> list[str]:
    ranked = len(board.ranked)
    moves = ", ".join(
        f"{own_name(entry.model)} {entry.rank_lenient}→{entry.rank_strict}"
        for entry in board.ranked
        if entry.rank_lenient != entry.rank_strict
    )
    among = sum(not entry.differences for entry in board.runs)
    ranks = f" {counted(among, 'run')} ranked, so all ranks are among {ranked}." if among else ""
    return [
        *([f"runs: 95 % intervals, cluster-robust over scenarios.{ranks}"] if board.runs else []),
        f"Ranks that strict scores move: {moves}.",
        f"range: the lenient ranks, of {ranked}, that tests on counts leave open: all {ranked * (ranked - 1) // 2} "
        f"pairs, Holm at 5 %, with an assumed design effect of {DESIGN_EFFECT:g} for the triggers of one scenario. "
        "That two models cannot be told apart is not transitive, so there are no groups of equals.",
        "published: ProactBench (arXiv 2605.09228), judge GPT-5.4. Counts alone, without scenarios, give no interval.",
    ]


def _rank(rank: int | tuple[int, int] | None) -> str:
    if isinstance(rank, tuple):
        return "–".join(map(str, sorted(set(rank))))
    return "-" if rank is None else str(rank)


def _share(value: float | None) -> str:
    # No room for a full 100.0, which would take a column's width from the names.
    return share(value).replace("100.0", "100")
