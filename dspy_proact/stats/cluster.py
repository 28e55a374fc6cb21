"""Means of scores whose cases share groups, with intervals that allow for it.

The groups are what was drawn: the estimand is the mean over a population of groups like these. Intervals of scores are
on the logit scale, where they cannot leave [0, 1].
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats.estimate import ROUNDING, Estimate, Spread, joined, logit_bounds, plain_bounds, trial_bounds
from dspy_proact.stats.raters import ONE_RATER, RaterVariance
from dspy_proact.stats.tally import added_up, numbered

ENOUGH_GROUPS = 5
"""Bounds on fewer groups are marked, and carry no claim."""
FEW_GROUPS = f"fewer than {ENOUGH_GROUPS} groups"
SHARE_ITEMS = 30
"""With fewer rated items the interval of a share of them was measured to cover up to 99 %, and the lower end of that of
the difference of two kappas is too high (eval/README.md)."""
LOW, NEAR_AN_END = 0.08, "close to the end of the scale: the interval may be too narrow"
"""Means below this, or as far from 1, are marked: with 25 unequal groups of skewed scores their intervals covered 88
to 89 % (eval/README.md)."""
ONE_STRATUM = (None,)
"""The order of strata where there is one, which needs no name."""

Scores = Sequence[float] | NDArray[np.float64]


@dataclass(frozen=True)
class Table:
    """Values summed by group and stratum: what every clustered mean is made of."""

    sums: NDArray[np.float64]
    """Sum of the values of each group in each stratum: shape (G, P)."""
    counts: NDArray[np.float64]
    """Number of values, likewise: shape (G, P); no group is empty."""
    order: tuple[Hashable, ...]
    """The P strata."""

    @property
    def groups(self) -> int:
        """The number of groups, G."""
        return len(self.counts)

    @property
    def totals(self) -> NDArray[np.float64]:
        """Number of values in each stratum: shape (P,)."""
        return self.counts.sum(axis=0)

    @property
    def shares(self) -> NDArray[np.float64]:
        """Each group's share of all values: shape (G,), sums to 1."""
        return self.counts.sum(axis=1) / self.counts.sum()

    @property
    def means(self) -> NDArray[np.float64]:
        """Mean of the values in each stratum, none of which is empty: shape (P,)."""
        return self.sums.sum(axis=0) / self.totals

    @property
    def pulls(self) -> NDArray[np.float64]:
        """How far each group's values in each stratum move the mean of the strata's means: shape (G, P)."""
        return (self.sums - self.counts * self.means) / self.totals / len(self.order)

    def empty(self, what: str) -> str | None:
        """That there are none of `what` in some strata, by name; None where there are."""
        names = self._named(lambda held: held == 0)
        return names and (f"no {what}" if self.order == ONE_STRATUM else f"no {what} in {names}")

    @property
    def lonely(self) -> str | None:
        """Why no spread can be seen: "one group" and in which strata; None where it can."""
        if self.groups == 1:
            return "one group"
        names = self._named(lambda held: held == 1)
        return names and f"one group in {names}"

    @property
    def warning(self) -> str | None:
        """What is wrong with bounds that rest on few groups; None from five on, in every stratum."""
        if self.groups < ENOUGH_GROUPS:
            return FEW_GROUPS
        names = self._named(lambda held: held < ENOUGH_GROUPS)
        return names and f"{FEW_GROUPS} in {names}: may be too narrow"

    def _named(self, chosen: Callable[[int], bool]) -> str | None:
        """The strata of which the number of groups with values is as chosen."""
        held = np.count_nonzero(self.counts, axis=0).tolist()
        return ", ".join(str(name) for name, count in zip(self.order, held, strict=True) if chosen(count)) or None


def tabulate(
    values: NDArray[np.float64],
    groups: Sequence[Hashable],
    strata: Sequence[Hashable] | None = None,
    order: Sequence[Hashable] = ONE_STRATUM,
    weights: NDArray[np.float64] | None = None,
) -> Table:
    """Sum the values, shape (n,), by group, as they first appear, and by stratum; without strata all are of one.

    With `weights`, above 0 and of the same shape, each value counts as so many.
    """
    strata = ONE_STRATUM * len(groups) if strata is None else strata
    column = {stratum: index for index, stratum in enumerate(order)}
    member = np.eye(len(order))[[column[stratum] for stratum in strata]]
    member = member if weights is None else member * weights[:, None]
    group = numbered(groups)
    return Table(added_up(member * values[:, None], group), added_up(member, group), tuple(order))


def checked_scores(
    scores: Scores,
    groups: Sequence[Hashable],
    strata: Sequence[Hashable] | None = None,
    order: Sequence[Hashable] = ONE_STRATUM,
) -> NDArray[np.float64]:
    """The scores as an array of shape (n,); raises as `cluster_mean` does."""
    values = np.asarray(scores, dtype=np.float64)
    strata = ONE_STRATUM * len(groups) if strata is None else strata
    if not values.shape == (len(groups),) == (len(strata),):
        raise ValueError(f"one group and stratum a score: {values.shape}, {len(groups)} and {len(strata)} differ")
    inside = (values >= 0) & (values <= 1)
    if not inside.all():
        raise ValueError(f"scores must be in [0, 1], not {values[~inside].tolist()!r}")
    if not len(set(order)) == len(order) > 0 or not set(strata) <= set(order):
        raise ValueError(f"order must name every stratum once: {order!r} for {set(strata)!r}")
    return values


