"""What is PROBE's own in reports: tasks as they are read, failure modes, and the published rows.

The rows are of arXiv 2510.19771 (source in NOTICE). A run never stands among them, for the paper names no judge.
Answers fail in the paper's modes:

    failure       counted among                                        mode
    description   verdicts whose judgment is not CORRECT               root_cause, person, deadline, else general
    resolution    those not resolved whole, of bottlenecks that were   wrong_action, parameters_missing,
                  described at least in part                           parameters_wrong

A failure may show several modes. As published, `person` and `root_cause` are what is wrong and not what is missing,
`deadline` is either. The paper derives a wrong action from a judge's word on whether it would resolve anything; here
the ids decide. An answer that describes nothing shows `nothing`, which the paper does not count.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, median, stdev
from typing import Any

from dspy_proact.benchmarks.probe.corpus import DATA
from dspy_proact.benchmarks.probe.scoring import ProbeGrade, overall_score
from dspy_proact.benchmarks.published import PublishedRow
from dspy_proact.files.rows import csv_rows
from dspy_proact.report.numbers import counted, document, share
from dspy_proact.report.particulars import Column, Grounds, Particulars, Section, View, sections_of, terms_of, text_of
from dspy_proact.report.summary import Summary
from dspy_proact.report.terminal import Table, table
from dspy_proact.runs import GivenVerdict, Outcome

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
_PUBLISHED_MODES = [mode for mode in MODES if mode not in {"general", "nothing"}]
_BINS: Mapping[str, Callable[[float], bool]] = {
    "0": lambda recall: recall == 0,
    "up to .25": lambda recall: 0 < recall <= 0.25,
    "between": lambda recall: 0.25 < recall < 0.75,
    "from .75": lambda recall: recall >= 0.75,
}
_PUBLISHED = DATA / "published"


# Failures


@dataclass(frozen=True)
class Failures:
    """How often each mode shows."""

    descriptions: int
    """Descriptions that fail, answers without one among them."""
    resolutions: int
    """Resolutions that fail."""
    with_right_action: int
    """Those of them whose action is right."""
    modes: Mapping[str, int] = field(hash=False)
    """Failures that show each mode."""
    by_recall: tuple[Mapping[str, Any], ...]
    """By the recall of the search, the verdicts, those CORRECT, and those CORRECT or PARTIALLY_CORRECT (`identified`,
    which the paper counts). Of all verdicts, where the paper has failures only."""

    def of(self, mode: str) -> int:
        """The failures among which the paper counts a mode."""
        if mode in OF_DESCRIPTIONS:
            return self.descriptions - (0 if mode == "nothing" else self.modes["nothing"])
        return self.resolutions if mode == "wrong_action" else self.with_right_action

    def share(self, mode: str) -> float | None:
        """Of the failures among which the paper counts it, in [0, 1]; None where there are none."""
        return self.modes[mode] / self.of(mode) if self.of(mode) else None

    def share_of_all(self, mode: str) -> float | None:
        """Of all failures of its stage, in [0, 1]; None where there are none."""
        failed = self.descriptions if mode in OF_DESCRIPTIONS else self.resolutions
        return self.modes[mode] / failed if failed else None

    def document(self) -> dict[str, Any]:
        """As JSON, with both shares of each mode."""
        shares = {mode: self.share(mode) for mode in MODES}
        return document(self) | {"shares": shares, "shares_of_all": {mode: self.share_of_all(mode) for mode in MODES}}


def failures(summary: Summary) -> Failures:
    """The failures of a run, over all of its verdicts."""
    grades = [ProbeGrade.model_validate(verdict.detail) for verdict in summary.verdicts]
    shown = [modes_of(grade) for grade in grades]
    count, bins = Counter(mode for modes in shown for mode in modes), list[Mapping[str, Any]]()
    for name, within in _BINS.items():
        inside = [grade.identified for grade in grades if grade.oracle != "bottleneck" and within(grade.search.recall)]
        said = Counter(identified.judgment for identified in inside if identified)
        correct, partly = said["CORRECT"], said["PARTIALLY_CORRECT"]
        bins.append({"recall": name, "verdicts": len(inside), "correct": correct, "identified": correct + partly})
    of_resolutions = [grade for grade, modes in zip(grades, shown, strict=True) if {*modes} - {*OF_DESCRIPTIONS}]
    return Failures(
        descriptions=sum(any(mode in OF_DESCRIPTIONS for mode in modes) for modes in shown),
        resolutions=len(of_resolutions),
        with_right_action=sum(grade.action_right for grade in of_resolutions),
        modes={mode: count[mode] for mode in MODES},
        by_recall=tuple(bins),
    )


def score_spreads(summary: Summary, prefix: str) -> dict[str, dict[str, float | int | None]]:
    """Count, mean, median and standard deviation of each score: `read_` for answers that could be read, else empty."""
    found: dict[str, dict[str, float | int | None]] = {}
    for name in ("f1", "identification", "task", "overall"):
        values = [verdict.parts[key] for verdict in summary.verdicts if (key := f"{prefix}{name}") in verdict.parts]
        found[name] = {
            "count": len(values),
            "mean": fmean(values) if values else None,
            "median": median(values) if values else None,
            "sd": stdev(values) if len(values) > 1 else None,
        }
    return found


def _report_details(summary: Summary) -> Iterator[Table | str]:
    """The paper's tables and figures, of a run."""
    sides, spread = [score_spreads(summary, prefix) for prefix in ("read_", "")], ("mean", "median", "sd")
    rows = (
        [
            name,
            *(
                cell
                for side in sides
                for cell in (str(side[name]["count"]), *(share(side[name][key]) for key in spread))
            ),
        ]
        for name in sides[0]
    )
    yield table(("score, %", "readable", *spread, "all", *spread), rows)
    yield "readable: answers that could be read, which published scores are of. all: another answer counts 0."
    counts = failures(summary)
    shown = (
        [
            title,
            f"{counts.modes[mode]}/{counts.of(mode)}",
            share(counts.share(mode), 0),
            share(counts.share_of_all(mode), 0),
        ]
        for mode, title in MODES.items()
    )
    yield table(("failure mode", "n", "as published, %", "of all, %"), shown)
    bins = ([str(value) for value in each.values()] for each in counts.by_recall)
    yield table(("recall of evidence", "verdicts", "correct", "or partially"), bins)
    yield (
        "as published: root cause, person and deadline of the descriptions that fail, wrong action of the resolutions "
        "that fail, missing and wrong parameters of those with the right action. of all: of all failures of the stage, "
        "answers that describe nothing among them."
    )


