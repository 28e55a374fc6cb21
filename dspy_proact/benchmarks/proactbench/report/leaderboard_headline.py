"""What a leaderboard shows: one plain sentence that claims no more than the tests of the ranks carry."""

from collections.abc import Iterator, Sequence

from dspy_proact.benchmarks.proactbench.report.leaderboard import Entry, Leaderboard, own_name
from dspy_proact.report.numbers import MEASURES_NOTHING, bounds, counted, listed, share

_MOST_NAMED = 3


def leaderboard_headline(board: Leaderboard) -> str:
    """Where the runs rank and which ranks are open, or that they are not ranked; without runs, who is first."""
    begin = MEASURES_NOTHING if any(entry.embedded for entry in board.runs) else ""
    told = [*_placed(board), *_unranked(board)] if board.runs else [_first(board)]
    return f"{begin}{'; '.join(told)}."


def _first(board: Leaderboard) -> str:
    """Who is first, and who is not told from it by the tests."""
    ranked = board.ranked
    first = [entry for entry in ranked if entry.rank_lenient == 1]
    verb = "rank first" if len(first) > 1 else "ranks first"
    told = f"{listed([own_name(entry.model) for entry in first])} {verb} of {len(ranked)} ({_score(first[0])})"
    alike = (first[0].rank_range or (1, 1))[1] - len(first)
    if not alike:
        return f"{told}, better than each of the others by more than chance"
    # Nobody is better by more than chance than these; where they are as many, they are those that are not told apart.
    others = [own_name(entry.model) for entry in ranked if entry not in first and (entry.rank_range or (0,))[0] == 1]
    names = _shortened(others, "other") if len(others) == alike else counted(alike, "other")
    return f"{told}; the difference from {names} could not be told from chance"


def _placed(board: Leaderboard) -> Iterator[str]:
    """The runs that are ranked."""
    for entry in board.runs:
        if entry.rank_range is None:
            continue
        low, high = entry.rank_range
        told = f"{_called(board, entry)} ranks {entry.rank_lenient} of {len(board.ranked)} ({_score(entry)})"
        yield f"{told}, {f'and ranks {low} to {high} are open' if low < high else 'and no other rank is open'}"


def _unranked(board: Leaderboard) -> Iterator[str]:
    entries = [entry for entry in board.runs if entry.differences]
    if entries:
        among = sum(entry.published for entry in board.entries)
        names = [_called(board, entry) for entry in entries]
        verb = "are" if len(names) > 1 else "is"
        told = f"{_shortened(names, 'run')} {verb} not ranked among the {among} published models"
        yield f"{told}, not being measured as they were"


def _called(board: Leaderboard, entry: Entry) -> str:
    """A run by its program, and by its mark in the table where there are several."""
    return entry.name if len(board.runs) == 1 else f"{entry.name} [{board.runs.index(entry) + 1}]"


def _score(entry: Entry) -> str:
    """With its interval where it has one, which published models have not."""
    score = entry.scores.weighted
    told = f"weighted {share(score.value)} %"
    return told if score.low is None else f"{told}, {bounds(score)}"


def _shortened(names: Sequence[str], noun: str) -> str:
    """The names where they are few, else how many they are."""
    return listed(names) if len(names) <= _MOST_NAMED else counted(len(names), noun)
