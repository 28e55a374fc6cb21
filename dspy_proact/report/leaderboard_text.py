"""The leaderboard as people and programs read it: its headline, its table with what that rests on, and its document."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rich.console import Console

from dspy_proact.evaluation.published import Counts
from dspy_proact.evaluation.registry import reporting_of
from dspy_proact.report.glossary import GLOSSARY, explained
from dspy_proact.report.leaderboard import STRICT, Leaderboard, LeaderboardRow, own_name
from dspy_proact.report.numbers import counted, fields_of, interval, listed, name_or, percent, plain, share
from dspy_proact.report.terminal import TerminalTable, reason_lines, show, table
from dspy_proact.stand_in import demonstration
from dspy_proact.stats import DESIGN_EFFECT, Headline

_NO_SPREAD = "no spread was published, so nothing is told from chance"
_MOST_NAMED = 3


def in_brackets(run: int) -> str:
    """What a run is called in the table of a terminal: [1], [2] and so on."""
    return f"[{run + 1}]"


def leaderboard_headline(board: Leaderboard, mark: Callable[[int], str] = in_brackets) -> Headline:
    """Where the best run ranks and which ranks are open, or that none is ranked; without runs, which row is first.

    It claims no more than the tests of the ranks carry: without counts nothing is told from chance. "Higher" is said
    of a first row that is alone. `mark` says what a run is called.
    """
    ranked = [entry for entry in board.ranked if not entry.published]
    if ranked:
        shown = demonstration(role for run in board.summaries for role in run.roles) if board.corpus else ""
        text, entry = f"{shown}{_ranked(board, ranked, mark)}", ranked[0]
    elif board.runs:
        begin = demonstration(role for run in board.summaries for role in run.roles)
        text, entry = f"{begin}{_unranked(board, mark)}", board.runs[0] if len(board.runs) == 1 else None
    else:
        text, entry = _first(board), board.ranked[0]
    score = entry and entry.scores[board.ranking]
    pairs = len(board.ranked) * (len(board.ranked) - 1) // 2
    alone = entry and entry.rank_range == (1, 1) and pairs
    marks = [mark(board.number(run)) for run in board.runs if run.rank is None]
    tests = f"tests of {pairs} pairs, Holm, design effect {board.design_effect:.3g}"
    reserved = (
        (score and score.low is not None and score.reason, f"The interval: {score and score.reason}."),
        (ranked and marks, f"Measured otherwise, and not ranked: {listed(marks)}."),
    )
    return Headline(
        f"{text}.",
        side="higher" if alone else None,
        number=score,
        test=tests if board.with_ranges and (ranked or not board.runs) else None,
        count=_count(board, entry) if entry else None,
        caveats=tuple(sentence for holds, sentence in reserved if holds),
    )


def _count(board: Leaderboard, entry: LeaderboardRow) -> int | None:
    """Of how many cases the score that ranks is: of all that were tried if it is strict, else of those with a score."""
    if entry.scored is not None and board.ranking != STRICT:
        return entry.scored
    return entry.tried.total if entry.counts else entry.cases


def _ranked(board: Leaderboard, ranked: Sequence[LeaderboardRow], mark: Callable[[int], str]) -> str:
    """The best of the runs that are ranked."""
    best = ranked[0]
    tied = "tied" if sum(run.rank == best.rank for run in ranked) > 1 else "the"
    others = f", {tied} best of {len(ranked)} runs" if len(ranked) > 1 else ""
    if board.corpus:
        alike = sum(run.rank == 1 for run in ranked) - 1
        others = f" runs on {board.corpus_name}{f', tied with {alike} more' if alike else ''}"
    scored = f", {best.tried.scored} of {best.tried.total} scored" if best.rank_range else ""
    name = name_or(best.name, mark(board.number(best)))
    ranks = f"{name} ranks {best.rank} of {len(board.ranked)}{others} ({_score(board, best)}{scored})"
    if board.corpus and len(ranked) == 1:
        return ranks
    if best.rank_range is None:
        return f"{ranks}; {_NO_SPREAD}"
    low, high = best.rank_range
    return f"{ranks}; {f'ranks {low} to {high} are open' if low < high else 'no other rank is open'}"


def _unranked(board: Leaderboard, mark: Callable[[int], str]) -> str:
    """Runs that were measured otherwise than the rows."""
    rows = counted(sum(entry.published for entry in board.entries), "published row")
    run, *others = board.runs
    if board.corpus:
        of = f"None of {len(board.runs)} runs on" if others else "The only run on"
        return f"{of} {board.corpus_name} is ranked; why is written beside each"
    if others:
        return f"None of {len(board.runs)} runs is ranked: all were measured otherwise than the {rows}"
    scored = f", {run.scored} of {run.cases} scored" if run.scored != run.cases else ""
    name = name_or(run.name, mark(board.number(run)))
    return f"{name} ({_score(board, run)}{scored}) was measured otherwise than the {rows}, and is not ranked"


def _first(board: Leaderboard) -> str:
    """Which row is first, and which others the tests do not tell from it."""
    ranked = board.ranked
    first = [entry for entry in ranked if entry.rank == 1]
    verb = "rank first" if len(first) > 1 else "ranks first"
    names = _shortened([own_name(entry.name) for entry in first], "row")
    text = f"{names} {verb} of {len(ranked)} ({_score(board, first[0])})"
    if len(first) == len(ranked):
        return text
    if first[0].rank_range is None:
        return f"{text}; {_NO_SPREAD}"
    alike = first[0].rank_range[1] - len(first)
    if not alike:
        return f"{text}, better than each of the others by more than chance"
    # No row is better by more than chance than these; where they are as many, they are those that are not told apart.
    others = [own_name(entry.name) for entry in ranked if entry not in first and (entry.rank_range or (0,))[0] == 1]
    names = _shortened(others, "other") if len(others) == alike else counted(alike, "other")
    return f"{text}; the difference from {names} could not be told from chance"


def _score(board: Leaderboard, entry: LeaderboardRow) -> str:
    """The score that ranks, with its interval where it has one, which published rows have not."""
    score, name = entry.scores[board.ranking], board.columns[board.ranking]
    text = f"{name} {share(score.value)} %"
    return text if score.low is None else f"{text}, {interval(score)}"


def _shortened(names: Sequence[str], noun: str) -> str:
    """The names where they are few, else how many they are."""
    return listed(names) if len(names) <= _MOST_NAMED else counted(len(names), noun)


def leaderboard_document(board: Leaderboard) -> dict[str, Any]:
    """The document of `leaderboard --json`. A value that cannot be given is null; scores have a `reason` then."""
    labels = [label.lower() for label in board.declared.labels]
    shown = (
        "name",
        "kind",
        "published",
        "path",
        "embedded",
        "cases",
        "groups",
        "scored",
        "few",
        "pending",
        "rank",
        "lenient_rank",
    )
    shown += ("rank_range", "scores", "differences", "notes")

    def of_stratum(counts: Counts) -> dict[str, int]:
        by_label = dict(zip(labels, counts.labels, strict=True))
        return {"total": counts.total, **by_label, "unscored": counts.unscored}

    first = leaderboard_headline(board)
    return {
        "headline": first.text,
        "claim": first.claim,
        "ranked_by": board.ranking,
        "rows": [
            fields_of(entry, *shown)
            | {"counts": {stratum: of_stratum(counts) for stratum, counts in entry.counts.items()} or None}
            | {"origin": entry.added and fields_of(entry.added, "judge", "source", "date")}
            for entry in board.entries
        ],
        "design_effect": board.design_effect if board.with_ranges else None,
        "corpus": board.corpus and {"name": board.corpus.name, "cases": board.corpus.cases},
        **reporting_of(board.declared.name).leaderboard(board.summaries).document,
    }


def print_leaderboard(board: Leaderboard, console: Console | None = None, explain: bool = False) -> None:
    """Print the headline, the table, what each run is and how it differs; with `explain`, the details."""
    ranking, nouns = board.ranking, board.declared.nouns
    show(console, *leaderboard_headline(board).lines, _table(board))
    for entry in board.runs:
        score, title = entry.scores[ranking], board.columns[ranking]
        reason = f" ({score.reason})" if score.reason else ""
        cases = counted(entry.cases or 0, nouns.case, nouns.cases)
        extent = f"{cases} of {counted(entry.groups or 0, nouns.group, nouns.groups)}"
        extent += f", {entry.scored:,} scored" if entry.scored != entry.cases else ""
        named = f"{in_brackets(board.number(entry))} {entry.name}, {entry.path}"
        show(console, f"{named}: {extent}, {title} {percent(score)}{reason}")
        show(console, *(f"    not ranked: {difference}" for difference in entry.differences))
        others = {name: entry.scores[key].reason for key, name in board.columns.items() if key != ranking}
        show(console, *(f"    {line}" for line in reason_lines(others.items())))
    show(console, *(f"{entry.name}, {entry.added.provenance(nouns)}" for entry in board.unverified if entry.added))
    show(console, *legend(board), *(_details(board) if explain else ()))


def _table(board: Leaderboard) -> TerminalTable:
    marks = {id(entry): f" {in_brackets(board.number(entry))}" for entry in board.runs}
    marks |= {id(entry): " (unverified)" for entry in board.unverified}
    leading, scored = (("rank", "range"), ("scored",)) if board.with_ranges else (("rank",), ())

    def row(entry: LeaderboardRow) -> list[str]:
        placed = (entry.rank, entry.rank_range)[: len(leading)]
        ranks = ("–".join(map(str, sorted({*of}))) if isinstance(of, tuple) else str(of or "-") for of in placed)
        scored, total = entry.tried.scored, entry.tried.total + entry.pending
        scored, total = (entry.added.scored, entry.added.total) if entry.added else (scored, total)
        counts = [f"{scored}/{total}"] if board.with_ranges else []
        # No room for a full 100.0, which would take a column's width from the names.
        scores = [
            plain(score) if column in board.counts else share(score.value).replace("100.0", "100")
            for column, score in ((column, entry.scores[column]) for column in board.columns)
        ]
        return [*ranks, f"{own_name(entry.name)}{marks.get(id(entry), '')}", *counts, *scores]

    blocks = ([row(entry) for _, entry in block] for block in board.blocks)
    return table((*leading, "model", *scored, *board.columns.values()), *blocks, names=len(leading))


def legend(board: Leaderboard, mark: Callable[[int], str] = in_brackets) -> Iterator[str]:
    """What ranks, what the columns are, the design effect of the ranges, and what the benchmark says of the table."""
    others = listed([title for name, title in board.columns.items() if name in board.counts])
    percents = f"scores in %{f' (but {others})' if others else ''}"
    nouns, published = board.declared.nouns, "" if board.corpus else ", as published"
    if STRICT not in board.columns:
        yield f"{percents}, over what was scored{published}; {board.columns[board.ranking]} ranks."
    else:
        yield f"strict, which ranks: {GLOSSARY['strict']}. Other {percents}, over what was scored{published}."
    if board.with_ranges:
        yield f"{explained(nouns, 'range')[:-1]}, {_of_design_effect(board, mark)}."
        dropped = sum(entry.tried.unscored for entry in board.entries if entry.published)
        yield from [f"Of the published models' {nouns.cases} {dropped} have no published grade."] if dropped else []
    if board.unverified:
        yield "unverified: as its source states it; nothing about it was checked here, and it is not ranked."
    yield from board.published.notes


def _of_design_effect(board: Leaderboard, mark: Callable[[int], str]) -> str:
    """What the ranges take for the likeness of a group's cases, and where that number is from."""
    nouns, ranked = board.declared.nouns, [run for run in board.runs if run.rank]
    known = {mark(board.number(run)): run.tested.design_effect for run in ranked if run.tested}
    shown = {name: effect for name, effect in known.items() if effect is not None}
    largest = max(shown, key=lambda name: shown[name], default=None)
    if largest and shown[largest] > DESIGN_EFFECT:
        return f"with the design effect that {largest} shows, {shown[largest]:.1f}, above the usual assumption of 2"
    less = f" ({largest} shows {shown[largest]:.1f})" if largest else ""
    alike = f"if {nouns.cases} of one {nouns.group} are more alike, ranges are too narrow"
    return f"with an assumed design effect of {DESIGN_EFFECT:g}{less}; {alike}"


