"""Published rows and runs in one table: a run is ranked where it was measured as the rows were, else it stands below.

The strict score ranks, for a model could gain by what it does not answer. A published row is known by its counts or by
its means alone, so that it has no interval. Where counts by label were published, a row has a range of ranks, from
tests on counts that assume how alike the cases of a group are; where means alone were, nothing can be told from chance,
and no row is said to be better than another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from dspy_proact.errors import UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.checks import checked
from dspy_proact.evaluation.published import Counts, Published, PublishedRow, equal_steps, pooled, published_rows
from dspy_proact.evaluation.registry import benchmark_of
from dspy_proact.report.added_rows import MACRO, STRICT, AddedRow, added_rows
from dspy_proact.report.corpus_ranking import SCORE, UNKNOWN_ORIGIN, conditions_on
from dspy_proact.report.numbers import listed, name_or
from dspy_proact.report.summary import Summary
from dspy_proact.runs import CorpusRecord
from dspy_proact.stand_in import stand_in_note
from dspy_proact.stats import DESIGN_EFFECT, Counted, Estimate, competition_ranks, rank_ranges

MOST_UNSCORED = 0.05
"""Share of its cases that a ranked run may have without a score."""
_MEANS = (SCORE, MACRO)
"""Headlines that have a strict score beside them."""
_COUNTS_ONLY = "counts alone, without groups, give no interval; see the rank range"
_MEANS_ONLY = "no spread was published"
_NOT_MEASURED = Estimate(None, reason="not measured")
_NOT_REPORTED = "its source does not report it"
_UNVERIFIED = "unverified, without an interval"


@dataclass(frozen=True)
class LeaderboardRow:
    """A published row, a run, or an unverified row of others."""

    name: str
    """Of a run the model with its program."""
    kind: str
    """`run`, `unverified`, or what a published row is of, such as `model`."""
    scores: Mapping[str, Estimate] = field(hash=False)
    """By column, in [0, 1]; without bounds for a published row."""
    counts: Mapping[str, Counts] = field(default_factory=dict[str, Counts], hash=False)
    """By stratum; empty where they are not known."""
    pending: int = 0
    """Cases not yet tried; 0 for a published row."""
    cases: int | None = None
    groups: int | None = None
    scored: int | None = None
    """Cases of a run, or an unverified row, that have a score; None for a published row."""
    few: bool = False
    """Whether a run has fewer than half as many scored cases as another row or run has: its score is of others."""
    path: str | None = None
    """Of a run or results file; None for any other row."""
    embedded: bool = False
    """Whether a stand-in that measures nothing took part."""
    differences: tuple[str, ...] = ()
    """What was done otherwise than for the published rows; empty for these and for what is ranked with them."""
    notes: tuple[str, ...] = ()
    """What speaks against a published row."""
    rank: int | None = None
    """By the strict score: 1 is the best, ties share the better rank; None where anything was done otherwise."""
    lenient_rank: int | None = None
    """By the score over what was scored, as published; None as `rank`."""
    rank_range: tuple[int, int] | None = None
    """Best and worst rank that the tests leave open; None without counts."""
    added: AddedRow | None = field(default=None, hash=False)
    """Of an unverified row, as it stands in its file, with where it is from."""
    tested: Counted | None = field(default=None, repr=False)
    """The strict score for the tests of the ranks; None without counts."""

    @property
    def published(self) -> bool:
        """Whether it is a row of those that were published with the benchmark."""
        return self.path is None and self.added is None

    @property
    def tried(self) -> Counts:
        """Counts of all strata together."""
        return pooled(self.counts.values())


@dataclass(frozen=True)
class Leaderboard:
    """Entries in order: the ranked by their rank, then published rows of other kinds, then runs as they were given.

    Unverified rows of others stand last, sorted by the score that ranks.
    """

    declared: Benchmark[Any, Any]
    entries: tuple[LeaderboardRow, ...]
    columns: Mapping[str, str]
    """Heading of each column, by name; the first is of the score that ranks."""
    summaries: tuple[Summary, ...] = ()
    terms: Published | None = None
    """What runs on a corpus of one's own have alike; None where they stand with published rows."""
    corpus: CorpusRecord | None = None
    """Of one's own, on which all runs are."""

    def __repr__(self) -> str:
        return f"Leaderboard({self.declared.name!r}, {len(self.ranked)} ranked, {len(self.runs)} runs)"

    @property
    def corpus_name(self) -> str:
        """Of the corpus of one's own, as a sentence has it."""
        return name_or(Path(self.corpus.name).name if self.corpus else "", "this corpus")

    @property
    def counts(self) -> set[str]:
        """The columns that are counts, and no shares: means of what has no upper bound."""
        return {measure.name for measure in self.declared.measures if measure.least == 0 and measure.most is None}

    @property
    def published(self) -> Published:
        """What its rows are of."""
        published = self.terms or self.declared.published
        assert published is not None, "a leaderboard has published rows, or runs on one corpus"
        return published

    @property
    def ranking(self) -> str:
        """Name of the column of the score that ranks."""
        return next(iter(self.columns))

    @property
    def design_effect(self) -> float:
        """By how much ranges take the likeness of a group's cases to widen a variance: as ranked runs show, or 2."""
        return max([DESIGN_EFFECT, *(run.tested.design_effect or 0.0 for run in self.ranked if run.tested)])

    @property
    def ranked(self) -> tuple[LeaderboardRow, ...]:
        """Those with a rank, the published ones among them."""
        return tuple(entry for entry in self.entries if entry.rank is not None)

    @property
    def runs(self) -> tuple[LeaderboardRow, ...]:
        """Those that are runs or results files."""
        return tuple(entry for entry in self.entries if entry.path is not None)

    @property
    def unverified(self) -> tuple[LeaderboardRow, ...]:
        """The rows of others."""
        return tuple(entry for entry in self.entries if entry.added)

    def number(self, run: LeaderboardRow) -> int:
        """Which of the runs it is, from 0, as they were given."""
        return [summary.path for summary in self.summaries].index(str(run.path))

    @property
    def with_ranges(self) -> bool:
        """Whether there are counts, and so ranges of ranks."""
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


