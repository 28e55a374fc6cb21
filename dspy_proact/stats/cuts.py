"""Two cuts that turn the mean level of several verdicts into a level: calibration of a judge without a model.

A cut is fitted to soft labels by exhaustive search. Even an unbiased judge's cuts would change by chance, so they
are kept only where, fitted in the other folds, they score better by more than chance.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dspy_proact.stats.estimate import Estimate
from dspy_proact.stats.improvement import LEVELS
from dspy_proact.stats.jackknife import Jackknife, ratio

START_CUTS = (0.5, 1.5)
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
    means = np.asarray(levels_mean, dtype=np.float64)
    if means.ndim != 1 or not np.all((means >= 0) & (means <= LEVELS - 1)):
        raise ValueError(f"mean levels are in [0, 2], not {means.tolist()!r}")
    if not cuts[0] < cuts[1]:
        raise ValueError(f"the cuts rise from the worst label to the best, not {cuts!r}")
    return np.count_nonzero(means[:, None] >= np.array(cuts), axis=1)


def fit_cuts(levels_mean: ArrayLike, soft: ArrayLike) -> tuple[float, float]:
    """The two cuts with the highest mean ordinal agreement with soft labels.

    Cuts lie midway between neighbouring mean levels, or at the start's. Of several that tie, the nearest to the
    start (sum of both distances), then the higher ones. No items: the start.

    Args:
        levels_mean: Mean level of each item's verdicts, in [0, 2]: shape (n,).
        soft: Share of people's grades at each level: shape (n, 3), each row sums to 1.

    Raises:
        ValueError: The lengths differ, a mean level is outside [0, 2], or a soft label is not a distribution.
    """
    means, labels = _checked(levels_mean, soft)
    values = np.unique(means)
    places = np.unique([*((values[1:] + values[:-1]) / 2), *START_CUTS])
    # To reach a cut lifts an item by one level, whatever the other cut: from 0 to 1, or from 1 to 2. The agreement of
    # two cuts is then a sum of one term of each.
    agreement = np.stack([ordinal_agreement(np.full(len(means), level), labels) for level in range(LEVELS)])
    gains = np.diff(agreement, axis=0) @ (means[:, None] >= places)
    first, second = np.triu_indices(len(places), k=1)
    # Rounded, or sums that differ by rounding would not tie.
    score = (gains[0, first] + gains[1, second]).round(9)
    near = -(np.abs(places[first] - START_CUTS[0]) + np.abs(places[second] - START_CUTS[1])).round(9)
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
    levels = np.zeros(len(means), dtype=np.intp)
    for fold in dict.fromkeys(folds):
        inside = np.array([key == fold for key in folds])
        levels[inside] = apply_cuts(means[inside], fit_cuts(means[~inside], labels[~inside]))
    gains = ordinal_agreement(levels, labels) - ordinal_agreement(apply_cuts(means, START_CUTS), labels)
    gain = Jackknife.of(np.stack([gains, np.ones(len(gains))], axis=1), groups, ratio)
    low98, high98 = gain.claim_bounds()
    kept = low98 is not None and low98 > 0
    return KeptCuts(fitted if kept else START_CUTS, fitted, kept, gain.estimate(), low98, high98)


def ordinal_agreement(levels: NDArray[np.intp], soft: NDArray[np.float64]) -> NDArray[np.float64]:
    """One minus the expected distance of each level from a person's, in units of the whole scale: shape (n,).

    Each is in [0, 1], higher is better.
    """
    distance = np.abs(levels[:, None] - np.arange(LEVELS))
    return 1 - np.sum(distance * soft, axis=1) / (LEVELS - 1)


def _checked(levels_mean: ArrayLike, soft: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    means = np.asarray(levels_mean, dtype=np.float64)
    labels = np.asarray(soft, dtype=np.float64)
    labels = labels.reshape(0, LEVELS) if labels.size == 0 else labels
    if labels.ndim != 2 or labels.shape[1] != LEVELS:
        raise ValueError(f"a soft label is a distribution over three levels: shape (n, 3), not {labels.shape}")
    sound = (labels >= 0).all(axis=1) & (np.abs(labels.sum(axis=1) - 1) < 1e-9)
    if not sound.all():
        raise ValueError(f"a soft label sums to 1 and has no share below 0, not {labels[~sound].tolist()!r}")
    apply_cuts(means, START_CUTS)  # refuses what is no mean level
    if len(means) != len(labels):
        raise ValueError(f"one mean level a soft label: {len(means)} and {len(labels)} differ")
    return means, labels