def modes_of(grade: ProbeGrade) -> tuple[str, ...]:
    """Every mode that an answer shows."""
    given, said, verdict = grade.oracle == "bottleneck", grade.identified, grade.resolved
    modes: list[str] = []
    if not given and said is None:
        modes = ["nothing"]
    elif not given and said and said.judgment != "CORRECT":
        facets = said.facets
        shows = {
            "root_cause": facets.why_root_cause == "incorrect",
            "person": "incorrect" in {facets.who_blocked, facets.who_blocker},
            "deadline": facets.when_deadline in {"incorrect", "missing"},
        }
        modes = [mode for mode in shows if shows[mode]] or ["general"]
    described = given or (said is not None and said.judgment != "INCORRECT")
    if not described or grade.task == 1:
        return tuple(modes)
    if not grade.action_right:
        return (*modes, "wrong_action")
    if verdict is None or verdict.missing:
        modes.append("parameters_missing")
    if verdict and (verdict.incorrect or not verdict.missing):
        modes.append("parameters_wrong")
    return tuple(modes)


# The leaderboard


def published_rows() -> tuple[PublishedRow, ...]:
    """Tables 3, 4 and 2: models and agents by their task score, the best first, and people as published.

    Scores are means over tasks, in [0, 1]; precision and recall of people were not published. The paper does not print
    its weighted overall; the overall of means is the mean overall. Notes say why a row contradicts the paper's own text
    or what was released.
    """
    rows: list[PublishedRow] = []
    doubts = {row["doubt"]: row["note"] for row in csv_rows(_PUBLISHED / "probe_doubts.csv")}
    for row in csv_rows(_PUBLISHED / "probe_scores.csv"):
        names = ("precision", "recall", "f1", "identification", "task")
        scores = {name: float(row[name]) if row[name] else None for name in names}
        scores["overall"] = overall_score({name: scores[name] or 0.0 for name in ("f1", "identification", "task")})
        notes = tuple(doubts[word] for word in row["doubt"].split())
        cases = int(row["entries"]) if row["entries"] else None
        rows.append(PublishedRow(row["name"], scores, kind=row["kind"], cases=cases, notes=notes))

    rows.sort(key=lambda row: 0.0 if row.kind == "person" else -(row.scores["task"] or 0.0))
    return tuple(sorted(rows, key=lambda row: ("model", "agent", "person").index(row.kind)))


def published_failures() -> Mapping[str, Mapping[str, float]]:
    """By model, the share of its failures that shows each mode; modes overlap."""
    rows = csv_rows(_PUBLISHED / "probe_failures.csv")
    return {row["model"]: {mode: float(row[mode]) for mode in _PUBLISHED_MODES} for row in rows}


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
    """The published failure modes, and those of runs, by path, with the share of each mode."""
    published = [{"model": model, **shares} for model, shares in published_failures().items()]
    return {"published_failures": published, "failures": {run.path: failures(run).document() for run in runs}}