def leaderboard(
    runs: Sequence[Summary] = (),
    benchmark: Benchmark[Any, Any] | str | None = None,
    corpus: str | Path | None = None,
    added: str | Path | None = None,
) -> Leaderboard:
    """Put the published rows of a benchmark in order, and runs or results files of it with them, each once.

    The benchmark is given by its name, its file, or itself; None for that of the runs, or the first one. With a corpus,
    such as a published one that was made, the runs on it are ranked, and no published row is among them. The file of
    `added` has rows of others, which stand below, unverified and without a rank; its form is in the docs of files.

    Raises a `UsageError` where nothing was published, one path is given twice, a run is of another benchmark or
    corpus, or rows are added to a corpus of one's own.
    """
    declared = benchmark_of(next((run.benchmark for run in runs), None), benchmark)
    rows = () if corpus is not None else checked(declared, "published", published_rows(declared))
    if corpus is not None and added is not None:
        raise UsageError(
            "`added` and `corpus` are mutually exclusive: rows of others are of the benchmark's own corpus"
        )
    if corpus is None and not (declared.published and rows):
        raise UsageError(f"{declared.name}: it has no leaderboard; `compare` takes its runs, and so does `corpus` here")
    paths = [Path(run.path).resolve() for run in runs]
    if again := next((run.path for run, path in zip(runs, paths, strict=True) if paths.count(path) > 1), None):
        raise UsageError(f"{again}: given twice; name each run once")
    if strange := next((run for run in runs if run.benchmark != declared.name), None):
        raise UsageError(f"{strange.path}: of {strange.benchmark!r}; the leaderboard is of {declared.name}")
    terms, record = conditions_on(declared, runs, str(corpus)) if corpus is not None else (None, None)
    published = terms or declared.published
    assert published is not None, "rows were published, or there are terms"
    headline = published.headline
    columns = dict(published.columns) or {name: name for name in (rows[0].scores if rows else [headline])}
    columns = {headline: columns.get(headline, headline), **columns}
    with_counts = headline == SCORE and (not rows or any(row.counts for row in rows))
    known = {STRICT: STRICT, **columns}
    worths = _label_scores(declared, runs)
    entries = [_published(row, known, headline, worths) for row in rows]
    shown = terms is not None and all(stand_in_note(run.roles) for run in runs)
    most = max([row.cases or pooled(row.counts.values()).total for row in rows] + [_scored(run) for run in runs])
    most = max([most, *(run.manifest.corpus.cases for run in runs if run.manifest)])
    entries += [
        _run(declared, published, run, known, with_counts=with_counts, most=most, embedded=shown) for run in runs
    ]
    kinds = ("run", *(row.kind for row in rows[:1]))
    rankable = [entry for entry in entries if not entry.differences and entry.kind in kinds]
    spans = dict.fromkeys(known, (0.0, 1.0)) | {of.name: of.span for of in declared.measures if of.name in known}
    listed_rows = [] if added is None else added_rows(Path(added), declared.name, spans, headline)
    others = [_added(row, known, headline) for row in listed_rows]
    if STRICT in columns or any(_is_stricter(entry, headline) for entry in (*rankable, *others)):
        columns = known
    ranked = _with_ranks(rankable, next(iter(columns)), headline)
    rest = [entry for entry in entries if entry not in rankable]
    rest += sorted(others, key=lambda entry: -(entry.scores[next(iter(columns))].value or 0.0))
    cut = [replace(entry, scores={name: entry.scores[name] for name in columns}) for entry in (*ranked, *rest)]
    return Leaderboard(declared, tuple(cut), columns, tuple(runs), terms, record)


