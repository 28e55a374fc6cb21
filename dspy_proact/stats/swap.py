from collections.abc import Callable, Hashable, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats.cluster import ROUNDING
from dspy_proact.stats.table import added_up, numbered

SWAPS = 9_999
"""Random swaps, where there are too many to take all."""
ALL_SWAPS = 13
"""Up to so many groups, all their swaps are taken: 8,192."""
TIE = 1e-9
"""Statistics within this of each other are equal but for rounding."""

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
    sums = added_up(np.stack([before, after], axis=1), numbered(groups))
    pairs, observed = _canonical(sums.reshape(len(sums), 2, -1))
    shift = pairs[:, 1] - pairs[:, 0]
    # To swap what is equal changes nothing, so that only the other groups need to be gone through.
    moving = np.any(np.abs(shift) > ROUNDING, axis=1)
    chosen, exact = swaps_of(int(moving.sum()), seed)
    first, second = pairs.sum(axis=0)

    def differences(swaps: NDArray[np.intp]) -> NDArray[np.float64]:
        moved = swaps @ shift[moving]
        sums = (first + moved, second - moved)
        one, other = (statistics(each.reshape(-1, *before.shape[1:])) for each in sums)
        return np.abs(other - one)

    reached = differences(observed[moving][None])
    return permutation_p(differences(chosen) >= reached - TIE, exact)


def swaps_of(groups: int, seed: int) -> tuple[NDArray[np.intp], bool]:
    """Rows of 1 for a group that is swapped and 0 for one that is not, shape (B, groups), and whether these are all."""
    if groups <= ALL_SWAPS:
        return np.array(list(product((0, 1), repeat=groups)), dtype=np.intp), True
    return np.random.default_rng(seed).integers(0, 2, size=(SWAPS, groups)), False


def permutation_p(reached: NDArray[np.bool_], exact: bool) -> float:
    """Share of permutations that reached what was observed, in (0, 1]: of all, or of random ones and the data."""
    return float(np.mean(reached) if exact else (1 + np.count_nonzero(reached)) / (1 + len(reached)))


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