def cluster_mean(
    scores: Scores,
    groups: Sequence[Hashable],
    strata: Sequence[Hashable] | None = None,
    order: Sequence[Hashable] = ONE_STRATUM,
    *,
    drawn: RaterVariance | None = None,
    weights: NDArray[np.float64] | None = None,
) -> Estimate:
    """Mean of the scores, every case weighted equally; with strata the mean of their means, each weighted equally.

    No scores, or none in a stratum: no value. One group, in all or in a stratum: no bounds. Two to four: bounds with a
    warning. All scores 0, or all 1: one group counts as one trial, or one rater where raters were drawn and are fewer,
    and the bound away from the value is the exact binomial one. Groups that do not differ at another mean, nor raters:
    no bounds. Raises a `ValueError` where a score is outside [0, 1], the lengths differ, or `order` does not name every
    stratum once.

    Args:
        scores: Array of shape (n,), each in [0, 1], higher is better.
        groups: Key of the group of each score.
        strata: Stratum of each score; a group may have scores in several.
        order: The strata to average over, each once and at least one.
        drawn: What raters add to the variance, where the scores rest on them.
        weights: How often each score counts, above 0: shape (n,); once where None.
    """
    table = tabulate(checked_scores(scores, groups, strata, order), groups, strata, order, weights)
    if empty := table.empty("scores"):
        return Estimate(None, reason=empty)
    theta = float(table.means.mean())
    if table.lonely:
        return Estimate(theta, reason=table.lonely)
    if theta in {0, 1}:
        warning = joined("all values equal", table.warning, drawn and drawn.warning)
        trials = drawn.trials(table.groups) if drawn else table.groups
        return Estimate(theta, *trial_bounds(theta, trials), warning)
    estimate = _bounded(theta, table, ROUNDING, drawn, partial(logit_bounds, theta))
    return estimate if LOW <= theta <= 1 - LOW else estimate.marked(NEAR_AN_END)


def share_of_items(hits: Scores, groups: Sequence[Hashable], drawn: RaterVariance | None) -> Estimate:
    """`cluster_mean` of the parts of items on which judge and people agree; of few items its bounds carry a warning."""
    share = cluster_mean(hits, groups, drawn=drawn)
    return share if len(hits) >= SHARE_ITEMS else share.marked(f"fewer than {SHARE_ITEMS} items: may be too wide")


def part_mean(
    values: Scores,
    groups: Sequence[Hashable],
    strata: Sequence[Hashable] | None = None,
    order: Sequence[Hashable] = ONE_STRATUM,
    *,
    bounds: tuple[float, float] = (-math.inf, math.inf),
    drawn: RaterVariance | None = None,
) -> Estimate:
    """Mean of finite numbers of any range; its interval is on the plain scale.

    Every case is weighted equally, or with strata every stratum. The interval ends at `bounds`, the least and the
    greatest that the mean can be. Otherwise as `cluster_mean`, but that equal numbers have no bounds. Raises a
    `ValueError` where a number is not finite, or the lengths differ.
    """
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.shape != (len(groups),) or not np.isfinite(numbers).all():
        raise ValueError(f"one finite number and group a case: {numbers.tolist()!r} for {len(groups)}")
    table = tabulate(numbers, groups, strata, order)
    if empty := table.empty("scores"):
        return Estimate(None, reason=empty)
    mean = float(table.means.mean())
    if table.lonely:
        return Estimate(mean, reason=table.lonely)
    least = ROUNDING * max(1.0, float(np.abs(numbers).max()))
    return _bounded(mean, table, least, drawn, partial(plain_bounds, mean, bounds=bounds))


def _bounded(
    mean: float,
    table: Table,
    least: float,
    drawn: RaterVariance | None,
    bounds: Callable[[Spread], tuple[float, float]],
) -> Estimate:
    """A table's mean with its bounds; a standard error below `least` is none."""
    spread = spread_of(table)
    widened = drawn.widened(spread) if drawn else spread
    if widened is None:
        return Estimate(mean, reason=ONE_RATER)
    if widened.error < least:
        return Estimate(mean, reason="no variance between groups")
    return Estimate(mean, *bounds(widened), joined(table.warning, drawn and drawn.warning))


def spread_of(table: Table) -> Spread:
    """CR2 variance of the mean of a table's strata, in the square of the scores' unit, with its degrees of freedom.

    What a group moves each stratum's mean by is divided by the root of 1 - h, h being its share of that stratum, and
    then added up: this is CR2 of the regression on the strata (Pustejovsky & Tipton 2018), whose residuals it corrects
    within each. The degrees of freedom are those of Bell & McCaffrey (2002) for it. No stratum rests on one group.
    """
    leverage = 1 / np.sqrt(1 - table.counts / table.totals)
    variance = float(np.sum(np.sum(table.pulls * leverage, axis=1) ** 2))
    weights = leverage / table.totals
    own, shared = np.sum(table.counts * weights**2, axis=1), table.counts * weights / np.sqrt(table.totals)
    # Trace, and sum of squares, of diag(own) - shared @ shared.T, which of many thousand groups has no room in memory.
    trace = np.sum(own) - np.sum(shared**2)
    squares = np.sum(own**2) - 2 * np.sum(own[:, None] * shared**2) + np.sum((shared.T @ shared) ** 2)
    return Spread(variance, float(trace**2 / squares))


def standard_error(table: Table) -> float:
    """CR2 standard error of the mean by each group's share of all cases; there are at least two groups."""
    return math.sqrt(np.sum(table.pulls.sum(axis=1) ** 2 / (1 - table.shares)))


def degrees_of_freedom(shares: NDArray[np.float64]) -> float:
    """Bell-McCaffrey degrees of freedom of `standard_error`, in [1, G - 1]; G - 1 when sizes, the shares, are equal."""
    q = shares**2 / (1 - shares)
    return float(1 / (np.sum(shares**2) + np.sum(q) ** 2 - np.sum(q**2)))
