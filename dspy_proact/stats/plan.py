"""How much people must rate for a corrected score of a wanted width.

    V(n, m, R) = V_F + sum_h W_h^2 / n_h (s_b^2 + s_w^2 / m) + s_r^2 / R

for n of N cases, n_h of cell h, each with m ratings by some of R raters. V_F is of the groups, had every case the mean
mu_h of its cell: sum_g z_g^2 / (1 - w_g), z_g = sum_{i in g} (mu_h(i) - theta) / N. The three components are by
moments; a cell's variance weighs there what it does in the corrected mean.

A study's own width scatters about what is planned: 80 % of simulated ones were 0.45 to 1.4 times as wide, in the
median 1.1 times, which is allowed for.
"""

from bisect import bisect_left
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats.balanced import Kind, drawn_counts
from dspy_proact.stats.cluster import degrees_of_freedom, logit_bounds, standard_error
from dspy_proact.stats.corrected import FEWEST_RATED, UNMARKED_RATERS
from dspy_proact.stats.correction import Cells, Correction, cells_of, correction
from dspy_proact.stats.rated_cases import RatedCases
from dspy_proact.stats.raters import Spread, rater_term
from dspy_proact.stats.table import tabulate

PILOT_CASES = 60
"""Cases with two ratings from which on ratings can be planned by."""
ALLOWANCE = 1.12
"""By what a planned width is widened."""
PLAN_SCATTER = 0.3
"""Share of it by which a study's own width may well be another."""
PLAN_RATERS = (UNMARKED_RATERS, 12, 18, 24, 36, 48)
"""Numbers of raters that are tried."""
PLAN_MOST_EACH = 3
"""More ratings of one case are a waste of raters."""
WORTH = 0.1
"""Share of the ratings that more raters must save."""


@dataclass(frozen=True)
class RatingComponents:
    """How ratings vary, in squares of a score."""

    between: float
    """Between the cases of a cell, s_b^2."""
    within: float
    """Between ratings of one case, leniency apart, s_w^2."""
    leniency: float
    """Between raters, s_r^2."""
    means: Mapping[Kind, float]
    """Mean rating of each cell, mu_h, in [0, 1]."""


@dataclass(frozen=True)
class PlanFrame:
    """The cases that are to be rated a part of."""

    sizes: Mapping[Kind, int]
    """N_h of each cell."""
    mean: float
    """Expected mean rating, theta, in (0, 1)."""
    fixed: float
    """V_F."""
    df: float
    """Degrees of freedom of the groups."""

    @property
    def cases(self) -> int:
        """N."""
        return sum(self.sizes.values())


@dataclass(frozen=True)
class Plan:
    """A study that is expected to give a width."""

    raters: int
    rated: int
    """Cases."""
    each: int
    """Ratings of each of them."""
    half_width: float
    """Of the 95 % interval, as `planned_half_width` gives it."""

    @property
    def ratings(self) -> int:
        """In all."""
        return self.rated * self.each

    @property
    def likely(self) -> tuple[float, float]:
        """Between which half-widths the study may well end."""
        return self.half_width * (1 - PLAN_SCATTER), self.half_width * (1 + PLAN_SCATTER)


def rating_components(cases: RatedCases) -> RatingComponents:
    """How ratings vary in a study, by moments, floored at 0.

    Raises:
        ValueError: There is one rater, or no case with two ratings, or as in `correction`.
    """
    found, cells = correction(cases), cells_of(cases)
    if not np.any(cases.times > 1):
        raise ValueError("how ratings vary is told from cases with two of them")
    rated, times, place = cases.rated, cases.times, cases.place
    noise = _pooled(cells, cases.cell[place], (cases.given - cases.means[place]) ** 2, cases.cell, times - 1)
    centre = np.bincount(cases.cell, rated * cases.means) / np.maximum(1, cells.rated)
    apart = (cases.means - centre[cases.cell])[rated] ** 2
    spread = _pooled(cells, cases.cell[rated], apart, np.arange(len(cells.rated)), cells.rated - 1)
    leniency = _leniency(cases, found, cells)
    kinds = dict.fromkeys(zip(cases.strata, cases.labels, strict=True))
    return RatingComponents(
        between=max(0.0, spread - noise * float(np.mean(1 / times[rated]))),
        within=max(0.0, noise - leniency),
        leniency=leniency,
        means=dict(zip(kinds, cells.means.tolist(), strict=True)),
    )