def leaderboard_details(runs: Sequence[Summary]) -> Iterator[Table | str]:
    """Failure modes of published models and of runs, and how to read them."""
    published = [
        [model, *(share(shares[mode], 0) for mode in _PUBLISHED_MODES)]
        for model, shares in published_failures().items()
    ]
    own: list[list[str]] = []
    for number, run in enumerate(runs, start=1):
        counts = failures(run)
        cells = [(counts.share(mode), counts.modes[mode], counts.of(mode)) for mode in _PUBLISHED_MODES]
        shares = (f"{share(rate, 0)} ({shown}/{of})" for rate, shown, of in cells)
        own.append([f"[{number}] {run.model_name}", *shares])
    yield table(("of failures, % with", *(MODES[mode] for mode in _PUBLISHED_MODES)), published, own)
    yield (
        "published: PROBE (arXiv 2510.19771), means without a spread, so without intervals. The 40 % that its text "
        "calls end to end are its task column; overall is its weighted formula, which it does not print: 49 for GPT-5."
    )
    yield (
        "failures may show several modes; published as of descriptions and parameters that a judge does not call "
        f"CORRECT. Runs show a {MODES['wrong_action']} by its id, the published rows by a judge's word."
    )


# A case and a verdict


def _alike(one: View, other: View) -> bool:
    """Whether two views are of one task, whatever the ids and the order of its items; sanitized or not."""
    # Runs of earlier versions do not say what day it is.
    told = [(view["gold"]["description"], view["world"] | {"today": ""}, view["actions"]) for view in (one, other)]
    return told[0] == told[1]


def _sections(view: View) -> Iterator[Section]:
    """Everything there is, with the right items marked."""
    right = view["gold"]["evidence"]
    for section in sections_of(view):
        items = ((f"{name} (evidence)" if name in right else name, text) for name, text in section.items)
        yield replace(section, items=tuple(items))


def _answer(kept: str) -> str:
    """What an agent describes, does and names, a paragraph each."""
    solution = json.loads(kept)
    done = "\n".join(filter(None, [solution["action"] or "(no action)", text_of(solution["parameters"])]))
    evidence = f"evidence: {text_of(solution['evidence']) or '(none)'}"
    return "\n\n".join((solution["bottleneck"] or "(no bottleneck)", done, evidence))


def _grounds(verdict: GivenVerdict) -> Grounds:
    """What the judges said of an answer, and everything that was counted."""
    grade = ProbeGrade.model_validate(verdict.detail)
    said = [each.reasoning for each in (grade.identified, grade.resolved) if each]
    detail = grade.model_dump(mode="json", exclude={name: {"reasoning"} for name in ("identified", "resolved")})
    modes = ", ".join(MODES[mode] for mode in modes_of(grade))
    return Grounds("\n\n".join(said), points=terms_of(detail | {"failure modes": modes}))


def _column(name: str, of: Callable[[ProbeGrade], str | None]) -> Column:
    def value(_: Outcome, verdict: GivenVerdict | None) -> str | None:
        return of(ProbeGrade.model_validate(verdict.detail)) if verdict else None

    return Column(name, "string", value)


PARTICULARS = Particulars(
    about_case=(
        "A task is one person's documents, a few of which show what holds that person up, and the actions that may be "
        "taken: the assistant names the documents, describes the bottleneck and chooses the action."
    ),
    foremost=frozenset({"precision", "recall", "f1", "identification", "task"}),
    notes=(
        "score: the paper's overall, .334 F1 + .333 identification + .333 task; task is the paper's headline. A "
        "pass is ours, strictly end to end: some of the evidence, the whole bottleneck, the whole resolution.",
        "readable: over answers that could be read, as published; elsewhere an answer that is missing or malformed "
        "counts 0. returned F1: of all items that its tools returned. label mismatch: share of verdicts whose judgment "
        "is another than their facets make. unknown ids, malformed: per task; fewer is better.",
    ),
    breakdowns=("person", "generator"),
    document=lambda summary: {
        "failures": failures(summary).document(),
        "readable": score_spreads(summary, "read_"),
        "all": score_spreads(summary, ""),
    },
    details=_report_details,
    alike=_alike,
    case_columns=(
        Column("right_action", "string", lambda outcome, _: outcome.view["gold"]["action"] if outcome.view else None),
    ),
    verdict_columns=(
        _column("judgment", lambda grade: grade.identified.judgment if grade.identified else None),
        _column("action", lambda grade: grade.action),
        _column("missed", lambda grade: " ".join(grade.missed)),
        _column("wrong", lambda grade: " ".join(grade.wrong)),
        _column("faults", lambda grade: " ".join(grade.faults)),
        _column("failure_modes", lambda grade: " ".join(modes_of(grade))),
    ),
    detail=lambda _: ProbeGrade,
    answer=_answer,
    sections=_sections,
    grounds=_grounds,
)
