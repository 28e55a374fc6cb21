"""What a jackknife leaves out one at a time, and the intervals that follow.

Every statistic of agreement is a function of a sum over items (of tables, mostly). Without a group it is the
same function of the sum over all others; without a rater, of the sum as the rater's absence changes it.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats.cluster import ROUNDING, UPPER, degrees_of_freedom, plain_bounds
from dspy_proact.stats.estimate import Estimate, joined
from dspy_proact.stats.panel import Changes
from dspy_proact.stats.raters import ENOUGH_RATERS, ONE_RATER, RaterVariance, Spread, jackknifed_rater_term
from dspy_proact.stats.table import ENOUGH_GROUPS, VERY_WIDE, added_up, numbered

CLAIM = 0.99
"""Probability below the upper end of a two-sided 98 % interval. Folds share training data, so that a 95 % interval
of what was chosen in them claims too often; one of 98 % was measured to claim falsely in at most 3 % of data sets."""

Statistic = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""Numbers of sums of the items' parts, many at a time, from shape (B, ...) to (B,); nan where undefined."""


@dataclass(frozen=True)
class Units:
    """The groups that are left out one at a time: items of one are not independent, however few groups there are."""

    place: NDArray[np.intp]
    """Group of each item, counted from 0 without a gap: shape (n,)."""

    @classmethod
    def of(cls, groups: Sequence[Hashable]) -> "Units":
        """The units of items, of each of which the key of its group is given."""
        return cls(numbered(groups))

    @property
    def df(self) -> float:
        """Degrees of freedom of t: n - 1 for n units of one size, fewer for unequal ones; 1 for a single unit."""
        shares = np.bincount(self.place) / len(self.place)
        return degrees_of_freedom(shares) if len(shares) > 1 else 1.0

    def estimate(
        self,
        parts: NDArray[np.float64],
        statistic: Statistic,
        *,
        undefined: str,
        bounds: tuple[float, float] = (-1, 1),
        changes: Changes | None = None,
    ) -> Estimate:
        """A statistic of all items, with its jackknife interval clipped to the statistic's range.

        Silence is decided as follows. No items, or a statistic that is undefined: no value. One group or rater, or a
        statistic that is undefined without one of them: no bounds, for it rests on that one. The same without any
        group: no bounds. Bounds that rest on two to four groups, or do not speak of other raters, carry a warning.

        Args:
            parts: What each item adds to the sum: shape (n, ...).
            statistic: The numbers of sums of the parts, of shape (B, ...).
            undefined: The reason where the statistic is undefined.
            bounds: The least and the greatest value that the statistic can have.
            changes: What leaving out single ratings does to the sum; None where there are no raters, or they are not
                known.

        Raises:
            ValueError: The lengths differ.
        """
        if len(parts) != len(self.place):
            raise ValueError(f"one group an item: {len(parts)} and {len(self.place)} differ")
        if not len(parts):
            return Estimate(None, reason="no items")
        return self._found(parts, statistic, changes).bounded(bounds, UPPER, undefined)

    def claim_bounds(
        self,
        parts: NDArray[np.float64],
        statistic: Statistic,
        *,
        bounds: tuple[float, float],
        changes: Changes | None = None,
    ) -> tuple[float, float] | tuple[None, None]:
        """The 98 % interval of what `estimate` has the 95 % interval of; Nones where that has none."""
        if not len(parts):
            return None, None
        found = self._found(parts, statistic, changes).bounded(bounds, CLAIM, "undefined")
        return (None, None) if found.low is None or found.high is None else (found.low, found.high)

    def drawn(self, sums: NDArray[np.float64], statistic: Statistic, changes: Changes) -> RaterVariance:
        """What the raters add to the variance of a statistic.

        Args:
            sums: Sum of the parts of all items.
            statistic: The numbers of sums of the parts.
            changes: What leaving out single ratings does to the sum.
        """
        raters = np.unique(changes.raters, return_inverse=True)[1]
        count = int(raters.max(initial=-1)) + 1
        if count < ENOUGH_RATERS:
            return RaterVariance(0, count)
        cells = np.unique(self.place[changes.items] * count + raters, return_inverse=True)[1]
        left_out = [statistic(_exact(sums + added_up(changes.parts, place))) for place in (raters, cells)]
        if not all(np.isfinite(values).all() for values in left_out):
            return RaterVariance(None, count)
        return RaterVariance(jackknifed_rater_term(*left_out), count)

    def _found(self, parts: NDArray[np.float64], statistic: Statistic, changes: Changes | None) -> "_Found":
        """SE^2 = (n - 1) / n sum (left_out_i - value)^2 (Efron & Tibshirani 1993, 11), and what raters add."""
        sums = added_up(parts, self.place)
        value, *left_out = statistic(np.concatenate([sums.sum(axis=0)[None], _others(sums)])).tolist()
        groups = len(left_out)
        if groups < 2 or any(map(math.isnan, left_out)):
            return _Found(value, None, "rests on one group")
        spread = Spread((groups - 1) / groups * sum((other - value) ** 2 for other in left_out), self.df)
        if spread.error < ROUNDING:
            return _Found(value, None, "the same whichever group is left out")
        few = VERY_WIDE if groups < ENOUGH_GROUPS else None
        if changes is None:
            return _Found(value, spread, few)
        drawn = self.drawn(sums.sum(axis=0), statistic, changes)
        widened = drawn.widened(spread)
        if widened is None:
            return _Found(value, None, ONE_RATER)
        return _Found(value, widened, joined(few, drawn.warning))


@dataclass(frozen=True)
class _Found:
    """A statistic of all items, and how far it scatters."""

    value: float
    """nan where it is undefined."""
    spread: Spread | None
    reason: str | None
    """Why there is no spread, or a warning on it."""

    def bounded(self, bounds: tuple[float, float], upper: float, undefined: str) -> Estimate:
        """Value +- t SE, clipped to the statistic's range, or why there is none."""
        if math.isnan(self.value):
            return Estimate(None, reason=undefined)
        # Rounding can carry a value a little past its range, where no bounds would enclose it.
        value = min(bounds[1], max(bounds[0], self.value))
        if self.spread is None:
            return Estimate(value, reason=self.reason)
        return Estimate(value, *plain_bounds(value, self.spread, bounds, upper), self.reason)


def ratio(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """The first of each two sums by the second, such as a mean of values and ones; nan where the second is 0."""
    over, under = sums[..., 0], sums[..., 1]
    return np.divide(over, under, out=np.full(over.shape, np.nan), where=under != 0)


def gain(statistic: Statistic) -> Statistic:
    """Of two sums at a time, the second's statistic minus the first's; nan where either is undefined."""
    return lambda sums: statistic(sums[:, 1]) - statistic(sums[:, 0])


def each(statistic: Callable[[NDArray[np.float64]], float | None]) -> Statistic:
    """A statistic of one sum, taken of each in turn; nan where it is None."""

    def taken(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        values = map(statistic, sums)
        return np.array([math.nan if value is None else value for value in values])

    return taken


def _exact(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums with 0 where rounding left something of what was taken away."""
    return np.where(np.abs(sums) < ROUNDING * 1e3, 0.0, sums)


def _others(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum over all units but each one: shape (units, ...).

    Added from both sides and not subtracted from the whole, so that what nobody else adds to is exactly 0.
    """
    none = np.zeros_like(sums[:1])
    before = np.concatenate([none, np.cumsum(sums[:-1], axis=0)])
    after = np.concatenate([np.cumsum(sums[:0:-1], axis=0)[::-1], none])
    return before + after
