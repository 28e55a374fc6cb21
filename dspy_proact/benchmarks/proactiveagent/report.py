"""What is ProactiveAgent's own in reports: turns as they are read, and the published rows.

The rows are counted from the authors' results files (source in NOTICE), whose shares are of whole numbers of 107 and
120 turns, so that every count is known.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence

from dspy_proact.benchmarks.proactiveagent.corpus import FOLDER, NAME
from dspy_proact.benchmarks.proactiveagent.turns import AssistanceGrade
from dspy_proact.evaluation.measured_run import MeasuredRun
from dspy_proact.evaluation.published import Counts, PublishedRow, several_answers
from dspy_proact.evaluation.reporting import Addition, Grounds, PageSection, Reporting, View
from dspy_proact.files.rows import csv_rows
from dspy_proact.report.numbers import percent
from dspy_proact.report.terminal import TerminalTable, table
from dspy_proact.runs import VerdictRecord
from dspy_proact.stats import Counted, cluster_mean, competition_ranks, rank_ranges

_AGENTS = FOLDER / "published" / "agents.csv"
_KINDS = ("coding", "writing")
Ranked = list[tuple[MeasuredRun, int, tuple[int, int]]]
"""Runs that were measured alike, each with its rank and its range of ranks, the best first."""


def published_counts() -> dict[str, dict[str, tuple[int, int, int, int]]]:
    """True and false positives, true and false negatives of each results file, by its name and by kind."""
    cells = ("tp", "fp", "tn", "fn")
    return {
        row["name"]: {kind: tuple[int, int, int, int](int(row[f"{kind}_{cell}"]) for cell in cells) for kind in _KINDS}
        for row in csv_rows(_AGENTS)
    }


def published_rows() -> tuple[PublishedRow, ...]:
    """The 16 results files by accuracy, the best first; a note says where the README of the authors differs."""
    rows, known = list[PublishedRow](), published_counts()
    for row in csv_rows(_AGENTS):
        kinds = known[row["name"]]
        tp, fp, tn, fn = (sum(cells) for cells in zip(*kinds.values(), strict=True))
        recall, precision = tp / (tp + fn), tp / (tp + fp)
        scores = {
            "score": (tp + tn) / (tp + fp + tn + fn),
            "recall": recall,
            "precision": precision,
            "f1": 2 * tp / (2 * tp + fp + fn),
            "acted": (tp + fp) / (tp + fp + tn + fn),
            "balanced_accuracy": (recall + tn / (tn + fp)) / 2,
        }
        counts = {kind: Counts(sum(cells), (cells[0] + cells[2], cells[1] + cells[3])) for kind, cells in kinds.items()}
        numbers = [f"{name} {row[f'readme_{name}']}" for name in ("recall", "precision", "accuracy", "f1")]
        notes = (f"the README has {', '.join(numbers)}",) if row["readme_recall"] else ()
        rows.append(PublishedRow(row["name"], scores, counts=counts, cases=tp + fp + tn + fn, notes=notes))
    return tuple(sorted(rows, key=lambda row: -(row.scores["score"] or 0.0)))


def differences(summary: MeasuredRun) -> Iterator[str]:
    """What a run was measured otherwise than the published rows; a run never stands among them."""
    manifest = summary.manifest
    assert manifest is not None, "the caller requires one"
    settings = manifest.identity.settings
    if settings["baseline"] != "none":
        yield f"a baseline that decides by a rule: {settings['baseline']}"
    if settings["candidates"] != 1:
        yield f"right where one of {settings['candidates']} proposals is accepted"
    if manifest.corpus.name == f"{NAME} outputs":
        if not settings.get("upstream_rule"):
            yield "the word null is silence"
    else:
        if manifest.corpus.name != NAME:
            yield f"the corpus is {manifest.corpus.name!r}, not the published one"
        if not settings.get("history"):
            yield "the agent is not shown its earlier proposals, as the published ones were"
    yield f"judged by {summary.judge_name} with our prompt, not by the authors' reward model"
    yield from several_answers(summary)


def ranks_of_runs(runs: Sequence[MeasuredRun]) -> list[Ranked]:
    """Runs that the same judges graded at the same turns, with rank and range of ranks, the best first.

    Ranges rest on the spread between traces of each run, as those of the leaderboard.
    """
    alike = defaultdict[tuple[str, str, int], list[MeasuredRun]](list)
    for run in runs:
        if run.manifest and run.scored:
            identity = run.manifest.identity
            judges = " ".join(f"{judge.name} {judge.prompt}" for judge in identity.judges)
            alike[judges, identity.corpus, run.count("scored") + run.count("unscored")].append(run)
    ranked: list[Ranked] = []
    for several in alike.values():
        if len(several) > 1:
            counted = [
                Counted.of_cases([case.score for case in run.scored], [case.group for case in run.scored])
                for run in several
            ]
            ranks = competition_ranks([count.mean for count in counted])
            ranked.append(sorted(zip(several, ranks, rank_ranges(counted), strict=True), key=lambda row: row[1]))
    return ranked


def _leaderboard(runs: Sequence[MeasuredRun]) -> Addition:
    ranked = ranks_of_runs(runs)
    alike = [
        [{"path": run.path, "rank": rank, "rank_range": list(span)} for run, rank, span in rows] for rows in ranked
    ]
    return Addition({"runs_alike": alike}, _details(ranked))


def _details(ranked: list[Ranked]) -> Iterator[TerminalTable | str]:
    for rows in ranked:
        cells: list[list[str]] = []
        for run, rank, (low, high) in rows:
            accuracy = cluster_mean([case.score for case in run.scored], [case.group for case in run.scored])
            cells.append([str(rank), f"{low}–{high}", run.model_name, percent(accuracy)])
        yield table(("rank", "range", f"runs judged by {rows[0][0].judge_name}", "accuracy, %"), cells)
        yield "range: the ranks that the data cannot rule out, among runs that the same judge graded at the same turns."


def _sections(view: View) -> Iterator[PageSection]:
    events = view["events"]
    yield PageSection("events", "chat", tuple((event["time"], event["event"]) for event in events))


def _answer(kept: str) -> str:
    answer = json.loads(kept)
    proposals = answer["proposals"] or ["(silence)"]
    return "\n\n".join(filter(None, [*proposals, answer["message"] and f"To the user: {answer['message']}"]))


def _grounds(verdict: VerdictRecord) -> Grounds:
    verdicts = AssistanceGrade.model_validate(verdict.detail).verdicts
    sure = ", ".join(f"{verdict.confidence:.2f}" for verdict in verdicts)
    reasons = "\n\n".join(verdict.reason for verdict in verdicts)
    return Grounds(reasons, points=(("probability that a user accepts", sure),))


REPORTING = Reporting(
    meta=frozenset(),
    about_case=(
        "A turn is a moment of a person's work: the events up to now. The agent proposes a task or stays silent, and a "
        "judge says whether the person would accept that."
    ),
    foremost=frozenset({"precision", "acted", "balanced_accuracy", "value"}),
    alike=lambda one, other: one.view["events"][-1] == other.view["events"][-1],
    notes=(
        "score: accuracy as published, the share of turns at which the proposal or the silence is accepted. The truth "
        "is the judge's word on what the agent did, so that recall misses only silence that the judge rejects.",
        "false alarm, as published, is 1 - precision; with one proposal a turn the accept rate is precision again. "
        "Always proposing has recall 1, and F1 2 p / (1 + p) where p of the proposals are accepted.",
        "value at a cost: an accepted proposal is worth 1, a rejected one costs the setting cost (1), silence is worth "
        "0; the mean over turns.",
        "the 12 published traces are few: intervals over them are wide, and speak of these people and their work.",
    ),
    leaderboard=_leaderboard,
    detail=lambda _: AssistanceGrade,
    answer=_answer,
    sections=_sections,
    grounds=_grounds,
    citation=(
        "@article{lu2024proactive,\n"
        "  title={Proactive Agent: Shifting LLM Agents from Reactive Responses to Active Assistance},\n"
        "  author={Lu, Yaxi and others},\n  journal={arXiv preprint arXiv:2410.12361},\n  year={2024}\n}"
    ),
)
