"""Gradings and differences as JSON."""

from typing import Any

from dspy_proact.report.agreement import Agreement
from dspy_proact.report.document import document
from dspy_proact.report.numbers import seen_from
from dspy_proact.runs import Nouns
from dspy_proact.stats import Paired


def agreement_document(agreement: Agreement) -> dict[str, Any]:
    """Two gradings of the same responses; rows of the table are the first's grades, columns the second's."""
    return {
        "first": agreement.first,
        "second": agreement.second,
        "responses": agreement.responses,
        "exact": agreement.exact.for_json(),
        "kappa_quadratic": agreement.kappa.for_json(),
        "table": agreement.table,
        "score_difference": paired_document(agreement.shift, agreement.nouns),
        "evidence": {"first": document(agreement.evidence[0]), "second": document(agreement.evidence[1])},
    }


def paired_document(paired: Paired, nouns: Nouns) -> dict[str, Any]:
    """A difference, second minus first: its interval is not adjusted for several tests, nor is `p`."""
    reason = {"p_reason": paired.reason} if paired.reason else {}
    seen = seen_from(paired)
    numbers = {"pairs": paired.count, nouns.groups: paired.groups, "p": paired.p, "detectable_points": seen}
    return {**paired.difference.for_json(), **numbers, **reason}
