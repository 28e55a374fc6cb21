from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats.estimate import Estimate
from dspy_proact.stats.kappa import kappa_of_items
from dspy_proact.stats.slates import slates
from dspy_proact.stats.tally import tally


@dataclass(frozen=True)
class Standing:
    """Where one person stands among those who rated the same items."""

    rater: Hashable
    ratings: int
    """Items that the person rated."""
    shared: int
    """Those that somebody else rated too."""
    against_others: Estimate
    """Quadratic kappa against the distribution of the others' ratings of the shared items, in [-1, 1]."""
    against_judge: Estimate
    """Quadratic kappa against the judge, in [-1, 1]."""


def standings(
    ratings: Sequence[Sequence[Hashable]],
    raters: Sequence[Sequence[Hashable]],
    judge: Sequence[Hashable],
    labels: Sequence[Hashable],
    groups: Sequence[Hashable],
) -> list[Standing]:
    """Compare each person, in the order in which they first appear, with the others and with the judge.

    Arguments and errors are as in `alt_test`. Intervals leave out one group at a time, and speak of each
    person among these others. Silence and ties are decided as in `kappa_estimate`; no shared items: no value.
    """
    if not len(ratings) == len(raters) == len(judge) == len(groups):
        raise ValueError("raters, a judge's grade and a group for each item: the lengths differ")
    grades = tally([[label] for label in judge], labels)
    told: list[Standing] = []
    for slate in slates(ratings, raters, labels):
        keys = [groups[place] for place in slate.items]
        shared = [key for key, shares in zip(keys, slate.shared, strict=True) if shares]
        others = slate.others[slate.shared]
        against_others = _kappa(others / others.sum(axis=1, keepdims=True), slate.own[slate.shared], shared)
        against_judge = _kappa(grades[slate.items], slate.own, keys)
        told.append(Standing(slate.rater, len(keys), len(shared), against_others, against_judge))
    return told


def _kappa(reference: NDArray[np.float64], own: NDArray[np.float64], keys: Sequence[Hashable]) -> Estimate:
    """Quadratic kappa of a person's labels against a distribution, both of shape (m, k)."""
    if not keys:
        return Estimate(None, reason="no item that others rated too")
    return kappa_of_items(reference[:, :, None] * own[:, None, :], keys)
