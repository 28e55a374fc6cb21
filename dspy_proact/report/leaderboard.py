"""Published rows and runs in one table: a run is ranked where it was measured as the rows were, else it stands below.

A published row is known by its counts or by its means alone, so that it has no interval. Where counts by label were
published, a row has a range of ranks, from tests on counts that assume how alike the cases of a group are; where means
alone were, nothing can be told from chance, and no row is said to be better than another.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from dspy_proact.errors import UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.checks import checked
from dspy_proact.evaluation.published import Counts, Published, pooled, published_rows
from dspy_proact.evaluation.registry import benchmark_of, reporting_of
from dspy_proact.report.glossary import explained
from dspy_proact.report.numbers import bounds, counted, fields_of, listed, percent, plain, share
from dspy_proact.report.summary import Summary
from dspy_proact.report.terminal import TerminalTable, reason_lines, show, table
from dspy_proact.stand_in import demonstration, stand_in_note
from dspy_proact.stats import Counted, Estimate, competition_ranks, rank_ranges

DESIGN_EFFECT = 2.0
"""By how much the likeness of a group's cases widens a variance: an assumption, for counts do not tell."""
MOST_UNSCORED = 0.05
"""Share of its cases that a ranked run may have without a score."""
UNKNOWN_ORIGIN = "a results file does not say which judge, prompt and decoding made it"
SCORE, STRICT, MACRO = "score", "strict", "macro"
"""Columns of every benchmark: the mean score over what was scored and over all that were tried; the mean of strata."""
_COUNTS_ONLY = "counts alone, without groups, give no interval; see the rank range"
_MEANS_ONLY = "no spread was published"
_NO_SPREAD = "no spread was published, so that no difference can be told from chance"
_MOST_NAMED = 3


@dataclass(frozen=True)
class LeaderboardRow:
    """A published row or a run."""

    name: str
    """Of a run the model with its program."""
    kind: str
    """`run`, or what a published row is of, such as `model`."""
    scores: Mapping[str, Estimate] = field(hash=False)
    """By column, in [0, 1]; without bounds for a published row."""
    counts: Mapping[str, Counts] = field(default_factory=dict[str, Counts], hash=False)
    """By stratum; empty where they are not known."""
    pending: int = 0
    """Cases not yet tried; 0 for a published row."""
    cases: int | None = None
    groups: int | None = None
    path: str | None = None
    """Of a run or results file; None for a published row."""
    embedded: bool = False
    """Whether a stand-in that measures nothing took part."""
    differences: tuple[str, ...] = ()
    """What was done otherwise than for the published rows; empty for these and for what is ranked with them."""
    notes: tuple[str, ...] = ()
    """What speaks against a published row."""
    rank: int | None = None
    """1 is the best, ties share the better rank; None where anything was done otherwise."""
    strict_rank: int | None = None
    """Rank by the strict score; None where counts are not known."""
    rank_range: tuple[int, int] | None = None
    """Best and worst rank that the tests leave open; None without counts."""

    @property
    def published(self) -> bool:
        """Whether it is no run."""
        return self.path is None

    grouped: tuple[tuple[float, str], ...] = field(default=(), repr=False)
    """Score and group of each scored case; empty for a published row."""

    @property
    def tried(self) -> Counts:
        """Counts of all strata together."""
        return pooled(self.counts.values())

    @property
    def counted(self) -> Counted:
        """The score for the tests of the ranks: a run's rests on its own groups."""
        tried = self.tried
        counted = Counted.of_scores(tried.full, tried.partial, tried.fail)
        return counted.in_groups(*zip(*self.grouped, strict=True)) if self.grouped else counted


