"""A run as a log of Inspect, `.eval`, written with the standard library.

The form is that of version 2 as inspect-ai 0.3.285 writes it, which Inspect keeps readable and does not specify: a test
has inspect-ai read what is written here. Two scores stand at a sample: the number, named by the benchmark, and the
`grade`. A case that was tried and has no grade has an error and no score, so that Inspect counts it in no mean.
"""

import hashlib
import json
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from dspy_proact.calls import CallUsage, Usage
from dspy_proact.evaluation.inspect_run import GRADE, OURS, LoggedCase, LoggedManifest
from dspy_proact.exchange.case import ExportedCase, exported_cases, manifest_of
from dspy_proact.exchange.metrics import metrics_of
from dspy_proact.exchange.safe_json import safe_json
from dspy_proact.kept import replacing
from dspy_proact.report.summary import Summary
from dspy_proact.report.summary_text import summary_document
from dspy_proact.runs import CONTROL, CaseRecord, Manifest, RunFolder, StageEvent
from dspy_proact.stats import Estimate

_ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
"""Of Inspect's ids."""
_LONG_ID = 22
_LONGEST_INPUT, _LONGEST_TEXT = 5120, 1024
"""Characters of an input and of another text in a summary of a sample."""


def log_name(summary: Summary) -> str:
    """The name of a log as Inspect gives it: when the run was begun, the benchmark, and an id of the run."""
    manifest = manifest_of(summary)
    parts = (manifest.created, summary.benchmark, _id(manifest, "task"))
    return "_".join(re.sub(r"[^\w.]|_", "-", part) for part in parts) + ".eval"


def export_inspect(folder: RunFolder, summary: Summary, path: Path) -> list[str]:
    """Write a run as a log of Inspect; what is not in it, a line each.

    Raises a `UsageError` where the file cannot be written, and a `RunError` where the run is damaged.
    """
    manifest = manifest_of(summary)
    events, calls = defaultdict[Any, list[StageEvent]](list), defaultdict[Any, Any](list)
    for event in folder.events():
        events[event.key.case, event.key.epoch].append(event)
    for call in folder.call_usage():
        if call.key:
            calls[call.key.case, call.key.epoch].append(call)
    records, models = {case.key: case for case in folder.cases()}, _models(summary)
    summaries, pending, replaced, keys = list[Any](), set(records), 0, list[str]()
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for case in exported_cases(summary):
            position = case.outcome.key, case.outcome.epoch
            if not events[position]:
                continue
            pending.discard(case.outcome.key)
            kept = records[case.outcome.key]
            score = case.outcome.score if case.outcome.label else None
            record = LoggedCase(case=kept, events=tuple(events[position]), calls=tuple(calls[position]), score=score)
            sample = _sample(case, summary, record, models)
            text, count = safe_json(sample)
            if count:  # the marks are of what was replaced
                record = record.model_copy(update={"case": kept.model_copy(update={"mark": None})})
                text, count = safe_json(_sample(case, summary, record, models))
            replaced += count
            _write(archive, f"samples/{sample['id']}_epoch_{sample['epoch']}.json", text)
            summaries.append(_thin(sample))
            keys.append(sample["id"])
        left = tuple(_without_view(records[key]) for key in records if key in pending)
        _write(archive, "summaries.json", safe_json(summaries)[0])
        logged = LoggedManifest(manifest=manifest, pending=left)
        _write(archive, "header.json", safe_json(_header(summary, logged, list(dict.fromkeys(keys)), models))[0])
    waiting = summary.count("pending") + summary.controls.count("pending")
    lost = (
        (waiting, "pending cases, of which it has the keys; the log says that the run was cancelled"),
        (replaced, "characters that no file holds safely, replaced by U+FFFD"),
    )
    return [*(f"{count:,} {what}" for count, what in lost if count), "replies as they came, and thoughts"]


def _without_view(case: CaseRecord) -> CaseRecord:
    """A case with a hash in place of its view: many that were not tried would make a header of megabytes."""
    text = json.dumps(dict(case.view), sort_keys=True)
    return case.model_copy(update={"view": {"sha256": hashlib.sha256(text.encode()).hexdigest()}, "mark": None})


def _id(manifest: Manifest, what: str) -> str:
    """An id in the form of Inspect's, which follows from the run."""
    number = int.from_bytes(hashlib.sha256(f"{what} {manifest.identity.digest()}".encode()).digest(), "big")
    letters = list[str]()
    for _ in range(_LONG_ID):
        number, rest = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[rest])
    return "".join(letters)


