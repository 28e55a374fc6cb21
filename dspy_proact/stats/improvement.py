"""What a compile changed on the same cases, out of fold: agreement with people, scores, rates, values and lengths.

Agreement is kappa within each stratum, quadratic where levels have an order, averaged, each stratum weighted by its
labels. An item counts once: its column is the judge's level, its rows the shares of people's grades. Pooled over strata
a judge that only learned how strict each stratum is would seem to agree better.

What is said of an improvement is said of the procedure that chose each fold's program; the program that is shipped,
compiled on all labels, has no score of its own.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dspy_proact.stats.agreement import Strata, Weight, disagreement, kappas
from dspy_proact.stats.cluster import cluster_mean, degrees_of_freedom, part_mean
from dspy_proact.stats.estimate import Estimate, t_quantile
from dspy_proact.stats.jackknife import Jackknife, Sides, ratio
from dspy_proact.stats.paired import holm, paired_difference, swap_p
from dspy_proact.stats.raters import ENOUGH_RATERS, Changes, Panel, with_rater_df
from dspy_proact.stats.tally import numbered, shares

CLAIM_LABELS = 60
"""With fewer cases, or labels, nothing is claimed."""
CLAIM_GROUPS = 10
"""With cases in fewer groups nothing is claimed."""
LOWER = 0.9
"""Probability below the upper end of the interval by which scores are shown to be lower."""
SPREADS = 0.52, 1.1
"""Standard error of a gain in kappa, times the root of the number of labels: the least and the most."""
SCORE_SPREADS = 0.25, 0.5
"""The same in a mean score, assumed: a sixteenth, or a quarter, of the scores go from one end to the other."""
CANDIDATES = 0.02, 0.05
"""Mean and standard deviation of the true gains of an optimizer's candidates, assumed (eval/selection.py)."""
ALIKE = 0.05
"""Correlation within a group of what labels add to a gain, at most."""
PROMISED_DF = 7
"""With fewer degrees of freedom no power is promised."""

Levels = ArrayLike | Sequence[int | None]
"""Of verdicts: from 0, the worst, to one less than there are levels; None or nan where one could not be read."""


@dataclass(frozen=True)
class Change:
    """A measure before and after a compile, on the same cases, and whether an improvement may be claimed."""

    count: int
    """Cases."""
    groups: int
    """Groups of these cases."""
    before: Estimate
    after: Estimate
    difference: Estimate
    """After minus before, of lengths after by before, with its 95 % interval."""
    low98: float | None = None
    """Lower end of the 98 % interval of the difference, which decides; None where there is none."""
    p: float | None = None
    """Two-sided p value of exchanging before and after within whole groups, in (0, 1]; None without a value."""
    unread: int = 0
    """Further cases, not in the numbers above, whose number or verdict is missing before or after."""
    low98_unread: float | None = None
    """`low98` over all cases, the unread counting against the compile; `low98` where all are read."""
    least: Estimate | None = None
    """Of scores: the difference, the unread having been 1 before and 0 after."""
    most: Estimate | None = None
    """Of scores: the difference, the unread having been 0 before and 1 after."""

    @property
    def shown(self) -> bool:
        """Whether the 98 % interval lies above 0, also with the unread, and rests on enough cases and groups."""
        above = all((low or 0) > 0 for low in (self.low98, self.low98_unread))
        return above and enough_for_claim(self.count, self.groups)


def enough_for_claim(count: int, groups: int) -> bool:
    """Whether so many cases in so many groups may carry a claim."""
    return count >= CLAIM_LABELS and groups >= CLAIM_GROUPS


