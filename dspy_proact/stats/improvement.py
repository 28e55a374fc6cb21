"""Whether a compile made the judge agree better with people: before and after, on the same labels, out of fold.

The measure is quadratic kappa within each stratum, averaged, each stratum weighted by its labels. An item counts once:
its column is the judge's level, its rows the shares of people's grades. Pooled over strata a judge that only learned
how strict each stratum is would seem to agree better.

What is said of an improvement is said of the procedure that chose each fold's program; the program that is shipped,
compiled on all labels, has no score of its own.
"""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dspy_proact.stats.agreement import BOTH, kappas
from dspy_proact.stats.estimate import ROUNDING, Estimate, t_quantile
from dspy_proact.stats.jackknife import Jackknife, gain
from dspy_proact.stats.paired import holm, swap_p
from dspy_proact.stats.raters import ENOUGH_RATERS, Changes, Panel, with_rater_df
from dspy_proact.stats.tally import numbered, shares, tally

CLAIM_LABELS = 60
"""With fewer labels nothing is claimed."""
CLAIM_GROUPS = 10
"""With labels in fewer groups nothing is claimed."""
LEVEL = 0.05
"""Chance of any false claim among the strata."""
LEVELS = 3
"""Labels are levels 0, 1 and 2, from the worst to the best."""
SHOWN = "improvement shown"
NOT_SHOWN = "no improvement shown"
_ALL_ALIKE = "all items graded alike"
_SPREAD = 0.9
"""Standard error of a gain in kappa, times the root of the number of labels, at most."""

Levels = ArrayLike | Sequence[int | None]
"""Of verdicts: 0, 1 or 2, None or nan where one could not be read."""


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
    panel: Panel,
    strata: Sequence[Hashable],
    groups: Sequence[Hashable],
    *,
    order: Sequence[Hashable],
    seed: int = 0,
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
        panel: People's ratings of the items, at least one each.
        strata: Stratum of each item.
        groups: Key of the group of each item.
        order: The strata to tell about, each once.
        seed: Seed of the random swaps. Same levels and seed give the same p, in whatever order the items come,
            whatever the groups are called, and with before and after exchanged.

    Raises:
        ValueError: The lengths differ, a level is not 0, 1 or 2, an item has no rating, or `order` does not name every
            stratum once.
    """
    items = Items.of(before, after, panel, strata, groups)
    read = items.where(~items.unread)
    overall = _read(read, order, seed)
    single = [_read(read.of_stratum(stratum), [stratum], seed) for stratum in order]
    adjusted = holm([one.p for one in single])
    if not items.unread.any():
        together = zip(single, adjusted, strict=True)
        return Improvements(_settled(overall), tuple(_settled(one, p, adjusted=True) for one, p in together))
    worst, unread = items.at_worst(), Counter(compress(strata, items.unread))
    lows = [Gain.of(worst.of_stratum(stratum), [stratum]).low98 for stratum in order]
    of_strata = (
        _settled(one, p, unread[stratum], low, adjusted=True)
        for one, p, stratum, low in zip(single, adjusted, order, lows, strict=True)
    )
    return Improvements(_settled(overall, None, unread.total(), Gain.of(worst, order).low98), tuple(of_strata))


@dataclass(frozen=True)
class Items:
    """The labelled items with both judges' levels."""

    panel: Panel
    """Who gave the labels."""
    before: NDArray[np.float64]
    """Shape (n,), nan where it is unread."""
    after: NDArray[np.float64]
    """Likewise."""
    strata: Sequence[Hashable]
    groups: Sequence[Hashable]

    @classmethod
    def of(
        cls, before: Levels, after: Levels, panel: Panel, strata: Sequence[Hashable], groups: Sequence[Hashable]
    ) -> "Items":
        """As `improvement` gets them."""
        first, second = (np.asarray(levels, dtype=np.float64) for levels in (before, after))
        lengths = [len(each) for each in (first, second, panel.counts, strata, groups)]
        if len(set(lengths)) > 1:
            raise ValueError(f"two levels, ratings, a stratum and a group an item: {lengths!r} differ")
        for levels in (first, second):
            if not np.isin(levels[~np.isnan(levels)], np.arange(LEVELS)).all():
                raise ValueError(f"a level is 0, 1 or 2, not {levels.tolist()!r}")
        if panel.counts.shape[1] != LEVELS or not panel.counts.any(axis=1).all():
            raise ValueError("labels are ratings on three levels, at least one of each item")
        return cls(panel, first, second, strata, groups)

    @property
    def soft(self) -> NDArray[np.float64]:
        """Share of people's grades at each level: shape (n, 3)."""
        return shares(self.panel.counts)

    @property
    def unread(self) -> NDArray[np.bool_]:
        """Where a verdict is missing, before or after: shape (n,)."""
        return np.isnan(self.before) | np.isnan(self.after)

    def at_worst(self) -> "Items":
        """All of them, the unread in disfavour of the second judge: its own lower its kappa, the first's raise it."""
        before = levels_at_worst(self.before, self.soft, self.strata, worst=False)
        after = levels_at_worst(self.after, self.soft, self.strata, worst=True)
        return replace(self, before=before, after=after)

    def where(self, kept: NDArray[np.bool_]) -> "Items":
        """Some of them: shape (n,)."""
        strata, groups = (list(compress(keys, kept)) for keys in (self.strata, self.groups))
        return Items(self.panel.where(kept), self.before[kept], self.after[kept], strata, groups)

    def of_stratum(self, stratum: Hashable) -> "Items":
        """Those of one stratum."""
        return self.where(np.array([own == stratum for own in self.strata], dtype=bool))

    def tables(self, strata: "Strata") -> tuple[NDArray[np.float64], Changes | None]:
        """Both judges' tables in the places of their strata, shape (n, 2, P, 3, 3), and what ratings change in them."""
        judged = np.eye(LEVELS)[np.stack([self.before, self.after], axis=1).astype(np.intp)]

        def placed(counts: NDArray[np.float64], at: NDArray[np.intp]) -> NDArray[np.float64]:
            tables = shares(counts)[:, None, :, None] * judged[at][:, :, None, :]
            return strata.member[at][:, None, :, None, None] * tables[:, :, None]

        return self.panel.parts(placed)


