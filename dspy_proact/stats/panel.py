"""Ratings of items by raters, and what every statistic of them becomes without one of the ratings."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats.table import numbered
from dspy_proact.stats.tally import tally

PartsOf = Callable[[NDArray[np.float64], NDArray[np.intp]], NDArray[np.float64]]
"""What items add to a sum, shape (m, ...), from how often each label was given, shape (m, k), and which they are."""


@dataclass(frozen=True)
class Changes:
    """What the sum of the items' parts loses or gains where one rating is left out."""

    parts: NDArray[np.float64]
    """One a rating: shape (q, ...)."""
    items: NDArray[np.intp]
    """Place of the item of each rating: shape (q,)."""
    raters: NDArray[np.intp]
    """Its rater, counted from 0: shape (q,)."""

    def where(self, chosen: NDArray[np.bool_]) -> "Changes":
        """Those of the chosen items, shape (n,), alone."""
        kept = chosen[self.items]
        return Changes(self.parts[kept], (np.cumsum(chosen) - 1)[self.items[kept]], self.raters[kept])


@dataclass(frozen=True)
class Panel:
    """The ratings of items, and by whom they are."""

    counts: NDArray[np.float64]
    """How many ratings of each item gave each label: shape (n, k)."""
    own: NDArray[np.float64]
    """1 at the label of each rating, else 0: shape (q, k)."""
    items: NDArray[np.intp]
    """Place of the item of each rating: shape (q,)."""
    raters: NDArray[np.intp] | None
    """The rater of each rating, as a number: shape (q,); None where raters are not known, so that no interval can
    speak of others."""

    @classmethod
    def of(
        cls,
        ratings: Sequence[Sequence[Hashable]],
        labels: Sequence[Hashable],
        raters: Sequence[Sequence[Hashable]] | None = None,
    ) -> "Panel":
        """The ratings of items.

        Args:
            ratings: The labels that each item was given, in any order; an item may have none.
            labels: All labels in rising order, each once, whether they occur or not.
            raters: Who gave them, aligned with `ratings`.

        Raises:
            ValueError: `labels` repeats one, a rating is not in `labels`, there is not one rater a rating, or a
                person rated an item twice.
        """
        counts = tally(ratings, labels)
        own = tally([[label] for item in ratings for label in item], labels)
        items = np.repeat(np.arange(len(ratings)), [len(item) for item in ratings])
        if raters is None:
            return cls(counts, own, items, None)
        if [len(item) for item in ratings] != [len(people) for people in raters]:
            raise ValueError("one rater a rating: the lengths differ")
        if any(len(set(people)) < len(people) for people in raters):
            raise ValueError("a person rates an item once: keep the last rating of each")
        return cls(counts, own, items, numbered([person for people in raters for person in people]))

    @property
    def people(self) -> int | None:
        """Number of raters; None where they are not known."""
        return None if self.raters is None else len(np.unique(self.raters))

    def where(self, chosen: NDArray[np.bool_]) -> "Panel":
        """The ratings of the chosen items, shape (n,), alone."""
        kept = chosen[self.items]
        place = np.cumsum(chosen) - 1
        raters = None if self.raters is None else self.raters[kept]
        return Panel(self.counts[chosen], self.own[kept], place[self.items[kept]], raters)

    def parts(self, of: PartsOf) -> tuple[NDArray[np.float64], Changes | None]:
        """What the items add to a sum, shape (n, ...), and how that changes; None where raters are not known."""
        whole = of(self.counts, np.arange(len(self.counts)))
        if self.raters is None:
            return whole, None
        without = of(self.counts[self.items] - self.own, self.items)
        return whole, Changes(without - whole[self.items], self.items, self.raters)


def shares(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of each label among an item's ratings: shape (m, k); 0 where there are none."""
    return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)


def commonest(counts: NDArray[np.float64], ties: Sequence[int]) -> NDArray[np.float64]:
    """1 at the commonest label of each item, else 0: shape (m, k); all 0 where there are no ratings.

    Args:
        counts: How often each label was given: shape (m, k).
        ties: Places of all labels: of several that tie, the one that comes first here.
    """
    order = np.array(ties)
    found = np.eye(len(order))[order[np.argmax(counts[:, order], axis=1)]]
    return found * (counts.sum(axis=1, keepdims=True) > 0)
