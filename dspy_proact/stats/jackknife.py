"""Statistics that are functions of a sum over items, with intervals that leave out one group at a time.

Without a group such a statistic is the same function of the sum over all others; without a rater, of the sum as the
rater's absence changes it.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats.cluster import ENOUGH_GROUPS, FEW_GROUPS, LOW, NEAR_AN_END, degrees_of_freedom
from dspy_proact.stats.estimate import ROUNDING, UPPER, Estimate, Spread, joined, logit_bounds, plain_bounds
from dspy_proact.stats.raters import ENOUGH_RATERS, ONE_RATER, Changes, RaterVariance
from dspy_proact.stats.tally import added_up, numbered

CLAIM = 0.99
"""Probability below the upper end of a two-sided 98 % interval. Folds share training data, so that a 95 % interval
of what was chosen in them claims too often; one of 98 % was measured to claim falsely in at most 3 % of data sets."""

Statistic = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""Numbers of sums of the items' parts, many at a time, from shape (B, ...) to (B,); nan where undefined."""


@dataclass(frozen=True)
class Jackknife:
    """A statistic of all items, and how far it scatters over groups and raters."""

    value: float
    """nan where it is undefined."""
    spread: Spread | None
    reason: str | None
    """Why there is no value or no spread, or a warning on it."""

    @classmethod
    def of(
        cls,
        parts: NDArray[np.float64],
        groups: Sequence[Hashable],
        statistic: Statistic,
        *,
        undefined: str = "undefined",
        changes: Changes | None = None,
    ) -> "Jackknife":
        """Leave out one group at a time: SE^2 = (n - 1) / n sum (left_out_i - value)^2 (Efron & Tibshirani 1993, 11).

        No items, or an undefined statistic: no value. One group or rater, or a statistic that is undefined without one
        of them, or that no group changes: no bounds. Bounds that rest on two to four groups, or do not speak of other
        raters, carry a warning. Raises a `ValueError` where the lengths differ.

        Args:
            parts: What each item adds to the sum: shape (n, ...).
            groups: Key of the group of each item.
            statistic: The numbers of sums of the parts, of shape (B, ...).
            undefined: The reason where the statistic is undefined.
            changes: What leaving out single ratings does to the sum; None where raters do not matter or are not known.
        """
        if len(parts) != len(groups):
            raise ValueError(f"one group an item: {len(parts)} and {len(groups)} differ")
        if not len(parts):
            return cls(math.nan, None, "no items")
        group = numbered(groups)
        sums = added_up(parts, group)
        total = sums.sum(axis=0)[None]
        # What nobody else adds to is exactly 0 without a group: its sum is that group's, whatever zeros were added.
        value, *left_out = statistic(np.concatenate([total, total - sums])).tolist()
        if math.isnan(value):
            return cls(value, None, undefined)
        count = len(left_out)
        if count < 2 or any(map(math.isnan, left_out)):
            return cls(value, None, "depends on one group")
        df = degrees_of_freedom(np.bincount(group) / len(group))
        spread = Spread((count - 1) / count * sum((other - value) ** 2 for other in left_out), df)
        if spread.error < ROUNDING:
            return cls(value, None, "no variance between groups")
        few = FEW_GROUPS if count < ENOUGH_GROUPS else None
        if changes is None:
            return cls(value, spread, few)
        drawn = rater_variance(sums.sum(axis=0), statistic, changes, groups)
        widened = drawn.widened(spread)
        return cls(value, widened, ONE_RATER if widened is None else joined(few, drawn.warning))

    def estimate(self, bounds: tuple[float, float] = (-1, 1), upper: float = UPPER, *, logit: bool = False) -> Estimate:
        """The statistic with its interval, value +- t SE, clipped to the least and the greatest that it can be.

        With `logit` it is t on the logit scale between these. Near one of them bounds carry a warning.
        """
        if math.isnan(self.value):
            return Estimate(None, reason=self.reason)
        # Rounding can carry a value a little past its range, where no bounds would enclose it.
        value = min(bounds[1], max(bounds[0], self.value))
        if self.spread is None:
            return Estimate(value, reason=self.reason)
        scale = logit_bounds if logit and bounds[0] < value < bounds[1] else plain_bounds
        estimate = Estimate(value, *scale(value, self.spread, bounds, upper), self.reason)
        near = min(value - bounds[0], bounds[1] - value) < LOW * (bounds[1] - bounds[0]) < math.inf
        return estimate.marked(NEAR_AN_END) if near else estimate

    def claim_bounds(self, bounds: tuple[float, float] = (-1, 1)) -> tuple[float | None, float | None]:
        """The 98 % interval of what `estimate` has the 95 % interval of; Nones where that has none."""
        wide = self.estimate(bounds, CLAIM)
        return wide.low, wide.high


def rater_variance(
    total: NDArray[np.float64], statistic: Statistic, changes: Changes, groups: Sequence[Hashable]
) -> RaterVariance:
    """What the raters add to the variance of a statistic, by leaving out each of them, and each within each group.

    Each jackknife is about its own mean: that an item has a rating fewer can move a statistic by itself, as where it
    makes a tie, and does so whoever is left out. `total` is the sum of the parts of all items.
    """
    raters = np.unique(changes.raters, return_inverse=True)[1]
    count = int(raters.max(initial=-1)) + 1
    if count < ENOUGH_RATERS:
        return RaterVariance(0, count)
    cells = np.unique(numbered(groups)[changes.items] * count + raters, return_inverse=True)[1]
    variances: list[float] = []
    for keys in (raters, cells):
        sums = total + added_up(changes.parts, keys)
        # 0 where rounding left something of what was taken away.
        without = statistic(np.where(np.abs(sums) < ROUNDING * 1e3, 0.0, sums))
        if not np.isfinite(without).all():
            return RaterVariance(None, count)
        variances.append(float((len(without) - 1) * np.var(without)))
    return RaterVariance(max(0.0, variances[0] - variances[1]), count)


def ratio(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """The first of each two sums by the second, such as a mean of values and ones; nan where the second is 0."""
    over, under = sums[..., 0], sums[..., 1]
    return np.divide(over, under, out=np.full(over.shape, np.nan), where=under != 0)


@dataclass(frozen=True)
class Sides:
    """A statistic of two sums of the same items, such as the kappas of two judges, and by how much it gains."""

    first: Estimate
    second: Estimate
    difference: Estimate
    """The second minus the first, in [-2, 2]."""
    low98: float | None
    """Lower end of the 98 % interval of the difference; None where it has none."""
    high98: float | None
    """Upper end, likewise."""

    @classmethod
    def of(
        cls,
        parts: NDArray[np.float64],
        groups: Sequence[Hashable],
        statistic: Statistic,
        *,
        undefined: str,
        changes: Changes | None,
    ) -> "Sides":
        """Of parts of shape (n, 2, ...) and a statistic in [-1, 1]; arguments and silence are as in `Jackknife.of`."""
        jackknife = partial(Jackknife.of, parts, groups, undefined=undefined, changes=changes)
        first = jackknife(lambda sums: statistic(sums[:, 0]))
        second = jackknife(lambda sums: statistic(sums[:, 1]))
        difference = jackknife(gain(statistic))
        low98, high98 = difference.claim_bounds((-2, 2))
        return cls(first.estimate(), second.estimate(), difference.estimate((-2, 2)), low98, high98)


def gain(statistic: Statistic) -> Statistic:
    """Of two sums at a time, the second's statistic minus the first's; nan where either is undefined."""
    return lambda sums: statistic(sums[:, 1]) - statistic(sums[:, 0])