def score_change(
    before: Sequence[float | None], after: Sequence[float | None], groups: Sequence[Hashable], *, seed: int = 0
) -> Change:
    """Compare the scores, or rates, of two programs on the same cases; the 98 % interval is a jackknife over groups.

    Scores are in [0, 1], None where one could not be read; `seed` is that of the random flips. Raises a `ValueError`
    where a score is outside [0, 1], or the lengths differ.
    """
    cases = list(zip(before, after, groups, strict=True))
    read = [(b, a, group) for b, a, group in cases if b is not None and a is not None]
    first, second, known = [b for b, _, _ in read], [a for _, a, _ in read], [group for _, _, group in read]
    paired = paired_difference(first, second, known, seed=seed)
    low98 = low98_unread = _low98(first, second, known)
    least = most = paired.difference
    if unread := len(cases) - len(read):
        worst, best = ((_filled(before, 1 - way), _filled(after, way), groups) for way in (0.0, 1.0))
        low98_unread = _low98(*worst)
        least, most = (paired_difference(*way, seed=seed).difference for way in (worst, best))
    return Change(
        count=paired.count,
        groups=paired.groups,
        before=cluster_mean(first, known),
        after=cluster_mean(second, known),
        difference=paired.difference,
        low98=low98,
        p=paired.p,
        unread=unread,
        low98_unread=low98_unread,
        least=least,
        most=most,
    )


def _filled(scores: Sequence[float | None], score: float) -> list[float]:
    return [score if value is None else value for value in scores]


def _low98(before: Sequence[float], after: Sequence[float], groups: Sequence[Hashable]) -> float | None:
    """Lower end of the 98 % jackknife interval of the mean difference."""
    return _mean_change(before, after, groups).claim_bounds()[0]


def _mean_change(before: Sequence[float], after: Sequence[float], groups: Sequence[Hashable]) -> Jackknife:
    differences = np.subtract(after, before, dtype=float)
    return Jackknife.of(np.column_stack([differences, np.ones_like(differences)]), groups, ratio)


def is_shown_lower(before: Sequence[float], after: Sequence[float], groups: Sequence[Hashable]) -> bool:
    """Whether the one-sided 90 % interval of the mean difference, a jackknife over groups, lies below 0.

    Where all groups change alike, the change itself decides; with a single group nothing is shown.
    """
    change = _mean_change(before, after, groups).estimate(upper=LOWER)
    return len(set(groups)) > 1 and ((change.value if change.high is None else change.high) or 0.0) < 0


def length_change(before: Sequence[float], after: Sequence[float], groups: Sequence[Hashable]) -> Change:
    """Compare the lengths, none below 0, of two programs' responses on the same cases, by jackknives over groups."""
    parts = np.array([before, after, [1.0] * len(before)], dtype=float).T.reshape(-1, 3)
    first, second, times = (
        Jackknife.of(parts[:, columns], groups, ratio, undefined="nothing to compare with").estimate((0, math.inf))
        for columns in ([0, 2], [1, 2], [1, 0])
    )
    return Change(len(before), len(set(groups)), first, second, times)


def value_change(before: Sequence[float], after: Sequence[float], groups: Sequence[Hashable]) -> Change:
    """Compare finite numbers of any range of two programs on the same cases, on the plain scale and without a claim."""
    differences = np.subtract(after, before, dtype=float)
    first, second, difference = (part_mean(scores, groups) for scores in (before, after, differences))
    return Change(len(before), len(set(groups)), first, second, difference)


@dataclass(frozen=True)
class Improvements:
    """Changes of kappa within strata, in [-1, 1]."""

    overall: Change
    """Averaged over the strata: the one claim, chosen in advance."""
    strata: tuple[Change, ...]
    """Of each stratum, in the order asked for; their p are adjusted for being read together (Holm)."""


