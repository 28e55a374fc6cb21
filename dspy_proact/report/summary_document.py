"""A summary as a JSON document. Its shape is a promise: scripts read it.

A value that cannot be given is null, with a `reason` beside it.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from dspy_proact.report.agreement import agree_within, agreement_document
from dspy_proact.report.document import document
from dspy_proact.report.headline import headline
from dspy_proact.report.summary import Summary, is_small
from dspy_proact.runs import Manifest, Outcome


def summary_document(summary: Summary, by: Sequence[str] = ()) -> dict[str, Any]:
    """The document of `report --json`.

    Args:
        summary: What is reported.
        by: Grouping keys of the cases, each a breakdown.

    Raises:
        UsageError: The cases have no such key.
    """
    nouns, controls = summary.nouns, summary.controls
    whole = {
        "headline": headline(summary),
        "run": _run(summary),
        "complete": summary.complete,
        nouns.groups: summary.group_count,
        f"{nouns.groups}_reached": summary.groups_reached,
        nouns.cases: summary.counts(),
        nouns.strata: {stratum: counts_and_scores(summary, summary.of_stratum(stratum)) for stratum in summary.strata},
        "overall": {
            "micro": document(summary.micro),
            "macro": document(summary.macro),
            **_measures(summary, summary.outcomes),
        },
        "controls": None if controls.reason else summary.particulars.control_document(controls),
        **({"controls_reason": controls.reason} if controls.reason else {}),
        "evidence": document(summary.evidence),
        "usage": {role: document(usage) for role, usage in summary.usage.items()},
    }
    return whole | _repeated(summary) | ({"breakdowns": _breakdowns(summary, by)} if by else {})


def counts_and_scores(summary: Summary, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Counts by grade and state, and the scores, of some outcomes of a summary."""
    labels = {label.lower(): sum(o.label == label for o in outcomes) for label in summary.labels}
    states = {state: sum(o.state == state for o in outcomes) for state in ("unscored", "pending")}
    scores = document(summary.scores_of(outcomes))
    return {"total": len(outcomes), **labels, **states, **scores, **_measures(summary, outcomes)}


def _run(summary: Summary) -> dict[str, Any]:
    judge = {"judge": summary.judge} if summary.judges else {"judge": None, "judge_reason": "graded by the benchmark"}
    named = {"path": summary.path, "benchmark": summary.benchmark, "model": summary.model, **judge}
    counted = {summary.nouns.cases: summary.case_count, "truncated": summary.truncated, "embedded": summary.embedded}
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
        "cards": manifest.cards,
        "judge_prompt": identity.judges[0].program if identity.judges else None,
        "parent": identity.parent,
        "created": manifest.created,
        "epochs": manifest.epochs,
        "judge_epochs": manifest.judge_epochs,
        "tried_again": summary.tried_again,
        "seconds": summary.seconds,
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
        "left_out": read.left_out,
        "sha256": manifest.identity.corpus,
    }


def _measures(summary: Summary, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The measures that the benchmark declares; nothing where it declares none."""
    found = {name: estimate.for_json() for name, estimate in summary.measured(outcomes).items()}
    return {"measures": found} if found else {}


def _repeated(summary: Summary) -> dict[str, Any]:
    """What several verdicts and several epochs tell; nothing where everything was asked once."""
    told: dict[str, Any] = {}
    if summary.judged_severally:
        several, unanimous = summary.judged_again
        counts = {"responses": several, "unanimous": unanimous, "awaited": summary.awaited}
        told["several_verdicts"] = counts | _jury(summary)
    if summary.repeats:
        case = summary.nouns.case
        told["repeats"] = {name.replace("case", case): each for name, each in document(summary.repeats).items()}
    return told


def _jury(summary: Summary) -> dict[str, Any]:
    graders = {
        grader.name: {name: each for name, each in document(grader).items() if name != "name" and each is not None}
        for grader in summary.graders
    }
    agreements = (agree_within(summary, first, second) for first, second in combinations(summary.judges, 2))
    return {"judges": graders, "agreement": [agreement_document(agreement) for agreement in agreements]}


def _breakdowns(summary: Summary, by: Sequence[str]) -> dict[str, Any]:
    return {
        key: {
            group: counts_and_scores(summary, outcomes) | ({"small": True} if is_small(outcomes) else {})
            for group, (outcomes, _) in summary.breakdown(key).items()
        }
        for key in by
    }
