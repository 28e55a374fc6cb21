"""Which cases people are to rate, and how many, for a corrected score of a wanted width.

    V(n, m, R) = V_F + sum_h W_h^2 / n_h (s_b^2 + s_w^2 / m) + s_r^2 / R

for n of N cases, n_h of cell h, each with m ratings by some of R raters. V_F is of the groups, had every case the mean
mu_h of its cell: sum_g z_g^2 / (1 - w_g), z_g = sum_{i in g} (mu_h(i) - theta) / N. The three components are by
moments; a cell's variance weighs there what it does in the corrected mean.

A study's own width scatters about what is planned: 80 % of simulated ones were 0.45 to 1.4 times as wide, in the
median 1.1 times, which is allowed for.
"""

import hashlib
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats.cluster import degrees_of_freedom, standard_error, tabulate
from dspy_proact.stats.corrected import FEWEST_RATED, RatedCases, cells_of, correction
from dspy_proact.stats.estimate import Spread, logit_bounds
from dspy_proact.stats.raters import UNMARKED_RATERS, rater_term

PILOT_CASES = 60
"""Cases with two ratings from which on ratings can be planned by."""
ALLOWANCE = 1.12
"""By what a planned width is widened."""
PLAN_SCATTER = 0.3
"""Share of it by which a study's own width may well be another."""
PLAN_RATERS = (UNMARKED_RATERS, 12, 18, 24, 36, 48)
"""Numbers of raters that are tried."""
PLAN_MOST_RATINGS = 2
"""A third rating of a case adds less than one of another case, or by another rater: none is planned."""
WORTH = 0.1
"""Share of the ratings that more raters must save."""

Kind = tuple[Hashable, Hashable]
"""Stratum and label."""


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
    shares: tuple[float, ...]
    """Share of each group in the cases; they sum to 1."""

    @property
    def df(self) -> float:
        """Degrees of freedom of the groups."""
        return degrees_of_freedom(np.array(self.shares))

    @property
    def cases(self) -> int:
        """N."""
        return sum(self.sizes.values())

    @property
    def fewest(self) -> int:
        """Cases of the smallest study: as many of each stratum as a corrected score takes, or all there are."""
        return min(FEWEST_RATED * len({stratum for stratum, _ in self.sizes}), self.cases)


@dataclass(frozen=True)
class Plan:
    """A study that is expected to give a width."""

    raters: int
    rated: int
    """Cases with a rating."""
    per_case: int
    """Ratings of each of them."""
    half_width: float
    """Of the 95 % interval, as `planned_half_width` gives it."""

    @property
    def ratings(self) -> int:
        """In all."""
        return self.rated * self.per_case

    @property
    def likely(self) -> tuple[float, float]:
        """Between which half-widths the study may well end."""
        return self.half_width * (1 - PLAN_SCATTER), self.half_width * (1 + PLAN_SCATTER)


def rating_components(cases: RatedCases) -> RatingComponents:
    """How ratings vary in a study of several raters that has cases with two ratings: by moments, floored at 0."""
    corrected, cells = correction(cases), cells_of(cases)
    weights, counts, cell, of_rating = cells.weights[0], cells.rated[0], cases.cell, cases.cell[cases.of]

    def pooled(squares: NDArray[Any], free: NDArray[Any]) -> float:
        """Mean variance of the cells, from their sums of squares, each weighing what it does in the corrected mean."""
        pull = np.where(free > 0, weights**2 / np.maximum(1, counts), 0)
        return float(pull @ (squares / np.maximum(1, free)) / max(pull.sum(), np.finfo(float).tiny))

    size = len(counts)
    squares = np.bincount(of_rating, (cases.ratings - cases.means[cases.of]) ** 2, size)
    noise = pooled(squares, np.bincount(cell, np.maximum(0, cases.times - 1), size))
    centre = np.bincount(cell, cases.rated * cases.means) / np.maximum(1, counts)
    distances = (cases.means - centre[cell])[cases.rated] ** 2
    spread = pooled(np.bincount(cell[cases.rated], distances, size), np.maximum(0, counts - 1))
    # What raters add to the variance of the mean, by how unequally they carry it.
    weight = weights[of_rating] / counts[of_rating] / cases.times[cases.of]
    carried = tabulate(weight, corrected.raters, corrected.groups, list(dict.fromkeys(corrected.groups))).sums
    shared = float(np.sum(carried.sum(axis=1) ** 2) - np.sum(carried**2))
    leniency = rater_term(corrected.influence, corrected.raters, corrected.groups) / shared if shared > 0 else 0.0
    kinds = dict.fromkeys(zip(cases.strata, cases.labels, strict=True))
    return RatingComponents(
        between=max(0.0, spread - noise * float(np.mean(1 / cases.times[cases.rated]))),
        within=max(0.0, noise - leniency),
        leniency=leniency,
        means=dict(zip(kinds, cells.means[0].tolist(), strict=True)),
    )


