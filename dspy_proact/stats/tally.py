from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray


def tally(ratings: Sequence[Sequence[Hashable]], labels: Sequence[Hashable]) -> NDArray[np.float64]:
    """How many ratings of each item gave each label: shape (n, k), aligned with `ratings` and `labels`.

    Args:
        ratings: The labels that each item was given, in any order; an item may have none.
        labels: All labels, each once, whether they occur or not.

    Raises:
        ValueError: `labels` repeats one, or a rating is not in `labels`.
    """
    place = {label: index for index, label in enumerate(labels)}
    given = {label for item in ratings for label in item}
    if len(place) < len(labels) or not given <= set(place):
        raise ValueError(f"labels must name every rating once: {labels!r} for {given!r}")
    counts = np.zeros((len(ratings), len(labels)))
    items = np.repeat(np.arange(len(ratings)), [len(item) for item in ratings])
    np.add.at(counts, (items, np.array([place[label] for item in ratings for label in item], dtype=np.intp)), 1)
    return counts


def cross_tables(
    first: Sequence[Hashable], second: Sequence[Hashable], labels: Sequence[Hashable]
) -> NDArray[np.float64]:
    """One table an item, shape (n, k, k), with its 1 where the first grading's row meets the second's column.

    Args:
        first: The first grading's labels, one an item.
        second: The second grading's labels, aligned with `first`.
        labels: All labels, each once.

    Raises:
        ValueError: The lengths differ, `labels` repeats one, or a grading is not in `labels`.
    """
    if len(first) != len(second):
        raise ValueError(f"two gradings are of the same items: {len(first)} and {len(second)} differ")
    rows, columns = (tally([[label] for label in grading], labels) for grading in (first, second))
    return rows[:, :, None] * columns[:, None, :]


def checked_counts(table: ArrayLike) -> NDArray[np.float64]:
    """A table of two gradings as an array of shape (k, k).

    Raises:
        ValueError: The table is not square, or a count is below 0 or not finite.
    """
    counts: NDArray[np.float64] = np.asarray(table, dtype=np.float64)
    if counts.ndim != 2 or len(set(counts.shape)) != 1 or not np.all((counts >= 0) & np.isfinite(counts)):
        raise ValueError(f"agreement is of a square table of counts, not of {counts.tolist()!r}")
    return counts
