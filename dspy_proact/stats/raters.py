"""The raters of a study: their ratings, and what it adds to a variance that they, too, were drawn.

Ratings are alike within a group and within a rater, so that the variance is the groups' plus the raters' less what
both count, that of a rater within a group: V = V_J + max(0, V_R - V_SR) (Cameron, Gelbach & Miller 2011). V_R and V_SR
are jackknives that leave out a rater, and a rater within a group (`rater_variance`), or, of the influence u_ir of each
rating, with w_r a rater's share of the ratings,

    V_R = sum_r (sum_i u_ir)^2 / (1 - w_r)        V_SR = sum_{g,r} (sum_{i in g} u_ir)^2
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dspy_proact.stats.estimate import Spread
from dspy_proact.stats.tally import added_up, numbered, tally

ENOUGH_RATERS = 4
"""With fewer raters their variance rests on too few of them: an interval then speaks of these raters alone."""
UNMARKED_RATERS = 8
"""With fewer raters bounds are marked: with six they covered 91.5 to 98.7 % in simulations (eval/README.md)."""
FEW_RATERS = f"fewer than {UNMARKED_RATERS} raters"
ONE_RATER = "depends on one rater"
"""Why there are no bounds where without one rater there is no estimate."""

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
    """The rater of each rating, as a number: shape (q,); None where raters are not known."""
    names: tuple[Hashable, ...] = ()
    """Who they are, by number, in the order in which they first appear."""

    @classmethod
    def of(
        cls,
        ratings: Sequence[Sequence[Hashable]],
        labels: Sequence[Hashable],
        raters: Sequence[Sequence[Hashable]] | None = None,
    ) -> "Panel":
        """The ratings of items, which may be none of an item.

        Args:
            ratings: The labels that each item was given.
            labels: All labels in rising order, each once, whether they occur or not.
            raters: Who gave them, aligned with `ratings`; None where that is not known.

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
        people = [person for of_item in raters for person in of_item]
        return cls(counts, own, items, numbered(people), tuple(dict.fromkeys(people)))

    @cached_property
    def others(self) -> NDArray[np.float64]:
        """How many other ratings of the item of each rating gave each label: shape (q, k)."""
        return self.counts[self.items] - self.own

    @property
    def people(self) -> int | None:
        """Number of raters; None where they are not known."""
        return None if self.raters is None else len(np.unique(self.raters))

    def where(self, chosen: NDArray[np.bool_]) -> "Panel":
        """The ratings of the chosen items, shape (n,), alone."""
        kept, index = chosen[self.items], np.cumsum(chosen) - 1
        raters = None if self.raters is None else self.raters[kept]
        return Panel(self.counts[chosen], self.own[kept], index[self.items[kept]], raters, self.names)

    def parts(self, of: PartsOf) -> tuple[NDArray[np.float64], Changes | None]:
        """What the items add to a sum, shape (n, ...), and how that changes; None where raters are not known."""
        total = of(self.counts, np.arange(len(self.counts)))
        if self.raters is None:
            return total, None
        without = of(self.others, self.items)
        return total, Changes(without - total[self.items], self.items, self.raters)


@dataclass(frozen=True)
class RaterVariance:
    """What the raters of a study add to the variance of an estimate."""

    variance: float | None
    """In the square of the estimate's unit, at least 0; 0 of fewer than four raters, of whom it is not taken; None
    where without one of them there is no estimate."""
    raters: int

    @property
    def warning(self) -> str | None:
        """That the interval is limited to these raters, or that they are few; None from eight on."""
        if self.raters >= ENOUGH_RATERS:
            return None if self.raters >= UNMARKED_RATERS else FEW_RATERS
        return "for this rater only" if self.raters == 1 else f"for these {self.raters} raters only"

    def trials(self, groups: int) -> int:
        """How many trials equal values of so many groups are: raters where they are fewer, and speak of others too."""
        return min(groups, self.raters) if self.raters >= ENOUGH_RATERS else groups

    def widened(self, spread: Spread) -> Spread | None:
        """The spread with the raters' variance, from four raters on; None where that is missing.

        The degrees of freedom are the harmonic mean of two (`with_rater_df`). Satterthwaite's (1946) trust the ratio of
        the variances, which few raters leave unknown: measured, they cover 91 to 97 % with six. The smaller of those of
        the groups and of R - 1 trust none of it, and cover up to 99.8 where raters do not differ.
        """
        if self.raters < ENOUGH_RATERS:
            return spread
        if self.variance is None:
            return None
        variance = spread.variance + self.variance
        squares = spread.variance**2 / spread.df + self.variance**2 / (self.raters - 1)
        trusting = variance**2 / squares if squares > 0 else spread.df
        return Spread(variance, with_rater_df(trusting, spread.df, self.raters))


def with_rater_df(trusting: float, groups: float, raters: int) -> float:
    """Degrees of freedom of a variance of groups and raters: the harmonic mean of the most and the least they may be.

    `trusting` are Satterthwaite's, or those of the groups where nothing is known of the raters' share; `groups` are
    those of the groups alone.
    """
    return 2 / (1 / trusting + 1 / min(groups, raters - 1))


def rater_term(influence: ArrayLike, raters: Sequence[Hashable], groups: Sequence[Hashable]) -> float:
    """Variance that at least two raters add to that of the groups: max(0, V_R - V_SR), in the estimate's unit squared.

    `influence` is how far each rating moves the estimate, u_ir: shape (q,); sums to 0. `groups` are those of the items.
    """
    moved, rater = np.asarray(influence, dtype=np.float64), numbered(raters)
    carried = np.bincount(rater) / max(1, len(rater))
    cells = numbered(list(zip(groups, raters, strict=True)))
    of_raters = np.sum(added_up(moved, rater) ** 2 / (1 - carried))
    return max(0.0, float(of_raters - np.sum(added_up(moved, cells) ** 2)))