def improvement(
    before: Levels,
    after: Levels,
    panel: Panel,
    strata: Sequence[Hashable],
    groups: Sequence[Hashable],
    *,
    order: Sequence[Hashable],
    weight: Weight = "quadratic",
    seed: int = 0,
) -> Improvements:
    """Compare the agreement of two judges with people, on the same labels.

    Intervals are jackknives over groups, and over raters where they are known. The p value swaps before and after in
    whole groups and takes both kappas anew. No labels, or all of one grade: no value and no p. A stratum whose labels
    are all of one grade is not part of the average. Both judges alike: difference 0 without bounds, p = 1. Raises a
    `ValueError` where `order` does not name every stratum once.

    Args:
        before: Level of each item as the first judge graded it, None where it is unread: shape (n,).
        after: Level of each item as the second judge graded it, aligned with `before`.
        panel: People's ratings of the items on all levels, at least one each.
        strata: Stratum of each item.
        groups: Key of the group of each item.
        order: The strata to tell about, each once.
        weight: Of the kappas: "none" for levels without an order.
        seed: Seed of the random swaps; otherwise p depends on the levels alone, as in `paired_difference`.
    """
    first, second = (np.asarray(levels, dtype=np.float64) for levels in (before, after))
    items = Items(first, second, panel, strata, groups, weight)
    read, worst = items.where(~items.unread), items.at_worst()
    of_strata = [_change(read.of_stratum(stratum), worst.of_stratum(stratum), [stratum], seed) for stratum in order]
    adjusted = holm([one.p for one in of_strata])
    adjusted_gains = (replace(one, p=p) for one, p in zip(of_strata, adjusted, strict=True))
    return Improvements(_change(read, worst, order, seed), tuple(adjusted_gains))


def _change(read: "Items", worst: "Items", order: Sequence[Hashable], seed: int) -> Change:
    """What changed on the items that were read, and with all of them, the unread at their worst."""
    kappas, unread, p = read.kappas(order), len(worst.groups) - len(read.groups), None
    if kappas.difference.value is not None:
        strata = Strata.of(read.soft, read.strata, order, read.weight)
        tables, _ = read.tables(strata)
        p = swap_p(tables[:, 0], tables[:, 1], read.groups, strata.averages, seed)
    return Change(
        count=len(read.groups),
        groups=len(set(read.groups)),
        before=kappas.first,
        after=kappas.second,
        difference=kappas.difference,
        low98=kappas.low98,
        p=p,
        unread=unread,
        low98_unread=worst.kappas(order).low98 if unread else kappas.low98,
    )


@dataclass(frozen=True)
class Items:
    """The labelled items with both judges' levels."""

    before: NDArray[np.float64]
    """Shape (n,), nan where it is unread."""
    after: NDArray[np.float64]
    panel: Panel
    strata: Sequence[Hashable]
    groups: Sequence[Hashable]
    weight: Weight = "quadratic"

    @property
    def soft(self) -> NDArray[np.float64]:
        """Share of people's grades at each level: shape (n, k)."""
        return shares(self.panel.counts)

    @property
    def unread(self) -> NDArray[np.bool_]:
        """Where a verdict is missing, before or after: shape (n,)."""
        return np.isnan(self.before) | np.isnan(self.after)

    def at_worst(self) -> "Items":
        """All of them, the unread in disfavour of the second judge: its own lower its kappa, the first's raise it."""
        before = levels_at_worst(self.before, self.soft, self.strata, self.weight, worst=False)
        after = levels_at_worst(self.after, self.soft, self.strata, self.weight, worst=True)
        return replace(self, before=before, after=after)

    def where(self, kept: NDArray[np.bool_]) -> "Items":
        """Some of them: shape (n,)."""
        strata, groups = (list(compress(keys, kept)) for keys in (self.strata, self.groups))
        return Items(self.before[kept], self.after[kept], self.panel.where(kept), strata, groups, self.weight)

    def of_stratum(self, stratum: Hashable) -> "Items":
        """Those of one stratum."""
        return self.where(np.array([own == stratum for own in self.strata], dtype=bool))

    def tables(self, strata: Strata) -> tuple[NDArray[np.float64], Changes | None]:
        """Both judges' tables in the strata, all levels being read: shape (n, 2, P, k, k); and what ratings change."""
        judged = np.eye(self.panel.counts.shape[1])[np.stack([self.before, self.after], axis=1).astype(np.intp)]
        return self.panel.parts(
            lambda counts, at: strata.placed(shares(counts)[:, None, :, None] * judged[at][:, :, None, :], at)
        )

    def kappas(self, order: Sequence[Hashable]) -> Sides:
        """Both judges' agreement with people within the strata that `order` names, all levels being read."""
        strata = Strata.of(self.soft, self.strata, order, self.weight)
        tables, changes = self.tables(strata)
        return Sides.of(tables, self.groups, strata.averages, undefined="all items graded alike", changes=changes)


