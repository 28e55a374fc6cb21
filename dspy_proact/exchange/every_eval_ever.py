"""A run in the form of Every Eval Ever, https://evalevalai.com, version 0.3.0 of its schema.

It is two files in the layout of its datastore: an aggregate, with a result for each score, and a row for each graded
case, which belongs to the mean over cases. A row must have a score: a case without a grade is none, and is counted.
"""

import hashlib
import json
import re
import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from dspy_proact.calls import Call
from dspy_proact.exchange.case import ExportedCase, exported_cases, manifest_of
from dspy_proact.exchange.forms import ROWS
from dspy_proact.exchange.metrics import metrics_of
from dspy_proact.exchange.safe_json import safe_json
from dspy_proact.kept import replacing
from dspy_proact.report.summary import Summary
from dspy_proact.runs import CONTROL, Manifest, RoleIdentity, RunFolder
from dspy_proact.stats import Estimate

VERSION = "0.3.0"
_METHOD = "clustered by groups of cases, as docs/statistics.md of dspy-proact says"
_UNNAMED = "unstated"
"""The developer of a model whose name does not say it; their datastore refuses `unknown`."""
_UNSAFE_NAME = re.compile(r'[<>:"\\|?*\x00-\x1f]|[. ]$')


def aggregate_path(summary: Summary) -> str:
    """The path of the aggregate in the datastore: by benchmark, developer and model, with a UUID for a name."""
    manifest = manifest_of(summary)
    developer, _, model = _model_id(summary.model).partition("/")
    folder = (developer, model.replace("/", "_")) if model else (_UNNAMED, developer)
    # Version 4 in form; it follows from the run, so that the same run is the same file.
    name = uuid.UUID(bytes=hashlib.sha256(manifest.identity.digest().encode()).digest()[:16], version=4)
    return "/".join(("data", _UNSAFE_NAME.sub("-", summary.benchmark), *folder, f"{name}.json"))


def export_every_eval_ever(folder: RunFolder, summary: Summary, path: Path) -> list[str]:
    """Write a run: the aggregate to the path, the rows beside it; what is not in them, a line each.

    Raises a `UsageError` where a file cannot be written, and a `RunError` where the run is damaged.
    """
    calls = defaultdict[tuple[str, int], list[Call]](list)
    for key, attempts in folder.attempts():
        if key.stage == "response":
            calls[key.case, key.epoch] += attempts
    count, replaced, checksum = 0, 0, hashlib.sha256()
    # Both or none: where one cannot be written, the other is not there.
    with replacing(path) as temporary, replacing(path.with_name(path.stem + ROWS)) as beside:
        with beside.open("wb") as file:
            for case in exported_cases(summary):
                outcome = case.outcome
                if outcome.label is None or outcome.stratum == CONTROL or case.answer is None:
                    continue
                text, changed = safe_json(_row(case, summary, calls[outcome.key, outcome.epoch]))
                line = f"{text}\n".encode()
                checksum.update(line)
                file.write(line)
                count, replaced = count + 1, replaced + changed
        rows = {
            "format": "jsonl",
            "file_path": aggregate_path(summary).removesuffix(".json") + ROWS,
            "hash_algorithm": "sha256",
            "checksum": checksum.hexdigest(),
            "total_rows": count,
        }
        document = _aggregate(summary) | ({"detailed_evaluation_results": rows} if count else {})
        text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
        temporary.write_text(f"{text}\n", encoding="utf-8")
    lost = (
        (summary.count("unscored"), "cases without a grade, since a row must have a score"),
        (summary.count("pending"), "pending cases"),
        (len(summary.controls.outcomes), f"{summary.nouns.controls}"),
        (replaced, "characters that no file holds safely, replaced by U+FFFD"),
    )
    never = "who ran it: source_organization_name and evaluator_relationship are to be filled in"
    return [*(f"{number:,} {what}" for number, what in lost if number), never]


