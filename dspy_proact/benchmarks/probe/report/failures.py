"""The published scores and failures of PROBE (arXiv 2510.19771, source in NOTICE), and how runs beside them differ.

A run never stands among the published rows, for the paper names no judge. Answers fail in the paper's modes:

    failure       counted among                                        mode
    description   verdicts whose judgment is not CORRECT               root_cause, person, deadline, else general
    resolution    those not resolved whole, of bottlenecks that were   wrong_action, parameters_missing,
                  described at least in part                           parameters_wrong

A failure may show several modes. As published, `person` and `root_cause` are what is wrong and not what is missing,
`deadline` is either. The paper derives a wrong action from a judge's word on whether it would resolve anything; here
the ids decide. An answer that describes nothing shows `nothing`, which the paper does not count.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dspy_proact.benchmarks.benchmark import PublishedRow
from dspy_proact.benchmarks.probe.corpus import DATA
from dspy_proact.benchmarks.probe.scoring import ProbeGrade, overall_score
from dspy_proact.files.rows import csv_rows
from dspy_proact.report.numbers import counted, document, share
from dspy_proact.report.summary import Summary
from dspy_proact.report.terminal import Table, table

_KINDS = ("model", "agent", "person")
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


def published_rows() -> tuple[PublishedRow, ...]:
    """Tables 3, 4 and 2: models and agents by their task score, the best first, and people as published.

    Scores are means over tasks, in [0, 1]; precision and recall of people were not published. Overall is the paper's
    weighted overall, which it does not print; the overall of means is the mean overall.
    """
    rows: list[PublishedRow] = []
    for row in csv_rows(DATA / "published" / "probe_scores.csv"):
        scores = {
            name: float(row[name]) if row[name] else None
            for name in ("precision", "recall", "f1", "identification", "task")
        }
        overall = overall_score({name: scores[name] or 0.0 for name in ("f1", "identification", "task")})
        rows.append(
            PublishedRow(
                row["name"],
                {**scores, "overall": overall},
                kind=row["kind"],
                cases=int(row["entries"]) if row["entries"] else None,
                notes=tuple(DOUBTS[word] for word in row["doubt"].split()),
            )
        )
    return tuple(sorted(rows, key=lambda row: (_KINDS.index(row.kind), -_task(row) if row.kind != "person" else 0)))


def _task(row: PublishedRow) -> float:
    return row.scores["task"] or 0.0


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


def differences(summary: Summary) -> Iterator[str]:
    """What a run was measured otherwise than the published rows; a run never stands among them."""
    manifest = summary.manifest
    assert manifest is not None, "the caller requires one"
    settings = manifest.identity.settings
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
    if manifest.corpus.name != "probe":
        yield f"the corpus is {manifest.corpus.name!r}, not the published one"
    if summary.judges:
        yield f"the paper names no judge; here {summary.judge_name}, with our prompt"
    yield from summary.left_out
    yield from (f"{count} {state}" for state in ("unscored", "pending") if (count := summary.count(state)))
    if manifest.epochs != 1:
        yield f"{counted(manifest.epochs, 'answer')} to each task"


def leaderboard_document(runs: Sequence[Summary]) -> dict[str, Any]:
    """The published failure modes, and those of runs, by path."""
    models = [{"model": model, **shares} for model, shares in published_failures().items()]
    return {"published_failures": models, "failures": {run.path: failures_document(failures(run)) for run in runs}}


def failures_document(found: Failures) -> dict[str, Any]:
    """Failures as JSON, with the share of each mode."""
    return {**document(found), "shares": {mode: found.share(mode) for mode in MODES}}


def leaderboard_details(runs: Sequence[Summary]) -> Iterator[Table | str]:
    """Failure modes of published models and of runs, and how to read them."""
    published = [
        [model, *(share(shares[mode], 0) for mode in _PUBLISHED_MODES)]
        for model, shares in published_failures().items()
    ]
    own: list[list[str]] = []
    for number, run in enumerate(runs, start=1):
        found = failures(run)
        shares = (f"{share(found.share(mode), 0)} ({found.modes[mode]}/{found.of(mode)})" for mode in _PUBLISHED_MODES)
        own.append([f"[{number}] {run.model_name}", *shares])
    yield table(("of failures, % with", *(MODES[mode] for mode in _PUBLISHED_MODES)), published, own)
    yield (
        "published: PROBE (arXiv 2510.19771), means without a spread, so without intervals. The 40 % that its text "
        "calls end to end are its task column; overall is its weighted formula, which it does not print: 49 for GPT-5."
    )
    yield (
        "failures may show several modes; published as of descriptions and parameters that a judge does not call "
        f"CORRECT. A {MODES['wrong_action']} is told by ids in runs, by a judge's word in the published rows."
    )