@dataclass(frozen=True)
class Leaderboard:
    """Entries in order: the ranked by their score, then published rows of other kinds, then runs as they were given."""

    declared: Benchmark[Any, Any]
    entries: tuple[LeaderboardRow, ...]
    columns: Mapping[str, str]
    """Heading of each column, by name."""
    summaries: tuple[Summary, ...] = ()

    def __repr__(self) -> str:
        return f"Leaderboard({self.declared.name!r}, {len(self.ranked)} ranked, {len(self.runs)} runs)"

    @property
    def counts(self) -> set[str]:
        """The columns that are counts, and no shares: means of what has no upper bound."""
        return {measure.name for measure in self.declared.measures if measure.least == 0 and measure.most is None}

    @property
    def published(self) -> Published:
        """What its rows are of."""
        assert self.declared.published is not None, "a leaderboard has published rows"
        return self.declared.published

    @property
    def ranked(self) -> tuple[LeaderboardRow, ...]:
        """Those with a rank, the published ones among them."""
        return tuple(entry for entry in self.entries if entry.rank is not None)

    @property
    def runs(self) -> tuple[LeaderboardRow, ...]:
        """Those that are not published."""
        return tuple(entry for entry in self.entries if not entry.published)

    @property
    def with_ranges(self) -> bool:
        """Whether there are counts, and so ranges of ranks and strict ranks."""
        return any(entry.rank_range for entry in self.entries)

    @property
    def blocks(self) -> list[list[tuple[int, LeaderboardRow]]]:
        """The entries that stand together in a table, each with its place among all: the ranked, then every kind."""
        blocks: dict[str, list[tuple[int, LeaderboardRow]]] = {}
        for number, entry in enumerate(self.entries):
            blocks.setdefault("ranked" if entry.rank else entry.kind, []).append((number, entry))
        return list(blocks.values())

    @property
    def stands(self) -> bool:
        """Whether a run is ranked, or would be if anything were."""
        return any(entry.rank is not None or not (entry.counts or entry.embedded) for entry in self.runs)


def leaderboard(runs: Sequence[Summary] = (), benchmark: Benchmark[Any, Any] | str | None = None) -> Leaderboard:
    """Put the published rows of a benchmark in order, and runs or results files of it with them, each once.

    The benchmark is given by its name, its file, or itself; None for that of the runs, or the first one.

    Raises a `UsageError` where nothing was published, one path is given twice, or a run is of another benchmark.
    """
    declared = benchmark_of(next((run.benchmark for run in runs), None), benchmark)
    rows = checked(declared, "published", published_rows(declared))
    if declared.published is None or not rows:
        raise UsageError(f"{declared.name}: it has no leaderboard; `compare` takes two of its runs")
    paths = [Path(run.path).resolve() for run in runs]
    if again := next((run.path for run, path in zip(runs, paths, strict=True) if paths.count(path) > 1), None):
        raise UsageError(f"{again}: given twice; name each run once")
    if strange := next((run for run in runs if run.benchmark != declared.name), None):
        raise UsageError(f"{strange.path}: of {strange.benchmark!r}; the leaderboard is of {declared.name}")
    columns = dict(declared.published.columns) or {name: name for name in rows[0].scores}
    entries: list[LeaderboardRow] = []
    for row in rows:
        reason = _COUNTS_ONLY if row.counts else _MEANS_ONLY
        scores = {name: Estimate(row.scores.get(name), reason=reason) for name in columns}
        entries.append(LeaderboardRow(row.name, row.kind, scores, row.counts, cases=row.cases, notes=tuple(row.notes)))
    with_counts = any(row.counts for row in rows)
    entries += [_run(declared, declared.published, run, columns, with_counts) for run in runs]
    rankable = [entry for entry in entries if not entry.differences and entry.kind in (rows[0].kind, "run")]
    ranked = _with_ranks(rankable, declared.published.headline)
    rest = [entry for entry in entries if entry not in rankable]
    return Leaderboard(declared, (*ranked, *rest), columns, tuple(runs))


def _with_ranks(entries: Sequence[LeaderboardRow], column: str) -> list[LeaderboardRow]:
    """The entries with their ranks, best first; ranges and strict ranks where all have counts."""
    if all(entry.counts for entry in entries):
        tried = [entry.tried for entry in entries]
        # Counts order all alike: means that were summed otherwise may differ in the last digit and part a tie.
        lenient = competition_ranks([counts.weighted or 0.0 for counts in tried])
        strict = competition_ranks([counts.strict_weighted or 0.0 for counts in tried])
        ranges = rank_ranges([entry.counted for entry in entries], DESIGN_EFFECT)
    else:
        lenient = competition_ranks([entry.scores[column].value or 0.0 for entry in entries])
        strict = ranges = [None] * len(entries)
    placed = zip(lenient, entries, strict, ranges, strict=True)
    return [
        replace(entry, rank=rank, strict_rank=second, rank_range=span)
        for rank, entry, second, span in sorted(placed, key=lambda row: row[0])
    ]


