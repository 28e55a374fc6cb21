"""Differences of two runs on the same cases, with the group as the unit of chance.

The interval is that of a clustered mean of the differences, on the plain scale. The p value is a permutation: were the
runs alike, b - a could as well have been a - b in any group, so the sign of whole groups is flipped and the studentised
mean recomputed (Canay, Romano & Shaikh 2017). Flipping single cases would claim a difference that is not there far too
often, since cases of one group move together.
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats.cluster import LOW, NEAR_AN_END, ONE_STRATUM, Scores, Table, checked_scores, spread_of, tabulate
from dspy_proact.stats.estimate import ROUNDING, Estimate, joined, plain_bounds, t_quantile
from dspy_proact.stats.headline import Side
from dspy_proact.stats.tally import added_up, numbered

LEVEL = 0.05
"""Largest p value of a difference that is claimed."""
POWERS = (0.84, 0.50)
"""Powers in the formula of the two detectable differences. 0.84 is reported as 80 %: in simulations such a difference
is detected in 75 to 84 % of comparisons (eval/README.md)."""
ENOUGH_TO_TELL = 15
"""With fewer degrees of freedom it is not told what could have been seen. By simulation a difference that is said to be
detected in 80 % of comparisons is detected in 34 to 43 % with 1 of them (one group has 60 of 73 cases), in 63 to 69 %
with 7, in 72 to 74 % with 10, and in 75 to 84 % from 15 on; for the last see eval/README.md."""
FROM_AN_END = 0.1
"""Nor is it from a base below this or as far from 1: in 70 to 73 % at .05, since the spread itself is little known."""
FEWEST = 6
"""With fewer groups the smallest two-sided p, 2 / 2^G, is above 5 %."""
SWAPS, _BLOCK = 9_999, 500
"""Random swaps, where there are too many to take all, and how many are taken at once."""
ALL_SWAPS = 13
"""Up to so many groups, all their swaps are taken: 8,192."""
MANY_GROUPS = 2_000
"""From so many groups on that shift and weigh about alike, p is a tail of the normal distribution. At .05 it is off by
.003 at most, where all shift equally far; 9,999 random swaps scatter by .002."""
TIE = 1e-9
"""Statistics within this of each other are equal but for rounding."""
UNDECIDED = "the test and the interval disagree, so that nothing is claimed"


@dataclass(frozen=True)
class Paired:
    """The difference of two runs, b - a: above 0 where b scores higher."""

    count: int
    """Pairs: cases with a score in both runs."""
    groups: int
    difference: Estimate
    """Mean of b - a in [-1, 1], with its 95 % interval, clipped to [-1, 1]."""
    p: float | None
    """Two-sided p value of the flips of whole groups, in (0, 1]; None without pairs or with one group. A difference is
    claimed where it is at most .05 and the interval, if there is one, excludes 0; where only one of both holds, the
    interval says so."""
    reason: str | None
    """Why p is missing, or that it cannot be significant; None where p can carry a claim."""
    base: float | None
    """Mean of both runs' scores, from which a detectable difference counts towards .5; None without pairs."""
    detectable: float | None
    """Smallest true difference from `base` that is significant with 80 % power, as a score, not rounded. Where p is
    adjusted over several tests it is that of a difference in this one alone. None where none on the scale is, the
    spread of the groups is 0 or has fewer than 15 degrees of freedom, or `base` is below .1 or above .9."""
    detectable_half: float | None
    """Like `detectable`, with 50 % power: missed as often as detected."""