def plan_frame(kinds: Sequence[Kind], groups: Sequence[Hashable], means: Mapping[Kind, float]) -> PlanFrame:
    """The frame of judged cases in at least two groups, with the mean rating of each kind."""
    table = tabulate(np.array([means[kind] for kind in kinds]), groups)
    sizes = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
    return PlanFrame(sizes, float(table.means[0]), standard_error(table) ** 2, tuple(table.shares.tolist()))


def planned_half_width(frame: PlanFrame, of: RatingComponents, rated: int, raters: int, per_case: int) -> float:
    """Half the expected width of the 95 % interval, as a score, widened by what such plans fall short.

    So many cases are rated, drawn as `drawn_counts` draws, `per_case` times, by at least two raters.
    """
    sizes = np.array(list(frame.sizes.values()))
    counts = np.maximum(1, drawn_counts(frame.sizes, rated))
    drawn = float(np.sum((sizes / sizes.sum()) ** 2 / counts)) * (of.between + of.within / per_case)
    variance = frame.fixed + drawn + of.leniency / raters
    low, high = logit_bounds(frame.mean, Spread(variance, min(frame.df, raters - 1)))
    return ALLOWANCE * (high - low) / 2


def plans(width: float, frame: PlanFrame, of: RatingComponents) -> Iterator[Plan]:
    """For each number of raters the fewest ratings expected to give a half-width, as a score; none where none do.

    Cases are rated once, and more often only where there are not enough of them.
    """
    counts = range(frame.fewest, frame.cases + 1)
    for raters in PLAN_RATERS:
        for per_case in range(1, PLAN_MOST_RATINGS + 1):
            of_count = partial(planned_half_width, frame, of, raters=raters, per_case=per_case)
            # More cases never widen it, so that the fewest are found by halves.
            index = bisect_left(counts, True, key=lambda rated, of_count=of_count: of_count(rated) <= width)
            if index < len(counts):
                yield Plan(raters, counts[index], per_case, of_count(counts[index]))
                break


def best_plan(plans: Sequence[Plan]) -> Plan | None:
    """That of the fewest raters, of whom more would save less than a tenth of the ratings; None without any."""
    for plan, more in pairwise(plans):
        if more.ratings > (1 - WORTH) * plan.ratings:
            return plan
    return plans[-1] if plans else None


def balanced_counts(sizes: Sequence[int], count: int) -> NDArray[np.intp]:
    """How many of each kind are drawn, so that they are as equal as the sizes allow: shape (kinds,).

    A remainder goes to the first kinds that have any left; all are drawn where `count` is more.
    """
    left = np.asarray(sizes, dtype=np.intp)
    drawn = np.zeros_like(left)
    while (short := min(count, int(np.sum(sizes))) - int(drawn.sum())) > 0:
        open_kinds = np.flatnonzero(left > drawn)
        share = short // len(open_kinds)
        if share:
            drawn[open_kinds] = np.minimum(left[open_kinds], drawn[open_kinds] + share)
        else:
            drawn[open_kinds[:short]] += 1
    return drawn


def drawn_counts(sizes: Mapping[Kind, int], count: int) -> NDArray[np.intp]:
    """How many of each kind are drawn: the strata as equal as they last, and in each its labels: shape (kinds,)."""
    strata = list(dict.fromkeys(stratum for stratum, _ in sizes))
    of = np.array([strata.index(stratum) for stratum, _ in sizes])
    held = np.array(list(sizes.values()), dtype=np.intp)
    drawn = np.zeros_like(held)
    for number, share in enumerate(balanced_counts(np.bincount(of, held).astype(np.intp).tolist(), count)):
        drawn[of == number] = balanced_counts(held[of == number].tolist(), int(share))
    return drawn


def balanced_order(keys: Sequence[str], kinds: Sequence[Kind], seed: int = 0) -> list[int]:
    """The places of all cases in an order whose every beginning is a draw.

    In rounds each stratum gives one case, until it has none left; which one is decided by rounds too, in which each
    label of the stratum gives one by chance. Within a round the order is by chance, so that it tells nobody what label
    a case has. It depends on the keys, which are unique, kinds and seed alone.
    """

    def chance(*words: object) -> bytes:
        return hashlib.sha256("/".join(["balanced order 2", str(seed), *map(str, words)]).encode()).digest()

    by_kind: defaultdict[Kind, list[int]] = defaultdict(list)
    for index, kind in enumerate(kinds):
        by_kind[kind].append(index)
    by_stratum: defaultdict[Hashable, list[tuple[int, bytes, int]]] = defaultdict(list)
    for (stratum, _), indices in by_kind.items():
        drawn = sorted(indices, key=lambda index: chance("case", keys[index]))
        by_stratum[stratum] += [(number, chance("label", keys[index]), index) for number, index in enumerate(drawn)]
    rounds = [
        (number, chance("stratum", keys[index]), index)
        for cases in by_stratum.values()
        for number, (_, _, index) in enumerate(sorted(cases))
    ]
    return [index for _, _, index in sorted(rounds)]
