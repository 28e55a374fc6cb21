"""One label an item from several ratings: the distribution of the grades, or the commonest of them."""

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dspy_proact.stats.tally import tally

LEVELS = 3
"""A soft label is a distribution over three labels, from the worst to the best: levels 0, 1 and 2."""


def soft_labels(ratings: Sequence[Sequence[Hashable]], labels: Sequence[Hashable]) -> NDArray[np.float64]:
    """Share of each label among an item's ratings: shape (n, k), each row sums to 1.

    Args:
        ratings: The labels that each item was given, at least one, in any order.
        labels: All labels in rising order, each once, whether they occur or not.

    Raises:
        ValueError: An item has no rating, `labels` repeats one, or a rating is not in `labels`.
    """
    counts = tally(ratings, labels)
    totals = counts.sum(axis=1, keepdims=True)
    if not totals.all():
        raise ValueError("an item without ratings has no soft label: leave it out")
    return counts / totals


def majority(ratings: Sequence[Hashable], ties: Sequence[Hashable]) -> Hashable | None:
    """The label of the most ratings of one item; None where there are no ratings.

    Args:
        ratings: The labels that the item was given, in any order.
        ties: All labels, each once: of several that tie, the one that comes first here.

    Raises:
        ValueError: `ties` does not name every rating once.
    """
    if len(set(ties)) < len(ties) or not set(ratings) <= set(ties):
        raise ValueError(f"ties must name every rating once: {ties!r} for {set(ratings)!r}")
    counts = Counter(ratings)
    return max(ties, key=lambda label: counts[label]) if ratings else None


def ordinal_agreement(levels: ArrayLike, soft: ArrayLike) -> NDArray[np.float64]:
    """One minus the expected distance of each level from a person's, in units of the whole scale.

    Args:
        levels: Shape (n,), each 0, 1 or 2.
        soft: Soft label of each item: shape (n, 3).

    Returns:
        Shape (n,), each in [0, 1], higher is better.

    Raises:
        ValueError: The lengths differ, a level is not 0, 1 or 2, or a soft label is not a distribution over three
            levels.
    """
    given, labels = checked_levels(levels, soft)
    distance = np.abs(given[:, None] - np.arange(LEVELS))
    return 1 - np.sum(distance * labels, axis=1) / (LEVELS - 1)


def checked_levels(levels: ArrayLike, soft: ArrayLike) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Levels and soft labels as arrays of shape (n,) and (n, 3); errors as in `ordinal_agreement`."""
    labels = checked_soft(soft)
    given = np.asarray(levels, dtype=np.float64)
    if given.shape != labels.shape[:1] or not np.isin(given, np.arange(LEVELS)).all():
        raise ValueError(f"one level of 0, 1 or 2 a soft label, not {given.tolist()!r} for {len(labels)}")
    return given.astype(np.intp), labels


def checked_soft(soft: ArrayLike) -> NDArray[np.float64]:
    """Soft labels as an array of shape (n, 3).

    Raises:
        ValueError: One is not a distribution over three levels.
    """
    labels = np.asarray(soft, dtype=np.float64)
    labels = labels.reshape(0, LEVELS) if labels.size == 0 else labels
    if labels.ndim != 2 or labels.shape[1] != LEVELS:
        raise ValueError(f"a soft label is a distribution over three levels: shape (n, 3), not {labels.shape}")
    sound = (labels >= 0).all(axis=1) & (np.abs(labels.sum(axis=1) - 1) < 1e-9)
    if not sound.all():
        raise ValueError(f"a soft label sums to 1 and has no share below 0, not {labels[~sound].tolist()!r}")
    return labels
