"""What a jackknife leaves out one at a time, and the intervals that follow.

Every statistic of agreement is a function of a sum over items (of tables, mostly). Without a unit it is the
same function of the sum over all others.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats.cluster import ROUNDING, UPPER, degrees_of_freedom
from dspy_proact.stats.estimate import Estimate
from dspy_proact.stats.student import t_quantile
from dspy_proact.stats.table import ENOUGH_GROUPS as ENOUGH_FOR_A_CLAIM
from dspy_proact.stats.table import VERY_WIDE, added_up, numbered

ENOUGH_GROUPS = 10
"""From here on whole groups are left out and not single items."""
CLAIM = 0.99
"""Probability below the upper end of a two-sided 98 % interval. Folds share training data, so that a 95 % interval
of what was chosen in them claims too often; one of 98 % was measured to claim falsely in at most 3 % of data sets."""

Statistic = Callable[[NDArray[np.float64]], float | None]
"""A number from the sum of the items' parts; None where it is undefined."""


@dataclass(frozen=True)
class Units:
    """The units that are left out one at a time: whole groups where there are at least ten, else single items."""

    name: str
    """What a unit is called in reasons: group or item."""
    place: NDArray[np.intp]
    """Unit of each item, counted from 0 without a gap: shape (n,)."""

    @classmethod
    def of(cls, groups: Sequence[Hashable]) -> "Units":
        """The units of items, of each of which the key of its group is given."""
        if len(set(groups)) < ENOUGH_GROUPS:
            return cls("item", np.arange(len(groups)))
        return cls.whole(groups)

    @classmethod
    def whole(cls, groups: Sequence[Hashable]) -> "Units":
        """The units of items that are never left out singly: whole groups, however few there are."""
        return cls("group", numbered(groups))

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
    ) -> Estimate:
        """A statistic of all items, with its jackknife interval clipped to the statistic's range.

        Silence is decided as follows. No items, or a statistic that is undefined: no value. Otherwise as in
        `jackknife`; bounds that rest on two to four groups carry a warning.

        Args:
            parts: What each item adds to the sum: shape (n, ...).
            statistic: The number from the sum of the parts, of shape (...).
            undefined: The reason where the statistic is undefined.
            bounds: The least and the greatest value that the statistic can have.

        Raises:
            ValueError: The lengths differ.
        """
        if len(parts) != len(self.place):
            raise ValueError(f"one group an item: {len(parts)} and {len(self.place)} differ")
        if not len(parts):
            return Estimate(None, reason="no items")
        sums = added_up(parts, self.place)
        value = statistic(sums.sum(axis=0))
        if value is None:
            return Estimate(None, reason=undefined)
        left_out = [statistic(others) for others in _others(sums)]
        # Rounding can carry a value a little past its range, where no bounds would enclose it.
        value = min(bounds[1], max(bounds[0], value))
        told = jackknife(value, left_out, self.df, unit=self.name, bounds=bounds)
        few = self.name == "group" and told.low is not None and len(left_out) < ENOUGH_FOR_A_CLAIM
        return replace(told, reason=VERY_WIDE) if few else told

    def claim_bounds(
        self, parts: NDArray[np.float64], statistic: Statistic, *, bounds: tuple[float, float]
    ) -> tuple[float, float] | tuple[None, None]:
        """The 98 % interval of what `estimate` has the 95 % interval of; Nones where that has none."""
        plain = self.estimate(parts, statistic, undefined="undefined", bounds=(-math.inf, math.inf))
        if plain.value is None or plain.high is None:
            return None, None
        reach = (plain.high - plain.value) * t_quantile(CLAIM, self.df) / t_quantile(UPPER, self.df)
        return max(bounds[0], plain.value - reach), min(bounds[1], plain.value + reach)


def ratio(sums: NDArray[np.float64]) -> float | None:
    """The first sum by the second, such as a mean of values and ones; None where the second is 0."""
    return float(sums[0] / sums[1]) if sums[1] else None


def gain(statistic: Statistic) -> Statistic:
    """Of two sums at a time, the second's statistic minus the first's; None where either is undefined."""

    def gained(sums: NDArray[np.float64]) -> float | None:
        first, second = map(statistic, sums)
        return None if first is None or second is None else second - first

    return gained


def jackknife(
    value: float, left_out: Sequence[float | None], df: float, *, unit: str, bounds: tuple[float, float] = (-1, 1)
) -> Estimate:
    """A statistic with its delete-one-unit jackknife interval, clipped to the statistic's range.

    SE^2 = (n - 1) / n sum (left_out_i - value)^2, and the bounds are value +- t SE (Efron & Tibshirani 1993, 11).

    Silence is decided as follows, always without bounds. One unit, or a statistic that is undefined without
    one of them: it rests on that unit. The same without any: there is no spread to estimate.

    Args:
        value: The statistic of all units.
        left_out: The statistic without each unit in turn; None where it is undefined.
        df: Degrees of freedom of t: n - 1 for units of equal weight.
        unit: What a unit is called, in the reasons.
        bounds: The least and the greatest value that the statistic can have.
    """
    defined = [other for other in left_out if other is not None]
    if len(defined) < len(left_out) or len(left_out) < 2:
        return Estimate(value, reason=f"rests on one {unit}")
    error = math.sqrt((len(defined) - 1) / len(defined) * sum((other - value) ** 2 for other in defined))
    if error < ROUNDING:
        return Estimate(value, reason=f"the same whichever {unit} is left out")
    reach = t_quantile(UPPER, df) * error
    return Estimate(value, max(bounds[0], value - reach), min(bounds[1], value + reach))


def _others(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum over all units but each one: shape (units, ...).

    Added from both sides and not subtracted from the whole, so that what nobody else adds to is exactly 0.
    """
    none = np.zeros_like(sums[:1])
    before = np.concatenate([none, np.cumsum(sums[:-1], axis=0)])
    after = np.concatenate([np.cumsum(sums[:0:-1], axis=0)[::-1], none])
    return before + after
