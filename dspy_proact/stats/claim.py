"""Whether a compile made the judge agree better with people: before and after, on the same labels, out of fold.

The measure is the quadratic kappa against soft labels within each stratum, averaged. What is said of an
improvement is said of the procedure that chose each fold's program; the program that is shipped, compiled on all
labels, has no score of its own.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dspy_proact.stats.estimate import Estimate
from dspy_proact.stats.holm import holm
from dspy_proact.stats.kappa import BOTH
from dspy_proact.stats.panel import Changes, Panel, shares
from dspy_proact.stats.raters import ENOUGH_RATERS
from dspy_proact.stats.soft_kappa import soft_tables
from dspy_proact.stats.soft_labels import checked_soft
from dspy_proact.stats.strata import Strata
from dspy_proact.stats.swap import swap_p
from dspy_proact.stats.units import Units, gain

ENOUGH_LABELS = 60
"""With fewer labels nothing is claimed."""
ENOUGH_GROUPS = 10
"""With labels in fewer groups nothing is claimed."""
LEVEL = 0.05
"""Chance of any false claim among the strata."""
SHOWN = "improvement shown"
NOT_SHOWN = "no improvement shown"
ALIKE = f"{NOT_SHOWN}: both grade alike"


@dataclass(frozen=True)
class Improvement:
    """Agreement before and after a compile, in quadratic kappa within strata, and what may be said of it."""

    before: Estimate
    """In [-1, 1], with its 95 % interval."""
    after: Estimate
    """In [-1, 1], with its 95 % interval."""
    difference: Estimate
    """After minus before in [-2, 2], with its 95 % interval: above 0 where the compile agrees better."""
    low98: float | None
    """Lower end of the 98 % interval of the difference, which decides; None where there is none."""
    high98: float | None
    """Upper end."""
    p: float | None
    """Two-sided p value of swapping before and after within whole groups, in (0, 1]; None without a value."""
    adjusted: float | None
    """p adjusted for being read together with the other strata's (Holm). The overall one is read alone: its p."""
    labels: int
    """Labelled items."""
    groups: int
    """Groups of these items."""
    shown: bool
    """Whether an improvement may be claimed: the 98 % interval lies above 0, with at least 60 items in at least
    10 groups; of a stratum also an adjusted p of at most 5 %."""
    reason: str
    """What may be said, as a sentence without its full stop."""


@dataclass(frozen=True)
class Improvements:
    """The one claim that was chosen in advance, and the same for each stratum."""

    overall: Improvement
    """Averaged over the strata."""
    strata: tuple[Improvement, ...]
    """One for each stratum, in the order asked for."""


def improvement(
    before: ArrayLike,
    after: ArrayLike,
    soft: ArrayLike,
    strata: Sequence[Hashable],
    groups: Sequence[Hashable],
    *,
    order: Sequence[Hashable],
    seed: int = 0,
    panel: Panel | None = None,
) -> Improvements:
    """Compare two judges on the same labels.

    Intervals leave out one group at a time, and where it is known who gave the labels, speak of other raters like
    them from four on, else of these alone, as does then the claim. The p value swaps before and after in whole groups
    and takes both kappas anew. Silence and ties are decided as follows. No
    labels, or all of one grade: no value and no p. A stratum whose labels are all of one grade: not part of the
    average, and named. Both judges alike: difference 0 without bounds, p = 1, nothing shown.

    Args:
        before: Level of each item as the first judge graded it, 0, 1 or 2: shape (n,).
        after: Level of each item as the second judge graded it, aligned with `before`.
        soft: Share of people's grades at each level: shape (n, 3), each row sums to 1.
        strata: Stratum of each item.
        groups: Key of the group of each item.
        order: The strata to tell about, each once.
        seed: Seed of the random swaps. Same levels and seed give the same p, in whatever order the items come,
            whatever the groups are called, and with before and after exchanged.
        panel: The ratings that the soft labels are the shares of, one list an item; None where raters are not known.

    Raises:
        ValueError: The lengths differ, a level is not 0, 1 or 2, a soft label is not a distribution, or `order`
            does not name every stratum once.
    """
    items = _Items(checked_soft(soft), soft_tables(before, soft), soft_tables(after, soft), strata, groups, panel)
    if len(groups) != len(items.soft):
        raise ValueError(f"one group an item: {len(groups)} and {len(items.soft)} differ")
    if panel is not None and not np.allclose(shares(panel.counts), items.soft):
        raise ValueError("soft labels are the shares of the panel's ratings")
    overall = _improvement(items, order, seed)
    single = [_improvement(items.of(stratum), [stratum], seed) for stratum in order]
    adjusted = holm([one.p for one in single])
    return Improvements(overall, tuple(_adjusted(one, p) for one, p in zip(single, adjusted, strict=True)))


