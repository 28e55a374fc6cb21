from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ENOUGH_GROUPS = 5
"""From here on an interval may carry a claim; with fewer it is marked."""
VERY_WIDE = "too few groups: very wide"
ONE_STRATUM = (None,)
"""The order of strata where there is one, which needs no name."""


@dataclass(frozen=True)
class Table:
    """Values summed by group and stratum: what every clustered mean is made of.

    The mean of a table is the mean of its strata's means, every stratum weighted equally; with one
    stratum it is the mean over all cases.
    """

    sums: NDArray[np.float64]
    """Sum of the values of each group in each stratum: shape (G, P)."""
    counts: NDArray[np.float64]
    """Number of values, likewise: shape (G, P); no group is empty."""
    order: tuple[Hashable, ...]
    """The P strata."""

    @property
    def groups(self) -> int:
        """The number of groups, G."""
        return len(self.counts)

    @property
    def held(self) -> NDArray[np.intp]:
        """How many groups have values in each stratum: shape (P,)."""
        return np.count_nonzero(self.counts, axis=0)

    @property
    def totals(self) -> NDArray[np.float64]:
        """Number of values in each stratum: shape (P,)."""
        return self.counts.sum(axis=0)

    @property
    def shares(self) -> NDArray[np.float64]:
        """Each group's share of all values: shape (G,), sums to 1."""
        return self.counts.sum(axis=1) / self.counts.sum()

    @property
    def means(self) -> NDArray[np.float64]:
        """Mean of the values in each stratum, none of which is empty: shape (P,)."""
        return self.sums.sum(axis=0) / self.totals

    @property
    def pulls(self) -> NDArray[np.float64]:
        """How far each group's values in each stratum move the mean of the strata's means: shape (G, P)."""
        return (self.sums - self.counts * self.means) / self.totals / len(self.order)

    @property
    def influence(self) -> NDArray[np.float64]:
        """How far each group moves the mean of the strata's means: shape (G,), sums to 0."""
        return self.pulls.sum(axis=1)

    @property
    def empty(self) -> str | None:
        """The strata without values, by name; None where there are none."""
        return self._names(self.held == 0)

    @property
    def lonely(self) -> str | None:
        """Why no spread can be seen, "one group" and in which strata; None where it can."""
        if self.groups == 1:
            return "one group"
        names = self._names(self.held == 1)
        return f"one group in {names}" if names else None

    @property
    def warning(self) -> str | None:
        """What is wrong with bounds that rest on few groups; None from five on, in every stratum."""
        if self.groups < ENOUGH_GROUPS:
            return VERY_WIDE
        names = self._names(self.held < ENOUGH_GROUPS)
        return f"too few groups in {names}: too narrow" if names else None

    def _names(self, chosen: NDArray[np.bool_]) -> str | None:
        names = [str(stratum) for stratum, choose in zip(self.order, chosen, strict=True) if choose]
        return ", ".join(names) or None


def tabulate(
    values: NDArray[np.float64],
    groups: Sequence[Hashable],
    strata: Sequence[Hashable] | None = None,
    order: Sequence[Hashable] = ONE_STRATUM,
) -> Table:
    """Sum the values, of shape (n,), by group, as they first appear, and by stratum, each named once in `order`.

    Without strata all are of one.
    """
    column = {stratum: index for index, stratum in enumerate(order)}
    member = np.eye(len(order))[[column[stratum] for stratum in _strata_of(groups, strata)]]
    place = numbered(groups)
    return Table(added_up(member * values[:, None], place), added_up(member, place), tuple(order))


def numbered(keys: Sequence[Hashable]) -> NDArray[np.intp]:
    """The keys as numbers from 0, as they first appear: shape (n,)."""
    number = {key: index for index, key in enumerate(dict.fromkeys(keys))}
    return np.array([number[key] for key in keys], dtype=np.intp)


def added_up(parts: NDArray[np.float64], place: NDArray[np.intp]) -> NDArray[np.float64]:
    """The parts, shape (n, ...), added up where they have one place, as `numbered` gives it: shape (places, ...)."""
    sums = np.zeros((int(place.max(initial=-1)) + 1, *parts.shape[1:]))
    np.add.at(sums, place, parts)
    return sums


def checked_scores(
    scores: Sequence[float] | NDArray[np.float64],
    groups: Sequence[Hashable],
    strata: Sequence[Hashable] | None = None,
    order: Sequence[Hashable] = ONE_STRATUM,
) -> NDArray[np.float64]:
    """The scores as an array of shape (n,), a group and a known stratum for each; raises as `macro_mean` does.

    Without strata all are of one.
    """
    scores, strata = np.asarray(scores, dtype=np.float64), _strata_of(groups, strata)
    if not scores.shape == (len(groups),) == (len(strata),):
        raise ValueError(f"one group and stratum a score: {scores.shape}, {len(groups)} and {len(strata)} differ")
    inside = (scores >= 0) & (scores <= 1)
    if not inside.all():
        raise ValueError(f"scores must be in [0, 1], not {scores[~inside].tolist()!r}")
    if not len(set(order)) == len(order) > 0 or not set(strata) <= set(order):
        raise ValueError(f"order must name every stratum once: {order!r} for {set(strata)!r}")
    return scores


def _strata_of(groups: Sequence[Hashable], strata: Sequence[Hashable] | None) -> Sequence[Hashable]:
    return ONE_STRATUM * len(groups) if strata is None else strata
