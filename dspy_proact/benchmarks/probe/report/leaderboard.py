"""The published scores and failures of PROBE (arXiv 2510.19771, source in NOTICE), and runs beside them.

A run never stands among the published rows, for the paper names no judge. Answers fail in the paper's modes:

    failure       counted among                                        mode
    description   verdicts whose judgment is not CORRECT               root_cause, person, deadline, else general
    resolution    those not resolved whole, of bottlenecks that were   wrong_action, parameters_missing,
                  described at least in part                           parameters_wrong

A failure may show several modes. As published, `person` and `root_cause` are what is wrong and not what is missing,
`deadline` is either. The paper derives a wrong action from a judge's word on whether it would resolve anything; here
the ids decide. An answer that describes nothing shows `nothing`, which the paper does not count.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from rich.console import Console

from dspy_proact.benchmarks.probe.corpus import DATA
from dspy_proact.benchmarks.probe.scoring import ProbeGrade, overall_score
from dspy_proact.errors import UsageError
from dspy_proact.files.rows import csv_rows
from dspy_proact.report.document import document
from dspy_proact.report.numbers import MEASURES_NOTHING, STAND_IN, bounds, counted, listed, percent, share
from dspy_proact.report.ranking import require_each_once
from dspy_proact.report.summary import Summary
from dspy_proact.report.terminal import each_reason, show, table
from dspy_proact.stats import Estimate
from dspy_proact.types import Frozen

PROBE = "probe"
"""Name of the benchmark and of its full corpus."""
COLUMNS = {
    "precision": "P",
    "recall": "R",
    "f1": "F1",
    "identification": "ident",
    "task": "task",
    "overall": "overall",
    "end_to_end": "end to end",
}
"""Measures of a run with their headings, in the order of the table."""
KINDS = ("model", "agent", "person")
DOUBTS: Mapping[str, str] = {
    "identification": (
        "identification at or near 0 beside a task score that is not: the released evaluator gives 0 wherever a judge "
        "answers without facets, which would look so; whether that was the cause is not known"
    ),
    "baseline": (
        "the text names GPT-5-mini among the models that were tested alone, and no table has that row: what an agent "
        "adds to its model is not known"
    ),
    "search": (
        "the text describes a search by meaning; the released harness counts words, and counts every id that a tool "
        "returned as retrieved"
    ),
    "steps": "14.90 % is no mean of 7 scores of 0, 0.5 and 1, which come in steps of 7.14 %",
    "average": (
        "called an average, and weighted by entries: the plain means of the three would be 30.80 % F1 and 7.74 % task"
    ),
}
"""Why a row contradicts the paper's own text or what was released, by a word."""
OF_DESCRIPTIONS = ("root_cause", "person", "deadline", "general", "nothing")
MODES: Mapping[str, str] = {
    "root_cause": "wrong root cause",
    "person": "wrong person",
    "deadline": "deadline missing or wrong",
    "general": "other",
    "nothing": "nothing described",
    "wrong_action": "wrong action",
    "parameters_missing": "parameters missing",
    "parameters_wrong": "parameters wrong",
}
"""What each mode is called."""
_PUBLISHED_MODES = ("root_cause", "person", "deadline", "wrong_action", "parameters_missing", "parameters_wrong")
_BINS: Mapping[str, Callable[[float], bool]] = {
    "0": lambda recall: recall == 0,
    "up to .25": lambda recall: 0 < recall <= 0.25,
    "between": lambda recall: 0.25 < recall < 0.75,
    "from .75": lambda recall: recall >= 0.75,
}


class PublishedScores(Frozen):
    """A row of the published tables; every score is a mean over tasks, in [0, 1], higher is better."""

    kind: Literal["model", "agent", "person"]
    name: str
    precision: float | None = None
    """None for people, as `recall` is: only their F1 is published."""
    recall: float | None = None
    f1: float
    identification: float
    task: float
    entries: int | None = None
    """Tasks that a person did; None where the paper does not say."""
    doubts: tuple[str, ...]
    """Keys of `DOUBTS`."""

    @property
    def overall(self) -> float:
        """The paper's weighted overall, which it does not print; the overall of means is the mean overall."""
        return overall_score({"f1": self.f1, "identification": self.identification, "task": self.task})


