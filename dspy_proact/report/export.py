"""A run in other forms: a results file in the official format, and a table of one row a verdict.

A results file is read by the official tools and by ours; `losses` lists what it cannot hold. The table holds
everything that was answered and graded, as CSV that a spreadsheet cannot be made to run, or as Parquet.
"""

import csv
import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dspy_proact.calls import Call
from dspy_proact.corpus import ResultTrigger, TokenUsage, without_progress_bars, write_results
from dspy_proact.errors import RunError, UsageError
from dspy_proact.kept import replacing
from dspy_proact.report.outcome import GivenVerdict, Outcome
from dspy_proact.report.summary import Summary
from dspy_proact.runs import RunFolder
from dspy_proact.types import Grade, Origin, Verdict
from dspy_proact.views import JudgeView

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What makes a spreadsheet run the text of a cell."""
_NEVER = "judge, prompts, decoding, endpoints, versions, prices, latencies, which calls failed, and where quotes stand"
"""What the official format holds of no run."""
_TEXT, _WHOLE, _REAL, _TRUTH = "string", "int64", "float64", "bool"
COLUMNS = {
    "key": _TEXT,
    "dialogue": _TEXT,
    "scenario": _TEXT,
    "life_domain": _TEXT,
    "phase": _TEXT,
    "turn": _WHOLE,
    "epoch": _WHOLE,
    "model": _TEXT,
    "judge": _TEXT,
    "judge_epoch": _WHOLE,
    "state": _TEXT,
    "reason": _TEXT,
    "grade": _TEXT,
    "score": _REAL,
    "user_message": _TEXT,
    "response": _TEXT,
    "truncated": _TRUTH,
    "reasoning": _TEXT,
    "evidence": _TEXT,
    "verified": _TRUTH,
}
"""Columns of the table with their types; `reason` is of an unscored trigger, `evidence` one quote a line."""


def export_results(folder: RunFolder, summary: Summary, path: Path) -> list[str]:
    """Write the first epoch of a run as a results file.

    Returns:
        What the format cannot hold, a line each.

    Raises:
        UsageError: It is no run of ProactBench, nothing in it was tried, or the file cannot be written.
    """
    if summary.benchmark != "proactbench":
        raise UsageError(f"{summary.path}: a run of {summary.benchmark!r}; the official format holds proactbench only")
    tried = [outcome for outcome in summary.outcomes if outcome.epoch == 1 and outcome.state != "pending"]
    if not tried:
        raise RunError(f"{summary.path}: nothing in it was tried yet; the command that began it goes on")
    replaced = write_results(path, summary.model, [_trigger(outcome) for outcome in tried], _usage(folder, tried))
    return losses(summary, tried, replaced)


def losses(summary: Summary, tried: Sequence[Outcome], replaced: int = 0) -> list[str]:
    """What the official format cannot hold of a run, a line each."""
    reasons = Counter(outcome.reason for outcome in tried if outcome.reason)
    others = sum(len(outcome.verdicts) - 1 for outcome in tried if outcome.verdicts)
    counted = (
        (sum(reasons.values()), "reasons of unscored triggers: " + ", ".join(f"{r} {n}" for r, n in reasons.items())),
        (summary.count("pending"), "pending triggers, which are left out"),
        (sum(outcome.epoch > 1 for outcome in summary.outcomes), "outcomes of later epochs"),
        (others, "further verdicts on one response; the first with the common grade is kept"),
        (sum(outcome.truncated for outcome in tried), "marks of a response cut at the token limit"),
        (replaced, "characters that no file holds safely, replaced by U+FFFD"),
    )
    return [*(f"{count} {what}" for count, what in counted if count), _NEVER]


def export_csv(summary: Summary, path: Path) -> None:
    """Write the table as CSV: text that a spreadsheet would run gets an apostrophe before it, NUL becomes U+FFFD.

    Raises:
        UsageError: The file cannot be written.
    """
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows([_safe(row[name]) for name in COLUMNS] for row in rows(summary))


def export_parquet(summary: Summary, path: Path) -> None:
    """Write the table as Parquet, through `datasets`; text stands in it as it is.

    Raises:
        UsageError: The file cannot be written.
    """
    import datasets  # pyright: ignore[reportMissingTypeStubs] - it has none

    table = list(rows(summary))
    features = datasets.Features({name: datasets.Value(kind) for name, kind in COLUMNS.items()})
    columns = {name: [row[name] for row in table] for name in COLUMNS}
    dataset: Any = datasets.Dataset.from_dict(columns, features=features)  # pyright: ignore[reportUnknownMemberType]
    with replacing(path) as temporary, without_progress_bars(datasets.utils):
        dataset.to_parquet(os.fspath(temporary))


def rows(summary: Summary) -> Iterator[dict[str, Any]]:
    """The table: a row a verdict, and one for each trigger and epoch that has none; None where there is nothing."""
    for outcome in summary.outcomes:
        for verdict in outcome.verdicts or (None,):
            yield _row(summary, outcome, verdict)


def _row(summary: Summary, outcome: Outcome, verdict: GivenVerdict | None) -> dict[str, Any]:
    detail: Mapping[str, Any] = verdict.detail if verdict else {}
    conversation: list[dict[str, Any]] = outcome.view.get("conversation") or [{}]
    quotes: list[dict[str, Any]] | None = detail.get("evidence")
    return {
        "key": outcome.key,
        "dialogue": outcome.meta.get("dialogue"),
        "scenario": outcome.group,
        "life_domain": outcome.meta.get("life_domain"),
        "phase": outcome.stratum,
        "turn": outcome.meta.get("turn"),
        "epoch": outcome.epoch,
        "model": summary.model,
        "judge": verdict.judge if verdict else None,
        "judge_epoch": verdict.judge_epoch if verdict else None,
        "state": outcome.state,
        "reason": outcome.reason,
        "grade": verdict.label if verdict else None,
        "score": verdict.score if verdict else None,
        "user_message": conversation[-1].get("user"),
        "response": outcome.response,
        "truncated": outcome.truncated if outcome.response is not None else None,
        "reasoning": detail.get("reasoning"),
        "evidence": None if quotes is None else "\n".join(quote["text"] for quote in quotes),
        "verified": verdict.verified if verdict else None,
    }


def _safe(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = value.replace("\0", "\ufffd")
    return f"'{text}" if text.startswith(_FORMULA) else text


def _trigger(outcome: Outcome) -> ResultTrigger:
    """A trigger of the official format; of several verdicts the first that is nearest to the grade that they make."""
    view, meta = JudgeView.model_validate(outcome.view), dict(outcome.meta)
    turn, curated = int(meta.pop("turn")), str(meta.pop("curated_response"))
    graded = Grade(outcome.label) if outcome.label else None
    given = min(outcome.verdicts, key=lambda verdict: _distance(verdict, graded), default=None) if graded else None
    verdict = Verdict.model_validate(given.detail) if given else None
    return ResultTrigger(
        key=outcome.key,
        origin=Origin.model_validate(meta),
        turn=turn,
        rubric=view.rubric,
        user_message=view.conversation[-1].user,
        response=outcome.response,
        curated_response=curated,
        status="EVALUATED" if verdict else None,
        label=graded if verdict else None,
        reasoning=verdict.reasoning if verdict else "",
        evidence=tuple(quote.text for quote in verdict.evidence) if verdict else (),
    )


def _distance(verdict: GivenVerdict, grade: Grade | None) -> float:
    """How far a verdict's score lies from a grade's."""
    return abs(verdict.score - grade.score) if grade else 0.0


def _usage(folder: RunFolder, tried: Sequence[Outcome]) -> dict[str, dict[str, TokenUsage]]:
    """What each role used for each dialogue, in the first epoch."""
    dialogues = {outcome.key: str(outcome.meta["dialogue"]) for outcome in tried}
    used: defaultdict[str, defaultdict[str, TokenUsage]] = defaultdict(lambda: defaultdict(TokenUsage))
    for event in folder.events():
        if event.key.epoch == 1 and event.key.case in dialogues:
            for call in event.calls:
                used[dialogues[event.key.case]][call.role] += _tokens(call)
    return {dialogue: dict(roles) for dialogue, roles in used.items()}


def _tokens(call: Call) -> TokenUsage:
    return TokenUsage(prompt_tokens=call.prompt_tokens or 0, completion_tokens=call.completion_tokens or 0, calls=1)
