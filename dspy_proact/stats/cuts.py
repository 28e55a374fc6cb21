"""Two cuts that turn the mean level of several verdicts into a level: calibration of a judge without a model.

A cut is fitted to soft labels by exhaustive search. Even an unbiased judge's cuts would change by chance, so they
are kept only where, fitted in the other folds, they score better by more than chance.
"""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dspy_proact.stats.jackknife import Jackknife, ratio

LEVELS = 3
"""Labels are levels 0, 1 and 2, from the worst to the best."""
START_CUTS = (0.5, 1.5)
"""The cuts that round a mean level to the nearest."""


def apply_cuts(levels_mean: ArrayLike, cuts: tuple[float, float]) -> NDArray[np.intp]:
    """How many cuts, in rising order, each mean level in [0, 2] reaches: 0 below the first, 2 from the second on."""
    return np.count_nonzero(np.asarray(levels_mean, dtype=np.float64)[:, None] >= np.array(cuts), axis=1)


def fit_cuts(means: NDArray[np.float64], soft: NDArray[np.float64]) -> tuple[float, float]:
    """The two cuts with the highest mean ordinal agreement with soft labels; those to start with without items.

    Cuts lie midway between neighbouring mean levels, or at the start's. Of several that tie, the nearest to the
    start (sum of both distances), then the higher ones.

    `means` holds the mean level of each item's verdicts, in [0, 2]: shape (n,); `soft` the share of people's grades at
    each level: shape (n, 3), each row sums to 1.
    """
    values = np.unique(means)
    cuts = np.unique([*((values[1:] + values[:-1]) / 2), *START_CUTS])
    # To reach a cut lifts an item by one level, whatever the other cut: from 0 to 1, or from 1 to 2. The agreement of
    # two cuts is then a sum of one term of each.
    agreement = np.stack([ordinal_agreement(np.full(len(means), level), soft) for level in range(LEVELS)])
    gains = np.diff(agreement, axis=0) @ (means[:, None] >= cuts)
    first, second = np.triu_indices(len(cuts), k=1)
    # Rounded, or sums that differ by rounding would not tie.
    score = (gains[0, first] + gains[1, second]).round(9)
    near = -(np.abs(cuts[first] - START_CUTS[0]) + np.abs(cuts[second] - START_CUTS[1])).round(9)
    best = np.lexsort((cuts[second], cuts[first], near, score))[-1]
    return float(cuts[first[best]]), float(cuts[second[best]])


def keep_cuts(
    levels_mean: ArrayLike, soft: ArrayLike, groups: Sequence[Hashable], folds: Sequence[Hashable]
) -> tuple[float, float]:
    """The cuts fitted to all items if cuts fitted out of fold beat the start by more than chance, else the start.

    Each fold's items are graded with cuts that were fitted to the other folds. The gain in ordinal agreement over
    the start, item by item, is averaged; its 98 % jackknife interval, leaving out one group at a time, must lie
    above 0. Arguments are as in `fit_cuts`, besides the group of each item and its fold. Raises a `ValueError` where a
    group is in two folds.
    """
    if len(set(zip(groups, folds, strict=True))) > len(set(groups)):
        raise ValueError("a group is in one fold, or its items would be graded with cuts that saw it")
    means, labels = np.asarray(levels_mean, dtype=np.float64), np.asarray(soft, dtype=np.float64).reshape(-1, LEVELS)
    levels = np.zeros(len(means), dtype=np.intp)
    for fold in dict.fromkeys(folds):
        inside = np.array([key == fold for key in folds])
        levels[inside] = apply_cuts(means[inside], fit_cuts(means[~inside], labels[~inside]))
    gains = ordinal_agreement(levels, labels) - ordinal_agreement(apply_cuts(means, START_CUTS), labels)
    low98, _ = Jackknife.of(np.stack([gains, np.ones(len(gains))], axis=1), groups, ratio).claim_bounds()
    return fit_cuts(means, labels) if low98 is not None and low98 > 0 else START_CUTS


def ordinal_agreement(levels: NDArray[np.intp], soft: NDArray[np.float64]) -> NDArray[np.float64]:
    """One minus the expected distance of each level from a person's, in units of the whole scale: (n,), in [0, 1]."""
    distance = np.abs(levels[:, None] - np.arange(LEVELS))
    return 1 - np.sum(distance * soft, axis=1) / (LEVELS - 1)
