"""How well one person agrees with another, and the judge with one person: the same measure on the same items.

For each rating of an item with at least two, the reference is the distribution of the item's other ratings. The
human table counts that rating against it, the judge's table the judge's grade, each rating with weight 1 / m. The
reference does not sharpen as ratings are added, so that the number of raters biases neither; a majority's does.

Of an item with c_a ratings of label a, m in all, this comes to c_a (c_b - [a = b]) / (m (m - 1)) in the human table
and to c_a / m in the column of the judge's grade.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats.alpha import coincidences
from dspy_proact.stats.cluster import cluster_mean
from dspy_proact.stats.disagreement import Weight
from dspy_proact.stats.estimate import Estimate
from dspy_proact.stats.kappa import BOTH, kappa
from dspy_proact.stats.tally import tally
from dspy_proact.stats.units import Statistic, Units, gain

NOTHING = Estimate(None, reason="no item with two ratings")


@dataclass(frozen=True)
class HumanReference:
    """A judge beside the people who graded the same items."""

    items: int
    """Items with at least two ratings; the others say nothing about one person against another."""
    ratings: int
    """Ratings of these items."""
    one_human: Estimate
    """Kappa of one person against another, in [-1, 1]."""
    judge: Estimate
    """Kappa of the judge against one person, in [-1, 1]."""
    difference: Estimate
    """Judge minus one human: above 0 where the judge agrees with a person better than another person does."""
    best_attainable: Estimate
    """Kappa of a judge that knew each item's expected grade, about sqrt(max(one human, 0)): in [0, 1], and never
    the one human's kappa, which a judge can exceed."""
    exact_one_human: Estimate
    """Share of exactly equal grades of one person and another, in [0, 1]."""
    exact_judge: Estimate
    """Share of exactly equal grades of the judge and one person, in [0, 1]."""


def human_reference(
    ratings: Sequence[Sequence[Hashable]],
    judge: Sequence[Hashable],
    labels: Sequence[Hashable],
    groups: Sequence[Hashable],
    weight: Weight = "quadratic",
) -> HumanReference:
    """Compare the judge with people by leave-one-out references.

    Intervals of kappas are jackknives: one group at a time is left out where there are at least ten, else one
    item; shares of equal grades are clustered means. Silence is decided as follows. No item with two ratings,
    or all gradings equal (0 / 0): no value, and then no difference. The best attainable kappa is only known for
    quadratic weights.

    Args:
        ratings: The labels that people gave each item, in any order.
        judge: The judge's label, one an item.
        labels: All labels in rising order, each once, whether they occur or not.
        groups: Key of the group of each item.
        weight: How disagreement grows with the distance of the labels.

    Raises:
        ValueError: The lengths differ, `labels` repeats one, or a grading is not in `labels`.
    """
    if not len(ratings) == len(judge) == len(groups):
        raise ValueError(f"one grade and group an item: {len(ratings)}, {len(judge)} and {len(groups)} differ")
    counts, grades = tally(ratings, labels), tally([[grade] for grade in judge], labels)
    shared = counts.sum(axis=1) >= 2
    keys = [key for key, shares in zip(groups, shared, strict=True) if shares]
    tables = _tables(counts[shared], grades[shared])
    units = Units.of(keys)

    def told(parts: NDArray[np.float64], statistic: Statistic, bounds: tuple[float, float] = (-1.0, 1.0)) -> Estimate:
        return units.estimate(parts, statistic, undefined="all gradings equal", bounds=bounds) if keys else NOTHING

    def of_table(table: NDArray[np.float64]) -> float | None:
        return kappa(table, weight)

    one_human = told(tables[:, 0], of_table)
    # Rounding must not lift a share of equal grades above 1.
    exact = np.minimum(np.trace(tables, axis1=2, axis2=3), 1)
    exact_one_human, exact_judge = (cluster_mean(exact[:, which], keys) if keys else NOTHING for which in (0, 1))
    return HumanReference(
        items=len(keys),
        ratings=int(counts[shared].sum()),
        one_human=one_human,
        judge=told(tables[:, 1], of_table),
        difference=told(tables, gain(of_table), BOTH),
        best_attainable=_best_attainable(one_human, weight),
        exact_one_human=exact_one_human,
        exact_judge=exact_judge,
    )


def _tables(counts: NDArray[np.float64], grades: NDArray[np.float64]) -> NDArray[np.float64]:
    """The human table and the judge's table of each item, reference by row: shape (n, 2, k, k)."""
    ratings = counts.sum(axis=1)[:, None, None]
    human = coincidences(counts) / ratings
    judged = counts[:, :, None] * grades[:, None, :] / ratings
    return np.stack([human, judged], axis=1)


def _best_attainable(one_human: Estimate, weight: Weight) -> Estimate:
    """The square root of one human's kappa, and of its bounds, with nothing below 0."""
    if weight != "quadratic":
        return Estimate(None, reason="known for quadratic weights only")
    numbers = (one_human.value, one_human.low, one_human.high)
    value, low, high = (None if number is None else math.sqrt(max(number, 0)) for number in numbers)
    return Estimate(value, low, high, one_human.reason)
