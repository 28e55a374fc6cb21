"""What the best judge could reach against one person, where people agree with each other only so far.

A population of items is taken whose raters give each grade as often as these people did and agree as they did: each
item has a latent level, which a rater sees with an error of normal size, and cuts. The best judge knows the level, and
so each item's expected grade, but has to give one grade: it cuts the levels where its kappa is highest.
"""

from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats.kappa import kappas

_ITEMS = 100
"""Levels of the population, at equal steps of probability: kappa is then good to .001."""
_NORMAL = NormalDist()
_LEVELS = np.array([_NORMAL.inv_cdf((place + 0.5) / _ITEMS) for place in range(_ITEMS)])
_MOST = 0.999
"""Likeness of two raters beyond which they are taken to agree on every item."""


@lru_cache(maxsize=1024)
def attainable_kappa(agreement: float, shares: tuple[float, float, float]) -> float:
    """Quadratic kappa of the best judge against one person, in [agreement, 1].

    Args:
        agreement: Quadratic kappa of one person against another, in (0, 1].
        shares: How often people give each of three grades, in rising order; sums to 1, and none of them is 1.

    Raises:
        ValueError: The agreement is not above 0.
    """
    if not 0 < agreement <= 1:
        raise ValueError(f"best is known where people agree beyond chance, not at {agreement!r}")
    low, high = 0.0, _MOST
    if _agreement(_grades(high, shares)) <= agreement:
        return 1.0
    for _ in range(16):
        middle = (low + high) / 2
        low, high = (middle, high) if _agreement(_grades(middle, shares)) < agreement else (low, middle)
    return max(agreement, _best(_grades(high, shares)))


def _grades(likeness: float, shares: tuple[float, float, float]) -> NDArray[np.float64]:
    """Probability of each grade at each level, where two raters' latent numbers correlate so far: shape (levels, 3)."""
    reached = [1.0, shares[1] + shares[2], shares[2]]
    tails = [
        [_NORMAL.cdf((level * likeness**0.5 - cut) / (1 - likeness) ** 0.5) for level in _LEVELS]
        for cut in (_NORMAL.inv_cdf(1 - min(max(share, 1e-9), 1 - 1e-9)) for share in reached[1:])
    ]
    above = np.array([np.ones(_ITEMS), *tails, np.zeros(_ITEMS)])
    return (above[:-1] - above[1:]).T / _ITEMS


def _agreement(grades: NDArray[np.float64]) -> float:
    """Kappa of two raters with such grades."""
    return float(kappas(grades.T @ grades, "quadratic"))


def _best(grades: NDArray[np.float64]) -> float:
    """The highest kappa of a judge that cuts the levels."""
    below = np.concatenate([np.zeros((1, 3)), np.cumsum(grades, axis=0)])
    first, second = np.triu_indices(len(below))
    columns = [below[first], below[second] - below[first], below[-1] - below[second]]
    return float(np.nanmax(kappas(np.stack(columns, axis=-1), "quadratic")))