def _run(
    declared: Benchmark[Any, Any], published: Published, run: Summary, columns: Mapping[str, str], with_counts: bool
) -> LeaderboardRow:
    own = {SCORE: run.micro.weighted, STRICT: run.micro.strict_weighted, MACRO: run.macro.weighted}
    strata = {stratum: run.scores(stratum).weighted for stratum in declared.strata if stratum in columns}
    measures = run.measured(run.outcomes, by_stratum=published.headline == MACRO)
    known = {**measures, **strata, **own}
    differences = [note] if (note := stand_in_note(run.roles)) else []
    differences += published.differences(run) if run.manifest else [UNKNOWN_ORIGIN]
    cases, unscored = declared.nouns.cases, run.count("unscored")
    # A model could gain by what it does not answer.
    if pending := run.count("pending"):
        differences.append(f"not complete: {pending} of {len(run.outcomes)} {cases} pending")
    elif unscored > MOST_UNSCORED * len(run.outcomes):
        most = f"at most {MOST_UNSCORED:.0%} may lack one"
        differences.append(f"{unscored} of {len(run.outcomes)} {cases} have no score; {most}")
    elif with_counts and (empty := [stratum for stratum in declared.strata if not run.of_stratum(stratum)]):
        differences.append(f"without {listed(empty)}")
    counts: dict[str, Counts] = {}
    for stratum in declared.strata:
        labels = [outcome.label for outcome in run.of_stratum(stratum) if outcome.state != "pending"]
        counts[stratum] = Counts.of(len(labels), [labels.count(label) for label in declared.labels])
    return LeaderboardRow(
        run.model_name,
        "run",
        {name: known.get(name, Estimate(None, reason="not measured")) for name in columns},
        counts if with_counts else {},
        pending=pending,
        cases=run.case_count,
        groups=run.group_count,
        path=run.path,
        embedded=run.embedded,
        differences=tuple(differences),
        grouped=tuple((outcome.score, outcome.group) for outcome in run.scored),
    )


def leaderboard_headline(board: Leaderboard) -> str:
    """Where runs rank and which ranks are open, or that they are not ranked; without runs, which row is first.

    It claims no more than the tests of the ranks carry: without counts nothing is told from chance.
    """
    begin = demonstration(role for run in board.summaries for role in run.roles)
    parts = [] if board.runs else [_first(board)]
    unranked: list[str] = []
    for number, entry in enumerate(board.runs, start=1):
        name = entry.name if len(board.runs) == 1 else f"{entry.name} [{number}]"
        if entry.rank is None:
            unranked.append(f"{name} ({_score(board, entry)})")
            continue
        placed = f"{name} ranks {entry.rank} of {len(board.ranked)} ({_score(board, entry)}"
        if entry.rank_range is None:
            parts.append(f"{placed}); {_NO_SPREAD}")
            continue
        low, high = entry.rank_range
        scored = f"{entry.tried.scored} of {entry.tried.total} scored; strict rank {entry.strict_rank}"
        still = f"ranks {low} to {high} are open" if low < high else "no other rank is open"
        parts.append(f"{placed}, {scored}), and {still}")
    if unranked:
        among = sum(entry.published for entry in board.entries)
        names = f"{_shortened(unranked, 'run')} {'are' if len(unranked) > 1 else 'is'}"
        parts.append(f"{names} not ranked among the {among} published rows, not being measured as they were")
    return f"{begin}{'; '.join(parts)}."


def _first(board: Leaderboard) -> str:
    """Which row is first, and which others the tests do not tell from it."""
    ranked = board.ranked
    first = [entry for entry in ranked if entry.rank == 1]
    verb = "rank first" if len(first) > 1 else "ranks first"
    text = f"{listed([own_name(entry.name) for entry in first])} {verb} of {len(ranked)} ({_score(board, first[0])})"
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
    """With its interval where it has one, which published rows have not."""
    headline = board.published.headline
    score, name = entry.scores[headline], board.columns[headline]
    text = f"{name} {share(score.value)} %"
    return text if score.low is None else f"{text}, {bounds(score)}"


def _shortened(names: Sequence[str], noun: str) -> str:
    """The names where they are few, else how many they are."""
    return listed(names) if len(names) <= _MOST_NAMED else counted(len(names), noun)


def own_name(model: str) -> str:
    """A model's name after any vendor or router."""
    return model.rsplit("/", 1)[-1] or model


def leaderboard_document(board: Leaderboard) -> dict[str, Any]:
    """The document of `leaderboard --json`. A value that cannot be given is null; scores have a `reason` then."""
    labels = [label.lower() for label in board.declared.labels]
    shown = ("name", "kind", "published", "path", "embedded", "cases", "groups", "pending", "rank", "strict_rank")
    shown += ("rank_range", "scores", "differences", "notes")

    def of_stratum(counts: Counts) -> dict[str, int]:
        return {"total": counts.total, **counts.by(labels), "unscored": counts.unscored}

    return {
        "headline": leaderboard_headline(board),
        "rows": [
            fields_of(entry, *shown)
            | {"counts": {stratum: of_stratum(counts) for stratum, counts in entry.counts.items()} or None}
            for entry in board.entries
        ],
        "design_effect": DESIGN_EFFECT if board.with_ranges else None,
        **reporting_of(board.declared.name).leaderboard(board.summaries).document,
    }


