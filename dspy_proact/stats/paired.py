"""Differences of two runs on the same cases, with the group as the unit of chance.

A pair is one case that both runs have a score for. The interval is that of a clustered mean of the
differences, on the plain scale. The p value is a permutation: were the runs alike, b - a could as well
have been a - b in any group, so the sign of whole groups is flipped and the studentised mean
recomputed (Canay, Romano & Shaikh 2017). Flipping single cases would claim a difference that is not
there far too often, since cases of one group move together.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats.cluster import ROUNDING, plain_bounds, spread_of
from dspy_proact.stats.estimate import Estimate
from dspy_proact.stats.student import t_quantile
from dspy_proact.stats.swap import TIE, permutation_p, swaps_of
from dspy_proact.stats.table import ONE_STRATUM, Table, checked_scores, tabulate

LEVEL = 0.05
"""Largest p value of a difference that is claimed."""
POWER = 0.80
"""Probability with which the smallest detectable difference is detected."""
ENOUGH_TO_TELL = 12
"""With fewer groups it is not told what could have been seen: flips of so few see less than the formula says (by
simulation in 53 to 80 % of comparisons with 8, where 80 is meant)."""
FEWEST = 6
"""With fewer groups the smallest two-sided p, 2 / 2^G, is above 5 %."""


@dataclass(frozen=True)
class Paired:
    """The difference of two runs, b - a: above 0 where b scores higher."""

    count: int
    """Pairs: cases with a score in both runs."""
    groups: int
    """Groups of the pairs."""
    difference: Estimate
    """Mean of b - a in [-1, 1], with its 95 % interval, clipped to [-1, 1]."""
    p: float | None
    """Two-sided p value of the flips of whole groups, in (0, 1]; None without pairs or with one group."""
    reason: str | None
    """Why p is missing, or that it cannot be significant; None where p can carry a claim."""
    detectable: float | None
    """Smallest true difference that is significant with 80 % power, as a score, not rounded; above 1 where none
    could be. Where p is adjusted over several tests it is that of a difference in this one alone. None where the
    spread of the groups is 0 or cannot be estimated, or there are fewer than 12 groups."""
    detectable_half: float | None
    """Likewise with 50 % power: seen as often as not."""


def paired_difference(
    a: Sequence[float] | NDArray[np.float64],
    b: Sequence[float] | NDArray[np.float64],
    groups: Sequence[Hashable],
    *,
    tests: int = 1,
    seed: int = 0,
) -> Paired:
    """Mean difference of two runs on the same cases, every case weighted equally.

    Silence and ties are decided as follows. No pairs: no value. One group: no bounds and no p. Two to
    four: bounds with a warning. No pair differs, or all groups shift alike: no bounds and nothing detectable, for
    their spread cannot be estimated; p stands, and is 1 where nothing shifts.

    Args:
        a: Scores of the first run, shape (n,), each in [0, 1], higher is better.
        b: Scores of the second run on the same cases, likewise.
        groups: Key of the group of each pair.
        tests: Over how many tests p will be adjusted (Holm), which bears on what can be detected and on nothing else.
        seed: Seed of the random flips. Same scores and seed give the same p, in whatever order the pairs come,
            whatever the groups are called, and with a and b exchanged.

    Raises:
        ValueError: A score is outside [0, 1], or the lengths differ.
    """
    alone = ONE_STRATUM * len(groups)
    paired = macro_paired_difference(a, b, groups, alone, ONE_STRATUM, tests=tests, seed=seed)
    if paired.count:
        return paired
    return replace(paired, difference=Estimate(None, reason="no pairs"), reason="no pairs")


def macro_paired_difference(
    a: Sequence[float] | NDArray[np.float64],
    b: Sequence[float] | NDArray[np.float64],
    groups: Sequence[Hashable],
    strata: Sequence[Hashable],
    order: Sequence[Hashable],
    *,
    tests: int = 1,
    seed: int = 0,
) -> Paired:
    """Mean of the strata's mean differences, every stratum weighted equally.

    Silence and ties are decided as in `paired_difference`, and besides for each stratum. A stratum without
    pairs: no value. With one group: no bounds. With two to four: bounds with the warning that they are
    too narrow. A flip turns all of a group's pairs, in every stratum.

    Arguments are as in `paired_difference`, besides the stratum of each pair (a group may have pairs in several) and
    the order of the strata to average over, each once and at least one.

    Raises:
        ValueError: A score is outside [0, 1], the lengths differ, a stratum is not in `order`, or
            `order` is empty or repeats a stratum.
    """
    first, second = (checked_scores(scores, groups, strata, order) for scores in (a, b))
    table = tabulate(second - first, groups, strata, order)
    # What cancels within a group must cancel to 0, or the flips would take rounding for a shift.
    table = replace(table, sums=np.where(np.abs(table.sums) < ROUNDING, 0, table.sums))
    if table.empty:
        reason = f"no pairs in {table.empty}"
        return Paired(len(first), table.groups, Estimate(None, reason=reason), None, reason, None, None)
    difference = _difference(table, differ=bool(np.any(first != second)))
    if table.groups == 1:
        return Paired(len(first), 1, difference, None, "one group", None, None)
    few = f"cannot be significant with {table.groups} groups" if table.groups < FEWEST else None
    seen = (_detectable(table, power, tests) if difference.low is not None else None for power in (POWER, 0.5))
    return Paired(len(first), table.groups, difference, _flip_p(table, seed), few, *seen)


def whole_points(difference: float) -> int:
    """A smallest detectable difference in whole score points (hundredths), rounded to the nearest, at least 1.

    It is not known better than that: from one data set to the next it scatters by 15 to 30 %.
    """
    return max(1, math.floor(100 * difference + 0.5))


def _difference(table: Table, differ: bool) -> Estimate:
    """The mean of the differences with its bounds."""
    mean = float(table.means.mean())
    if table.lonely:
        return Estimate(mean, reason=table.lonely)
    spread = spread_of(table)
    if spread.error < ROUNDING:
        return Estimate(mean, reason="all groups shift alike" if differ else "no pair differs")
    return Estimate(mean, *plain_bounds(mean, spread, (-1.0, 1.0)), table.warning)


def _detectable(table: Table, power: float, tests: int) -> float | None:
    """The smallest true difference that is significant with this power: of Holm's levels the strictest, by t."""
    if table.groups < ENOUGH_TO_TELL:
        return None
    spread = spread_of(table)
    return (t_quantile(1 - LEVEL / (2 * tests), spread.df) + t_quantile(power, spread.df)) * spread.error


