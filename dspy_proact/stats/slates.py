from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats.tally import tally


@dataclass(frozen=True)
class Slate:
    """The items that one person rated."""

    rater: Hashable
    items: NDArray[np.intp]
    """Places of the items: shape (m,)."""
    own: NDArray[np.float64]
    """1 at the person's own label, else 0: shape (m, k)."""
    others: NDArray[np.float64]
    """How many of the others gave each label: shape (m, k); a row of 0 where nobody else rated the item."""

    @property
    def shared(self) -> NDArray[np.bool_]:
        """Whether somebody else rated the item too: shape (m,)."""
        return self.others.sum(axis=1) > 0


def slates(
    ratings: Sequence[Sequence[Hashable]], raters: Sequence[Sequence[Hashable]], labels: Sequence[Hashable]
) -> list[Slate]:
    """The slate of each person, in the order in which they first appear; arguments and errors are as in `alt_test`."""
    if [len(item) for item in ratings] != [len(people) for people in raters]:
        raise ValueError("one rater a rating: the lengths differ")
    if any(len(set(people)) < len(people) for people in raters):
        raise ValueError("a person rates an item once: keep the last rating of each")
    counts = tally(ratings, labels)
    given: dict[Hashable, list[tuple[int, Hashable]]] = {}
    for place, (item, people) in enumerate(zip(ratings, raters, strict=True)):
        for label, rater in zip(item, people, strict=True):
            given.setdefault(rater, []).append((place, label))
    told: list[Slate] = []
    for rater, graded in given.items():
        items = np.array([place for place, _ in graded], dtype=np.intp)
        own = tally([[label] for _, label in graded], labels)
        told.append(Slate(rater, items, own, counts[items] - own))
    return told