def _details(board: Leaderboard) -> Iterator[Any]:
    ranked, nouns = len(board.ranked), board.declared.nouns
    if board.runs:
        among = sum(entry.rank is not None for entry in board.runs)
        ranks = f" {counted(among, 'run')} ranked, so all ranks are among {ranked}." if among else ""
        yield f"runs: 95 % intervals, cluster-robust over {nouns.groups}.{ranks}"
    if STRICT in board.columns:
        moves = ", ".join(
            f"{own_name(entry.name)} {entry.lenient_rank}→{entry.rank}"
            for entry in sorted(board.ranked, key=lambda entry: entry.lenient_rank or 0)
            if entry.rank != entry.lenient_rank
        )
        yield f"Ranks by {board.columns[board.published.headline]} that strict scores move: {moves or 'none'}."
    if board.with_ranges:
        yield (
            f"range: tests on counts of all {ranked * (ranked - 1) // 2} pairs, Holm at 5 %. The design effect is by "
            f"how much the likeness of one {nouns.group}'s {nouns.cases} widens a variance; it was 1.1 to 3.3 in "
            "simulations. That two models cannot be told apart is not transitive, so there are no groups of equals."
        )
    yield from reason_lines((entry.name, note) for entry in board.entries for note in entry.notes)
    yield from reporting_of(board.declared.name).leaderboard(board.summaries).details
