"""Means of scores whose cases share groups, with intervals that allow for it.

Cases of one group resemble each other: what was drawn is the group. The standard error and its degrees of freedom are
those of `spread_of`; from them follows the interval, on the logit scale, where it cannot leave [0, 1].

The estimand is the mean over a population of groups like these.
"""

import math
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats.estimate import Estimate, joined
from dspy_proact.stats.raters import ONE_RATER, RaterVariance, Spread
from dspy_proact.stats.student import t_quantile
from dspy_proact.stats.table import ONE_STRATUM, Table, checked_scores, tabulate

UPPER = 0.975
"""Probability below the upper end of a two-sided 95 % interval."""
SHARE_ITEMS = 30
"""With fewer rated items the interval of a share of them was measured to cover up to 99 %, and the lower end of that of
the difference of two kappas is too high (eval/README.md)."""
ROUNDING = 1e-12
"""A standard error of a score below this is rounding, not spread."""


def cluster_mean(
    scores: Sequence[float] | NDArray[np.float64], groups: Sequence[Hashable], drawn: RaterVariance | None = None
) -> Estimate:
    """Mean of the scores, every case weighted equally.

    Silence and ties are decided as follows. No scores: no value. One group: no bounds. Two to
    four: bounds with a warning. All scores 0, or all 1: one group counts as one trial, and the
    bound away from the value is the exact binomial one. Groups that do not differ at another mean:
    no bounds, for their spread cannot be estimated.

    Args:
        scores: Array of shape (n,), each in [0, 1], higher is better.
        groups: Key of the group of each score; equal keys mean one group.
        drawn: What raters add to the variance, where the scores rest on them; None where they do not.

    Returns:
        The mean in [0, 1], higher is better, with its 95 % interval.

    Raises:
        ValueError: A score is outside [0, 1], or the lengths differ.
    """
    if len(scores) == len(groups) == 0:
        return Estimate(None, reason="no scores")
    return _mean(scores, groups, drawn=drawn)


def share_of_items(
    hits: Sequence[float] | NDArray[np.float64], groups: Sequence[Hashable], drawn: RaterVariance | None
) -> Estimate:
    """`cluster_mean` of the parts of items on which judge and people agree; of few items its bounds carry a warning."""
    found = cluster_mean(hits, groups, drawn)
    return found if len(hits) >= SHARE_ITEMS else found.marked(f"fewer than {SHARE_ITEMS} items: very wide")


def macro_mean(
    scores: Sequence[float] | NDArray[np.float64],
    groups: Sequence[Hashable],
    strata: Sequence[Hashable],
    order: Sequence[Hashable],
) -> Estimate:
    """Mean of the strata's means, every stratum weighted equally.

    Silence and ties are decided as in `cluster_mean`, and besides for each stratum, since the shares do
    not show that one stratum rests on few groups. A stratum without scores: no value. With one
    group: no bounds. With two to four: bounds with the warning that they are too narrow.

    Args:
        scores: Array of shape (n,), each in [0, 1], higher is better.
        groups: Key of the group of each score; a group may have scores in several strata.
        strata: Stratum of each score.
        order: The strata to average over, each once; at least one.

    Returns:
        The mean in [0, 1], higher is better, with its 95 % interval.

    Raises:
        ValueError: A score is outside [0, 1], the lengths differ, a stratum is not in `order`, or
            `order` is empty or repeats a stratum.
    """
    return _mean(scores, groups, strata, order)


def _mean(
    scores: Sequence[float] | NDArray[np.float64],
    groups: Sequence[Hashable],
    strata: Sequence[Hashable] | None = None,
    order: Sequence[Hashable] = ONE_STRATUM,
    drawn: RaterVariance | None = None,
) -> Estimate:
    table = tabulate(checked_scores(scores, groups, strata, order), groups, strata, order)
    warning = joined(table.warning, drawn and drawn.warning)
    if table.empty:
        return Estimate(None, reason=f"no scores in {table.empty}")
    theta = float(table.means.mean())
    if table.lonely:
        return Estimate(theta, reason=table.lonely)
    if theta in {0, 1}:
        return Estimate(theta, *trial_bounds(theta, table.groups), joined("all grades equal", warning))
    spread = spread_of(table)
    if spread.error < ROUNDING:
        return Estimate(theta, reason="groups do not differ")
    widened = drawn.widened(spread) if drawn else spread
    if widened is None:
        return Estimate(theta, reason=ONE_RATER)
    return Estimate(theta, *logit_bounds(theta, widened), warning)