@dataclass(frozen=True)
class RecallBin:
    """Verdicts on answers that found about as much of the evidence."""

    recall: str
    verdicts: int
    correct: int
    """Those whose judgment is CORRECT."""


@dataclass(frozen=True)
class Failures:
    """How often each mode shows."""

    descriptions: int
    """Descriptions that fail."""
    resolutions: int
    """Resolutions that fail."""
    modes: Mapping[str, int] = field(hash=False)
    """Failures that show each mode."""
    by_recall: tuple[RecallBin, ...]
    """Whether finding more goes with identifying more; of all verdicts, where the paper has failures only."""

    def of(self, mode: str) -> int:
        """The failures among which a mode is counted."""
        return self.descriptions if mode in OF_DESCRIPTIONS else self.resolutions

    def share(self, mode: str) -> float | None:
        """Of the failures of its kind, in [0, 1]; None where there are none."""
        return self.modes[mode] / self.of(mode) if self.of(mode) else None


@dataclass(frozen=True)
class OwnEntry:
    """A run."""

    name: str
    """The model with its program, for people."""
    path: str
    tasks: int
    people: int
    embedded: bool
    """Whether a stand-in that measures nothing took part."""
    scores: Mapping[str, Estimate] = field(hash=False)
    """By measure, with intervals clustered by person."""
    failures: Failures
    differences: tuple[str, ...]
    """What differs from the conditions of the published rows, or is not known of them."""


@dataclass(frozen=True)
class Leaderboard:
    """Published rows in order, and runs as they were given."""

    published: tuple[PublishedScores, ...]
    runs: tuple[OwnEntry, ...]


def published_scores() -> tuple[PublishedScores, ...]:
    """Tables 3, 4 and 2: models and agents by their task score, the best first, and people as published."""
    rows = [
        PublishedScores.model_validate(
            {name: value for name, value in row.items() if value and name != "doubt"} | {"doubts": row["doubt"].split()}
        )
        for row in csv_rows(DATA / "published" / "probe_scores.csv")
    ]
    return tuple(sorted(rows, key=lambda row: (KINDS.index(row.kind), -row.task if row.kind != "person" else 0)))


def published_failures() -> Mapping[str, Mapping[str, float]]:
    """By model, the share of its failures that shows each mode; modes overlap."""
    rows = csv_rows(DATA / "published" / "probe_failures.csv")
    return {row["model"]: {mode: float(row[mode]) for mode in _PUBLISHED_MODES} for row in rows}


def modes_of(grade: ProbeGrade) -> tuple[str, ...]:
    """Every mode that an answer shows."""
    return (*_description_modes(grade), *_resolution_modes(grade))


def _description_modes(grade: ProbeGrade) -> tuple[str, ...]:
    if grade.oracle == "bottleneck":
        return ()
    if grade.identified is None:
        return ("nothing",)
    if grade.identified.judgment == "CORRECT":
        return ()
    facets = grade.identified.facets
    found = {
        "root_cause": facets.why_root_cause == "incorrect",
        "person": "incorrect" in {facets.who_blocked, facets.who_blocker},
        "deadline": facets.when_deadline in {"incorrect", "missing"},
    }
    return tuple(mode for mode, shows in found.items() if shows) or ("general",)


def _resolution_modes(grade: ProbeGrade) -> tuple[str, ...]:
    identified, verdict = grade.identified.judgment if grade.identified else "INCORRECT", grade.resolved
    described = grade.oracle == "bottleneck" or identified != "INCORRECT"
    if not described or grade.task == 1:
        return ()
    if not grade.action_right:
        return ("wrong_action",)
    if verdict is None:
        return ("parameters_missing",)
    missing = ("parameters_missing",) if verdict.missing else ()
    return (*missing, "parameters_wrong") if verdict.incorrect or not missing else missing