def paired_difference(
    a: Scores,
    b: Scores,
    groups: Sequence[Hashable],
    strata: Sequence[Hashable] | None = None,
    order: Sequence[Hashable] = ONE_STRATUM,
    *,
    tests: int = 1,
    seed: int = 0,
) -> Paired:
    """Mean difference of two runs on the same cases, or mean of the strata's, as in `cluster_mean`.

    No pairs, in all or in a stratum: no value. One group: no bounds and no p, in one stratum alone no bounds. Two to
    four: bounds with a warning. No pair differs, or all groups shift alike: no bounds and nothing detectable; p stands,
    and is 1 where nothing shifts. A flip turns all of a group's pairs, in every stratum. Raises as `cluster_mean` does.

    Args:
        a: Scores of the first run, shape (n,), each in [0, 1], higher is better.
        b: Scores of the second run on the same cases, likewise.
        groups: Key of the group of each pair.
        strata: Stratum of each pair; a group may have pairs in several.
        order: The strata to average over, each once and at least one.
        tests: Over how many tests p will be adjusted (Holm), which bears on what can be detected and on nothing else.
        seed: Seed of the random flips. Same scores and seed give the same p, in whatever order the pairs come,
            whatever the groups are called, and with a and b exchanged.
    """
    first, second = (checked_scores(scores, groups, strata, order) for scores in (a, b))
    table = tabulate(second - first, groups, strata, order)
    # What cancels within a group must cancel to 0, or the flips would take rounding for a shift.
    table = replace(table, sums=np.where(np.abs(table.sums) < ROUNDING, 0, table.sums))
    if empty := table.empty("pairs"):
        return Paired(len(first), table.groups, Estimate(None, reason=empty), None, empty, None, None, None)
    mean = float(table.means.mean())
    one, other = (float(tabulate(scores, groups, strata, order).means.mean()) for scores in (first, second))
    base = (one + other) / 2
    if table.groups == 1:
        return Paired(len(first), 1, Estimate(mean, reason=table.lonely), None, "one group", base, None, None)
    detectable = None, None
    if table.lonely:
        difference = Estimate(mean, reason=table.lonely)
    elif (spread := spread_of(table)).error < ROUNDING:
        difference = Estimate(mean, reason="all groups shift alike" if np.any(first != second) else "no pair differs")
    else:
        bounds = plain_bounds(mean, spread, (-1.0, 1.0))
        near = min(one, other) < LOW or max(one, other) > 1 - LOW
        narrow = NEAR_AN_END if near and bounds != (-1.0, 1.0) else None  # an interval of the full scale is not
        difference = Estimate(mean, *bounds, joined(table.warning, narrow))
        if round(spread.df, 6) >= ENOUGH_TO_TELL and FROM_AN_END <= base <= 1 - FROM_AN_END:
            # Of Holm's levels the strictest, by t.
            claimed = t_quantile(1 - LEVEL / (2 * tests), spread.df)
            scatter = spread.variance / (one * (1 - one) + other * (1 - other))
            detectable = [_detectable(base, scatter, claimed + t_quantile(power, spread.df)) for power in POWERS]
    few = f"cannot be significant with {table.groups} groups" if table.groups < FEWEST else None
    p = _flip_p(table, seed)
    if few is None and (p <= LEVEL) != excludes_zero(difference):
        difference = difference.marked(UNDECIDED)
    return Paired(len(first), table.groups, difference, p, few, base, *detectable)


def _detectable(base: float, scatter: float, errors: float) -> float | None:
    """The smallest difference d from a base towards .5 that is so many standard errors; None where it leaves the scale.

    The variance of the mean difference is `scatter` times the sum of m (1 - m) of both runs, as that of scores is: from
    a low base a run that rises varies more than runs alike. So d^2 = errors^2 scatter (m (1 - m) + (m + d)(1 - m - d)).
    """
    low = min(base, 1 - base)
    share = errors**2 * scatter
    half = share * (1 - 2 * low) / 2
    difference = (half + math.sqrt(half**2 + 2 * share * (1 + share) * low * (1 - low))) / (1 + share)
    return difference if low + difference <= 1 else None


def claimed_side(paired: Paired, p: float | None) -> Side | None:
    """Where b is said to lie beside a: by this p value, adjusted or not, and by the interval where there is one."""
    shown = paired.reason is None and p is not None and p <= LEVEL
    if not shown or not (paired.difference.low is None or excludes_zero(paired.difference)):
        return None
    return "higher" if (paired.difference.value or 0) > 0 else "lower"


def excludes_zero(difference: Estimate) -> bool:
    """Whether the whole interval lies on one side of 0."""
    return (difference.low or 0) > 0 or (difference.high or 0) < 0


def rounded_points(difference: float) -> int:
    """A smallest detectable difference in whole score points (hundredths), rounded to the nearest, at least 1.

    It is not known better than that: from one data set to the next it scatters by 15 to 30 %.
    """
    return max(1, math.floor(100 * difference + 0.5))


def _flip_p(table: Table, seed: int) -> float:
    """Share of the flips, which are swaps of the runs, whose statistic is at least the observed one.

    The groups are sorted by their numbers, each turned so that its first sum is not below 0: of the same differences
    the random flips then see the same, whatever the order and names of the groups, and whichever run comes first. Of
    many groups none are drawn: p is that of the normal distribution, and no smaller than random flips could show.
    """
    first = np.argmax(table.sums != 0, axis=1)
    turns = np.where(np.take_along_axis(table.sums, first[:, None], axis=1) < 0, -1.0, 1.0)
    sums = table.sums * turns
    order = np.lexsort(np.hstack([sums.round(9), table.counts]).T)
    table, observed = replace(table, sums=sums[order], counts=table.counts[order]), turns[order].T
    # To flip a group whose sums are 0 changes nothing, so that only the others need to be gone through.
    moving = np.any(table.sums != 0, axis=1)
    (own_studentised,), (own_shift,) = _flipped(table, observed)
    pulls = (table.sums / table.totals).sum(axis=1)
    if moving.sum() >= MANY_GROUPS and np.sum(pulls**2) ** 2 >= MANY_GROUPS * np.sum(pulls**4):
        return max(math.erfc(own_studentised / math.sqrt(2)), 1 / (1 + SWAPS))

    def reached(swaps: NDArray[np.intp]) -> NDArray[np.bool_]:
        signs = np.ones((len(swaps), table.groups))
        signs[:, moving] = 1 - 2 * swaps
        studentised, shift = _flipped(table, signs)
        if np.isinf(own_studentised):
            return np.isinf(studentised) & (shift >= own_shift - TIE)
        return studentised >= own_studentised - TIE * (1 + own_studentised)

    return permutation_p(reached, int(moving.sum()), seed)