@dataclass(frozen=True)
class Strata:
    """The strata in which labels differ, and what each weighs in an average.

    A stratum whose labels are all one grade is not among them: there nobody can agree beyond chance, kappa being 0
    for a judge that varies and 0 / 0 for one that does not. This is a matter of the labels alone, so that every
    judge is averaged over the same strata with the same weights.
    """

    member: NDArray[np.float64]
    """1 where an item is in a stratum, else 0: shape (n, P)."""
    weights: NDArray[np.float64]
    """Each stratum's share of the labels in them: shape (P,), sums to 1."""
    without: tuple[Hashable, ...]
    """The strata that have labels, but all of one grade."""

    @classmethod
    def of(cls, soft: NDArray[np.float64], strata: Sequence[Hashable], order: Sequence[Hashable]) -> "Strata":
        """Sort items with soft labels, of shape (n, 3), into their strata, each of which `order` names once.

        Raises:
            ValueError: `order` does not name every stratum once.
        """
        if len(set(order)) < len(order) or not set(strata) <= set(order):
            raise ValueError(f"order must name every stratum once: {order!r} for {set(strata)!r}")
        member = tally([[stratum] for stratum in strata], order)
        levels = np.count_nonzero(member.T @ soft, axis=1)
        labels = member[:, levels > 1].sum(axis=0)
        without = tuple(name for name, count in zip(order, levels, strict=True) if count == 1)
        return cls(member[:, levels > 1], labels / max(1.0, labels.sum()), without)

    def averages(self, tables: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean of the strata's quadratic kappas by their weights, shape (B, P, 3, 3) to (B,); nan without strata."""
        if not len(self.weights):
            return np.full(len(tables), np.nan)
        means = kappas(tables, "quadratic") @ self.weights
        return np.where(np.abs(means) < ROUNDING, 0.0, means)


@dataclass(frozen=True)
class Gain:
    """Both judges' agreement on items of which all are read, and what decides of a claim."""

    strata: Strata
    groups: Sequence[Hashable]
    tables: NDArray[np.float64]
    """Before and after, in the places of their strata: shape (n, 2, P, 3, 3)."""
    changes: Changes | None
    """What ratings change in them."""
    difference: Estimate
    """After minus before."""
    low98: float | None
    high98: float | None

    @classmethod
    def of(cls, items: Items, order: Sequence[Hashable]) -> "Gain":
        """That of items in strata that `order` names."""
        strata = Strata.of(items.soft, items.strata, order)
        tables, changes = items.tables(strata)
        gained = Jackknife.of(tables, items.groups, gain(strata.averages), undefined=_ALL_ALIKE, changes=changes)
        return cls(strata, items.groups, tables, changes, gained.estimate(BOTH), *gained.claim_bounds(BOTH))

    def kappa(self, which: int) -> Estimate:
        """Of the first judge or the second."""

        def statistic(sums: NDArray[np.float64]) -> NDArray[np.float64]:
            return self.strata.averages(sums[:, which])

        found = Jackknife.of(self.tables, self.groups, statistic, undefined=_ALL_ALIKE, changes=self.changes)
        return found.estimate()


def too_few(labels: int, groups: int) -> str | None:
    """Why nothing may be claimed of so many items and groups; None where it may."""
    counts = ((labels, CLAIM_LABELS, "items"), (groups, CLAIM_GROUPS, "groups"))
    few = [f"fewer than {enough} {name}" for count, enough, name in counts if count < enough]
    return f"no claim: {' and '.join(few)}" if few else None


def _read(items: Items, order: Sequence[Hashable], seed: int) -> Improvement:
    """What was read, on its own."""
    found, labels, groups = Gain.of(items, order), len(items.groups), len(set(items.groups))
    p = None
    if found.difference.value is None:
        claim = f"no claim: {found.difference.reason}"
    else:
        p = swap_p(found.tables[:, 0], found.tables[:, 1], items.groups, found.strata.averages, seed)
        claim = too_few(labels, groups) or _claim(items, found)
    note = None
    if p is not None and found.strata.without:
        note = f"without {', '.join(map(str, found.strata.without))}: {_ALL_ALIKE}"
    return Improvement(
        before=found.kappa(0),
        after=found.kappa(1),
        difference=found.difference,
        low98=found.low98,
        high98=found.high98,
        p=p,
        adjusted=p,
        labels=labels,
        groups=groups,
        shown=claim.startswith(SHOWN),
        reason=claim,
        note=note,
    )


def _claim(items: Items, found: Gain) -> str:
    """What is claimed of enough items, of the raters alone where they are too few to speak of others."""
    if np.array_equal(items.before, items.after):
        return f"{NOT_SHOWN}: both grade alike"
    if found.low98 is None:
        return f"{NOT_SHOWN}: the difference has no interval ({found.difference.reason})"
    if found.low98 <= 0:
        return NOT_SHOWN
    raters = items.panel.people
    if raters is None or raters >= ENOUGH_RATERS:
        return SHOWN
    return f"{SHOWN} with {'this rater' if raters == 1 else f'these {raters} raters'}"


def _settled(
    one: Improvement, p: float | None = None, unread: int = 0, worst: float | None = None, *, adjusted: bool = False
) -> Improvement:
    """The claim once the strata are read together, and the unread are at their worst; its note is added last.

    `p` is that over the strata, and None of the overall claim, which is not `adjusted` but read alone; `worst` is
    `low98` with the unread at their worst.
    """
    shown, reason = one.shown, one.reason
    if shown and adjusted and (p is None or p > LEVEL):
        shown, reason = False, f"{NOT_SHOWN} once the strata are read together"
    if shown and unread and not (worst or 0) > 0:
        shown, reason = False, f"{NOT_SHOWN}: not when the {unread} unreadable verdicts count against it"
    return replace(
        one,
        adjusted=p if adjusted else one.p,
        shown=shown,
        reason=reason if one.note is None else f"{reason}; {one.note}",
        unread=unread,
        low98_unread=worst if unread else None,
    )


def levels_at_worst(
    levels: NDArray[np.float64], soft: NDArray[np.float64], strata: Sequence[Hashable], *, worst: bool
) -> NDArray[np.float64]:
    """One judge's levels, shape (n,), with the unread ones in its disfavour, or in its favour.

    By which level a kappa within a stratum rises or falls most is told to the first order, from the verdicts that were
    read: an item of soft label s at level l adds to 1 - kappa its disagreement with s, less 1 - kappa times its
    disagreement with the stratum's labels. Ties go to the lower level.

    `soft` is the share of people's grades at each level: shape (n, 3).
    """
    filled, unread, stratum = levels, np.isnan(levels), numbered(strata)
    squares = np.square(np.arange(LEVELS)[:, None] - np.arange(LEVELS))
    for place in np.unique(stratum[unread]):
        within = stratum == place
        read = within & ~unread
        tables = soft[read][:, :, None] * np.eye(LEVELS)[levels[read].astype(np.intp)][:, None, :]
        known = float(kappas(tables.sum(axis=0), "quadratic"))
        chance = soft[within].mean(axis=0) @ squares
        harm = soft @ squares - (1 - (0.0 if math.isnan(known) else known)) * chance
        filled = np.where(within & unread, np.argmax(harm if worst else -harm, axis=1), filled)
    return filled


def smallest_gain(labels: int, groups: int, raters: int) -> float | None:
    """The gain in kappa that so many labels show in at least four compiles of five; None where none may be claimed.

    .9 (t_.99 + t_.80) / sqrt(labels), t with groups - 1 degrees of freedom, and with fewer (`with_rater_df`) where the
    interval speaks of other raters, of whom four are enough. The factor is that of the judge of which a gain is hardest
    to show by simulation: one that hardly agrees with raters who agree well (eval/README.md).
    """
    if too_few(labels, groups):
        return None
    df = groups - 1 if raters < ENOUGH_RATERS else with_rater_df(groups - 1, groups - 1, raters)
    return _SPREAD * (t_quantile(0.99, df) + t_quantile(0.80, df)) / math.sqrt(labels)
