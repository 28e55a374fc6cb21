"""The measures that a benchmark declares, as numbers of the cases that have their parts.

Every case weighs the same, and so do all verdicts on it. A mean is a clustered one: on the logit scale where all values
of the part are in [0, 1], else on the plain scale. Every other statistic has a jackknife over groups.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from dspy_proact.runs import Measure, Outcome
from dspy_proact.stats import Estimate, classification_difference, classification_estimate, cluster_mean, part_mean

Values = list[tuple[float, ...]]
"""A measure's parts of one case, once a verdict that has them all."""


@dataclass(frozen=True)
class Compared:
    """A measure of two runs on the same cases."""

    a: Estimate
    b: Estimate
    difference: Estimate
    """b minus a: above 0 where the second's is higher."""


def values_of(measure: Measure, outcomes: Iterable[Outcome]) -> Values:
    """The parts of a case that one or several outcomes tell; empty where no verdict has them all."""
    told = (verdict.parts for outcome in outcomes for verdict in outcome.verdicts)
    return [tuple(parts[name] for name in measure.parts) for parts in told if parts.keys() >= set(measure.parts)]


def is_share(measure: Measure, outcomes: Iterable[Outcome]) -> bool:
    """Whether all values of a measure's parts are in [0, 1], so that their mean has a range."""
    return all(0 <= value <= 1 for values in values_of(measure, outcomes) for value in values)


def measured(measure: Measure, outcomes: Sequence[Outcome], share: bool) -> Estimate:
    """A measure of outcomes, each counted as a case.

    Silence is decided as follows. No outcome with all parts, or a part that is to be 0 or 1 and is not: no value.
    Fewer outcomes with them than are scored: a warning with both numbers. Otherwise as the statistic says.

    Args:
        measure: As the benchmark declares it.
        outcomes: Of a run; those without a verdict do not count.
        share: Whether the run's values are all in [0, 1].
    """
    scored = [outcome for outcome in outcomes if outcome.state == "scored"]
    told = [(outcome.group, values) for outcome in scored if (values := values_of(measure, [outcome]))]
    estimate = _estimate(measure, [group for group, _ in told], [values for _, values in told], share)
    if not told or len(told) == len(scored):
        return estimate
    reason = "; ".join(filter(None, [estimate.reason, f"over {len(told)} of {len(scored)} scored"]))
    return replace(estimate, reason=reason)


def compared(
    measure: Measure, pairs: Sequence[tuple[str, Sequence[Outcome], Sequence[Outcome]]], share: bool
) -> Compared:
    """A measure of two runs on the cases that have its parts in both, paired by case.

    Args:
        measure: As the benchmark declares it.
        pairs: The group of each case, and its outcomes in both.
        share: Whether the values of both are all in [0, 1].
    """
    told = [(group, values_of(measure, ours), values_of(measure, theirs)) for group, ours, theirs in pairs]
    told = [(group, ours, theirs) for group, ours, theirs in told if ours and theirs]
    groups, a, b = [each[0] for each in told], [each[1] for each in told], [each[2] for each in told]
    first, second = (_estimate(measure, groups, side, share) for side in (a, b))
    missing = next((side for side in (first, second) if side.value is None), None)
    return Compared(first, second, missing or _difference(measure, groups, a, b, share))


def _estimate(measure: Measure, groups: Sequence[str], told: Sequence[Values], share: bool) -> Estimate:
    if not told:
        return Estimate(None, reason=f"no scored case has {' and '.join(measure.parts)}")
    if measure.statistic == "mean":
        return cluster_mean(_means(told), groups) if share else part_mean(_means(told), groups)
    if any(value not in {0, 1} for values in told for pair in values for value in pair):
        return Estimate(None, reason=f"{' or '.join(measure.parts)} is neither 0 nor 1 somewhere")
    return classification_estimate([_pairs(values) for values in told], groups, measure.statistic)


def _difference(
    measure: Measure, groups: Sequence[str], a: Sequence[Values], b: Sequence[Values], share: bool
) -> Estimate:
    if measure.statistic == "mean":
        bounds = (-1.0, 1.0) if share else (-np.inf, np.inf)
        return part_mean(np.subtract(_means(b), _means(a)), groups, bounds=bounds)
    first, second = ([_pairs(values) for values in side] for side in (a, b))
    return classification_difference(first, second, groups, measure.statistic)


def _means(told: Sequence[Values]) -> list[float]:
    return [fmean(values[0] for values in case) for case in told]


def _pairs(values: Values) -> list[tuple[float, float]]:
    return [(true, said) for true, said in values]
