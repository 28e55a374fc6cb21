"""The mean score that people would have given to cases that a judge scored, estimated from ratings of a part.

The cases of a stratum with one label of the judge are a cell h: N_h of all N, of which n_h, drawn within the cell, are
rated. With W_h = N_h / N, item means y_i of m_i ratings y_ir and the judge's score F_i, v_h on the mean of the cell,

    theta = sum_h W_h mu_h          mu_h = (sum_{i in h} y_i + a_h) / (n_h + 1)
    a_h = ybar + lambda (v_h - Fbar)          lambda = clip(cov(y, F) / var(F), 0, 1), 0 where var(F) is 0

where ybar, Fbar, cov and var are over the rated cases of the stratum: a post-stratified mean whose thin cells lean on
what the judge says of them (Saerndal, Swensson & Wretman 1992; Angelopoulos et al. 2023). Thus the mean over all
strata is that of the strata's, each by its cases. a_h is cut to [0, 1], where a mean of ratings lies.

Chance: the groups, by leaving out one at a time, with all refitted, and the raters, by the influences

    u_ir = W_h sqrt(n_h / (n_h - 1)) (y_ir - mu_h) / (n_h m_i)

in which a cell with one rated case counts as one with two.

The thresholds are from simulations: below them intervals were as wide as half the scale, or did not cover. They rest
on ratings of cases that were drawn by the judge's label alone.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats.cluster import cluster_mean, degrees_of_freedom
from dspy_proact.stats.estimate import ROUNDING, Estimate, Spread, joined, logit_bounds, plain_bounds, trial_bounds
from dspy_proact.stats.raters import FEW_RATERS, UNMARKED_RATERS, rater_term
from dspy_proact.stats.tally import numbered

FEWEST_RATED = 12
"""Rated cases of a stratum, below which the intervals were 33 to 61 points wide."""
ENOUGH_RATED = 50
"""Rated cases, in all, below which bounds are marked: with 30, and few groups, coverage of 91 to 92 % was seen."""
FEWEST_GROUPS = 5
"""Groups with rated cases, in a stratum."""
THICK = 0.10
"""Share of a stratum's cases above which a label needs more than one rated case."""
FEWEST_RATERS = 4
"""Two or three raters give intervals 93 or 46 points wide. Four to seven give 33 to 28, which are marked."""


@dataclass(frozen=True, eq=False)
class RatedCases:
    """Cases that a judge scored, n of them, with the q ratings that people gave to a part of them."""

    labels: Sequence[Hashable]
    """The judge's label of each case: (n,)."""
    scores: NDArray[np.float64]
    """Its score, in [0, 1], higher is better: shape (n,)."""
    groups: Sequence[Hashable]
    """Key of the group of each case: (n,)."""
    strata: Sequence[Hashable]
    """Stratum of each case: (n,)."""
    of: NDArray[np.intp]
    """Which case each rating is of, counted from 0: shape (q,)."""
    raters: Sequence[Hashable]
    """Who gave it: (q,); nobody rates a case twice."""
    ratings: NDArray[np.float64]
    """What was given, in [0, 1], higher is better: shape (q,)."""

    @cached_property
    def times(self) -> NDArray[np.intp]:
        """How many ratings each case has: shape (n,)."""
        return np.bincount(self.of, minlength=len(self.labels))

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """Mean rating of each case: shape (n,); 0 where it has none."""
        return np.bincount(self.of, self.ratings, len(self.labels)) / np.maximum(1, self.times)

    @property
    def rated(self) -> NDArray[np.bool_]:
        """Whether each case has a rating: shape (n,)."""
        return self.times > 0

    @property
    def rated_groups(self) -> int:
        """Groups with rated cases."""
        return len(set(compress(self.groups, self.rated)))

    @property
    def rater_count(self) -> int:
        """People who gave a rating."""
        return len(set(self.raters))

    @property
    def order(self) -> list[Hashable]:
        """The strata that have cases, as they first appear."""
        return list(dict.fromkeys(self.strata))

    @cached_property
    def cell(self) -> NDArray[np.intp]:
        """Stratum and label of each case as one number, counted from 0 without a gap: shape (n,)."""
        return numbered(list(zip(self.strata, self.labels, strict=True)))

    def of_stratum(self, stratum: Hashable) -> "RatedCases":
        """The cases of one stratum with their ratings."""
        kept = np.array([own == stratum for own in self.strata], dtype=np.bool_)
        ratings, renumbered = kept[self.of], np.cumsum(kept) - 1
        return RatedCases(
            labels=list(compress(self.labels, kept)),
            scores=self.scores[kept],
            groups=list(compress(self.groups, kept)),
            strata=list(compress(self.strata, kept)),
            of=renumbered[self.of[ratings]],
            raters=list(compress(self.raters, ratings)),
            ratings=self.ratings[ratings],
        )