@dataclass(frozen=True)
class _Items:
    """The labelled items with both judges' tables."""

    soft: NDArray[np.float64]
    """Shape (n, 3)."""
    before: NDArray[np.float64]
    """Shape (n, 3, 3)."""
    after: NDArray[np.float64]
    """Shape (n, 3, 3)."""
    strata: Sequence[Hashable]
    groups: Sequence[Hashable]
    panel: Panel | None
    """Who gave the labels."""

    def of(self, stratum: Hashable) -> "_Items":
        """Those of one stratum."""
        at = [place for place, name in enumerate(self.strata) if name == stratum]
        strata, groups = ([keys[place] for place in at] for keys in (self.strata, self.groups))
        panel = self.panel and self.panel.where(np.array([name == stratum for name in self.strata], dtype=bool))
        return _Items(self.soft[at], self.before[at], self.after[at], strata, groups, panel)

    def changes(self, strata: Strata) -> Changes | None:
        """What leaving out single ratings does to the sum of both judges' tables by stratum; None without raters."""
        if self.panel is None:
            return None
        # A label stands in the column of the judge's level, so that its share of the item's table is 1 there.
        columns = np.stack([self.before, self.after], axis=1).sum(axis=2)

        def tables(counts: NDArray[np.float64], at: NDArray[np.intp]) -> NDArray[np.float64]:
            judged = shares(counts)[:, None, :, None] * columns[at][:, :, None, :]
            return strata.member[at][:, None, :, None, None] * judged[:, :, None]

        return self.panel.parts(tables)[1]


def _improvement(items: _Items, order: Sequence[Hashable], seed: int) -> Improvement:
    strata = Strata.of(items.soft, items.strata, order)
    labels, groups = len(items.soft), len(set(items.groups))
    if not len(strata.weights):
        why = "all items graded alike" if labels else "no items"
        nothing = Estimate(None, reason=why)
        return Improvement(nothing, nothing, nothing, None, None, None, None, labels, groups, False, f"no claim: {why}")
    units = Units.of(items.groups)
    before, after = strata.tables(items.before), strata.tables(items.after)
    both, gained, changes = np.stack([before, after], axis=1), gain(strata.averages), items.changes(strata)
    difference = units.estimate(both, gained, undefined="all items graded alike", bounds=BOTH, changes=changes)
    low98, high98 = units.claim_bounds(both, gained, bounds=BOTH, changes=changes)
    alike = np.array_equal(before, after)
    claim = _too_few(labels, groups) or (ALIKE if alike else _claim(difference, low98))
    p = swap_p(before, after, items.groups, strata.averages, seed)

    def told(which: int) -> Estimate:
        return units.estimate(
            both,
            lambda sums: strata.averages(sums[:, which]),
            undefined="all items graded alike",
            changes=changes,
        )

    return Improvement(
        before=told(0),
        after=told(1),
        difference=difference,
        low98=low98,
        high98=high98,
        p=p,
        adjusted=p,
        labels=labels,
        groups=groups,
        shown=claim == SHOWN,
        reason="; ".join(filter(None, [_of_these(claim, items.panel), strata.warning])),
    )


def _of_these(claim: str, panel: Panel | None) -> str:
    """What is claimed, of the raters alone where they are too few to speak of others."""
    raters = None if panel is None else panel.people
    if claim != SHOWN or raters is None or raters >= ENOUGH_RATERS:
        return claim
    return f"{claim} with {'this rater' if raters == 1 else f'these {raters} raters'}"


def _too_few(labels: int, groups: int) -> str | None:
    """Why nothing may be claimed of so many items and groups; None where it may."""
    counts = ((labels, ENOUGH_LABELS, "items"), (groups, ENOUGH_GROUPS, "groups"))
    few = [f"fewer than {enough} {name}" for count, enough, name in counts if count < enough]
    return f"no claim: {' and '.join(few)}" if few else None


def _claim(difference: Estimate, low98: float | None) -> str:
    if low98 is None:
        return f"{NOT_SHOWN}: the difference has no interval ({difference.reason})"
    return SHOWN if low98 > 0 else NOT_SHOWN


def _adjusted(one: Improvement, p: float | None) -> Improvement:
    """A stratum's improvement with its adjusted p, which takes back what it does not bear out."""
    if one.shown and (p is None or p > LEVEL):
        return replace(one, adjusted=p, shown=False, reason=f"{NOT_SHOWN} once the strata are read together")
    return replace(one, adjusted=p)