def failures(summary: Summary) -> Failures:
    """Those of a run, over all of its verdicts."""
    grades = [ProbeGrade.model_validate(verdict.detail) for verdict in summary.verdicts]
    count = Counter(mode for grade in grades for mode in modes_of(grade))
    bins: list[RecallBin] = []
    for name, within in _BINS.items():
        inside = [grade.identified for grade in grades if grade.oracle != "bottleneck" and within(grade.search.recall)]
        correct = sum(identified is not None and identified.judgment == "CORRECT" for identified in inside)
        bins.append(RecallBin(name, len(inside), correct))
    return Failures(
        descriptions=sum(bool(_description_modes(grade)) for grade in grades),
        resolutions=sum(bool(_resolution_modes(grade)) for grade in grades),
        modes={mode: count[mode] for mode in MODES},
        by_recall=tuple(bins),
    )


def leaderboard(runs: Sequence[Summary] = ()) -> Leaderboard:
    """Put runs beside the published rows.

    Raises:
        UsageError: One path is given twice, or what is there is not of PROBE.
    """
    require_each_once(run.path for run in runs)
    return Leaderboard(published_scores(), tuple(map(_entry, runs)))


def _entry(summary: Summary) -> OwnEntry:
    if summary.benchmark != PROBE or summary.manifest is None:
        raise UsageError(f"{summary.path}: of {summary.benchmark!r}; this leaderboard is of PROBE")
    measured = summary.measured(summary.outcomes)
    return OwnEntry(
        name=summary.model_name,
        path=summary.path,
        tasks=summary.case_count,
        people=summary.group_count,
        embedded=summary.embedded,
        scores={name: measured[name] for name in COLUMNS},
        failures=failures(summary),
        differences=tuple(_differences(summary)),
    )


def _differences(summary: Summary) -> Iterator[str]:
    manifest = summary.manifest
    assert manifest is not None, "the caller requires one"
    settings = manifest.identity.settings
    if summary.embedded:
        yield STAND_IN
    if settings["baseline"] != "none":
        yield "a blind baseline, which only searches"
    elif settings["agent"] != "single":
        yield f"the agent is {settings['agent']!r} of ours; published models answer in one call"
    if settings["oracle"] != "none":
        yield f"an oracle gives away: {settings['oracle']}"
    if settings["sanitize"]:
        yield "ids, order and stamps are sanitized; published models saw them as they are"
    if not settings["upstream_rule"]:
        yield "graded by our rule, which knows facets that do not apply"
    if manifest.corpus.name != PROBE:
        yield f"the corpus is {manifest.corpus.name!r}, not the published one"
    if summary.judges:
        yield f"the paper names no judge; here {summary.judge_name}, with our prompt"
    yield from summary.left_out
    yield from (f"{count} {state}" for state in ("unscored", "pending") if (count := summary.count(state)))
    if manifest.epochs != 1:
        yield f"{counted(manifest.epochs, 'answer')} to each task"


def leaderboard_headline(board: Leaderboard) -> str:
    """The task score of each run, without a rank; without runs the best published one."""
    if not board.runs:
        models = [row for row in board.published if row.kind == "model"]
        most = max(row.task for row in models)
        names = [row.name for row in models if row.task == most]
        best = f"{listed(names)} {'have' if len(names) > 1 else 'has'} the highest task score of {len(models)}"
        chance = "no spread was published, so no difference can be told from chance"
        return f"{best} published models, {share(most, 0)} %; {chance}."
    lines: list[str] = []
    for run in board.runs:
        task = run.scores["task"]
        score = "no task score" if task.value is None else f"a task score of {share(task.value)} % ({bounds(task)})"
        lines.append(f"{run.name} has {score} on {counted(run.tasks, 'task')}")
    one = len(board.runs) == 1
    lines.append(f"{'it stands' if one else 'they stand'} beside the published rows and not among them")
    begin = MEASURES_NOTHING if any(run.embedded for run in board.runs) else ""
    return f"{begin}{'; '.join(lines)}."


