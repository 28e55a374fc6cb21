"""Two judges, or one judge at two times, on the same responses; a judge beside people is a `study`."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dspy_proact.evaluation.measured_run import MeasuredRun
from dspy_proact.report.measured import in_nouns
from dspy_proact.report.numbers import counted, percent, points_of
from dspy_proact.runs import Evidence, Outcome
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
    kappa_quadratic: Estimate
    """Cohen's kappa with quadratic weights, in [-1, 1]: 1 is agreement, 0 is chance."""
    table: dict[str, dict[str, int]]
    """Responses by the first's grade, then by the second's."""
    score_difference: Paired
    """Mean score of the second minus that of the first: above 0, the second is the more lenient."""
    evidence: dict[str, Evidence]
    """Of the `first` and of the `second`."""


def agree_between(
    pairs: Sequence[tuple[Outcome, Outcome]], first: str, second: str, summary: MeasuredRun
) -> GradingAgreement:
    """The judges of two runs on pairs of outcomes with one response; labels and nouns are of the summary of either."""
    labels, nouns = summary.labels, summary.nouns
    graded = [(a, b) for a, b in pairs if a.label and b.label]
    groups, sides = [a.group for a, _ in graded], ([a for a, _ in graded], [b for _, b in graded])
    ours, theirs = ([outcome.label for outcome in side] for side in sides)
    before, after = ([outcome.score for outcome in side] for side in sides)
    counts, none = Counter(zip(ours, theirs, strict=True)), Estimate(None, reason="the labels have no order")
    evidence = [Evidence.of(verdict for outcome in side for verdict in outcome.verdicts) for side in sides]
    agreement = GradingAgreement(
        first=first,
        second=second,
        responses=len(graded),
        exact=cluster_mean([float(a == b) for a, b in zip(ours, theirs, strict=True)], groups),
        kappa_quadratic=kappa_estimate(ours, theirs, labels, groups, "quadratic") if summary.ordered else none,
        table={a: {b: counts[a, b] for b in labels} for a in labels},
        score_difference=paired_difference(before, after, groups) if summary.ordered else paired_difference([], [], []),
        evidence=dict(zip(("first", "second"), evidence, strict=True)),
    )
    return in_nouns(agreement, nouns)


def agreement_lines(agreement: GradingAgreement) -> list[str]:
    """Two gradings of the same responses, in sentences; neither is the truth."""
    first, second = agreement.first, agreement.second
    if not agreement.responses:
        return [f"{first} and {second}: no response was graded by both."]
    labels, kappa = list(agreement.table), agreement.kappa_quadratic
    flips = [(a, b, agreement.table[a][b]) for a in labels for b in labels if a != b and agreement.table[a][b]]
    flipped = ", ".join(f"{a} -> {b} {count}" for a, b, count in flips) or "none"
    difference = agreement.score_difference.difference
    mean = (
        f" Mean score of the second minus the first: {points_of(difference)} points."
        if difference.value is not None
        else ""
    )
    quotes = [f"{e.verified} of {e.checked}" for e in agreement.evidence.values()]
    any_checked = any(evidence.checked for evidence in agreement.evidence.values())
    return [
        f"{first} and {second} on {counted(agreement.responses, 'response')}: same grade {percent(agreement.exact)} %, "
        f"quadratic kappa {kappa}{f' ({kappa.reason})' if kappa.reason else ''}.",
        f"flips from the first to the second: {flipped}.{mean}",
        *([f"verdicts with a quote that stands in the response: {quotes[0]} and {quotes[1]}."] if any_checked else []),
    ]
