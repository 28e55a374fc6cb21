"""Correlations over a few models. Models of one family resemble each other: read them as description."""

import math
from collections.abc import Sequence
from itertools import permutations as orders
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats.estimate import ROUNDING, UPPER, Estimate

FEWEST_FOR_VALUE = 3
"""With fewer pairs a correlation is always -1, 1 or nothing."""
FEWEST_FOR_BOUNDS = 5
"""With fewer pairs an interval says nothing."""


def pearson(x: Sequence[float], y: Sequence[float]) -> Estimate:
    """Pearson's correlation in [-1, 1], with Fisher's z interval, which assumes normal data.

    Silence and ties are decided as follows. Fewer than three pairs, or one side all equal: no value. Fewer
    than five, or a perfect correlation: no bounds.

    Args:
        x: Shape (n,).
        y: Aligned with `x`.

    Raises:
        ValueError: The lengths differ, or a number is not finite.
    """
    return _estimate(*_checked(x, y), rank=False)


def spearman(x: Sequence[float], y: Sequence[float]) -> Estimate:
    """Spearman's rank correlation in [-1, 1], ties at their mean rank, with the interval of Bonett & Wright (2000).

    Arguments, silence, ties and errors are as in `pearson`; a perfect one is a perfect agreement of the ranks.
    """
    return _estimate(*_checked(x, y), rank=True)


def correlation_p(
    x: Sequence[float], y: Sequence[float], *, rank: bool, seed: int = 0, permutations: int = 9_999
) -> float | None:
    """Two-sided p value of a correlation, by permuting one side against the other.

    Args:
        x: Shape (n,).
        y: Aligned with `x`.
        rank: Spearman's correlation; else Pearson's.
        seed: Seed of the random permutations. The order of the pairs does not matter.
        permutations: So many random ones are drawn, unless no more than that exist: then all are taken.

    Returns:
        The share of permutations whose correlation is at least as far from 0, in (0, 1]; with random ones, of
        these and the data. None where there is no correlation.

    Raises:
        ValueError: The lengths differ, or a number is not finite.
    """
    first, second = _checked(x, y)
    order = np.lexsort((second, first))
    first, second = (_unit(_midranks(side) if rank else side) for side in (first[order], second[order]))
    if len(first) < FEWEST_FOR_VALUE or not (first.any() and second.any()):
        return None
    exact = math.factorial(len(first)) <= permutations
    if exact:
        shuffled = np.array(list(orders(second)))
    else:
        shuffled = np.random.default_rng(seed).permuted(np.tile(second, (permutations, 1)), axis=1)
    reached = np.abs(shuffled @ first) >= abs(first @ second) - ROUNDING
    return float(np.mean(reached) if exact else (1 + np.count_nonzero(reached)) / (1 + len(reached)))


def _estimate(x: NDArray[np.float64], y: NDArray[np.float64], *, rank: bool) -> Estimate:
    if len(x) < FEWEST_FOR_VALUE:
        return Estimate(None, reason=f"fewer than {FEWEST_FOR_VALUE} pairs")
    first, second = (_unit(_midranks(side) if rank else side) for side in (x, y))
    if not (first.any() and second.any()):
        return Estimate(None, reason="all equal")
    r = min(1.0, max(-1.0, float(first @ second)))
    if 1 - abs(r) < ROUNDING:
        return Estimate(math.copysign(1.0, r), reason="perfect correlation")
    if len(x) < FEWEST_FOR_BOUNDS:
        return Estimate(r, reason=f"fewer than {FEWEST_FOR_BOUNDS} pairs")
    error = math.sqrt((1 + r**2 / 2 if rank else 1) / (len(x) - 3))
    reach = NormalDist().inv_cdf(UPPER) * error
    return Estimate(r, math.tanh(math.atanh(r) - reach), math.tanh(math.atanh(r) + reach))


def _checked(x: Sequence[float], y: Sequence[float]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if not first.shape == second.shape == (len(x),):
        raise ValueError(f"a correlation is of pairs: {len(x)} and {len(y)} differ")
    if not np.isfinite([first, second]).all():
        raise ValueError(f"a correlation is of finite numbers, not {list(x)!r} and {list(y)!r}")
    return first, second


def _unit(side: NDArray[np.float64]) -> NDArray[np.float64]:
    """The numbers about their mean, at length 1; all 0 where they are equal."""
    if np.all(side == side[:1]):
        return np.zeros_like(side)
    centred = side / np.abs(side).max()
    centred = centred - centred.mean()
    return centred / np.linalg.norm(centred)


def _midranks(side: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks from 1, the lowest, ties at their mean rank."""
    below = (side[:, None] > side).sum(axis=1)
    upto = (side[:, None] >= side).sum(axis=1)
    return (below + 1 + upto) / 2
