"""What is PROBE's own in reports: tasks as they are read, and the modes in which answers fail, as the paper has them.

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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean, median, stdev
from typing import Any

from dspy_proact.benchmarks.probe.scoring import STAGE_WEIGHTS, ProbeGrade, overall_score
from dspy_proact.benchmarks.probe.task import DATA
from dspy_proact.evaluation.measured_run import MeasuredRun
from dspy_proact.evaluation.published import PublishedRow, several_answers
from dspy_proact.evaluation.reporting import (
    Addition,
    Grounds,
    PageSection,
    Reporting,
    View,
    sections_of,
    terms_of,
    text_of,
)
from dspy_proact.files.rows import csv_rows
from dspy_proact.report.numbers import share
from dspy_proact.report.terminal import TerminalTable, table
from dspy_proact.runs import Outcome, VerdictRecord

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
_RECALLS = ("0", "up to .25", "between", "from .75")


# Failures


def failures(summary: MeasuredRun) -> dict[str, Any]:
    """The failures of a run, over all of its verdicts, as `report --json` has them.

    Of descriptions, answers without one among them, of resolutions, and of those with the right action: how many fail.
    By mode: the failures that show it (`modes`), those among which the paper counts it (`among`), its share of these,
    None where there are none (`shares`), and of all failures of its stage (`shares_of_all`). By the recall of the
    search: the verdicts, those CORRECT, and those CORRECT or PARTIALLY_CORRECT (`identified`, which the paper counts);
    of all verdicts, where the paper has failures only.
    """
    grades = [ProbeGrade.model_validate(verdict.detail) for verdict in summary.verdicts]
    shown = [{*modes_of(grade)} for grade in grades]
    counts = {mode: sum(mode in modes for modes in shown) for mode in MODES}
    descriptions = sum(not modes.isdisjoint(OF_DESCRIPTIONS) for modes in shown)
    of_resolutions = [grade for grade, modes in zip(grades, shown, strict=True) if modes.difference(OF_DESCRIPTIONS)]
    resolutions, right = len(of_resolutions), sum(grade.action_right for grade in of_resolutions)
    stages = {mode: descriptions if mode in OF_DESCRIPTIONS else resolutions for mode in MODES}
    among = dict.fromkeys(OF_DESCRIPTIONS, descriptions - counts["nothing"]) | {"nothing": descriptions}
    among |= {"wrong_action": resolutions, "parameters_missing": right, "parameters_wrong": right}
    bins = {name: Counter(verdicts=0, correct=0, identified=0) for name in _RECALLS}
    for grade in grades:
        if grade.oracle != "bottleneck":
            recall, judgment = grade.search.recall, grade.identified.judgment if grade.identified else "INCORRECT"
            index = 0 if recall == 0 else 1 if recall <= 0.25 else 2 if recall < 0.75 else 3
            bins[_RECALLS[index]].update(verdicts=1, correct=judgment == "CORRECT", identified=judgment != "INCORRECT")
    return {
        "descriptions": descriptions,
        "resolutions": resolutions,
        "with_right_action": right,
        "modes": counts,
        "among": among,
        "shares": {mode: counts[mode] / among[mode] if among[mode] else None for mode in MODES},
        "shares_of_all": {mode: counts[mode] / stages[mode] if stages[mode] else None for mode in MODES},
        "by_recall": [{"recall": name, **held} for name, held in bins.items()],
    }


def score_spreads(summary: MeasuredRun, prefix: str) -> dict[str, dict[str, float | int | None]]:
    """Count, mean, median and deviation of each score, None where too few; with `read_` of readable answers only."""
    spreads: dict[str, dict[str, float | int | None]] = {}
    for name in ("f1", "identification", "task", "overall"):
        values = [verdict.parts[key] for verdict in summary.verdicts if (key := f"{prefix}{name}") in verdict.parts]
        spreads[name] = {
            "count": len(values),
            "mean": fmean(values) if values else None,
            "median": median(values) if values else None,
            "sd": stdev(values) if len(values) > 1 else None,
        }
    return spreads


def _of_run(summary: MeasuredRun) -> Addition:
    counts, readable, every = failures(summary), score_spreads(summary, "read_"), score_spreads(summary, "")
    return Addition({"failures": counts, "readable": readable, "all": every}, _details(counts, (readable, every)))


def _details(counts: Mapping[str, Any], sides: Sequence[Mapping[str, Any]]) -> Iterator[TerminalTable | str]:
    spread = ("mean", "median", "sd")
    rows: list[list[str]] = []
    for name in sides[0]:
        cells = [[str(side[name]["count"]), *(share(side[name][key]) for key in spread)] for side in sides]
        rows.append([name, *cells[0], *cells[1]])
    yield table(("score, %", "readable", *spread, "all", *spread), rows)
    yield "readable: answers that could be read, which published scores are of. all: another answer counts 0."
    modes: list[list[str]] = []
    for mode, title in MODES.items():
        shares = (share(counts[of][mode], 0) for of in ("shares", "shares_of_all"))
        modes.append([title, f"{counts['modes'][mode]}/{counts['among'][mode]}", *shares])
    yield table(("failure mode", "n", "as published, %", "of all, %"), modes)
    bins = ([str(value) for value in row.values()] for row in counts["by_recall"])
    yield table(("recall of evidence", "verdicts", "correct", "or partially"), bins)
    yield (
        "as published: root cause, person and deadline of the descriptions that fail, wrong action of the resolutions "
        "that fail, missing and wrong parameters of those with the right action. of all: of all failures of the stage, "
        "answers that describe nothing among them."
    )


def modes_of(grade: ProbeGrade) -> tuple[str, ...]:
    """Every mode that an answer shows."""
    is_oracle, identified, verdict = grade.oracle == "bottleneck", grade.identified, grade.resolved
    modes: list[str] = []
    if not is_oracle and identified is None:
        modes = ["nothing"]
    elif not is_oracle and identified and identified.judgment != "CORRECT":
        facets = identified.facets
        shows = {
            "root_cause": facets["why_root_cause"] == "incorrect",
            "person": "incorrect" in {facets["who_blocked"], facets["who_blocker"]},
            "deadline": facets["when_deadline"] in {"incorrect", "missing"},
        }
        modes = [mode for mode in shows if shows[mode]] or ["general"]
    described = is_oracle or (identified is not None and identified.judgment != "INCORRECT")
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


def published_rows() -> Sequence[PublishedRow]:
    """Tables 3, 4 and 2: models and agents by their task score, the best first, and people as published.

    Scores are means over tasks, in [0, 1]; precision and recall of people were not published. The paper does not print
    its weighted overall; the overall of means is the mean overall. Notes say why a row contradicts the paper's own text
    or what was released. Source in NOTICE.
    """
    rows: list[PublishedRow] = []
    doubts = {row["doubt"]: row["note"] for row in csv_rows(DATA / "published" / "probe_doubts.csv")}
    for row in csv_rows(DATA / "published" / "probe_scores.csv"):
        names = ("precision", "recall", "f1", "identification", "task")
        scores = {name: float(row[name]) if row[name] else None for name in names}
        scores["overall"] = overall_score({name: scores[name] or 0.0 for name in STAGE_WEIGHTS})
        notes = tuple(doubts[word] for word in row["doubt"].split())
        cases = int(row["entries"]) if row["entries"] else None
        rows.append(PublishedRow(row["name"], scores, kind=row["kind"], cases=cases, notes=notes))
    rows.sort(key=lambda row: 0.0 if row.kind == "person" else -(row.scores["task"] or 0.0))
    return sorted(rows, key=lambda row: ("model", "agent", "person").index(row.kind))


def differences(run: MeasuredRun) -> Iterator[str]:
    """How a run was measured otherwise than the published rows; it is never ranked: the paper names no judge."""
    assert run.manifest is not None, "the caller requires one"
    settings = run.manifest.identity.settings
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
    if run.manifest.corpus.name != "probe":
        yield f"the corpus is {run.manifest.corpus.name!r}, not the published one"
    if run.judges:
        yield f"the paper names no judge; here {run.judge_name}, with our prompt"
    yield from run.left_out
    yield from (f"{count} {state}" for state in ("unscored", "pending") if (count := run.count(state)))
    yield from several_answers(run)


def published_failures() -> Mapping[str, Mapping[str, float]]:
    """By model, the share of its failures that shows each mode; modes overlap."""
    rows = csv_rows(DATA / "published" / "probe_failures.csv")
    return {row["model"]: {mode: float(row[mode]) for mode in _PUBLISHED_MODES} for row in rows}


def _leaderboard(runs: Sequence[MeasuredRun]) -> Addition:
    published = [{"model": model, **shares} for model, shares in published_failures().items()]
    of_runs = {run.path: failures(run) for run in runs}
    return Addition({"published_failures": published, "failures": of_runs}, _failure_modes(runs, of_runs.values()))


def _failure_modes(runs: Sequence[MeasuredRun], of_runs: Iterable[Mapping[str, Any]]) -> Iterator[TerminalTable | str]:
    shares = published_failures().items()
    published = [[model, *(share(of[mode], 0) for mode in _PUBLISHED_MODES)] for model, of in shares]
    own = [
        [f"[{number}] {run.model_name}"]
        + [f"{share(of['shares'][mode], 0)} ({of['modes'][mode]}/{of['among'][mode]})" for mode in _PUBLISHED_MODES]
        for number, (run, of) in enumerate(zip(runs, of_runs, strict=True), start=1)
    ]
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


def _alike(one: Outcome, other: Outcome) -> bool:
    """Whether two outcomes are of one task, whatever the ids and the order of its items; sanitized or not."""
    parts = [(view["gold"]["description"], view["world"], view["actions"]) for view in (one.view, other.view)]
    return parts[0] == parts[1]


def _sections(view: View) -> Iterator[PageSection]:
    """Everything that the agent sees; then the evidence in full, and the rest of the right answer."""
    right = view["gold"]["evidence"]
    yield from sections_of({name: value for name, value in view.items() if name != "gold"})
    documents = (item for section in sections_of({"items": view["items"]}) for item in section.items)
    yield PageSection("evidence", "terms", tuple(item for item in documents if item[0] in right), hidden=True)
    yield from (replace(section, hidden=True) for section in sections_of({"gold": view["gold"]}))


def _answer(kept: str) -> str:
    solution = json.loads(kept)
    done = "\n".join(filter(None, [solution["action"] or "(no action)", text_of(solution["parameters"])]))
    evidence = f"evidence: {text_of(solution['evidence']) or '(none)'}"
    return "\n\n".join((solution["bottleneck"] or "(no bottleneck)", done, evidence))


def _grounds(verdict: VerdictRecord) -> Grounds:
    grade = ProbeGrade.model_validate(verdict.detail)
    reasons = [part.reasoning for part in (grade.identified, grade.resolved) if part]
    detail = grade.model_dump(mode="json", exclude={name: {"reasoning"} for name in ("identified", "resolved")})
    modes = ", ".join(MODES[mode] for mode in modes_of(grade))
    return Grounds("\n\n".join(reasons), points=terms_of(detail | {"failure modes": modes}))


REPORTING = Reporting(
    meta=frozenset(),
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
    run=_of_run,
    leaderboard=_leaderboard,
    alike=_alike,
    detail=lambda _: ProbeGrade,
    answer=_answer,
    sections=_sections,
    grounds=_grounds,
)