def print_leaderboard(board: Leaderboard, console: Console, explain: bool = False) -> None:
    """Print the headline, the table, what each run is and how it differs; with `explain`, the details."""
    headline, nouns = board.published.headline, board.declared.nouns
    show(console, leaderboard_headline(board), _table(board))
    for number, entry in enumerate(board.runs, start=1):
        score, title = entry.scores[headline], board.columns[headline]
        reason = f" ({score.reason})" if score.reason else ""
        cases = counted(entry.cases or 0, nouns.case, nouns.cases)
        extent = f"{cases} of {counted(entry.groups or 0, nouns.group, nouns.groups)}"
        show(console, f"[{number}] {entry.name}, {entry.path}: {extent}, {title} {percent(score)}{reason}")
        show(console, *(f"    not ranked: {difference}" for difference in entry.differences))
        others = {name: entry.scores[key].reason for key, name in board.columns.items() if key != headline}
        show(console, *(f"    {line}" for line in reason_lines(others.items())))
    show(console, *legend(board), *(_details(board) if explain else ()))


def _table(board: Leaderboard) -> TerminalTable:
    marks = {id(entry): f" [{number}]" for number, entry in enumerate(board.runs, start=1)}
    leading = ("rank", "range", Text("strict\nrank")) if board.with_ranges else ("rank",)
    scored = ("scored",) if board.with_ranges else ()

    def row(entry: LeaderboardRow) -> list[str]:
        placed = (entry.rank, entry.rank_range, entry.strict_rank)[: len(leading)]
        ranks = ("–".join(map(str, sorted({*of}))) if isinstance(of, tuple) else str(of or "-") for of in placed)
        counts = [f"{entry.tried.scored}/{entry.tried.total + entry.pending}"] if board.with_ranges else []
        # No room for a full 100.0, which would take a column's width from the names.
        scores = [
            plain(score) if column in board.counts else share(score.value).replace("100.0", "100")
            for column, score in ((column, entry.scores[column]) for column in board.columns)
        ]
        return [*ranks, f"{own_name(entry.name)}{marks.get(id(entry), '')}", *counts, *scores]

    blocks = ([row(entry) for _, entry in block] for block in board.blocks)
    return table((*leading, "model", *scored, *board.columns.values()), *blocks, names=len(leading))


def legend(board: Leaderboard) -> Iterator[str]:
    """What the columns are, and what the benchmark says of them."""
    others = listed([title for name, title in board.columns.items() if name in board.counts])
    yield f"scores in %{f' (but {others})' if others else ''}, over what was scored, as published."
    if board.with_ranges:
        dropped = sum(entry.tried.unscored for entry in board.entries if entry.published)
        nouns = board.declared.nouns
        yield (
            f"{explained(nouns, 'strict', 'range')} Of the published models' {nouns.cases} {dropped} have no published "
            "grade."
        )
    yield from board.published.notes


def _details(board: Leaderboard) -> Iterator[Any]:
    ranked, nouns = len(board.ranked), board.declared.nouns
    if board.runs:
        among = sum(entry.rank is not None for entry in board.runs)
        ranks = f" {counted(among, 'run')} ranked, so all ranks are among {ranked}." if among else ""
        yield f"runs: 95 % intervals, cluster-robust over {nouns.groups}.{ranks}"
    if board.with_ranges:
        moves = ", ".join(
            f"{own_name(entry.name)} {entry.rank}→{entry.strict_rank}"
            for entry in board.ranked
            if entry.rank != entry.strict_rank
        )
        yield f"Ranks that strict scores move: {moves or 'none'}."
        yield (
            f"range: the ranks, of {ranked}, that tests on counts cannot rule out: all {ranked * (ranked - 1) // 2} "
            f"pairs, Holm at 5 %, with an assumed design effect of {DESIGN_EFFECT:g} for the {nouns.cases} of one "
            f"{nouns.group} in published rows, and in a run its own. That two models cannot be told apart is not "
            "transitive, so there are no groups of equals."
        )
    yield from reason_lines((entry.name, note) for entry in board.entries for note in entry.notes)
    yield from reporting_of(board.declared.name).leaderboard(board.summaries).details
