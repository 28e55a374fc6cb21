"""Reports as JSON documents. Their shapes are promises: scripts read them.

A value that cannot be given is null, with a `reason` beside it.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from dspy_proact.calls import Usage
from dspy_proact.report.agreement import Agreement, Evidence, agree_within
from dspy_proact.report.numbers import seen_from
from dspy_proact.report.outcome import Outcome
from dspy_proact.report.summary import Grader, Scores, Summary, is_small
from dspy_proact.runs import Manifest
from dspy_proact.stats import Figure, Paired, Repeats


def document(summary: Summary, by: Sequence[str] = ()) -> dict[str, Any]:
    """The document of `report --json`.

    Args:
        summary: What is reported.
        by: Grouping keys of the cases, each a breakdown.

    Raises:
        UsageError: The cases have no such key.
    """
    whole = {
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
        "phases": {stratum: counts_and_scores(summary, summary.of_stratum(stratum)) for stratum in summary.strata},
        "overall": {"micro": _scores(summary.micro), "macro": _scores(summary.macro)},
        "controls": summary.controls.for_json(),
        **({"controls_reason": summary.controls.reason} if summary.controls.reason else {}),
        "evidence": {"checked": summary.evidence_checked, "verified": summary.evidence_verified},
        "usage": {role: _usage(usage) for role, usage in summary.usage.items()},
    }
    return whole | _repeated(summary) | ({"breakdowns": _breakdowns(summary, by)} if by else {})


def agreement_document(agreement: Agreement) -> dict[str, Any]:
    """Two gradings of the same responses; rows of the table are the first's grades, columns the second's."""
    return {
        "first": agreement.first,
        "second": agreement.second,
        "responses": agreement.responses,
        "exact": agreement.exact.for_json(),
        "kappa_quadratic": agreement.kappa.for_json(),
        "table": agreement.table,
        "score_difference": paired_document(agreement.shift),
        "evidence": {"first": _evidence(agreement.evidence[0]), "second": _evidence(agreement.evidence[1])},
    }


def paired_document(paired: Paired) -> dict[str, Any]:
    """A difference, second minus first: its interval is not adjusted for several tests, nor is `p`."""
    reason = {"p_reason": paired.reason} if paired.reason else {}
    seen = seen_from(paired)
    numbers = {"pairs": paired.count, "scenarios": paired.clusters, "p": paired.p, "detectable_points": seen}
    return {**paired.difference.for_json(), **numbers, **reason}


def counts_and_scores(summary: Summary, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Counts by grade and state, and the scores, of some outcomes of a summary."""
    labels = {label.lower(): sum(o.label == label for o in outcomes) for label in summary.labels}
    states = {state: sum(o.state == state for o in outcomes) for state in ("unscored", "pending")}
    return {"total": len(outcomes), **labels, **states, **_scores(summary.scores_of(outcomes))}


def _run(summary: Summary) -> dict[str, Any]:
    named = {"path": summary.path, "benchmark": summary.benchmark, "model": summary.model, "judge": summary.judge}
    counted = {"triggers": summary.case_count, "truncated": summary.truncated, "embedded": summary.embedded}
    manifest = summary.manifest
    if manifest is None:
        return named | counted
    identity = manifest.identity
    return {
        **named,
        **counted,
        "id": identity.digest()[:8],
        "judges": list(summary.judges),
        "program": identity.assistant.program,
        "system_prompt": manifest.system_prompt,
        "learned_on": manifest.learned_on,
        "judge_prompt": identity.judges[0].program,
        "parent": identity.parent,
        "created": manifest.created,
        "epochs": manifest.epochs,
        "judge_epochs": manifest.judge_epochs,
        "tried_again": summary.tried_again,
        "corpus": _corpus(manifest),
        "versions": manifest.versions,
    }


def _corpus(manifest: Manifest) -> dict[str, Any]:
    read, nouns = manifest.corpus, manifest.nouns
    return {
        "name": read.name,
        "revision": read.revision,
        nouns.rows: read.rows,
        nouns.cases: read.cases,
        "ignored_fields": read.ignored_fields,
        "sha256": manifest.identity.corpus,
    }


def _repeated(summary: Summary) -> dict[str, Any]:
    """What several verdicts and several epochs tell; nothing where everything was asked once."""
    several, unanimous = summary.judged_again
    judged = {"responses": several, "unanimous": unanimous, "awaited": summary.awaited, **_jury(summary)}
    document = {"several_verdicts": judged} if summary.judged_severally else {}
    return document | ({"repeats": _variances(summary.repeats)} if summary.repeats else {})


def _jury(summary: Summary) -> dict[str, Any]:
    pairs = combinations(summary.judges, 2)
    agreements = [agree_within(summary.outcomes, first, second, summary.labels) for first, second in pairs]
    return {
        "judges": {grader.name: _grader(grader) for grader in summary.graders},
        "agreement": [agreement_document(agreement) for agreement in agreements],
    }


def _grader(grader: Grader) -> dict[str, Any]:
    return {
        "verdicts": grader.verdicts,
        "unread": dict(grader.unread),
        "weighted": grader.weighted.for_json(),
        "evidence": _evidence(grader.evidence),
        **({"usage": _usage(grader.usage)} if grader.usage else {}),
    }


def _variances(repeats: Repeats) -> dict[str, Any]:
    return {
        "trigger_variance": _figure(repeats.trigger_variance),
        "response_variance": _figure(repeats.response_variance),
        "judge_variance": _figure(repeats.judge_variance),
        "within_variance": _figure(repeats.within_variance),
        "design_effect": _figure(repeats.design_effect),
        "epochs_worth": _figure(repeats.epochs_worth),
        "judge_epochs_worth": _figure(repeats.judge_epochs_worth),
    }


def _breakdowns(summary: Summary, by: Sequence[str]) -> dict[str, Any]:
    return {
        key: {
            group: counts_and_scores(summary, outcomes) | ({"small": True} if is_small(outcomes) else {})
            for group, (outcomes, _) in summary.breakdown(key).items()
        }
        for key in by
    }


def _figure(figure: Figure[Any]) -> dict[str, Any]:
    return {"value": figure.value, **({"reason": figure.reason} if figure.reason else {})}


def _evidence(evidence: Evidence) -> dict[str, int]:
    return {"checked": evidence.checked, "verified": evidence.verified}


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