def _with_ranks(entries: Sequence[LeaderboardRow], strict: str, lenient: str) -> list[LeaderboardRow]:
    """The entries with their ranks by the strict column, best first; ranges where all have counts."""

    def ranks(column: str) -> list[int]:
        # Means that were summed otherwise may differ in the last digit, which parts no tie.
        return competition_ranks([round(entry.scores[column].value or 0.0, 9) for entry in entries])

    tested = [entry.tested for entry in entries if entry.tested]
    ranges = rank_ranges(tested) if len(tested) == len(entries) else [None] * len(entries)
    placed = zip(ranks(strict), ranks(lenient), ranges, entries, strict=True)
    return [
        replace(entry, rank=rank, lenient_rank=other, rank_range=span)
        for rank, other, span, entry in sorted(placed, key=lambda row: row[:2])
    ]


def _label_scores(declared: Benchmark[Any, Any], runs: Sequence[Summary]) -> list[float]:
    """The score of each label, from the best: as declared, else as runs show it, else in equal steps from 1 to 0."""
    verdicts = (verdict for run in runs for outcome in run.scored for verdict in outcome.verdicts)
    shown = {(verdict.label, verdict.score) for verdict in verdicts}
    known = dict(shown) if len(dict(shown)) == len(shown) else {}
    known = (declared.people and declared.people.scores) or known
    steps = zip(declared.labels, equal_steps(len(declared.labels)), strict=True)
    return [known.get(label, step) for label, step in steps]


def _published(
    row: PublishedRow, columns: Mapping[str, str], headline: str, label_scores: Sequence[float]
) -> LeaderboardRow:
    tried, known = pooled(row.counts.values()), dict(row.scores)
    if row.counts and known.get(SCORE) is None:
        known[SCORE] = tried.weighted(label_scores)
    lenient, tested = known.get(headline), None
    if row.counts and known.get(STRICT) is None and lenient is not None and headline in _MEANS:
        of_strata = [of.strict_weighted(label_scores) or 0.0 for of in row.counts.values()]
        of_all = lenient * (tried.scored / tried.total)  # in this order, so that with all scored it is the same number
        known[STRICT] = of_all if headline == SCORE or not tried.unscored else fmean(of_strata)
    known.setdefault(STRICT, lenient)
    if row.counts and headline == SCORE:
        tested = Counted.of_labels((*tried.labels, tried.unscored), (*label_scores, 0.0))
        # The score as stated, which the table shows: no range is of another one.
        tested = replace(tested, mean=known[STRICT] or 0.0)
    reason = _COUNTS_ONLY if row.counts else _MEANS_ONLY
    scores = {name: Estimate(known.get(name), reason=reason) for name in columns}
    notes = tuple(row.notes)
    return LeaderboardRow(row.name, row.kind, scores, row.counts, cases=row.cases, notes=notes, tested=tested)


