"""Whether a compile made the judge agree better with people: before and after, on the same labels, out of fold.

The measure is the quadratic kappa against soft labels within each stratum, averaged. What is said of an
improvement is said of the procedure that chose each fold's program; the program that is shipped, compiled on all
labels, has no score of its own.
"""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dspy_proact.stats.estimate import Estimate
from dspy_proact.stats.holm import holm
from dspy_proact.stats.kappa import BOTH
from dspy_proact.stats.panel import Changes, Panel, shares
from dspy_proact.stats.raters import ENOUGH_RATERS, with_rater_df
from dspy_proact.stats.soft_labels import LEVELS, checked_soft
from dspy_proact.stats.strata import Strata
from dspy_proact.stats.student import t_quantile
from dspy_proact.stats.swap import swap_p
from dspy_proact.stats.units import Units, gain
from dspy_proact.stats.unread import Levels, levels_at_worst, levels_of

CLAIM_LABELS = 60
"""With fewer labels nothing is claimed."""
CLAIM_GROUPS = 10
"""With labels in fewer groups nothing is claimed."""
LEVEL = 0.05
"""Chance of any false claim among the strata."""
SHOWN = "improvement shown"
NOT_SHOWN = "no improvement shown"
ALIKE = f"{NOT_SHOWN}: both grade alike"
_SPREAD = 0.9
"""Standard error of a gain in kappa, times the root of the number of labels, at most."""
_ALL_ALIKE = "all items graded alike"


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
    10 groups, and does so with the unread at their worst; of a stratum also an adjusted p of at most 5 %."""
    reason: str
    """What may be said, as a sentence without its full stop, with the note."""
    unread: int = 0
    """Further items, in no number above, of which a verdict could not be read before or after."""
    low98_unread: float | None = None
    """Lower end of the 98 % interval with the unread at their worst, which must lie above 0 too; None without any."""
    note: str | None = None
    """Which strata are not part of the average, whatever is claimed; None where all are."""


@dataclass(frozen=True)
class Improvements:
    """The one claim that was chosen in advance, and the same for each stratum."""

    overall: Improvement
    """Averaged over the strata."""
    strata: tuple[Improvement, ...]
    """One for each stratum, in the order asked for."""


def improvement(
    before: Levels,
    after: Levels,
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
    and takes both kappas anew. Silence and ties are decided as follows. No labels, or all of one grade: no value and
    no p. A stratum whose labels are all of one grade: not part of the average, and named. Both judges alike:
    difference 0 without bounds, p = 1, nothing shown. An item that was not read both before and after: in no number,
    but a claim must hold with it at its worst (`levels_at_worst`) too.

    Args:
        before: Level of each item as the first judge graded it, 0, 1 or 2, None where it is unread: shape (n,).
        after: Level of each item as the second judge graded it, aligned with `before`.
        soft: Share of people's grades at each level: shape (n, 3), each row sums to 1.
        strata: Stratum of each item.
        groups: Key of the group of each item.
        order: The strata to tell about, each once.
        seed: Seed of the random swaps. Same levels and seed give the same p, in whatever order the items come,
            whatever the groups are called, and with before and after exchanged.
        panel: The ratings of the items that the soft labels are the shares of; None where raters are not known.

    Raises:
        ValueError: The lengths differ, a level is not 0, 1 or 2, a soft label is not a distribution, `order` does not
            name every stratum once, or soft labels are not the panel's shares.
    """
    items = _Items.of(before, after, soft, strata, groups).rated_by(panel)
    unread = items.unread
    found = _improvements(items.where(~unread), order, seed)
    if unread.any():
        counts = Counter(compress(strata, unread))
        worst = _improvements(items.at_worst(), order, seed)
        found = _both_ways(found, worst, [counts[stratum] for stratum in order])
    return Improvements(_noted(found.overall), tuple(map(_noted, found.strata)))


def improvement_shown(
    before: Levels,
    after: Levels,
    soft: ArrayLike,
    strata: Sequence[Hashable],
    groups: Sequence[Hashable],
    *,
    order: Sequence[Hashable],
    panel: Panel | None = None,
) -> bool:
    """Whether `improvement` says overall that one is shown; without its p values, which take long and do not decide.

    Arguments and errors are as there.
    """
    items = _Items.of(before, after, soft, strata, groups).rated_by(panel)
    ways = [items.where(~items.unread), *([items.at_worst()] if items.unread.any() else [])]
    shown = _too_few(len(ways[0].soft), len(set(ways[0].groups))) is None
    return shown and all((_Gain.of(way, order).low98 or 0) > 0 for way in ways)


