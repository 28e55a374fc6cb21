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

        The degrees of freedom are the harmonic mean of two (`with_rater_df`). Satterthwaite's (1946) trust the ratio of
        the variances, which few raters leave unknown: measured, they cover 91 to 97 % with six. The smaller of those of
        the groups and of R - 1 trust none of it, and cover up to 99.8 where raters do not differ.

        Args:
            term: Variance that the raters add, as `rater_term` or `jackknifed_rater_term` gives it.
            raters: Number of raters, R, at least 2.

        Raises:
            ValueError: There are fewer than two raters.
        """
        if raters < 2:
            raise ValueError(f"the variance of raters takes two of them, not {raters!r}")
        whole = self.variance + term
        apart = self.variance**2 / self.df + term**2 / (raters - 1)
        trusting = whole**2 / apart if apart > 0 else self.df
        return Spread(whole, with_rater_df(trusting, self.df, raters))


def with_rater_df(trusting: float, groups: float, raters: int) -> float:
    """Degrees of freedom of a variance of groups and raters: the harmonic mean of the most and the least they may be.

    Args:
        trusting: Satterthwaite's, at least 1; those of the groups where nothing is known of the raters' share.
        groups: Those of the groups alone.
        raters: Number of raters, R, at least 2.
    """
    return 2 / (1 / trusting + 1 / min(groups, raters - 1))


ONE_RATER = "rests on one rater"
"""Why there are no bounds where without one rater there is no estimate."""


@dataclass(frozen=True)
class RaterVariance:
    """What the raters of a study add to the variance of an estimate."""

    variance: float | None
    """In the square of the estimate's unit, at least 0; 0 of fewer than four raters, of whom it is not taken; None
    where without one of them there is no estimate."""
    raters: int
    """Number of raters."""

    @property
    def warning(self) -> str | None:
        """Of whom alone an interval speaks; None where it speaks of raters like them."""
        if self.raters >= ENOUGH_RATERS:
            return None
        return "of this rater alone" if self.raters == 1 else f"of these {self.raters} raters alone"

    def widened(self, spread: Spread) -> Spread | None:
        """The spread with the raters', where they are enough for it to speak of others; None as the variance."""
        if self.warning:
            return spread
        return None if self.variance is None else spread.with_raters(self.variance, self.raters)


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


def jackknifed_rater_term(without_rater: ArrayLike, without_cell: ArrayLike) -> float:
    """`rater_term` of a statistic that is not a mean, by leaving out ratings.

    Each jackknife is about its own mean: that an item has a rating fewer can move a statistic by itself, as where it
    makes a tie, and does so whoever is left out.

    Args:
        without_rater: The statistic without the ratings of each rater in turn: shape (R,), R at least 2.
        without_cell: The statistic without the ratings of each rater within each group: shape (cells,).
    """
    return max(0.0, _jackknifed(without_rater) - _jackknifed(without_cell))


def _jackknifed(without: ArrayLike) -> float:
    """(n - 1) times the variance about the mean."""
    values: NDArray[np.float64] = np.asarray(without, dtype=np.float64)
    return float((len(values) - 1) * np.var(values))
