from typing import Any

from dspy_proact.report.proactbench.check import Check, weighted


def check_document(check: Check) -> dict[str, Any]:
    """The faults as JSON; lists hold keys of triggers."""
    dropped = check.dropped
    return {
        "dropped": {"total": dropped.total, "by_phase": dropped.by_phase, "reason": dropped.reason},
        "stray_labels": dict(check.stray),
        "evidence_not_in_response": list(check.unfound),
        "no_evidence": list(check.unquoted),
        "missing_responses": list(check.missing),
        "empty_responses": list(check.empty),
        "responses_that_end_within_a_sentence": list(check.cut),
        "responses_without_a_trigger": list(check.orphans),
        "counts_stated": {phase: dict(counts) for phase, counts in check.stated.items()},
        "counts_from_labels": {phase: dict(counts) for phase, counts in check.counted.items()},
        "triggers_stated": check.stated_triggers,
        "weighted_stated": {phase: weighted(counts) for phase, counts in check.stated.items()},
        "weighted_recomputed": dict(check.recomputed),
        "ignored_fields": dict(check.ignored_fields),
    }
