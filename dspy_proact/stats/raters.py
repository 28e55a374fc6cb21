"""The raters of a study as a source of chance: what others like them would have said instead.

An estimate is moved by each rating, by its influence u_ir, and the raters were drawn as the groups were. Ratings are
alike within a group and within a rater, so that the variance is the groups' plus the raters' less what both count,
that of a rater within a group: V = V_J + max(0, V_R - V_SR) (Cameron, Gelbach & Miller 2011), with

    V_R = sum_r (sum_i u_ir)^2 / (1 - w_r)        w_r the rater's share of the ratings
    V_SR = sum_{g,r} (sum_{i in g} u_ir)^2

or, where influences are not at hand, the jackknives that leave out a rater, and a rater within a group.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dspy_proact.stats.table import added_up, numbered

ENOUGH_RATERS = 4
"""With fewer raters their variance rests on too few of them: an interval then speaks of these raters alone."""


@dataclass(frozen=True)
class Spread:
    """How far an estimate scatters over the data sets that might have been drawn."""

    variance: float
    """In the square of the estimate's unit, at least 0."""
    df: float
    """Degrees of freedom of t with which the variance is known, at least 1."""

    @property
    def error(self) -> float:
        """Standard error, in the estimate's unit."""
        return math.sqrt(self.variance)

    def with_raters(self, term: float, raters: int) -> "Spread":
        """The same where the raters were drawn, too.

        Args:
            term: Variance that the raters add, as `rater_term` or `jackknifed_rater_term` gives it.
            raters: Number of raters, R, at least 2: with few of them the variance is known no better than they are
                many, df = min(df, R - 1).

        Raises:
            ValueError: There are fewer than two raters.
        """
        if raters < 2:
            raise ValueError(f"the variance of raters takes two of them, not {raters!r}")
        return Spread(self.variance + term, min(self.df, raters - 1))


def rater_term(influence: ArrayLike, raters: Sequence[Hashable], groups: Sequence[Hashable]) -> float:
    """Variance that the raters add to that of the groups: max(0, V_R - V_SR).

    Args:
        influence: How far each rating moves the estimate, u_ir, in its unit: shape (q,); sums to 0.
        raters: Who gave each rating; at least two of them.
        groups: Key of the group of the item of each rating.

    Returns:
        In the square of the estimate's unit, at least 0.

    Raises:
        ValueError: The lengths differ, or there are fewer than two raters.
    """
    moved = np.asarray(influence, dtype=np.float64)
    if not moved.shape == (len(raters),) == (len(groups),):
        raise ValueError(f"one rater and group a rating: {moved.shape}, {len(raters)} and {len(groups)} differ")
    place = numbered(raters)
    shares = np.bincount(place) / max(1, len(place))
    if len(shares) < 2:
        raise ValueError(f"the variance of raters takes two of them, not {len(shares)}")
    cells = numbered(list(zip(groups, raters, strict=True)))
    of_raters = np.sum(added_up(moved, place) ** 2 / (1 - shares))
    return max(0.0, float(of_raters - np.sum(added_up(moved, cells) ** 2)))


def jackknifed_rater_term(value: float, without_rater: ArrayLike, without_cell: ArrayLike) -> float:
    """`rater_term` of a statistic that is not a mean, by leaving out ratings.

    Args:
        value: The statistic of all ratings.
        without_rater: The statistic without the ratings of each rater in turn: shape (R,), R at least 2.
        without_cell: The statistic without the ratings of each rater within each group: shape (cells,).
    """
    return max(0.0, _jackknifed(value, without_rater) - _jackknifed(value, without_cell))


def _jackknifed(value: float, without: ArrayLike) -> float:
    """(n - 1) / n times the sum of squared distances from the value."""
    apart: NDArray[np.float64] = np.asarray(without, dtype=np.float64) - value
    return float((len(apart) - 1) / len(apart) * np.sum(apart**2))