def leaderboard_document(board: Leaderboard) -> dict[str, Any]:
    """The document of `leaderboard --benchmark probe --json`. A value that cannot be given is null."""
    published = [
        {
            **row.model_dump(include={"kind", "name", "entries", *COLUMNS}),
            "overall": row.overall,
            "doubts": [DOUBTS[word] for word in row.doubts],
        }
        for row in board.published
    ]
    runs = [
        {
            **{name: getattr(run, name) for name in ("name", "path", "embedded", "tasks", "people")},
            **{name: estimate.for_json() for name, estimate in run.scores.items()},
            "failures": {**document(run.failures), "shares": {mode: run.failures.share(mode) for mode in MODES}},
            "differences": list(run.differences),
        }
        for run in board.runs
    ]
    models = [{"model": model, **shares} for model, shares in published_failures().items()]
    headline = leaderboard_headline(board)
    return {"headline": headline, "published": published, "published_failures": models, "runs": runs}


def print_leaderboard(board: Leaderboard, console: Console, explain: bool = False) -> None:
    """Print the headline, the published rows, and runs beside them with how they differ.

    Args:
        board: What is reported.
        console: Where it is printed.
        explain: Whether failure modes, notes on the numbers, and what speaks against rows follow.
    """
    headings = [*COLUMNS.values()]
    scored = [name for name in COLUMNS if name != "end_to_end"]
    sections = [
        [
            [name_of(row, board), *(share(getattr(row, name), 0) for name in scored)]
            for row in board.published
            if row.kind == kind
        ]
        for kind in KINDS
    ]
    show(console, leaderboard_headline(board), table(("published", *headings[:-1]), *sections))
    named = {f"[{number}] {run.name}": run for number, run in enumerate(board.runs, start=1)}
    if board.runs:
        rows = [[name, *(percent(run.scores[measure]) for measure in COLUMNS)] for name, run in named.items()]
        show(console, table(("run", *headings), rows))
    for number, run in enumerate(board.runs, start=1):
        people = counted(run.people, "person", "people")
        show(console, f"[{number}] {run.path}: {counted(run.tasks, 'task')} of {people}")
        show(console, *(f"    otherwise: {difference}" for difference in run.differences))
        reasons = ((heading, run.scores[name].reason) for name, heading in COLUMNS.items())
        show(console, *(f"    {line}" for line in each_reason(reasons)))
    show(console, *legend(board))
    if explain:
        published = [
            [model, *(share(shares[mode], 0) for mode in _PUBLISHED_MODES)]
            for model, shares in published_failures().items()
        ]
        own = [[name, *(_share_of(run.failures, mode) for mode in _PUBLISHED_MODES)] for name, run in named.items()]
        show(console, table(("of failures, % with", *(MODES[mode] for mode in _PUBLISHED_MODES)), published, own))
        show(console, *_notes(board))


def _share_of(found: Failures, mode: str) -> str:
    return f"{share(found.share(mode), 0)} ({found.modes[mode]}/{found.of(mode)})"


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
        "failures may show several modes; published as of descriptions and parameters that a judge does not call "
        f"CORRECT. A {MODES['wrong_action']} is told by ids in runs, by a judge's word in the published rows."
    )


def legend(board: Leaderboard) -> Iterator[str]:
    """How to read the table of published rows."""
    yield "mean scores in %; task is the paper's headline, and asks neither for evidence nor for identification."
    yield f"{listed([*_marks(board).values()])} the row contradicts the paper's text, or what was released."


def doubts(board: Leaderboard) -> Iterator[str]:
    """What speaks against rows, by its mark."""
    rows = defaultdict[str, list[str]](list)
    for row in board.published:
        for word in row.doubts:
            rows[word].append(row.name)
    yield from (f"{mark} {', '.join(rows[word])}: {DOUBTS[word]}." for word, mark in _marks(board).items())


def name_of(row: PublishedScores, board: Leaderboard) -> str:
    """A published row's name with its marks."""
    marks = _marks(board)
    entries = f" (n={row.entries})" if row.entries else ""
    return f"{row.name}{entries}{''.join(f' {marks[word]}' for word in row.doubts)}"


def _marks(board: Leaderboard) -> dict[str, str]:
    """A letter for each doubt, in the order of the rows."""
    words = dict.fromkeys(word for row in board.published for word in row.doubts)
    return {word: f"{chr(ord('a') + number)})" for number, word in enumerate(words)}