def _pooled(
    cells: Cells,
    of_square: NDArray[np.intp],
    squares: NDArray[np.float64],
    of_freedom: NDArray[np.intp],
    freedom: NDArray[np.float64] | NDArray[np.intp],
) -> float:
    """Mean of the cells' variances, each weighing what it does in the corrected mean; without those that have none.

    Args:
        cells: Of the cases.
        of_square: The cell of each squared deviation.
        squares: The deviations.
        of_freedom: The cell of each number of degrees of freedom; below 0 it is none.
        freedom: The numbers.
    """
    count = len(cells.rated)
    free = np.bincount(of_freedom, np.maximum(0, freedom), count)
    weights = np.where(free > 0, cells.weights**2 / np.maximum(1, cells.rated), 0)
    sums = np.bincount(of_square, squares, count)
    return float(weights @ (sums / np.maximum(1, free)) / max(weights.sum(), np.finfo(float).tiny))


def _leniency(cases: RatedCases, found: Correction, cells: Cells) -> float:
    """Variance between raters: what they add to that of the mean, by how unequally they carry it."""
    cell = cases.cell[cases.place]
    weight = cells.weights[cell] / cells.rated[cell] / cases.times[cases.place]
    carried = tabulate(weight, found.raters, found.groups, list(dict.fromkeys(found.groups))).sums
    shared = float(np.sum(carried.sum(axis=1) ** 2) - np.sum(carried**2))
    return rater_term(found.influence, found.raters, found.groups) / shared if shared > 0 else 0.0


def plan_frame(kinds: Sequence[Kind], groups: Sequence[Hashable], means: Mapping[Kind, float]) -> PlanFrame:
    """The frame of judged cases, whose groups are known.

    Args:
        kinds: Of each case.
        groups: Key of the group of each case; at least two groups.
        means: Mean rating of each kind.
    """
    table = tabulate(np.array([means[kind] for kind in kinds]), groups)
    fixed = standard_error(table.influence, table.shares) ** 2
    sizes = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
    return PlanFrame(sizes, float(table.means[0]), fixed, degrees_of_freedom(table.shares))


def planned_half_width(frame: PlanFrame, of: RatingComponents, rated: int, raters: int, each: int) -> float:
    """Half the expected width of the 95 % interval, as a score, widened by what such plans fall short.

    Args:
        frame: What is rated a part of.
        of: How ratings vary.
        rated: Cases, drawn as `drawn_counts` draws.
        raters: At least 2.
        each: Ratings of each of these cases.
    """
    sizes = np.array(list(frame.sizes.values()))
    counts = np.maximum(1, drawn_counts(frame.sizes, rated))
    drawn = float(np.sum((sizes / sizes.sum()) ** 2 / counts)) * (of.between + of.within / each)
    variance = frame.fixed + drawn + of.leniency / raters
    low, high = logit_bounds(frame.mean, Spread(variance, min(frame.df, raters - 1)))
    return ALLOWANCE * (high - low) / 2


def plans(width: float, frame: PlanFrame, of: RatingComponents) -> Iterator[Plan]:
    """For each number of raters the fewest ratings that are expected to give a half-width; none where none do.

    Cases are rated once, and more often only where there are not enough of them.

    Args:
        width: Half of the 95 % interval, as a score.
        frame: What is rated a part of.
        of: How ratings vary.
    """
    least = min(FEWEST_RATED * len({stratum for stratum, _ in frame.sizes}), frame.cases)
    for raters in PLAN_RATERS:
        for each in range(1, PLAN_MOST_EACH + 1):

            def planned(rated: int, raters: int = raters, each: int = each) -> Plan:
                return Plan(raters, rated, each, planned_half_width(frame, of, rated, raters, each))

            # More cases never widen it, so that the fewest are found by halves.
            counts = range(least, frame.cases + 1)
            place = bisect_left(counts, True, key=lambda rated, planned=planned: planned(rated).half_width <= width)
            if place < len(counts):
                yield planned(counts[place])
                break


def best_plan(found: Sequence[Plan]) -> Plan | None:
    """That of the fewest raters, of whom more would save less than a tenth of the ratings; None without any."""
    for plan, more in pairwise(found):
        if more.ratings > (1 - WORTH) * plan.ratings:
            return plan
    return found[-1] if found else None