def _flipped(table: Table, signs: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Studentised and plain |mean| after each flip: each of shape (B,).

    The mean and every influence are those of the flipped table. The standard error is `standard_error` by each group's
    share of all pairs, which with several strata is not that of `spread_of`: a permutation test holds its level with
    either. Where all groups shift alike it is 0: the statistic is inf, or 0 where nothing shifts.

    `signs` has +1 or -1 for each group in each flip: shape (B, G).
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


def swap_p(
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    groups: Sequence[Hashable],
    statistics: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    seed: int,
) -> float:
    """Two-sided p value of a statistic's difference, by exchanging before and after within whole groups.

    It is the share of swaps, of all or of random ones and the data, whose difference is at least as far from 0. As in
    `paired_difference`, it depends on numbers and seed alone.

    `before` and `after` are what each item, of which there is one at least, adds to the sums that the statistics are
    of: shape (n, ...). `statistics` gives that of each of B sums: shape (B, ...) to (B,).
    """
    sums = added_up(np.stack([before, after], axis=1), numbered(groups))
    pairs = sums.reshape(len(sums), 2, -1)
    # Groups are turned so that the first number that differs is larger after than before, and sorted by their numbers:
    # of the same data the random swaps then see the same, whatever the order and names of groups.
    gaps = (pairs[:, 1] - pairs[:, 0]).round(9)
    turned = np.take_along_axis(gaps, np.argmax(gaps != 0, axis=1)[:, None], axis=1)[:, 0] < 0
    pairs = np.where(turned[:, None, None], pairs[:, ::-1], pairs)
    order = np.lexsort(pairs.reshape(len(pairs), -1).round(9).T)
    pairs, observed = pairs[order], turned[order].astype(np.intp)
    shift = pairs[:, 1] - pairs[:, 0]
    # To swap what is equal changes nothing, so that only the other groups need to be gone through.
    moving = np.any(np.abs(shift) > ROUNDING, axis=1)
    first, second = pairs.sum(axis=0)

    def differences(swaps: NDArray[np.intp]) -> NDArray[np.float64]:
        moved = swaps @ shift[moving]
        one, other = (statistics(side.reshape(-1, *before.shape[1:])) for side in (first + moved, second - moved))
        return np.abs(other - one)

    own = differences(observed[moving][None])
    return permutation_p(lambda swaps: differences(swaps) >= own - TIE, int(moving.sum()), seed)


def permutation_p(reached: Callable[[NDArray[np.intp]], NDArray[np.bool_]], groups: int, seed: int) -> float:
    """Share of swaps that reached what was observed, in (0, 1]: of all, or of random ones and the data.

    `reached` tells it of rows of 1 for a group that is swapped and 0 for one that is not: shape (B, groups) to (B,).
    """
    if groups <= ALL_SWAPS:
        return float(np.mean(reached(np.array(list(product((0, 1), repeat=groups)), dtype=np.intp))))
    draw, count = np.random.default_rng(seed), 0
    for drawn in range(0, SWAPS, _BLOCK):  # all at once, those of a thousand groups would take half a gigabyte
        count += np.count_nonzero(reached(draw.integers(0, 2, size=(min(_BLOCK, SWAPS - drawn), groups))))
    return (1 + count) / (1 + SWAPS)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust p values for being read together (Holm 1979); None, where there is none, stays None and is no test.

    Of m tests the k-th smallest p is multiplied by m - k + 1, and none falls below a smaller one's. All
    that stay at most 0.05 may be claimed together, with at most 5 % chance of any false claim.
    """
    tests = [(p, index) for index, p in enumerate(p_values) if p is not None]
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for done, (p, index) in enumerate(sorted(tests)):
        largest = min(1.0, max(largest, p * (len(tests) - done)))
        adjusted[index] = largest
    return adjusted


@dataclass(frozen=True)
class Discordant:
    """McNemar's table of two runs on the same cases: how many both passed, either alone, and neither.

    A description only. McNemar's test takes cases for independent, which those of one group are
    not; `paired_difference` of the passes is the test.
    """

    both: int
    only_a: int
    only_b: int
    neither: int


def discordant(a_pass: Sequence[bool], b_pass: Sequence[bool]) -> Discordant:
    """Count the cases by which of two runs passed them; raises ValueError where the lengths differ."""
    counts = Counter((bool(a), bool(b)) for a, b in zip(a_pass, b_pass, strict=True))
    return Discordant(counts[True, True], counts[True, False], counts[False, True], counts[False, False])