@dataclass(frozen=True)
class CorrectedMean:
    """What people would have given, beside what the judge gave."""

    scored: int
    """Cases that the judge scored: those that all three numbers are about, but for the mean of the rated."""
    rated: int
    """Cases of them with a rating."""
    groups: int
    """Groups of the rated cases."""
    ratings: int
    raters: int
    judge: Estimate
    """Mean of the judge's scores, in [0, 1], higher is better."""
    mean_of_the_rated: float | None
    """Mean rating of the rated cases, in [0, 1], and of no others, for they were not drawn evenly; None without any."""
    corrected: Estimate
    """Mean that people would have given to all the cases, in [0, 1], higher is better."""


def corrected_mean(cases: RatedCases) -> CorrectedMean:
    """What people would have given to all cases, beside the judge's mean, every case weighted equally.

    The rated cases were drawn within each stratum by the judge's label alone. No corrected value where
    `corrected_refusals` says why; only 0 or only 1 given: as in `cluster_mean`, by rated groups and raters.
    """
    rated = cases.means[cases.rated]

    def corrected() -> Estimate:
        if refused := "no scores" if not len(cases.labels) else joined(*corrected_refusals(cases)):
            return Estimate(None, reason=refused)
        estimate = correction(cases)
        value, warning = estimate.value, joined(*_warnings(cases))
        if cases.rater_count > 1 and min(value, 1 - value) < ROUNDING:
            value, trials = float(round(value)), min(len(estimate.rated), cases.rater_count)
            return Estimate(value, *trial_bounds(value, trials), joined("all ratings equal", warning))
        if unbounded := _unbounded(estimate, cases.rater_count):
            return Estimate(value, reason=unbounded)
        return Estimate(value, *logit_bounds(value, estimate.spread), warning)

    return CorrectedMean(
        scored=len(cases.labels),
        rated=len(rated),
        groups=cases.rated_groups,
        ratings=len(cases.raters),
        raters=cases.rater_count,
        judge=cluster_mean(cases.scores, cases.groups),
        mean_of_the_rated=float(rated.mean()) if len(rated) else None,
        corrected=corrected(),
    )


def corrected_difference(a: RatedCases, b: RatedCases) -> Estimate:
    """Mean that people would have given to b, less that of a: two judged runs on the same cases, each with ratings.

    In [-1, 1], its interval on the plain scale. Groups and raters of one key are the same in both. Refused where either
    is. Raises a `ValueError` where they are not of the same cases.
    """
    if [*a.groups] != [*b.groups] or [*a.strata] != [*b.strata]:
        raise ValueError("two runs on the same cases are compared, in one order")
    if not len(a.labels):
        return Estimate(None, reason="no pairs")
    sides = (("a", a), ("b", b))
    if refused := joined(*(f"{name}: {why}" for name, side in sides for why in corrected_refusals(side))):
        return Estimate(None, reason=refused)
    estimate = correction(b).minus(correction(a))
    if unbounded := _unbounded(estimate, min(a.rater_count, b.rater_count)):
        return Estimate(estimate.value, reason=unbounded)
    warning = joined(*dict.fromkeys([*_warnings(a), *_warnings(b)]))
    return Estimate(estimate.value, *plain_bounds(estimate.value, estimate.spread, (-1.0, 1.0)), warning)


def corrected_refusals(cases: RatedCases) -> Iterator[str]:
    """Every reason why it cannot be said what people would have given."""
    for stratum in cases.order:
        own, where = cases.of_stratum(stratum), f" in {stratum}" if len(cases.order) > 1 else ""
        rated, total = int(own.rated.sum()), len(own.labels)
        if rated < FEWEST_RATED:
            yield f"{rated} of {total} cases rated{where} (at least {FEWEST_RATED} needed)"
            continue
        if own.rated_groups < FEWEST_GROUPS:
            yield f"rated cases of {own.rated_groups} groups{where} (at least {FEWEST_GROUPS} needed)"
        held = Counter(compress(own.labels, own.rated))
        for label, count in Counter(own.labels).items():
            if count > THICK * total and held[label] < 2:
                yield f"{held[label]} of {count} cases with {label} rated{where} (at least 2 needed)"
    if 1 < cases.rater_count < FEWEST_RATERS:
        yield f"{cases.rater_count} raters are too few to generalise to others (at least {FEWEST_RATERS} needed)"


def _unbounded(estimate: "Correction", raters: int) -> str | None:
    if raters == 1:
        return "one rater: no interval for other raters"
    return "no variance between groups" if estimate.spread.error < ROUNDING else None


def _warnings(cases: RatedCases) -> Iterator[str]:
    if cases.rated.sum() < ENOUGH_RATED:
        yield f"fewer than {ENOUGH_RATED} rated"
    if cases.rater_count < UNMARKED_RATERS:
        yield FEW_RATERS