def levels_at_worst(
    levels: NDArray[np.float64],
    soft: NDArray[np.float64],
    strata: Sequence[Hashable],
    weight: Weight = "quadratic",
    *,
    worst: bool,
) -> NDArray[np.float64]:
    """One judge's levels, shape (n,), with the unread ones in its disfavour, or in its favour.

    By which level a kappa within a stratum rises or falls most is told to the first order, from the verdicts that were
    read: an item of soft label s at level l adds to 1 - kappa its disagreement with s, less 1 - kappa times its
    disagreement with the stratum's labels. Ties go to the lower level.

    `soft` is the share of people's grades at each level: shape (n, k).
    """
    filled, unread, stratum = levels, np.isnan(levels), numbered(strata)
    distance = disagreement(soft.shape[1], weight)
    for number in np.unique(stratum[unread]):
        within = stratum == number
        read = within & ~unread
        tables = soft[read][:, :, None] * np.eye(soft.shape[1])[levels[read].astype(np.intp)][:, None, :]
        known = float(kappas(tables.sum(axis=0), weight))
        chance = soft[within].mean(axis=0) @ distance
        harm = soft @ distance - (1 - (0.0 if math.isnan(known) else known)) * chance
        filled = np.where(within & unread, np.argmax(harm if worst else -harm, axis=1), filled)
    return filled


def detectable_gain(
    sizes: Sequence[float], raters: int, spreads: tuple[float, float] = SPREADS
) -> tuple[float, float] | None:
    """Between which gains the one lies that so many labels in each group show in four compiles of five.

    `spreads` are those of kappa, or `SCORE_SPREADS` of a mean score.

    t_.99 J + t_.80 S, with S^2 = c^2 / n sum w (1 + r (n w - 1)), w being a group's share of n labels, and J^2 the
    same of w (G - 1) / G / (1 - w)^2, which is what a jackknife over G groups has on average. t has Bell and
    McCaffrey's degrees of freedom, and with four raters or more, of whom the interval then speaks too, fewer
    (`with_rater_df`). c and r are the least and the most that simulations had (eval/README.md): the less, the more both
    judges err alike, the better the first one is, and the less its errors depend on the group.

    None where nothing may be claimed, or a few groups hold most of the labels: the degrees of freedom are too few then
    for a variance that is known well enough to promise anything.
    """
    labels, count = sum(sizes), len(sizes)
    if not enough_for_claim(round(labels), count):
        return None
    shares = np.array(sizes) / labels
    df = degrees_of_freedom(shares)
    if df < PROMISED_DF:
        return None
    df = df if raters < ENOUGH_RATERS else with_rater_df(df, df, raters)

    def reach(spread: float, alike: float) -> float:
        parts = spread**2 * shares * (1 + alike * (labels * shares - 1)) / labels
        true, jackknife = np.sum(parts), np.sum(parts / (1 - shares) ** 2) * (count - 1) / count
        return float(t_quantile(0.99, df) * np.sqrt(jackknife) + t_quantile(0.80, df) * np.sqrt(true))

    return reach(spreads[0], 0.0), reach(spreads[1], ALIKE)


def selected_gain(candidates: int, items: int, spreads: tuple[float, float] = SPREADS) -> tuple[float, float]:
    """Between which true gains that of the best of some candidates lies on average, chosen by so many items.

    m + s^2 / sqrt(s^2 + c^2 / n) z: of k normal candidates the highest lies about z = Phi^-1((k - 3/8) / (k + 1/4))
    (Blom 1958) standard deviations above the mean, and is chosen as far as their spread s exceeds the noise. `spreads`
    are those of `detectable_gain`. With c = .35 it says .085 at 48 items and 19 candidates, of .112 that the best one
    gains; `eval/selection.py` asks as much of the real race.
    """
    mean, spread = CANDIDATES
    highest = NormalDist().inv_cdf((candidates - 0.375) / (candidates + 0.25))
    low, high = (mean + spread**2 / math.sqrt(spread**2 + own**2 / items) * highest for own in reversed(spreads))
    return low, high