def _write(archive: zipfile.ZipFile, name: str, text: str) -> None:
    member = zipfile.ZipInfo(name)  # with a date that is always the same, so that equal runs give equal files
    member.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(member, text)


# A sample.


def _sample(case: ExportedCase, summary: Summary, record: LoggedCase, models: Mapping[str, str]) -> dict[str, Any]:
    outcome, reporting, nouns = case.outcome, summary.reporting, summary.nouns
    messages = [{"role": message.role, "content": message.content, "source": "input"} for message in case.messages]
    reply = {"role": "assistant", "content": case.answer or "", "source": "generate", "model": summary.model}
    choice = {"message": reply, "stop_reason": "max_tokens" if outcome.truncated else "stop"}
    times = [attempt.started for call in record.calls for attempt in call.attempts]
    times += [event.time for event in record.events]
    meta = {name: value for name, value in outcome.meta.items() if name not in reporting.ungrouped}
    return {
        "id": _sample_id(outcome.key),
        "epoch": outcome.epoch,
        "input": messages,
        "target": case.hidden,
        "messages": messages if case.answer is None else [*messages, reply],
        "output": {
            "model": summary.model,
            "choices": [] if case.answer is None else [choice],
            "completion": case.answer or "",
        },
        "scores": _scores(case, summary),
        "metadata": {
            **meta,
            nouns.case: outcome.key,
            nouns.stratum: outcome.stratum,
            nouns.group: outcome.group,
            OURS: record.model_dump(mode="json"),
        },
        "model_usage": _usage_of(record.calls, models),
        "started_at": _time(min(times)),
        "completed_at": _time(max(times)),
        "total_time": round(max(times) - min(times), 3),
        **({"error": {"message": case.error, "traceback": "", "traceback_ansi": ""}} if case.error else {}),
    }


def _sample_id(key: str) -> str:
    """The key of a case, unless that would lead out of the archive, whose names have it."""
    if PurePosixPath(key).is_absolute() or ".." in PurePosixPath(key).parts:
        return f"{re.sub(r'[./]', '_', key)}_{hashlib.sha256(key.encode('utf-8', 'replace')).hexdigest()[:8]}"
    return key


def _scores(case: ExportedCase, summary: Summary) -> dict[str, Any]:
    outcome = case.outcome
    if outcome.label is None:
        return {}
    name = "controls" if outcome.stratum == CONTROL else summary.benchmark
    number = {
        "value": outcome.score,
        "answer": case.answer,
        "explanation": case.explanation,
        "metadata": {"grade": outcome.label, "verified": not outcome.unverified, "verdicts": case.verdicts},
    }
    return {name: number, GRADE: {"value": outcome.label}}


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def _thin(sample: Mapping[str, Any]) -> dict[str, Any]:
    """What Inspect lists of a sample, its texts cut where Inspect cuts them."""
    scores = {
        name: {
            **{
                field: score[field] and score[field][:_LONGEST_TEXT]
                for field in ("answer", "explanation")
                if field in score
            },
            "value": score["value"],
            "metadata": {key: value for key, value in score.get("metadata", {}).items() if key != "verdicts"},
        }
        for name, score in sample["scores"].items()
    }
    messages = [{**message, "content": message["content"][:_LONGEST_INPUT]} for message in sample["input"]]
    metadata = {
        name: value[:_LONGEST_TEXT] if isinstance(value, str) else value
        for name, value in sample["metadata"].items()
        if name != OURS
    }
    kept = ("id", "epoch", "model_usage", "started_at", "completed_at", "total_time")
    return {name: sample[name] for name in kept} | {
        "input": messages,
        "target": sample["target"][:_LONGEST_INPUT],
        "metadata": metadata,
        "scores": scores,
        "completed": True,
        "message_count": len(sample["messages"]),
        **({"error": sample["error"]["message"]} if "error" in sample else {}),
    }


# The header.


