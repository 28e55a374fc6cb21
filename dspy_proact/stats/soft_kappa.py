"""Quadratic kappa of a judge's levels against soft labels, within strata: the headline of a compile.

Each item counts once: its column is the judge's level, its rows the shares of people's grades. Pooled over strata
a judge that only learned how strict each stratum is would seem to agree better, so kappa is taken within each and
averaged, each stratum weighted by its labels.
"""

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dspy_proact.stats.estimate import Estimate
from dspy_proact.stats.kappa import kappa, kappa_of_items
from dspy_proact.stats.soft_labels import LEVELS, checked_levels, checked_soft
from dspy_proact.stats.strata import Strata
from dspy_proact.stats.units import Units


def soft_kappa(levels: ArrayLike, soft: ArrayLike) -> float | None:
    """Quadratic kappa of levels against soft labels, in [-1, 1], higher is better.

    Args:
        levels: The judge's level of each item, 0, 1 or 2: shape (n,).
        soft: Share of people's grades at each level: shape (n, 3), each row sums to 1.

    Returns:
        None where it is undefined (0 / 0): no items, or all levels and labels are one grade.

    Raises:
        ValueError: The lengths differ, a level is not 0, 1 or 2, or a soft label is not a distribution over three
            levels.
    """
    return kappa(soft_tables(levels, soft).sum(axis=0), "quadratic")


def soft_kappa_estimate(levels: ArrayLike, soft: ArrayLike, groups: Sequence[Hashable]) -> Estimate:
    """Quadratic kappa of levels against soft labels, with its jackknife interval, clipped to [-1, 1].

    One group at a time is left out. Silence and ties are decided as follows. No items, or levels and labels all one
    grade (0 / 0): no value. One group, undefined without one, or the same without any: no bounds. Two to four groups:
    bounds with a warning. Arguments and errors are as in `soft_kappa`, besides the group of each item.
    """
    return kappa_of_items(soft_tables(levels, soft), groups)


def within_strata_kappa(levels: ArrayLike, soft: ArrayLike, strata: Sequence[Hashable]) -> float | None:
    """Quadratic kappa within each stratum, averaged with the strata's numbers of labels as weights.

    A stratum whose labels are all one grade is left out: there nobody can agree beyond chance, kappa being 0 for
    a judge that varies and 0 / 0 for one that does not. Arguments and errors are as in `soft_kappa`, besides the
    stratum of each item.

    Returns:
        The average in [-1, 1], higher is better; None where no stratum is left.
    """
    tables, parts = _parts(levels, soft, strata)
    return parts.average(parts.tables(tables).sum(axis=0))


def within_strata_kappa_estimate(
    levels: ArrayLike, soft: ArrayLike, strata: Sequence[Hashable], groups: Sequence[Hashable]
) -> Estimate:
    """Quadratic kappa within strata, averaged, with its jackknife interval, clipped to [-1, 1].

    The weights stay those of all labels whatever is left out. Silence and ties are decided as in
    `within_strata_kappa` and `soft_kappa_estimate`, and so are arguments and errors; strata that are left out are
    named.
    """
    tables, parts = _parts(levels, soft, strata)
    estimate = Units.of(groups).estimate(parts.tables(tables), parts.averages, undefined="all items graded alike")
    reason = "; ".join(filter(None, [estimate.reason, parts.warning if estimate.value is not None else None]))
    return replace(estimate, reason=reason or None)


def soft_tables(levels: ArrayLike, soft: ArrayLike) -> NDArray[np.float64]:
    """One table an item, its soft label in the column of the level: shape (n, 3, 3); errors as in `soft_kappa`."""
    given, labels = checked_levels(levels, soft)
    return labels[:, :, None] * np.eye(LEVELS)[given][:, None, :]


def _parts(levels: ArrayLike, soft: ArrayLike, strata: Sequence[Hashable]) -> tuple[NDArray[np.float64], Strata]:
    """The items' tables, and their strata in the order in which they appear."""
    return soft_tables(levels, soft), Strata.of(checked_soft(soft), strata, list(dict.fromkeys(strata)))
