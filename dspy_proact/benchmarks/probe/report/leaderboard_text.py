"""PROBE's leaderboard as a person reads it on a terminal."""

from collections import defaultdict
from collections.abc import Iterator

from rich.console import Console

from dspy_proact.benchmarks.probe.corpus.published import DOUBTS, PublishedScores, published_failures
from dspy_proact.benchmarks.probe.report.failures import MODES, OF_DESCRIPTIONS, OF_RESOLUTIONS
from dspy_proact.benchmarks.probe.report.leaderboard import COLUMNS, Leaderboard, OwnEntry, overall_of
from dspy_proact.benchmarks.probe.report.leaderboard_headline import leaderboard_headline
from dspy_proact.report.numbers import counted, listed, percent, share
from dspy_proact.report.terminal import Table, each_reason, show, table

HEADINGS = ("P", "R", "F1", "ident", "task", "overall", "end to end")
_COUNTED = ("root_cause", "person", "deadline", "wrong_action", "parameters_missing", "parameters_wrong")
"""Modes that are published."""


def print_leaderboard(board: Leaderboard, console: Console, explain: bool = False) -> None:
    """Print what it shows, the published rows, and runs beside them with how they differ.

    Args:
        board: What is reported.
        console: Where it is printed.
        explain: Whether failure modes, what the numbers rest on, and what speaks against rows follow.
    """
    runs = [_runs(board)] if board.runs else []
    show(console, leaderboard_headline(board), _published(board), *runs, *_about(board), *legend(board))
    show(console, *((_failures(board), *_notes(board)) if explain else ()))


def legend(board: Leaderboard) -> Iterator[str]:
    """What the table of published rows is to be read with."""
    yield "mean scores in %; task is the paper's headline, and asks neither for evidence nor for identification."
    marks = [mark.strip() for mark in _marks(board).values()]
    yield f"{listed(marks)} the row does not go together with the paper's text, or with what was released."


def _published(board: Leaderboard) -> Table:
    sections = [
        [_row(row, board) for row in board.published if row.kind == kind] for kind in ("model", "agent", "person")
    ]
    return table(("published", *HEADINGS[:-1]), *sections)


def _row(row: PublishedScores, board: Leaderboard) -> list[str]:
    numbers = (row.precision, row.recall, row.f1, row.identification, row.task, overall_of(row))
    return [name_of(row, board), *(share(number, 0) for number in numbers)]


def _runs(board: Leaderboard) -> Table:
    rows = [
        [f"[{number}] {entry.name}", *(percent(entry.scores[name]) for name in COLUMNS)]
        for number, entry in enumerate(board.runs, start=1)
    ]
    return table(("run", *HEADINGS), rows)


def _about(board: Leaderboard) -> Iterator[str]:
    for number, entry in enumerate(board.runs, start=1):
        people = counted(entry.people, "person", "people")
        yield f"[{number}] {entry.path}: {counted(entry.tasks, 'task')} of {people}"
        yield from (f"    otherwise: {difference}" for difference in entry.differences)
        reasons = zip(HEADINGS, (entry.scores[name].reason for name in COLUMNS), strict=True)
        yield from (f"    {line}" for line in each_reason(reasons))


def _failures(board: Leaderboard) -> Table:
    published = [[each.model, *(share(each.shares[mode], 0) for mode in _COUNTED)] for each in published_failures()]
    own = [
        [f"[{number}] {entry.name}", *(_of(entry, mode) for mode in _COUNTED)]
        for number, entry in enumerate(board.runs, start=1)
    ]
    return table(("of failures, % with", *(MODES[mode] for mode in _COUNTED)), published, own)


def _of(entry: OwnEntry, mode: str) -> str:
    found = entry.failures
    of = found.descriptions if mode in OF_DESCRIPTIONS else found.resolutions
    return f"{share(found.share(mode), 0)} ({found.modes[mode]}/{of})"


def _notes(board: Leaderboard) -> Iterator[str]:
    if board.runs:
        yield "runs: 95 % intervals, cluster-robust over people."
    yield (
        "published: PROBE (arXiv 2510.19771), means without a spread, so without intervals and ranks. The 40 % that "
        "its text calls end to end are its task column; overall is its weighted formula, which it does not print: 49 "
        "for GPT-5."
    )
    yield from doubts(board)
    yield (
        "failures may show several modes; published as of descriptions and parameters that a judge's word does not "
        f"call CORRECT. A {MODES[OF_RESOLUTIONS[0]]} is told by ids in runs, by a judge's word in the published rows."
    )


def doubts(board: Leaderboard) -> Iterator[str]:
    """What speaks against rows, by its mark."""
    rows = defaultdict[str, list[str]](list)
    for row in board.published:
        for word in row.doubts:
            rows[word].append(row.name)
    marks = _marks(board)
    yield from (f"{marks[word].strip()} {', '.join(names)}: {DOUBTS[word]}." for word, names in rows.items())


def name_of(row: PublishedScores, board: Leaderboard) -> str:
    """A published row's name with its marks."""
    marks = _marks(board)
    entries = f" (n={row.entries})" if row.entries else ""
    return f"{row.name}{entries}{''.join(marks[word] for word in row.doubts)}"


def _marks(board: Leaderboard) -> dict[str, str]:
    """A letter for each doubt, in the order of the rows."""
    words = dict.fromkeys(word for row in board.published for word in row.doubts)
    return {word: f" {chr(ord('a') + number)})" for number, word in enumerate(words)}
