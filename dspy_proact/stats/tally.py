"""Counting: values summed by key, and how often each label was given."""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray


def numbered(keys: Sequence[Hashable]) -> NDArray[np.intp]:
    """The keys as numbers from 0, as they first appear: shape (n,)."""
    number = {key: index for index, key in enumerate(dict.fromkeys(keys))}
    return np.array([number[key] for key in keys], dtype=np.intp)


def added_up(parts: NDArray[np.float64], key: NDArray[np.intp]) -> NDArray[np.float64]:
    """The sum of the parts, shape (n, ...), of each key, as `numbered` gives it: shape (keys, ...)."""
    sums = np.zeros((int(key.max(initial=-1)) + 1, *parts.shape[1:]))
    np.add.at(sums, key, parts)
    return sums


def tally(ratings: Sequence[Sequence[Hashable]], labels: Sequence[Hashable]) -> NDArray[np.float64]:
    """How many ratings of each item gave each label: shape (n, k), aligned with `ratings` and `labels`.

    Raises a `ValueError` where `labels` repeats one, or a rating is not in `labels`.
    """
    column = {label: number for number, label in enumerate(labels)}
    seen = {label for item in ratings for label in item}
    if len(column) < len(labels) or not seen <= set(column):
        raise ValueError(f"labels must name every rating once: {labels!r} for {seen!r}")
    counts = np.zeros((len(ratings), len(labels)))
    items = np.repeat(np.arange(len(ratings)), [len(item) for item in ratings])
    np.add.at(counts, (items, np.array([column[label] for item in ratings for label in item], dtype=np.intp)), 1)
    return counts


def cross_tables(
    first: Sequence[Hashable], second: Sequence[Hashable], labels: Sequence[Hashable]
) -> NDArray[np.float64]:
    """One table an item, shape (n, k, k), with its 1 where the first grading's row meets the second's column.

    Raises a `ValueError` where the lengths differ, `labels` repeats one, or a grading is not in `labels`.
    """
    if len(first) != len(second):
        raise ValueError(f"two gradings are of the same items: {len(first)} and {len(second)} differ")
    rows, columns = (tally([[label] for label in grading], labels) for grading in (first, second))
    return rows[:, :, None] * columns[:, None, :]


def commonest(counts: NDArray[np.float64], ties: Sequence[int]) -> NDArray[np.float64]:
    """1 at the commonest label of each item, of ties the first in `ties`, else 0: shape (m, k); 0 without ratings."""
    order = np.array(ties)
    chosen = np.eye(len(order))[order[np.argmax(counts[:, order], axis=1)]]
    return chosen * (counts.sum(axis=1, keepdims=True) > 0)


def shares(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of each label among an item's ratings: shape (m, k); 0 where there are none."""
    return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
