"""Two judges, or one judge at two times, on the same responses."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dspy_proact.report.outcome import Evidence, GivenVerdict, Outcome
from dspy_proact.runs import consensus
from dspy_proact.stats import Estimate, Paired, cluster_mean, kappa_estimate, paired_difference


@dataclass(frozen=True)
class Agreement:
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


@dataclass(frozen=True)
class _Graded:
    """A response that both graded."""

    group: str
    first: Sequence[GivenVerdict]
    second: Sequence[GivenVerdict]


def agree_within(outcomes: Sequence[Outcome], first: str, second: str, labels: Sequence[str]) -> Agreement:
    """Two judges of one run."""
    graded = [
        _Graded(outcome.group, given[first], given[second])
        for outcome in outcomes
        if (given := {name: [v for v in outcome.verdicts if v.judge == name] for name in (first, second)})
        and given[first]
        and given[second]
    ]
    return _agreement(graded, first, second, labels)


def agree_between(
    pairs: Sequence[tuple[Outcome, Outcome]], first: str, second: str, labels: Sequence[str]
) -> Agreement:
    """The judges of two runs on pairs of outcomes with one response."""
    graded = [_Graded(a.group, a.verdicts, b.verdicts) for a, b in pairs if a.verdicts and b.verdicts]
    return _agreement(graded, first, second, labels)


def _agreement(graded: Sequence[_Graded], first: str, second: str, labels: Sequence[str]) -> Agreement:
    ours = [consensus([verdict.label for verdict in each.first], labels) for each in graded]
    theirs = [consensus([verdict.label for verdict in each.second], labels) for each in graded]
    groups = [each.group for each in graded]
    counts = Counter(zip(ours, theirs, strict=True))
    return Agreement(
        first=first,
        second=second,
        responses=len(graded),
        exact=cluster_mean([float(a == b) for a, b in zip(ours, theirs, strict=True)], groups),
        kappa=kappa_estimate(ours, theirs, labels, groups, "quadratic"),
        table={a: {b: counts[a, b] for b in labels} for a in labels},
        shift=paired_difference([_mean(e.first) for e in graded], [_mean(e.second) for e in graded], groups),
        evidence=(
            Evidence.of([verdict for each in graded for verdict in each.first]),
            Evidence.of([verdict for each in graded for verdict in each.second]),
        ),
    )


def _mean(verdicts: Sequence[GivenVerdict]) -> float:
    return sum(verdict.score for verdict in verdicts) / len(verdicts)
