"""Two judges, or one judge at two times, on the same responses; a judge beside people is a `study`."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dspy_proact.report.measured import worded
from dspy_proact.report.numbers import coefficient, counted, document, percent, points_of, seen_from
from dspy_proact.report.summary import Summary
from dspy_proact.runs import Evidence, Nouns, Outcome
from dspy_proact.stats import Estimate, Paired, cluster_mean, kappa_estimate, paired_difference


@dataclass(frozen=True)
class GradingAgreement:
    """How far two gradings of the same responses agree; neither is the truth."""

    first: str
    second: str
    responses: int
    """Responses that both graded."""
    exact: Estimate
    """Share of them with the same grade, in [0, 1]."""
    kappa: Estimate
    """Cohen's kappa with quadratic weights, in [-1, 1]: 1 is agreement, 0 is chance."""
    table: dict[str, dict[str, int]]
    """Responses by the first's grade, then by the second's."""
    shift: Paired
    """Mean score of the second minus that of the first: above 0, the second is the more lenient."""
    evidence: tuple[Evidence, Evidence]
    """Of the first and of the second."""
    nouns: Nouns
    """What the benchmark calls its things."""


def agree_within(summary: Summary, first: str, second: str) -> GradingAgreement:
    """Two judges of one run, named by their models, each by its own verdicts."""
    labels, names = summary.labels, summary.judge_names
    pairs = [(outcome.by(first, labels), outcome.by(second, labels)) for outcome in summary.outcomes]
    return agree_between(pairs, names[first], names[second], summary)


def agree_between(
    pairs: Sequence[tuple[Outcome, Outcome]], first: str, second: str, summary: Summary
) -> GradingAgreement:
    """The judges of two runs on pairs of outcomes with one response; labels and nouns are of the summary of either."""
    labels, nouns = summary.labels, summary.nouns
    graded = [(a, b) for a, b in pairs if a.label and b.label]
    groups, sides = [a.group for a, _ in graded], ([a for a, _ in graded], [b for _, b in graded])
    ours, theirs = ([each.label for each in side] for side in sides)
    before, after = ([each.score for each in side] for side in sides)
    counts = Counter(zip(ours, theirs, strict=True))
    evidence = [Evidence.of(verdict for each in side for verdict in each.verdicts) for side in sides]
    found = GradingAgreement(
        first=first,
        second=second,
        responses=len(graded),
        exact=cluster_mean([float(a == b) for a, b in zip(ours, theirs, strict=True)], groups),
        kappa=kappa_estimate(ours, theirs, labels, groups, "quadratic"),
        table={a: {b: counts[a, b] for b in labels} for a in labels},
        shift=paired_difference(before, after, groups),
        evidence=(evidence[0], evidence[1]),
        nouns=nouns,
    )
    return worded(found, nouns)


def agreement_document(agreement: GradingAgreement) -> dict[str, Any]:
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
    """A difference, second minus first: its interval is not adjusted for several tests, nor is `p`.

    `detectable_points` is the true difference that is detected with 80 % power, by the adjusted test where p is
    adjusted, and `detectable_half_points` with 50 %: each from `detectable_base`, the mean of both scores in [0, 1],
    towards .5.
    """
    reason = {"p_reason": paired.reason} if paired.reason else {}
    often, half = seen_from(paired) or (None, None)
    numbers = {"pairs": paired.count, nouns.groups: paired.groups, "p": paired.p}
    seen = {"detectable_base": paired.base, "detectable_points": often, "detectable_half_points": half}
    return {**paired.difference.for_json(), **numbers, **seen, **reason}


def agreement_lines(agreement: GradingAgreement) -> list[str]:
    """Two gradings of the same responses, in sentences; neither is the truth."""
    first, second = agreement.first, agreement.second
    if not agreement.responses:
        return [f"{first} and {second}: no response was graded by both."]
    labels = list(agreement.table)
    flips = [(a, b, agreement.table[a][b]) for a in labels for b in labels if a != b and agreement.table[a][b]]
    flipped = ", ".join(f"{a} -> {b} {count}" for a, b, count in flips) or "none"
    quotes = [f"{e.verified} of {e.checked}" for e in agreement.evidence]
    asked = any(each.checked for each in agreement.evidence)
    return [
        f"{first} and {second} on {counted(agreement.responses, 'response')}: same grade {percent(agreement.exact)} %, "
        f"quadratic kappa {coefficient(agreement.kappa)}{f' ({why})' if (why := agreement.kappa.reason) else ''}.",
        f"flips from the first to the second: {flipped}. Mean score of the second minus the first: "
        f"{points_of(agreement.shift.difference)} points.",
        *([f"verdicts with a quote that stands in the response: {quotes[0]} and {quotes[1]}."] if asked else []),
    ]