def _improvements(items: "_Items", order: Sequence[Hashable], seed: int) -> Improvements:
    overall = _improvement(items, order, seed)
    single = [
        _improvement(items.where(np.array([name == stratum for name in items.strata], dtype=bool)), [stratum], seed)
        for stratum in order
    ]
    adjusted = holm([one.p for one in single])
    return Improvements(overall, tuple(_adjusted(one, p) for one, p in zip(single, adjusted, strict=True)))


@dataclass(frozen=True)
class _Items:
    """The labelled items with both judges' levels."""

    soft: NDArray[np.float64]
    """Shape (n, 3)."""
    before: NDArray[np.float64]
    """Shape (n,), nan where it is unread."""
    after: NDArray[np.float64]
    """Likewise."""
    strata: Sequence[Hashable]
    groups: Sequence[Hashable]
    panel: Panel | None = None
    """Who gave the labels."""

    @classmethod
    def of(
        cls, before: Levels, after: Levels, soft: ArrayLike, strata: Sequence[Hashable], groups: Sequence[Hashable]
    ) -> "_Items":
        """As `improvement` gets them."""
        labels, first, second = checked_soft(soft), levels_of(before), levels_of(after)
        lengths = [len(each) for each in (first, second, labels, strata, groups)]
        if len(set(lengths)) > 1:
            raise ValueError(f"one level each, soft label, stratum and group an item: {lengths!r} differ")
        return cls(labels, first, second, strata, groups)

    def rated_by(self, panel: Panel | None) -> "_Items":
        """The same, of which it is known who gave the labels."""
        if panel is not None and not np.array_equal(shares(panel.counts).round(9), self.soft.round(9)):
            raise ValueError("soft labels are the shares of the panel's ratings")
        return replace(self, panel=panel)

    @property
    def unread(self) -> NDArray[np.bool_]:
        """Where a verdict is missing, before or after: shape (n,)."""
        return np.isnan(self.before) | np.isnan(self.after)

    def at_worst(self) -> "_Items":
        """All of them, the unread in disfavour of the second judge."""
        before, after = levels_at_worst(self.before, self.after, self.soft, self.strata)
        return replace(self, before=before, after=after)

    def where(self, kept: NDArray[np.bool_]) -> "_Items":
        """Some of them: shape (n,)."""
        strata, groups = (list(compress(keys, kept)) for keys in (self.strata, self.groups))
        panel = self.panel and self.panel.where(kept)
        return _Items(self.soft[kept], self.before[kept], self.after[kept], strata, groups, panel)

    def tables(self, strata: Strata) -> tuple[NDArray[np.float64], Changes | None]:
        """Both judges' tables in the places of their strata, shape (n, 2, P, 3, 3), and what ratings change in them."""
        judged = np.eye(LEVELS)[np.stack([self.before, self.after], axis=1).astype(np.intp)]

        def placed(labels: NDArray[np.float64], at: NDArray[np.intp]) -> NDArray[np.float64]:
            tables = labels[:, None, :, None] * judged[at][:, :, None, :]
            return strata.member[at][:, None, :, None, None] * tables[:, :, None]

        changes = self.panel and self.panel.parts(lambda counts, at: placed(shares(counts), at))[1]
        return placed(self.soft, np.arange(len(self.soft))), changes


