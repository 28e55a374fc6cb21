"""Agreement of two gradings of the same items beyond chance: Cohen's kappa (1960), weighted (1968).

kappa = 1 - observed / expected disagreement, where the expected one is that of gradings with the same
margins that have nothing to do with each other. 1 is perfect agreement, 0 chance, below 0 worse than chance.
"""

from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dspy_proact.stats.cluster import degrees_of_freedom
from dspy_proact.stats.estimate import Estimate
from dspy_proact.stats.jackknife import jackknife

Weight = Literal["none", "linear", "quadratic"]
"""How disagreement grows with the distance of two labels: any is 1, by steps, or by their square."""
ENOUGH_SCENARIOS = 10
"""From here on whole scenarios are left out and not single items."""


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
    counts = np.asarray(table, dtype=np.float64)
    if counts.ndim != 2 or len(set(counts.shape)) != 1 or not np.all((counts >= 0) & np.isfinite(counts)):
        raise ValueError(f"kappa needs a square table of counts, not {counts.tolist()!r}")
    disagreement = _disagreement(len(counts), weight)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0))
    if not np.sum(disagreement * expected) > 0:
        return None
    # Rounding must not carry a perfect disagreement below -1.
    return max(-1.0, float(1 - counts.sum() * np.sum(disagreement * counts) / np.sum(disagreement * expected)))


def kappa_estimate(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    labels: Sequence[Hashable],
    clusters: Sequence[Hashable],
    weight: Weight = "quadratic",
) -> Estimate:
    """Kappa of two gradings, with its jackknife interval, clipped to [-1, 1].

    One scenario at a time is left out where there are at least ten, else one item. Silence and ties are
    decided as follows. No items, or all gradings of both equal (0 / 0): no value. Undefined without one
    unit, or the same without any (as when all agree): no bounds.

    Args:
        first: The first grading's labels, one an item.
        second: The second grading's labels, aligned with `first`.
        labels: All labels in rising order, each once, whether they occur or not.
        clusters: Key of the scenario of each item.
        weight: How disagreement grows with the distance of the labels.

    Raises:
        ValueError: The lengths differ, `labels` repeats one, or a grading is not in `labels`.
    """
    if not len(first) == len(second) == len(clusters):
        raise ValueError(f"one scenario and two gradings an item: {len(first)}, {len(second)}, {len(clusters)} differ")
    if len(set(labels)) < len(labels) or not {*first, *second} <= set(labels):
        raise ValueError(f"labels must name every grading once: {labels!r} for { ({*first, *second})!r}")
    if not first:
        return Estimate(None, reason="no items")
    scenarios = list(dict.fromkeys(clusters))
    by_scenario = len(scenarios) >= ENOUGH_SCENARIOS
    place = {key: index for index, key in enumerate(scenarios)}
    units = [place[key] for key in clusters] if by_scenario else list(range(len(first)))
    tables = _tables(first, second, labels, units)
    whole = tables.sum(axis=0)
    value = kappa(whole, weight)
    if value is None:
        return Estimate(None, reason="all gradings equal")
    shares = tables.sum(axis=(1, 2)) / len(first)
    df = degrees_of_freedom(shares) if len(shares) > 1 else 1
    left_out = [kappa(whole - table, weight) for table in tables]
    return jackknife(value, left_out, df, unit="scenario" if by_scenario else "item")


def _disagreement(labels: int, weight: Weight) -> NDArray[np.float64]:
    """Disagreement of each two labels, 0 on the diagonal and at most 1: shape (k, k)."""
    steps = np.abs(np.subtract.outer(np.arange(labels), np.arange(labels))) / max(labels - 1, 1)
    match weight:
        case "none":
            return np.ceil(steps)
        case "linear":
            return steps
        case "quadratic":
            return steps**2


def _tables(
    first: Sequence[Hashable], second: Sequence[Hashable], labels: Sequence[Hashable], units: Sequence[int]
) -> NDArray[np.float64]:
    """A table of counts for each unit: shape (units, k, k)."""
    place = {label: index for index, label in enumerate(labels)}
    tables = np.zeros((max(units) + 1, len(labels), len(labels)))
    np.add.at(tables, (units, [place[label] for label in first], [place[label] for label in second]), 1)
    return tables