def _header(summary: Summary, logged: LoggedManifest, keys: Sequence[str], models: Mapping[str, str]) -> dict[str, Any]:
    manifest, usage = logged.manifest, summary.usage
    identity, report = manifest.identity, summary_document(summary)
    del report["run"]["path"]  # of this machine
    by_model = defaultdict[str, list[Usage]](list)
    for role, used in (*summary.usage.items(), *summary.judge_usage.items()):
        if role != "judge":
            by_model[models.get(role, role)].append(used)
    graders = [{"model": judge.model, "base_url": judge.endpoint} for judge in identity.judges]
    seconds = summary.seconds or 0.0
    begun = datetime.fromisoformat(manifest.created).timestamp()
    return {
        "version": 2,
        "status": "success" if summary.complete else "cancelled",
        "eval": {
            **{f"{what}_id": _id(manifest, what) for what in ("eval", "run", "task")},
            "created": manifest.created,
            "task": summary.benchmark,
            "task_description": manifest.about or None,
            "task_args": identity.settings,
            "dataset": {"name": manifest.corpus.name, "samples": len(keys), "sample_ids": keys, "shuffled": False},
            "model": summary.model,
            "model_base_url": identity.assistant.endpoint,
            "model_roles": {"grader": graders} if graders else None,
            "config": {"epochs": manifest.epochs},
            "packages": manifest.versions,
            "tags": [f"{name}={value}" for name, value in manifest.tags.items()] or None,
            "metadata": {"headline": report["headline"], OURS: logged.model_dump(mode="json")},
        },
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {
            "total_samples": len(summary.outcomes) + len(summary.controls.outcomes),
            "completed_samples": len(summary.scored) + len(summary.controls.scored),
            "scores": list(_results(summary)),
            "metadata": {"report": report},
        },
        "stats": {
            "started_at": manifest.created,
            "completed_at": _time(begun + seconds),
            "model_usage": {model: _tokens(sum(used[1:], used[0])) for model, used in by_model.items()},
            "role_usage": {role: _tokens(used) for role, used in usage.items()},
        },
    }


def _results(summary: Summary) -> Iterator[dict[str, Any]]:
    """The number with its metrics, the leading one first; each has its interval in its metadata."""
    metrics = {metric.name: metric.estimate for metric in metrics_of(summary)}
    yield _scorer(summary.benchmark, len(summary.scored), len(summary.outcomes), metrics)
    if controls := summary.controls.outcomes:
        rate = {summary.controls.key: summary.controls.rate}
        yield _scorer("controls", len(summary.controls.scored), len(controls), rate)


def _scorer(name: str, scored: int, count: int, estimates: Mapping[str, Estimate]) -> dict[str, Any]:
    metrics = {
        metric: {
            "name": metric,
            "value": estimate.value,
            "metadata": {"low": estimate.low, "high": estimate.high, "confidence": 0.95, "reason": estimate.reason},
        }
        for metric, estimate in estimates.items()
        if estimate.value is not None
    }
    counts = {"scored_samples": scored, "unscored_samples": count - scored}
    return {"name": name, "scorer": name, **counts, "metrics": metrics}


# What was used.


def _models(summary: Summary) -> dict[str, str]:
    """The model of each role, and of each judge by its own name."""
    further = {name: role.model for name, role in summary.further_roles.items()}
    return {"assistant": summary.model, **further, **{judge: judge for judge in summary.judges}}


def _usage_of(calls: Iterable[CallUsage], models: Mapping[str, str]) -> dict[str, Any]:
    """Tokens by model."""
    tokens = defaultdict[str, list[int]](lambda: [0, 0, 0, 0])
    for call in calls:
        judge = call.key.judge if call.key else None
        for attempt in call.attempts:
            name = models.get(judge if attempt.role == "judge" and judge else attempt.role, attempt.role)
            counts = (attempt.prompt_tokens, attempt.completion_tokens, attempt.cached_tokens, attempt.written_tokens)
            tokens[name] = [total + (count or 0) for total, count in zip(tokens[name], counts, strict=True)]
    return {name: _counts(*counts) for name, counts in tokens.items()}


def _tokens(usage: Usage) -> dict[str, Any]:
    counts = _counts(usage.prompt_tokens or 0, usage.completion_tokens or 0, usage.cached_tokens or 0)
    return counts | ({} if usage.usd is None else {"total_cost": usage.usd})


def _counts(prompt: int, completion: int, cached: int, written: int = 0) -> dict[str, int]:
    """Inspect's input has no cached tokens in it."""
    plain = max(0, prompt - cached - written)
    cache = {"input_tokens_cache_read": cached, "input_tokens_cache_write": written}
    return {"input_tokens": plain, "output_tokens": completion, "total_tokens": prompt + completion, **cache}