@dataclass(frozen=True)
class _Gain:
    """Both judges' agreement on items of which all are read, and what decides of a claim."""

    strata: Strata
    units: Units
    both: NDArray[np.float64]
    """Tables before and after, in the places of their strata: shape (n, 2, P, 3, 3)."""
    changes: Changes | None
    """What ratings change in them; None without raters."""
    low98: float | None
    high98: float | None

    @classmethod
    def of(cls, items: _Items, order: Sequence[Hashable]) -> "_Gain":
        """That of items in strata that `order` names."""
        strata, units = Strata.of(items.soft, items.strata, order), Units.of(items.groups)
        both, changes = items.tables(strata)
        bounds = (None, None)
        if len(strata.weights):
            bounds = units.claim_bounds(both, gain(strata.averages), bounds=BOTH, changes=changes)
        return cls(strata, units, both, changes, *bounds)

    @property
    def difference(self) -> Estimate:
        """After minus before."""
        statistic = gain(self.strata.averages)
        return self.units.estimate(self.both, statistic, undefined=_ALL_ALIKE, bounds=BOTH, changes=self.changes)

    def estimate(self, which: int) -> Estimate:
        """The kappa of the first or the second."""

        def kappa(sums: NDArray[np.float64]) -> NDArray[np.float64]:
            return self.strata.averages(sums[:, which])

        return self.units.estimate(self.both, kappa, undefined=_ALL_ALIKE, changes=self.changes)


def _improvement(items: _Items, order: Sequence[Hashable], seed: int) -> Improvement:
    found, labels, groups = _Gain.of(items, order), len(items.soft), len(set(items.groups))
    if not len(found.strata.weights):
        why = _ALL_ALIKE if labels else "no items"
        nothing = Estimate(None, reason=why)
        return Improvement(nothing, nothing, nothing, None, None, None, None, labels, groups, False, f"no claim: {why}")
    difference, alike = found.difference, np.array_equal(items.before, items.after)
    claim = _too_few(labels, groups) or (ALIKE if alike else _claim(difference, found.low98))
    p = swap_p(found.both[:, 0], found.both[:, 1], items.groups, found.strata.averages, seed)
    return Improvement(
        before=found.estimate(0),
        after=found.estimate(1),
        difference=difference,
        low98=found.low98,
        high98=found.high98,
        p=p,
        adjusted=p,
        labels=labels,
        groups=groups,
        shown=claim == SHOWN,
        reason=_of_these(claim, items.panel),
        note=found.strata.warning,
    )


def _of_these(claim: str, panel: Panel | None) -> str:
    """What is claimed, of the raters alone where they are too few to speak of others."""
    raters = None if panel is None else panel.people
    if claim != SHOWN or raters is None or raters >= ENOUGH_RATERS:
        return claim
    return f"{claim} with {'this rater' if raters == 1 else f'these {raters} raters'}"


def _too_few(labels: int, groups: int) -> str | None:
    """Why nothing may be claimed of so many items and groups; None where it may."""
    counts = ((labels, CLAIM_LABELS, "items"), (groups, CLAIM_GROUPS, "groups"))
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


def _both_ways(read: Improvements, worst: Improvements, unread: Sequence[int]) -> Improvements:
    """What was read, claimed only as far as it holds with the unread of each stratum at their worst."""
    strata = (_held(*each) for each in zip(read.strata, worst.strata, unread, strict=True))
    return Improvements(_held(read.overall, worst.overall, sum(unread)), tuple(strata))


def _held(read: Improvement, worst: Improvement, unread: int) -> Improvement:
    if not unread:
        return read
    told = replace(read, unread=unread, low98_unread=worst.low98)
    if not read.shown or (worst.low98 or 0) > 0:
        return told
    return replace(told, shown=False, reason=f"{NOT_SHOWN}: not with the {unread} unread at their worst")


def _noted(one: Improvement) -> Improvement:
    """With its note in the reason, once nothing more is decided."""
    return one if one.note is None else replace(one, reason=f"{one.reason}; {one.note}")


def smallest_gain(labels: int, groups: int, raters: int) -> float | None:
    """The gain in kappa that so many labels show in at least four compiles of five; None where none may be claimed.

    .9 (t_.99 + t_.80) / sqrt(labels), t with groups - 1 degrees of freedom, and with fewer (`with_rater_df`) where the
    interval speaks of other raters, of whom four are enough. The factor is that of the judge of which a gain is hardest
    to show by simulation: one that hardly agrees with raters who agree well (eval/README.md).
    """
    if _too_few(labels, groups):
        return None
    df = groups - 1 if raters < ENOUGH_RATERS else with_rater_df(groups - 1, groups - 1, raters)
    return _SPREAD * (t_quantile(0.99, df) + t_quantile(0.80, df)) / math.sqrt(labels)
