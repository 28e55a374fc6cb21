"""Agreement of two gradings of the same items beyond chance: Gwet's AC1 (2008) and AC2 (2014).

AC = (agreement - by chance) / (1 - by chance). Chance is what raters would agree on who guess at items that are
hard to grade: sum of the weights / (k (k - 1)) * sum of p (1 - p) over the labels, p being the mean share of a
label in both gradings. Other than kappa it stays high where nearly all items have one label.
"""

import math
from collections.abc import Hashable, Sequence
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dspy_proact.stats.cluster import ROUNDING
from dspy_proact.stats.disagreement import Weight, disagreement
from dspy_proact.stats.estimate import Estimate
from dspy_proact.stats.panel import Changes
from dspy_proact.stats.tally import checked_counts
from dspy_proact.stats.units import Units


def ac(table: ArrayLike, weight: Weight) -> float | None:
    """AC1 (weight "none") or AC2 of a square table of counts, at most 1, higher is better.

    All gradings equal: 1, and not undefined as kappa is.

    Arguments and errors are as in `kappa`.

    Returns:
        None where it is undefined: no counts, or fewer than two labels.
    """
    value = float(acs(checked_counts(table), weight))
    return None if math.isnan(value) else value


def acs(tables: NDArray[np.float64], weight: Weight) -> NDArray[np.float64]:
    """AC1 or AC2 of each of many tables, shape (..., k, k) to (...); nan where it is undefined."""
    labels, total = tables.shape[-1], np.sum(tables, axis=(-1, -2))
    if labels < 2:
        return np.full(tables.shape[:-2], np.nan)
    whole = np.where(total > 0, total, np.nan)
    weights = 1 - disagreement(labels, weight)
    shares = (tables.sum(axis=-1) + tables.sum(axis=-2)) / (2 * whole[..., None])
    chance = weights.sum() / (labels * (labels - 1)) * np.sum(shares * (1 - shares), axis=-1)
    agreed = np.sum(weights * tables, axis=(-1, -2)) / whole
    beyond: NDArray[np.float64] = (agreed - chance) / (1 - chance)
    return beyond


def ac_of_items(
    tables: NDArray[np.float64], groups: Sequence[Hashable], weight: Weight, changes: Changes | None = None
) -> Estimate:
    """AC1 (weight "none") or AC2 of the sum of one table an item, shape (n, k, k), with its jackknife interval.

    The interval is that of -log(1 - AC), carried back: where AC is high it scatters less, so that on its own scale the
    lower end lay too high (at 20 items AC2 was covered in 88 %). The number of labels matters. Silence and ties are
    decided as follows. No items, or fewer than two labels: no value. One group, full agreement without one, or the same
    without any: no bounds. Two to four groups: bounds with a warning. Changes are as in `kappa_of_items`.
    """
    units, undefined = Units.of(groups), "fewer than two labels"
    whole = ac(tables.sum(axis=0), weight)
    if whole is None or whole > 1 - ROUNDING:
        return units.estimate(tables, partial(acs, weight=weight), undefined=undefined, changes=changes)

    def logarithm(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        short = 1 - acs(sums, weight)
        return -np.log(np.where(short > ROUNDING, short, np.nan))

    free = (-np.inf, np.inf)
    told = units.estimate(tables, logarithm, undefined=undefined, bounds=free, changes=changes)
    low, high = (None if end is None else 1 - math.exp(-end) for end in (told.low, told.high))
    return Estimate(whole, low, high, told.reason)