def _model_id(name: str) -> str:
    """The name of a model as a path of their datastore may have it."""
    return "/".join(_UNSAFE_NAME.sub("-", part) for part in name.split("/") if part)


def _evaluation_id(summary: Summary) -> str:
    return f"{summary.benchmark}/{_model_id(summary.model)}/{_seconds(summary)}"


def _seconds(summary: Summary) -> str:
    """When the run ended, in seconds since the epoch."""
    return f"{datetime.fromisoformat(manifest_of(summary).created).timestamp() + (summary.seconds or 0):.0f}"


# The aggregate.


def _aggregate(summary: Summary) -> dict[str, Any]:
    manifest = manifest_of(summary)
    return {
        "schema_version": VERSION,
        "evaluation_id": _evaluation_id(summary),
        "evaluation_timestamp": _seconds(summary),
        "retrieved_timestamp": _seconds(summary),
        "source_metadata": {
            "source_type": "evaluation_run",
            "source_organization_name": _UNNAMED,
            "evaluator_relationship": "other",
            "additional_details": _texts({"run": manifest.identity.digest(), "stand_in": summary.embedded}),
        },
        "model_info": _model(summary.model, manifest.identity.assistant),
        "eval_library": {"name": "dspy-proact", "version": manifest.versions.get("dspy-proact", "unknown")},
        "evaluation_results": list(_results(summary)),
    }


def _model(name: str, role: RoleIdentity) -> dict[str, Any]:
    own = {"program": role.program, "prompt_sha256": role.prompt, "endpoint": role.endpoint}
    known = {"deployment_type": "unknown", "model_availability": "unknown"}
    developer = {} if "/" in name else {"developer": _UNNAMED}
    return {"name": name, "id": _model_id(name), **developer, "additional_details": known | _texts(own)}


def _results(summary: Summary) -> Iterator[dict[str, Any]]:
    manifest = manifest_of(summary)
    decoding = manifest.identity.assistant.decoding
    arguments = {name: decoding[name] for name in ("temperature", "top_p", "max_tokens") if decoding.get(name)}
    rest = {name: value for name, value in decoding.items() if name not in arguments}
    corpus = {"sha256": manifest.identity.corpus, "revision": manifest.corpus.revision, "cases": manifest.corpus.cases}
    shared = {
        "evaluation_name": summary.benchmark,
        "source_data": {
            "dataset_name": manifest.corpus.name,
            "source_type": "other",
            "additional_details": _texts(corpus),
        },
        "generation_config": {
            "generation_args": arguments,
            "additional_details": _texts(rest | {"system_prompt": manifest.system_prompt}),
        },
    }
    for metric in metrics_of(summary):
        if metric.estimate.value is None:
            continue
        bounds = {"min_score": _bound(metric.least), "max_score": _bound(metric.most)}
        named = f"{summary.benchmark}.{metric.name}"
        levels = {"level_names": list(reversed(summary.labels)), "has_unknown_level": False} if metric.of_grades else {}
        yield {
            "evaluation_result_id": named,
            **shared,
            "metric_config": {
                "evaluation_description": metric.about,
                "metric_id": named,
                "metric_name": metric.name,
                "metric_unit": "proportion" if (metric.least, metric.most) == (0, 1) else "points",
                "lower_is_better": not metric.higher_is_better,
                "score_type": "continuous",
                **bounds,
                **levels,
                **_judges(manifest),
            },
            "score_details": {
                "score": metric.estimate.value,
                "details": _texts({"reason": metric.estimate.reason, **metric.counts}),
                "uncertainty": _uncertainty(metric.estimate, metric.scored),
            },
        }


def _uncertainty(estimate: Estimate, scored: int) -> dict[str, Any]:
    if estimate.low is None:
        return {"num_samples": scored}
    ends = {"lower": estimate.low, "upper": estimate.high, "confidence_level": 0.95, "method": _METHOD}
    return {"confidence_interval": ends, "num_samples": scored}


