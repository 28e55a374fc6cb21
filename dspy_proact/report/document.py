"""A summary as the JSON document of `report --json`. Its shape is a promise: scripts read it."""

from typing import Any

from dspy_proact.report.summary import Scores, Summary, Usage


def document(summary: Summary) -> dict[str, Any]:
    """The document: a value that cannot be given is null, with a `reason` beside it."""
    return {
        "run": _run(summary),
        "complete": summary.complete,
        "scenarios": summary.group_count,
        "triggers": {
            "total": len(summary.outcomes),
            "scored": summary.count("scored"),
            "unscored": summary.count("unscored"),
            "pending": summary.count("pending"),
            "unscored_reasons": summary.unscored_reasons,
        },
        "phases": {stratum: _phase(summary, stratum) for stratum in summary.manifest.strata},
        "overall": {"micro": _scores(summary.micro), "macro": _scores(summary.macro)},
        "evidence": {"checked": summary.evidence_checked, "verified": summary.evidence_verified},
        "usage": {role: _usage(usage) for role, usage in summary.usage.items()},
    }


def _run(summary: Summary) -> dict[str, Any]:
    manifest = summary.manifest
    identity = manifest.identity
    return {
        "path": summary.path,
        "id": identity.digest()[:8],
        "benchmark": identity.benchmark,
        "model": identity.assistant.model,
        "judge": identity.judge.model,
        "embedded": manifest.embedded,
        "created": manifest.created,
        "epochs": manifest.epochs,
        "triggers": summary.case_count,
        "truncated": summary.truncated,
        "tried_again": summary.tried_again,
        "corpus": manifest.corpus.model_dump(mode="json") | {"sha256": identity.corpus},
        "versions": manifest.versions,
    }


def _phase(summary: Summary, stratum: str) -> dict[str, Any]:
    outcomes = summary.of_stratum(stratum)
    labels = {label.lower(): sum(o.label == label for o in outcomes) for label in summary.manifest.labels}
    states = {state: sum(o.state == state for o in outcomes) for state in ("unscored", "pending")}
    return {"total": len(outcomes), **labels, **states, **_scores(summary.scores(stratum))}


def _scores(scores: Scores) -> dict[str, Any]:
    return {
        "pass_rate": scores.pass_rate.for_json(),
        "weighted": scores.weighted.for_json(),
        "strict_pass_rate": scores.strict_pass_rate.for_json(),
        "strict_weighted": scores.strict_weighted.for_json(),
    }


def _usage(usage: Usage) -> dict[str, Any]:
    numbers = {
        "calls": usage.calls,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cached_tokens": usage.cached_tokens,
        "usd": usage.usd,
    }
    return numbers | ({"reason": usage.reason} if usage.reason else {})
