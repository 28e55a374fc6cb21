"""Verdicts that could not be read, at their worst: what a claim must bear before it rests on the others."""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dspy_proact.stats.kappa import kappa
from dspy_proact.stats.soft_kappa import soft_tables
from dspy_proact.stats.soft_labels import LEVELS, checked_levels, checked_soft
from dspy_proact.stats.table import numbered

Levels = ArrayLike | Sequence[int | None]
"""Of verdicts: 0, 1 or 2, None or nan where one could not be read."""


def levels_at_worst(
    before: Levels, after: Levels, soft: ArrayLike, strata: Sequence[Hashable]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Levels in which the unread speak against the second judge: its own lower its kappa, the first's raise the other.

    By which level a kappa within a stratum rises or falls most is told to the first order, from the verdicts that were
    read: an item of soft label s at level l adds to 1 - kappa its disagreement with s, less 1 - kappa times its
    disagreement with the stratum's labels. Ties go to the lower level.

    Args:
        before: Level of each item as the first judge graded it: shape (n,).
        after: As the second did, aligned.
        soft: Share of people's grades at each level: shape (n, 3), each row sums to 1.
        strata: Stratum of each item.

    Returns:
        Both judges' levels, each of shape (n,), with none unread.

    Raises:
        ValueError: The lengths differ, a level is not 0, 1 or 2, or a soft label is not a distribution.
    """
    labels = checked_soft(soft)
    filled = (
        _filled(levels_of(before), labels, strata, worst=False),
        _filled(levels_of(after), labels, strata, worst=True),
    )
    for levels in filled:
        checked_levels(levels, labels)
    return filled


def levels_of(levels: Levels) -> NDArray[np.float64]:
    """Levels as an array of shape (n,), nan where one is unread."""
    return np.asarray(levels, dtype=np.float64)


def _filled(
    levels: NDArray[np.float64], labels: NDArray[np.float64], strata: Sequence[Hashable], *, worst: bool
) -> NDArray[np.float64]:
    """One judge's levels, with the unread ones in its disfavour, or in its favour."""
    if not levels.shape == (len(labels),) == (len(strata),):
        raise ValueError(
            f"one level, soft label and stratum an item: {levels.shape}, {len(labels)}, {len(strata)} differ"
        )
    filled, unread = levels, np.isnan(levels)
    scale = np.arange(LEVELS)
    squares = np.square(scale[:, None] - scale)
    stratum = numbered(strata)
    for place in np.unique(stratum[unread]):
        within = stratum == place
        read = within & ~unread
        known = kappa(soft_tables(filled[read], labels[read]).sum(axis=0), "quadratic") if read.any() else None
        chance = labels[within].mean(axis=0) @ squares
        harm = labels @ squares - (1 - (known or 0.0)) * chance
        chosen = np.argmax(harm if worst else -harm, axis=1)
        filled = np.where(within & unread, chosen, filled)
    return filled
