"""What people would have given to cases that a judge scored, of which they rated a part: the formulas.

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
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats.cluster import ROUNDING, degrees_of_freedom
from dspy_proact.stats.rated_cases import RatedCases
from dspy_proact.stats.raters import Spread, rater_term
from dspy_proact.stats.table import numbered


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
        """Variance and degrees of freedom over groups and raters; over groups alone where there is one rater.

        The degrees of freedom are the fewer of those of groups and raters, which are few as a rule.

        Raises:
            ValueError: Cases of fewer than two groups are rated.
        """
        if len(self.rated) < 2:
            raise ValueError("the spread over groups takes rated cases in two of them")
        apart = np.array(list(self.without.values())) - self.value
        counts = np.array(list(self.rated.values()), dtype=np.float64)
        of_groups = (len(apart) - 1) / len(apart) * float(np.sum(apart**2))
        df, raters = degrees_of_freedom(counts / counts.sum()), len(set(self.raters))
        if raters < 2:
            return Spread(of_groups, df)
        of_raters = rater_term(self.influence, self.raters, self.groups)
        return Spread(of_groups + of_raters, min(df, raters - 1))

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


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of rated cases, C of them, as `RatedCases.cell` numbers them."""

    weights: NDArray[np.float64]
    """W_h: shape (C,), sums to 1."""
    rated: NDArray[np.float64]
    """n_h: shape (C,)."""
    means: NDArray[np.float64]
    """mu_h, in [0, 1]: shape (C,)."""


def correction(cases: RatedCases) -> Correction:
    """Correct the judge's mean score by the ratings.

    Raises:
        ValueError: In a stratum, cases of fewer than two groups are rated.
    """
    sums = _Sums.of(cases)
    values = np.sum(sums.weights * sums.means, axis=1)
    keys = list(dict.fromkeys(cases.groups))
    cells = sums.cells
    place = cases.cell[cases.place]
    count = cells.rated[place]
    scale = cells.weights[place] * np.sqrt(1 + 1 / np.maximum(1, count - 1)) / (count * cases.times[cases.place])
    held = np.bincount(numbered(cases.groups)[cases.rated], minlength=len(keys))
    return Correction(
        value=float(values[0]),
        without=dict(zip(keys, values[1:].tolist(), strict=True)),
        influence=scale * (cases.given - cells.means[place]),
        raters=tuple(cases.raters),
        groups=tuple(cases.groups[case] for case in cases.place),
        rated={key: int(number) for key, number in zip(keys, held, strict=True) if number},
    )


def cells_of(cases: RatedCases) -> Cells:
    """The cells of all cases; raises as `correction` does."""
    return _Sums.of(cases).cells


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums over all cases, and without each group in turn: 1 + G rows; columns are cells, C, or strata, P."""

    judged: NDArray[np.float64]
    """N_h: shape (1 + G, C)."""
    scores: NDArray[np.float64]
    """Sum of the judge's scores: shape (1 + G, C)."""
    rated: NDArray[np.float64]
    """n_h: shape (1 + G, C)."""
    given: NDArray[np.float64]
    """Sum of the mean ratings: shape (1 + G, C)."""
    products: NDArray[np.float64]
    """Sums of 1, y, F, F F and y F over the rated: shape (5, 1 + G, P)."""
    stratum: NDArray[np.intp]
    """Stratum of each cell, counted from 0: shape (C,)."""

    @classmethod
    def of(cls, cases: RatedCases) -> "_Sums":
        group, cell, stratum = numbered(cases.groups), cases.cell, numbered(cases.strata)
        rated, y, f = cases.rated, cases.means, cases.score
        held = np.unique(np.stack([stratum[rated], group[rated]]), axis=1)[0]
        if np.any(np.bincount(held, minlength=len(cases.order)) < 2):
            raise ValueError("rated cases in two groups are needed, in each stratum")

        def added(values: NDArray[np.float64], column: NDArray[np.intp]) -> NDArray[np.float64]:
            shape = (int(group.max()) + 1, int(column.max()) + 1)
            table = np.bincount(group * shape[1] + column, values, shape[0] * shape[1]).reshape(shape)
            whole = table.sum(axis=0)
            return np.concatenate([whole[None], whole - table])

        ones, mask = np.ones(len(f)), rated.astype(np.float64)
        parts = (mask, mask * y, mask * f, mask * f * f, mask * y * f)
        return cls(
            judged=added(ones, cell),
            scores=added(f, cell),
            rated=added(mask, cell),
            given=added(mask * y, cell),
            products=np.stack([added(part, stratum) for part in parts]),
            stratum=stratum[np.unique(cell, return_index=True)[1]],
        )

    @property
    def cells(self) -> Cells:
        """Those of all cases."""
        return Cells(self.weights[0], self.rated[0], self.means[0])

    @property
    def weights(self) -> NDArray[np.float64]:
        """W_h: shape (1 + G, C)."""
        return self.judged / self.judged.sum(axis=1, keepdims=True)

    @property
    def means(self) -> NDArray[np.float64]:
        """mu_h: shape (1 + G, C)."""
        count, *products = self.products
        y, f, squares, both = (product / count for product in products)
        variance = squares - f**2
        slope = np.clip(np.where(variance < ROUNDING, 0, both - y * f) / np.maximum(variance, ROUNDING), 0, 1)
        level = self.scores / np.maximum(1, self.judged)
        lean = y[:, self.stratum] + slope[:, self.stratum] * (level - f[:, self.stratum])
        return (self.given + np.clip(lean, 0, 1)) / (self.rated + 1)