def _added(row: AddedRow, columns: Mapping[str, str], headline: str) -> LeaderboardRow:
    """An unverified row of others."""
    known = row.with_both(headline)
    values = {name: known.get(name) for name in columns}
    reasons = {name: _NOT_REPORTED if value is None else _UNVERIFIED for name, value in values.items()}
    scores = {name: Estimate(value, reason=reasons[name]) for name, value in values.items()}
    return LeaderboardRow(row.model, "unverified", scores, cases=row.total, scored=row.scored, added=row)


def _is_stricter(entry: LeaderboardRow, headline: str) -> bool:
    """Whether the strict score says other than the one over what was scored."""
    return entry.scores[STRICT].value != entry.scores[headline].value


def _scored(run: Summary) -> int:
    """How many of its cases have a score, whatever its epochs."""
    return len({outcome.key for outcome in run.scored})


def _run(
    declared: Benchmark[Any, Any],
    published: Published,
    run: Summary,
    columns: Mapping[str, str],
    *,
    with_counts: bool,
    most: int,
    embedded: bool,
) -> LeaderboardRow:
    """A run, and how it differs from the rows; `most` is the largest number of cases of any of them.

    One of a stand-in is ranked where all are (`embedded`).
    """
    headline = published.headline
    strict = (run.macro if headline == MACRO else run.micro).strict_weighted
    own = {SCORE: run.micro.weighted, STRICT: strict, MACRO: run.macro.weighted}
    strata = {stratum: run.scores(stratum).weighted for stratum in declared.strata if stratum in columns}
    measures = run.measured(run.outcomes, by_stratum=headline == MACRO)
    known = {**measures, **strata, **own}
    if headline not in _MEANS:
        known[STRICT] = known.get(headline, _NOT_MEASURED)
    differences = [note] if (note := stand_in_note(run.roles)) and not embedded else []
    differences += published.differences(run) if run.manifest else [UNKNOWN_ORIGIN]
    cases, unscored = declared.nouns.cases, run.count("unscored")
    if pending := run.count("pending"):
        differences.append(f"not complete: {pending} of {len(run.outcomes)} {cases} pending")
    elif unscored > (allowed := MOST_UNSCORED if headline in _MEANS else 0.0) * len(run.outcomes):
        differences.append(
            f"{unscored} of {len(run.outcomes)} {cases} have no score; at most {allowed:.0%} may lack one"
        )
    elif with_counts and (empty := [stratum for stratum in declared.strata if not run.of_stratum(stratum)]):
        differences.append(f"without {listed(empty)}")
    scored = _scored(run)
    few = 2 * scored < most
    if few and not differences:
        differences.append(f"{scored:,} scored {cases}, fewer than half of {most:,}")
    counts: dict[str, Counts] = {}
    for stratum in declared.strata:
        labels = [outcome.label for outcome in run.of_stratum(stratum) if outcome.state != "pending"]
        counts[stratum] = Counts(len(labels), tuple(labels.count(label) for label in declared.labels))
    tried = [outcome for outcome in run.outcomes if outcome.state != "pending"]
    tested = None
    if with_counts and tried:
        tested = Counted.of_cases([outcome.score for outcome in tried], [outcome.group for outcome in tried])
    return LeaderboardRow(
        run.model_name,
        "run",
        {name: known.get(name, _NOT_MEASURED) for name in columns},
        counts if with_counts else {},
        pending=pending,
        cases=run.case_count,
        groups=run.group_count,
        scored=scored,
        few=few,
        path=run.path,
        embedded=run.embedded,
        differences=tuple(differences),
        tested=tested,
    )


def own_name(model: str) -> str:
    """A model's name after any vendor or router, with its program, if that is named."""
    name, bracket, program = model.partition(" (")
    return f"{name.rsplit('/', 1)[-1] or name}{bracket}{program}"