def _flip_p(table: Table, seed: int) -> float:
    """Share of the flips, which are swaps of the runs, whose statistic is at least the observed one."""
    table, observed = _canonical(table)
    # To flip a group whose sums are 0 changes nothing, so that only the others need to be gone through.
    moving = np.any(table.sums != 0, axis=1)
    chosen, exact = swaps_of(int(moving.sum()), seed)
    signs = np.ones((len(chosen), table.groups))
    signs[:, moving] = 1 - 2 * chosen
    return permutation_p(_at_least(_statistics(table, signs), _statistics(table, observed)), exact)


def _canonical(table: Table) -> tuple[Table, NDArray[np.float64]]:
    """The groups sorted by their numbers, each turned so that its first sum is not below 0, and the turns.

    Of the same differences the random flips then see the same, whatever the order and names of the
    groups, and whichever run comes first. The turns have shape (1, G): the flip that was observed.
    """
    first = np.argmax(table.sums != 0, axis=1)
    turns = np.where(np.take_along_axis(table.sums, first[:, None], axis=1) < 0, -1.0, 1.0)
    sums = table.sums * turns
    keys = np.hstack([sums.round(9), table.counts])
    place = np.lexsort(keys.T)
    return replace(table, sums=sums[place], counts=table.counts[place]), turns[place].T


def _statistics(table: Table, signs: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Studentised and plain |mean| after each flip: each of shape (B,).

    The mean and every influence are those of the flipped table. The standard error is `standard_error` by each group's
    share of all pairs, which with several strata is not that of `spread_of`: a permutation test holds its level with
    either. Where all groups shift alike it is 0: the statistic is inf, or 0 where nothing shifts.

    Args:
        table: Sums of differences and counts, of shape (G, P).
        signs: +1 or -1 for each group in each flip: shape (B, G).
    """
    weights = table.counts / table.totals / len(table.order)
    pulls = table.sums / table.totals / len(table.order)
    means = len(table.order) * (signs @ pulls)
    influence = signs * pulls.sum(axis=1) - means @ weights.T
    shift = np.abs(means.mean(axis=1))
    error = np.sqrt(influence**2 @ (1 / (1 - table.shares)))
    studentised = np.where(shift < ROUNDING, 0, np.inf)
    np.divide(shift, error, out=studentised, where=error >= ROUNDING)
    return studentised, shift


def _at_least(
    flipped: tuple[NDArray[np.float64], NDArray[np.float64]], observed: tuple[NDArray[np.float64], NDArray[np.float64]]
) -> NDArray[np.bool_]:
    """Whether each flip is at least as far from 0 as the observed one; where both are inf, by the plain mean.

    Within `TIE`, or this share, studentised means are equal.
    """
    if np.isinf(observed[0]).all():
        return np.isinf(flipped[0]) & (flipped[1] >= observed[1] - TIE)
    return flipped[0] >= observed[0] - TIE * (1 + observed[0])