def _judges(manifest: Manifest) -> dict[str, Any]:
    judges = manifest.identity.judges
    if not judges:
        return {}
    version = manifest.versions.get("dspy-proact", "")
    prompts = "; ".join(
        dict.fromkeys(f"{judge.program} of dspy-proact {version}, sha256 {judge.prompt}" for judge in judges)
    )
    temperatures = [judge.decoding.get("temperature") for judge in judges]
    scoring: dict[str, Any] = {
        "judges": [
            {
                "model_info": _model(judge.model, judge),
                **({} if temperature is None else {"temperature": temperature}),
            }
            for judge, temperature in zip(judges, temperatures, strict=True)
        ],
        "input_prompt": prompts,
    }
    return {"llm_scoring": scoring | ({"aggregation_method": "average"} if len(judges) > 1 else {})}


# Rows.


def _row(case: ExportedCase, summary: Summary, calls: list[Call]) -> dict[str, Any]:
    outcome, nouns = case.outcome, summary.nouns
    raw = "\n\n".join(f"{message.role}: {message.content}" for message in case.messages)
    reference = [case.hidden] if case.hidden else []
    chat = sum(message.role != "system" for message in case.messages) > 1
    turns: list[dict[str, Any]] = [{"role": message.role, "content": message.content} for message in case.messages]
    turns.append({"role": "assistant", "content": case.answer})
    last = len(turns) - 1 if chat else 0
    verdicts = json.dumps(case.verdicts, ensure_ascii=False)
    details = {nouns.stratum: outcome.stratum, nouns.group: outcome.group, "epoch": outcome.epoch}
    details |= {"grade": outcome.label, "explanation": case.explanation, "verdicts": verdicts}
    return {
        "schema_version": VERSION,
        "evaluation_id": _evaluation_id(summary),
        "model_id": _model_id(summary.model),
        "evaluation_name": summary.benchmark,
        # Of which rows are in any case; a mean over strata is unknown while one of them has no case.
        "evaluation_result_id": f"{summary.benchmark}.micro_score",
        "sample_id": outcome.key,
        "sample_hash": hashlib.sha256((raw + "".join(reference)).encode("utf-8", "replace")).hexdigest(),
        "interaction_type": "multi_turn" if chat else "single_turn",
        "input": {"raw": raw, "reference": reference},
        "output": None if chat else {"raw": [case.answer]},
        "messages": [{"turn_idx": index, **turn} for index, turn in enumerate(turns)] if chat else None,
        "answer_attribution": [
            {
                "turn_idx": last,
                "source": f"messages[{last}].content" if chat else "output.raw",
                "extracted_value": case.answer,
                "extraction_method": "the whole answer",
                "is_terminal": True,
            }
        ],
        "evaluation": {
            "score": outcome.score,
            "is_correct": outcome.label == summary.labels[0],
            "num_turns": sum(turn["role"] == "assistant" for turn in turns),
        },
        **_usage(calls),
        "metadata": _texts(details),
    }


def _usage(calls: list[Call]) -> dict[str, Any]:
    """Tokens and latency of an answer, where its provider counts them."""
    if not calls or any(call.prompt_tokens is None or call.completion_tokens is None for call in calls):
        return {}
    prompt, completion = (sum(getattr(call, name) for call in calls) for name in ("prompt_tokens", "completion_tokens"))
    tokens = {"input_tokens": prompt, "output_tokens": completion, "total_tokens": prompt + completion}
    return {
        "token_usage": tokens | {"input_tokens_cache_read": sum(call.cached_tokens or 0 for call in calls)},
        "performance": {"latency_ms": round(1000 * sum(call.latency for call in calls), 1)},
    }


def _bound(value: float) -> float | str:
    """A bound as strict JSON has it."""
    return value if abs(value) != float("inf") else "Infinity" if value > 0 else "-Infinity"


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Values as the texts that their further details are; without those that are None."""
    return {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in values.items()
        if value is not None
    }
