"""Quadratic kappa of a judge's levels against soft labels, within strata: the headline of a compile.

Each item counts once: its column is the judge's level, its rows the shares of people's grades. Pooled over strata
a judge that only learned how strict each stratum is would seem to agree better, so kappa is taken within each and
averaged, each stratum weighted by its labels.
"""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dspy_proact.stats.soft_labels import LEVELS, checked_levels, checked_soft
from dspy_proact.stats.strata import Strata


def within_strata_kappa(levels: ArrayLike, soft: ArrayLike, strata: Sequence[Hashable]) -> float | None:
    """Quadratic kappa within each stratum, averaged with the strata's numbers of labels as weights.

    A stratum whose labels are all one grade is left out: there nobody can agree beyond chance, kappa being 0 for
    a judge that varies and 0 / 0 for one that does not.

    Args:
        levels: The judge's level of each item, 0, 1 or 2: shape (n,).
        soft: Share of people's grades at each level: shape (n, 3), each row sums to 1.
        strata: Stratum of each item.

    Returns:
        The average in [-1, 1], higher is better; None where no stratum is left.

    Raises:
        ValueError: The lengths differ, a level is not 0, 1 or 2, or a soft label is not a distribution over three
            levels.
    """
    tables = soft_tables(levels, soft)
    parts = Strata.of(checked_soft(soft), strata, list(dict.fromkeys(strata)))
    return parts.average(parts.tables(tables).sum(axis=0))


def soft_tables(levels: ArrayLike, soft: ArrayLike) -> NDArray[np.float64]:
    """One table an item, its soft label in the level's column: shape (n, 3, 3); errors as in `ordinal_agreement`."""
    given, labels = checked_levels(levels, soft)
    return labels[:, :, None] * np.eye(LEVELS)[given][:, None, :]
