"""A run as rows that `mlflow.genai.evaluate(data=...)` takes, one for each answer: JSON, read with `json.load`.

`inputs` have what the program under test saw, and nothing that was hidden from it. `expectations` have the hidden text,
and under `case` the case itself, by which `dspy_proact.mlflow.scorer` grades the answer as the benchmark does. Tags say
what the run gave it.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dspy_proact.evaluation.answer_rows import plain_field
from dspy_proact.evaluation.registry import find_benchmark
from dspy_proact.exchange.case import ExportedCase, exported_cases
from dspy_proact.kept import replacing
from dspy_proact.report.numbers import counted
from dspy_proact.report.summary import Summary
from dspy_proact.runs import CONTROL, CaseRecord, RunFolder, latest

_LONGEST_TAG = 250
"""Characters of a tag's value: MLflow keeps no longer one in every store."""


def export_mlflow(folder: RunFolder, summary: Summary, path: Path) -> Sequence[str]:
    """Write a run as rows of MLflow; what is not in it, a line each. A `UsageError` where it cannot be written."""
    records = {record.key: record for record in folder.cases()}
    events = latest(folder.events())
    answers = {(key.case, key.epoch): event.answer for key, event in events.items() if key.stage == "response"}
    declared = find_benchmark(summary.benchmark)
    text = plain_field(declared.answer_type) if declared else "text"
    kept, left, controls = 0, 0, 0
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        file.write("[")
        for case in exported_cases(summary):
            answer = answers.get((case.outcome.key, case.outcome.epoch))
            if case.outcome.stratum == CONTROL:
                controls += 1
            elif answer is None:
                left += 1
            else:
                row = {
                    "inputs": _inputs(case),
                    "outputs": answer[text] if text and isinstance(answer.get(text), str) else answer,
                    "expectations": _expectations(case, summary, records),
                }
                file.write(f"{',' if kept else ''}\n{json.dumps(row | {'tags': dict(_tags(case, summary))})}")
                kept += 1
        file.write("\n]\n")
    nouns = summary.nouns
    lost = [f"{counted(left, nouns.case, nouns.cases)} without an answer"] if left else []
    lost += [counted(controls, nouns.control, nouns.controls)] if controls else []
    return lost + ([] if _has_inputs(summary) else ["the inputs, which the run does not keep"])


def _has_inputs(summary: Summary) -> bool:
    return summary.manifest is None or summary.manifest.keeps_inputs


def _inputs(case: ExportedCase) -> dict[str, Any]:
    return {"messages": [{"role": message.role, "content": message.content} for message in case.messages]}


def _expectations(case: ExportedCase, summary: Summary, records: dict[str, CaseRecord]) -> dict[str, Any]:
    """What was hidden, for readers, and the case, for the scorer; none where the run keeps no inputs."""
    if not _has_inputs(summary):
        return {}
    record = records[case.outcome.key].model_dump(mode="json", include={"key", "group", "stratum", "view", "meta"})
    return ({"hidden": case.hidden} if case.hidden else {}) | {"case": {"benchmark": summary.benchmark, **record}}


def _tags(case: ExportedCase, summary: Summary) -> Iterator[tuple[str, str]]:
    """What the run gave an answer, as texts."""
    outcome, identity = case.outcome, summary.manifest.identity if summary.manifest else None
    known = {
        "key": outcome.key,
        "epoch": outcome.epoch,
        "stratum": outcome.stratum,
        "group": outcome.group,
        "model": summary.model,
        "judge": identity.judge_name if identity else None,
        "grade": outcome.label,
        "score": None if outcome.label is None else outcome.score,
        "unscored": case.error,
    }
    for name, value in known.items():
        if value not in (None, ""):
            yield f"dspy_proact.{name}", str(value)[:_LONGEST_TAG]