@dataclass(frozen=True, eq=False)
class Correction:
    """An estimate of what people would have given, with what it varies by."""

    value: float
    """Of all, in [0, 1], or of a difference in [-1, 1]."""
    without: Mapping[Hashable, float]
    """The same without each group."""
    influence: NDArray[np.float64]
    """How far each rating moves it: shape (q,)."""
    raters: tuple[Hashable, ...]
    """Who gave each rating: (q,)."""
    groups: tuple[Hashable, ...]
    """Key of the group of the case of each rating: (q,)."""
    rated: Mapping[Hashable, int]
    """Rated cases of each group that has any."""

    @cached_property
    def spread(self) -> Spread:
        """Variance and degrees of freedom over at least two groups and raters; over groups alone of one rater.

        The degrees of freedom are the fewer of those of groups and raters, which are few as a rule.
        """
        shifts = np.array(list(self.without.values())) - self.value
        counts = np.array(list(self.rated.values()), dtype=np.float64)
        of_groups = (len(shifts) - 1) / len(shifts) * float(np.sum(shifts**2))
        df, raters = degrees_of_freedom(counts / counts.sum()), len(set(self.raters))
        if raters < 2:
            return Spread(of_groups, df)
        return Spread(of_groups + rater_term(self.influence, self.raters, self.groups), min(df, raters - 1))

    def minus(self, other: "Correction") -> "Correction":
        """This estimate less another one; groups and raters of one key are the same in both."""
        keys = dict.fromkeys([*self.without, *other.without])
        return Correction(
            value=self.value - other.value,
            without={key: self.without.get(key, self.value) - other.without.get(key, other.value) for key in keys},
            influence=np.concatenate([self.influence, -other.influence]),
            raters=(*self.raters, *other.raters),
            groups=(*self.groups, *other.groups),
            rated={key: count for key in keys if (count := self.rated.get(key, 0) + other.rated.get(key, 0))},
        )


def correction(cases: RatedCases) -> Correction:
    """Correct the judge's mean score by the ratings; raises as `cells_of` does."""
    cells, keys = cells_of(cases), list(dict.fromkeys(cases.groups))
    values = np.sum(cells.weights * cells.means, axis=1)
    cell = cases.cell[cases.of]
    count = cells.rated[0, cell]
    scale = cells.weights[0, cell] * np.sqrt(1 + 1 / np.maximum(1, count - 1)) / (count * cases.times[cases.of])
    held = np.bincount(numbered(cases.groups)[cases.rated], minlength=len(keys))
    return Correction(
        value=float(values[0]),
        without=dict(zip(keys, values[1:].tolist(), strict=True)),
        influence=scale * (cases.ratings - cells.means[0, cell]),
        raters=tuple(cases.raters),
        groups=tuple(cases.groups[case] for case in cases.of),
        rated={key: int(number) for key, number in zip(keys, held, strict=True) if number},
    )


@dataclass(frozen=True, eq=False)
class Cells:
    """The C cells as `RatedCases.cell` numbers them, of all cases and without each group in turn: shape (1 + G, C)."""

    weights: NDArray[np.float64]
    """W_h: each row sums to 1."""
    rated: NDArray[np.float64]
    """n_h."""
    means: NDArray[np.float64]
    """mu_h, in [0, 1]."""


def cells_of(cases: RatedCases) -> Cells:
    """The cells of judged cases; raises ValueError where the rated cases of a stratum are of fewer than two groups."""
    group, cell, stratum = numbered(cases.groups), cases.cell, numbered(cases.strata)
    mask, y, f = cases.rated.astype(np.float64), cases.means, cases.scores
    held = np.unique(np.stack([stratum[cases.rated], group[cases.rated]]), axis=1)[0]
    if np.any(np.bincount(held, minlength=len(cases.order)) < 2):
        raise ValueError("rated cases in two groups are needed, in each stratum")

    def added(values: NDArray[np.float64], column: NDArray[np.intp]) -> NDArray[np.float64]:
        shape = (int(group.max()) + 1, int(column.max()) + 1)
        table = np.bincount(group * shape[1] + column, values, shape[0] * shape[1]).reshape(shape)
        total = table.sum(axis=0)
        return np.concatenate([total[None], total - table])

    judged, rated = added(np.ones(len(f)), cell), added(mask, cell)
    level = added(f, cell) / np.maximum(1, judged)
    # Means over the rated cases of each stratum.
    count = added(mask, stratum)
    ybar, fbar, squares, both = (added(mask * part, stratum) / count for part in (y, f, f * f, y * f))
    variance = squares - fbar**2
    slope = np.clip(np.where(variance < ROUNDING, 0, both - ybar * fbar) / np.maximum(variance, ROUNDING), 0, 1)
    of = stratum[np.unique(cell, return_index=True)[1]]
    lean = ybar[:, of] + slope[:, of] * (level - fbar[:, of])
    means = (added(mask * y, cell) + np.clip(lean, 0, 1)) / (rated + 1)
    return Cells(judged / judged.sum(axis=1, keepdims=True), rated, means)
