from collections.abc import Callable, Hashable, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats.cluster import ROUNDING

SWAPS = 9_999
"""Random swaps, where there are too many to take all."""
ALL_SWAPS = 13
"""Up to so many groups that differ, all their swaps are taken: 8,192."""
TIE = 1e-9
"""Differences within this of each other are equal but for rounding."""

Statistics = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""A statistic of each of B sums: shape (B, ...) to (B,)."""


def swap_p(
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    groups: Sequence[Hashable],
    statistics: Statistics,
    seed: int,
) -> float:
    """Two-sided p value of a statistic's difference, by exchanging before and after within whole groups.

    Args:
        before: What each item adds to the sum that the first statistic is of: shape (n, ...), n at least 1.
        after: Likewise for the second statistic, aligned with `before`.
        groups: Key of the group of each item.
        statistics: The statistic, of many sums at a time.
        seed: Seed of the random swaps. Same numbers and seed give the same p, in whatever order the items come,
            whatever the groups are called, and with before and after exchanged.

    Returns:
        The share of swaps whose difference is at least as far from 0, in (0, 1]: of all, or of random ones and the
        data.
    """
    pairs, observed = _canonical(_by_group(np.stack([before, after], axis=1), groups))
    shift = pairs[:, 1] - pairs[:, 0]
    # To swap what is equal changes nothing, so that only the other groups need to be gone through.
    moving = np.any(np.abs(shift) > ROUNDING, axis=1)
    count = int(moving.sum())
    exact = count <= ALL_SWAPS
    chosen = _all_swaps(count) if exact else np.random.default_rng(seed).integers(0, 2, size=(SWAPS, count))
    first, second = pairs.sum(axis=0)

    def differences(swaps: NDArray[np.intp]) -> NDArray[np.float64]:
        moved = swaps @ shift[moving]
        sums = (first + moved, second - moved)
        one, other = (statistics(each.reshape(-1, *before.shape[1:])) for each in sums)
        return np.abs(other - one)

    reached = differences(observed[moving][None])
    larger = np.count_nonzero(differences(chosen) >= reached - TIE)
    return float(larger / len(chosen) if exact else (1 + larger) / (1 + len(chosen)))


def _by_group(pairs: NDArray[np.float64], groups: Sequence[Hashable]) -> NDArray[np.float64]:
    """Items' numbers, shape (n, 2, ...), added up within each group and laid flat: shape (G, 2, m)."""
    number = {key: index for index, key in enumerate(dict.fromkeys(groups))}
    sums = np.zeros((len(number), *pairs.shape[1:]))
    np.add.at(sums, [number[key] for key in groups], pairs)
    return sums.reshape(len(number), 2, -1)


def _canonical(pairs: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """The groups turned and sorted by their numbers alone, and which of them were turned: 1, else 0.

    Turned is swapped so that the first number that differs is larger after than before. Of the same data the
    random swaps then see the same, whatever the order and names of groups, and whichever comes first.
    """
    shift = (pairs[:, 1] - pairs[:, 0]).round(9)
    first = np.take_along_axis(shift, np.argmax(shift != 0, axis=1)[:, None], axis=1)
    turned = first[:, 0] < 0
    oriented = np.where(turned[:, None, None], pairs[:, ::-1], pairs)
    place = np.lexsort(oriented.reshape(len(pairs), -1).round(9).T)
    return oriented[place], turned[place].astype(np.intp)


def _all_swaps(groups: int) -> NDArray[np.intp]:
    """Every row of 0 and 1: shape (2^groups, groups)."""
    return np.array(list(product((0, 1), repeat=groups)), dtype=np.intp)
