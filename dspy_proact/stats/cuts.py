"""Two cuts that turn the mean level of several verdicts into a level: calibration of a judge without a model.

A cut is fitted to soft labels by exhaustive search. Even an unbiased judge's cuts would change by chance, so they
are kept only where, fitted in the other folds, they score better by more than chance.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dspy_proact.stats.estimate import Estimate
from dspy_proact.stats.soft_labels import LEVELS, checked_soft, ordinal_agreement
from dspy_proact.stats.units import Units, ratio

START = (0.5, 1.5)
"""The cuts that round a mean level to the nearest."""


@dataclass(frozen=True)
class KeptCuts:
    """The cuts to use, and why."""

    cuts: tuple[float, float]
    """The fitted ones where they are kept, else the start."""
    fitted: tuple[float, float]
    """Fitted to all items."""
    kept: bool
    """Whether the 98 % interval of the gain lies above 0."""
    gain: Estimate
    """Mean ordinal agreement of cuts fitted in the other folds minus that of the start, in [-1, 1], with its 95 %
    interval."""
    low98: float | None
    """Lower end of the 98 % interval of the gain; None where there is none."""
    high98: float | None
    """Upper end."""


def apply_cuts(levels_mean: ArrayLike, cuts: tuple[float, float]) -> NDArray[np.intp]:
    """How many cuts each mean level reaches: 0 below the first, 2 from the second on.

    Args:
        levels_mean: Mean level of each item's verdicts, in [0, 2]: shape (n,).
        cuts: From where on the mean level makes the middle label, and the best, in rising order.

    Returns:
        Levels of 0, 1 or 2: shape (n,).

    Raises:
        ValueError: A mean level is outside [0, 2], or the cuts do not rise.
    """
    means = _checked_means(levels_mean)
    if not cuts[0] < cuts[1]:
        raise ValueError(f"the cuts rise from the worst label to the best, not {cuts!r}")
    return np.count_nonzero(means[:, None] >= np.array(cuts), axis=1)


def fit_cuts(levels_mean: ArrayLike, soft: ArrayLike, start: tuple[float, float] = START) -> tuple[float, float]:
    """The two cuts with the highest mean ordinal agreement with soft labels.

    Cuts lie midway between neighbouring mean levels, or at the start's. Of several that tie, the nearest to the
    start (sum of both distances), then the higher ones. No items: the start.

    Args:
        levels_mean: Mean level of each item's verdicts, in [0, 2]: shape (n,).
        soft: Share of people's grades at each level: shape (n, 3), each row sums to 1.
        start: The cuts to begin with, in rising order.

    Raises:
        ValueError: The lengths differ, a mean level is outside [0, 2], a soft label is not a distribution, or the
            start does not rise.
    """
    means, labels = _checked(levels_mean, soft)
    if not start[0] < start[1]:
        raise ValueError(f"the cuts rise from the worst label to the best, not {start!r}")
    values = np.unique(means)
    places = np.unique([*((values[1:] + values[:-1]) / 2), *start])
    gains = _gains(means, labels, places)
    first, second = np.triu_indices(len(places), k=1)
    # Rounded, or sums that differ by rounding would not tie.
    score = (gains[0, first] + gains[1, second]).round(9)
    near = -(np.abs(places[first] - start[0]) + np.abs(places[second] - start[1])).round(9)
    best = np.lexsort((places[second], places[first], near, score))[-1]
    return float(places[first[best]]), float(places[second[best]])


def keep_cuts(
    levels_mean: ArrayLike, soft: ArrayLike, groups: Sequence[Hashable], folds: Sequence[Hashable]
) -> KeptCuts:
    """Fit cuts to all items, and keep them only if cuts fitted out of fold beat the start by more than chance.

    Each fold's items are graded with cuts that were fitted to the other folds. The gain in ordinal agreement over
    the start, item by item, is averaged; its 98 % jackknife interval leaves out one group at a time. Silence is
    decided as follows. No items: the start, and no gain. One fold, or cuts that change no level: gain 0, and the start.

    Arguments and errors are as in `fit_cuts`, besides the group of each item and its fold: a group is in one.
    """
    means, labels = _checked(levels_mean, soft)
    if not len(means) == len(groups) == len(folds):
        raise ValueError(f"one group and fold an item: {len(means)}, {len(groups)} and {len(folds)} differ")
    if len(set(zip(groups, folds, strict=True))) > len(set(groups)):
        raise ValueError("a group is in one fold, or its items would be graded with cuts that saw it")
    fitted = fit_cuts(means, labels)
    levels = apply_cuts(means, START)
    gains = ordinal_agreement(_out_of_fold(means, labels, folds), labels) - ordinal_agreement(levels, labels)
    units = Units.of(groups)
    parts = np.stack([gains, np.ones(len(gains))], axis=1)
    gain = units.estimate(parts, ratio, undefined="no items")
    low98, high98 = units.claim_bounds(parts, ratio, bounds=(-1, 1))
    kept = low98 is not None and low98 > 0
    return KeptCuts(fitted if kept else START, fitted, kept, gain, low98, high98)


def _gains(means: NDArray[np.float64], labels: NDArray[np.float64], places: NDArray[np.float64]) -> NDArray[np.float64]:
    """What each place of the first and of the second cut adds to the summed agreement: shape (2, m).

    To reach a cut lifts an item by one level, whatever the other cut: from 0 to 1, or from 1 to 2. The agreement
    of two cuts is then a sum of one term of each.
    """
    agreement = np.stack([ordinal_agreement(np.full(len(means), level), labels) for level in range(LEVELS)])
    return np.diff(agreement, axis=0) @ (means[:, None] >= places)


def _out_of_fold(
    means: NDArray[np.float64], labels: NDArray[np.float64], folds: Sequence[Hashable]
) -> NDArray[np.intp]:
    """The level of each item by cuts that were fitted to the other folds: shape (n,)."""
    levels = np.zeros(len(means), dtype=np.intp)
    for fold in dict.fromkeys(folds):
        inside = np.array([key == fold for key in folds])
        levels[inside] = apply_cuts(means[inside], fit_cuts(means[~inside], labels[~inside]))
    return levels


def _checked(levels_mean: ArrayLike, soft: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    means, labels = _checked_means(levels_mean), checked_soft(soft)
    if len(means) != len(labels):
        raise ValueError(f"one mean level a soft label: {len(means)} and {len(labels)} differ")
    return means, labels


def _checked_means(levels_mean: ArrayLike) -> NDArray[np.float64]:
    means = np.asarray(levels_mean, dtype=np.float64)
    if means.ndim != 1 or not np.all((means >= 0) & (means <= LEVELS - 1)):
        raise ValueError(f"mean levels are in [0, 2], not {means.tolist()!r}")
    return means
