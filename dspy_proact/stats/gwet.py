"""Agreement of two gradings of the same items beyond chance: Gwet's AC1 (2008) and AC2 (2014).

AC = (agreement - by chance) / (1 - by chance). Chance is what raters would agree on who guess at items that are
hard to grade: sum of the weights / (k (k - 1)) * sum of p (1 - p) over the labels, p being the mean share of a
label in both gradings. Other than kappa it stays high where nearly all items have one label.
"""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from dspy_proact.stats.disagreement import Weight, disagreement
from dspy_proact.stats.estimate import Estimate
from dspy_proact.stats.tally import cross_tables
from dspy_proact.stats.units import Units


def ac(table: ArrayLike, weight: Weight) -> float | None:
    """AC1 (weight "none") or AC2 of a square table of counts, at most 1, higher is better.

    All gradings equal: 1, and not undefined as kappa is.

    Arguments and errors are as in `kappa`.

    Returns:
        None where it is undefined: no counts, or fewer than two labels.
    """
    counts = np.asarray(table, dtype=np.float64)
    if counts.ndim != 2 or len(set(counts.shape)) != 1 or not np.all((counts >= 0) & np.isfinite(counts)):
        raise ValueError(f"AC needs a square table of counts, not {counts.tolist()!r}")
    labels, total = len(counts), counts.sum()
    if labels < 2 or not total > 0:
        return None
    weights = 1 - disagreement(labels, weight)
    shares = (counts.sum(axis=0) + counts.sum(axis=1)) / (2 * total)
    chance = weights.sum() / (labels * (labels - 1)) * np.sum(shares * (1 - shares))
    return float((np.sum(weights * counts) / total - chance) / (1 - chance))


def ac_estimate(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    labels: Sequence[Hashable],
    groups: Sequence[Hashable],
    weight: Weight = "quadratic",
) -> Estimate:
    """AC1 (weight "none") or AC2 of two gradings, with its jackknife interval, clipped at 1.

    Arguments, units and errors are as in `kappa_estimate`; the number of labels matters. Silence and ties are
    decided as follows. No items, or fewer than two labels: no value. One unit, or the same without any (as
    when all agree): no bounds.
    """
    tables, bounds = cross_tables(first, second, labels), (-np.inf, 1)
    undefined = "fewer than two labels"
    return Units.of(groups).estimate(tables, lambda table: ac(table, weight), undefined=undefined, bounds=bounds)
