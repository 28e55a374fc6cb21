"""Agreement of two gradings of the same items beyond chance: Cohen's kappa (1960), weighted (1968).

kappa = 1 - observed / expected disagreement, where the expected one is that of gradings with the same
margins that have nothing to do with each other. 1 is perfect agreement, 0 chance, below 0 worse than chance.
"""

import math
from collections.abc import Hashable, Sequence
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dspy_proact.stats.disagreement import Weight, disagreement
from dspy_proact.stats.estimate import Estimate
from dspy_proact.stats.panel import Changes
from dspy_proact.stats.tally import checked_counts, cross_tables
from dspy_proact.stats.units import Units

EQUAL = "all gradings equal"
"""Why there is no kappa."""
BOTH = (-2.0, 2.0)
"""Where the difference of two kappas can be."""


def kappa(table: ArrayLike, weight: Weight) -> float | None:
    """Kappa of a square table of counts, in [-1, 1], higher is better.

    Args:
        table: Shape (k, k): how often the first gave the row's label and the second the column's, labels in
            rising order. Counts are at least 0 and need not be whole.
        weight: How disagreement grows with the distance of the labels.

    Returns:
        None where it is undefined (0 / 0): no counts, or all in one cell of the diagonal.

    Raises:
        ValueError: The table is not square, or a count is below 0 or not finite.
    """
    value = float(kappas(checked_counts(table), weight))
    return None if math.isnan(value) else value


def kappas(tables: NDArray[np.float64], weight: Weight) -> NDArray[np.float64]:
    """Kappa of each of many tables, shape (..., k, k) to (...); nan where it is undefined."""
    apart = disagreement(tables.shape[-1], weight)
    rows, columns = tables.sum(axis=-1), tables.sum(axis=-2)
    expected = np.sum(apart * rows[..., :, None] * columns[..., None, :], axis=(-1, -2))
    observed = rows.sum(axis=-1) * np.sum(apart * tables, axis=(-1, -2))
    undefined = np.full(expected.shape, np.nan)
    # Rounding must not carry a perfect disagreement below -1.
    return np.maximum(-1.0, 1 - np.divide(observed, expected, out=undefined, where=expected > 0))


def kappa_estimate(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    labels: Sequence[Hashable],
    groups: Sequence[Hashable],
    weight: Weight = "quadratic",
) -> Estimate:
    """Kappa of two gradings, with its jackknife interval, clipped to [-1, 1].

    One group at a time is left out. Silence and ties are decided as follows. No items, or all gradings of both
    equal (0 / 0): no value. One group, undefined without one, or the same without any (as when all agree): no bounds.
    Two to four groups: bounds with a warning.

    Args:
        first: The first grading's labels, one an item.
        second: The second grading's labels, aligned with `first`.
        labels: All labels in rising order, each once, whether they occur or not.
        groups: Key of the group of each item.
        weight: How disagreement grows with the distance of the labels.

    Raises:
        ValueError: The lengths differ, `labels` repeats one, or a grading is not in `labels`.
    """
    if not len(first) == len(second) == len(groups):
        raise ValueError(f"one group and two gradings an item: {len(first)}, {len(second)}, {len(groups)} differ")
    return kappa_of_items(cross_tables(first, second, labels), groups, weight)


def kappa_of_items(
    tables: NDArray[np.float64],
    groups: Sequence[Hashable],
    weight: Weight = "quadratic",
    changes: Changes | None = None,
) -> Estimate:
    """Kappa of the sum of one table an item, shape (n, k, k); intervals, silence and ties as in `kappa_estimate`.

    Changes are of tables of ratings, where these are some people's: the interval then speaks of others like them.
    """
    return Units.of(groups).estimate(tables, partial(kappas, weight=weight), undefined=EQUAL, changes=changes)