def part_mean(
    values: Sequence[float] | NDArray[np.float64],
    groups: Sequence[Hashable],
    *,
    bounds: tuple[float, float] = (-math.inf, math.inf),
    drawn: RaterVariance | None = None,
) -> Estimate:
    """Mean of numbers of any range, every case weighted equally; its interval is on the plain scale.

    Silence is decided as in `cluster_mean`; equal numbers have no spread, and so no bounds.

    Args:
        values: Array of shape (n,), each finite, in a unit of their own.
        groups: Key of the group of each number.
        bounds: The least and the greatest value that the mean can have: the interval ends there.
        drawn: What raters add to the variance, where the numbers rest on them; None where they do not.

    Raises:
        ValueError: A number is not finite, or the lengths differ.
    """
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.shape != (len(groups),) or not np.isfinite(numbers).all():
        raise ValueError(f"one finite number and group a case: {numbers.tolist()!r} for {len(groups)}")
    if not len(numbers):
        return Estimate(None, reason="no scores")
    table = tabulate(numbers, groups)
    mean = float(table.means[0])
    if table.lonely:
        return Estimate(mean, reason=table.lonely)
    spread = spread_of(table)
    if spread.error < ROUNDING * max(1.0, float(np.abs(numbers).max())):
        return Estimate(mean, reason="groups do not differ")
    widened = drawn.widened(spread) if drawn else spread
    if widened is None:
        return Estimate(mean, reason=ONE_RATER)
    warning = joined(table.warning, drawn and drawn.warning)
    return Estimate(mean, *plain_bounds(mean, widened, bounds), warning)


def spread_of(table: Table) -> Spread:
    """CR2 variance of the mean of a table's strata, in the square of the scores' unit, with its degrees of freedom.

    What a group moves each stratum's mean by is divided by the root of 1 - h, h being its share of that stratum, and
    then added up: this is CR2 of the regression on the strata (Pustejovsky & Tipton 2018), whose residuals it corrects
    within each. The degrees of freedom are those of Bell & McCaffrey (2002) for it. No stratum rests on one group.
    """
    leverage = 1 / np.sqrt(1 - table.counts / table.totals)
    variance = float(np.sum(np.sum(table.pulls * leverage, axis=1) ** 2))
    weights = leverage / table.totals
    shared = table.counts * weights / np.sqrt(table.totals)
    moments = np.diag(np.sum(table.counts * weights**2, axis=1)) - shared @ shared.T
    return Spread(variance, float(np.trace(moments) ** 2 / np.sum(moments**2)))


def standard_error(influence: NDArray[np.float64], shares: NDArray[np.float64]) -> float:
    """CR2 standard error of a mean, in the unit of its influences.

    Args:
        influence: Array of shape (G,), G at least 2: how far each group moves the mean; sums to 0.
        shares: Array of shape (G,): each group's share of the cases, in (0, 1); sums to 1.
    """
    return math.sqrt(np.sum(influence**2 / (1 - shares)))


def degrees_of_freedom(shares: NDArray[np.float64]) -> float:
    """Bell-McCaffrey degrees of freedom of `standard_error`, in [1, G - 1]; G - 1 when sizes, the shares, are equal."""
    q = shares**2 / (1 - shares)
    return float(1 / (np.sum(shares**2) + np.sum(q) ** 2 - np.sum(q**2)))


def trial_bounds(theta: float, groups: int) -> tuple[float, float]:
    """Exact binomial (Clopper-Pearson) bounds of one trial a group, all of them 0 or all 1."""
    reach = 1 - (1 - UPPER) ** (1 / groups)
    return (0.0, reach) if theta == 0 else (1 - reach, 1.0)


def logit_bounds(theta: float, spread: Spread) -> tuple[float, float]:
    """Bounds of a `theta` in (0, 1): Student's t on the logit scale, carried back."""
    logit = math.log(theta / (1 - theta))
    reach = t_quantile(UPPER, spread.df) * spread.error / (theta * (1 - theta))
    return _expit(logit - reach), _expit(logit + reach)


def plain_bounds(
    value: float, spread: Spread, bounds: tuple[float, float], upper: float = UPPER
) -> tuple[float, float]:
    """Bounds of a value on its own scale: value +- t SE, clipped to the least and the greatest that it can be.

    Args:
        value: What the bounds are of.
        spread: How far it scatters.
        bounds: The least and the greatest value.
        upper: Probability below the upper bound, in (0.5, 1).
    """
    reach = t_quantile(upper, spread.df) * spread.error
    return max(bounds[0], value - reach), min(bounds[1], value + reach)


def _expit(x: float) -> float:
    """The inverse of the logit, 1 / (1 + exp(-x)), in a form that cannot overflow."""
    return (1 + math.tanh(x / 2)) / 2
