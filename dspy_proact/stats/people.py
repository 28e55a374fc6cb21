"""A judge beside the single people who graded the same items, and these people beside each other.

Of each rating of an item with at least two, the reference is the distribution of the item's other ratings: it does not
sharpen as ratings are added, as a majority does, so that the number of raters biases nothing.

- The human reference counts that rating, and the judge's grade, against it, each with weight 1 / m. Of an item with c_a
  ratings of label a, m in all, this comes to c_a (c_b - [a = b]) / (m (m - 1)) in the human table and to c_a / m in the
  column of the judge's grade.
- The alternative annotator test (Calderon, Reichart & Dror 2025) asks whether a judge may stand in for a person. Whose
  grade, the judge's or the person's, is nearer to the others', by root mean square distance? A tie counts for both. The
  judge wins over a person if the person's share of such items exceeds its own by less than epsilon, which is what it is
  worth not to ask one: by a t test at 5 % for all people together (Benjamini & Yekutieli 2001). It passes if it wins
  over at least half of them. The test takes items for independent.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats.agreement import EQUAL, UNPAIRED, Judged, Strata, Weight, coincidences, kappa_of_items, kappas
from dspy_proact.stats.cluster import SHARE_ITEMS, share_of_items
from dspy_proact.stats.estimate import ROUNDING, Estimate, Figure, t_quantile
from dspy_proact.stats.jackknife import Jackknife, Sides, rater_variance, ratio
from dspy_proact.stats.raters import Changes
from dspy_proact.stats.tally import shares

_ITEMS = 100
"""Levels of the population of `attainable_kappa`, at equal steps of probability: kappa is then good to .001."""
_NORMAL = NormalDist()
_LEVELS = np.array([_NORMAL.inv_cdf((rank + 0.5) / _ITEMS) for rank in range(_ITEMS)])
_MOST = 0.999
"""Likeness of two raters beyond which they are taken to agree on every item."""
ENOUGH_ITEMS = 30
"""With fewer items that others rated too, a person is not tested."""
TESTED_RATERS = 3
"""With fewer people to test there is no test."""
FEW_ITEMS = 5
"""With fewer, a person does not enter the advantage either."""
LEVEL = 0.05
"""Share of false wins among the wins, at most (the false discovery rate)."""
PASSING = 0.5
"""Share of the people over whom the judge must win."""


@dataclass(frozen=True)
class HumanReference:
    """A judge beside the people who graded the same items."""

    items: int
    """Items with at least two ratings; the others say nothing about one person against another."""
    ratings: int
    """Ratings of these items."""
    raters: int | None
    """Who gave them; None where that is not known."""
    one_human: Estimate
    """Kappa of one person against another, in [-1, 1]."""
    judge: Estimate
    """Kappa of the judge against one person, in [-1, 1]."""
    difference: Estimate
    """Judge minus one human: above 0 where the judge agrees with a person better than another person does."""
    low98: float | None
    """Lower end of the 98 % interval of the difference: "better" is claimed only where it is above 0. At 95 % a judge
    that is exactly one more person was measured to lie above in 4 to 7 % of data sets, at 98 % in 1 to 3."""
    high98: float | None
    """Upper end; None where there is none."""
    best_attainable: Estimate
    """Kappa of the best judge with three grades against one person, as `attainable_kappa` has it, in [0, 1]; its
    bounds are those of one human's kappa, carried over."""
    exact_one_human: Estimate
    """Share of exactly equal grades of one person and another, in [0, 1]."""
    exact_judge: Estimate
    """Share of exactly equal grades of the judge and one person, in [0, 1]."""


def human_reference(
    judged: Judged, weight: Weight = "quadratic", strata: Sequence[Hashable] | None = None
) -> HumanReference:
    """Compare the judge with people by leave-one-out references.

    Intervals of kappas are jackknives that leave out one group at a time; shares of equal grades are clustered means.
    No item with two ratings: no value. The best attainable kappa is only known for quadratic weights and three labels,
    and where people agree beyond chance.

    With the stratum of each item kappas are within strata, averaged as in `Strata`: pooled, a judge that
    only knows how strict each stratum is, and reads nothing, would seem to agree.
    """
    shared = judged.panel.counts.sum(axis=1) >= 2
    keys = [key for key, paired in zip(judged.groups, shared, strict=True) if paired]
    if not keys:
        nothing = Estimate(None, reason=UNPAIRED)
        return HumanReference(0, 0, None, nothing, nothing, nothing, None, None, nothing, nothing, nothing)
    panel, grades = judged.panel.where(shared), judged.grades[shared]
    parted = None
    if strata is not None:
        of_items_ = [stratum for stratum, paired in zip(strata, shared, strict=True) if paired]
        parted = Strata.of(shares(panel.counts), of_items_, list(dict.fromkeys(of_items_)), weight)

    def of_items(counts: NDArray[np.float64], at: NDArray[np.intp]) -> NDArray[np.float64]:
        """The human table and the judge's of each item, reference by row: shape (m, 2, k, k); 0 without two ratings."""
        ratings = counts.sum(axis=1)[:, None, None]
        human = coincidences(counts) / np.maximum(ratings, 1)
        against = counts[:, :, None] * grades[at][:, None, :] / np.maximum(ratings, 1) * (ratings >= 2)
        both = np.stack([human, against], axis=1)
        return both if parted is None else parted.placed(both, at)

    tables, changes = panel.parts(of_items)
    of_table = partial(kappas, weight=weight) if parted is None else parted.averages
    sides = Sides.of(tables, keys, of_table, undefined=EQUAL, changes=changes)
    best = Estimate(None, reason="known by stratum")
    if parted is None:
        best = _best_attainable(sides.first, weight, panel.counts)

    def exact(which: int) -> Estimate:
        if parted is not None:
            return Estimate(None, reason="a share of items is the same pooled")

        def diagonal(sums: NDArray[np.float64]) -> NDArray[np.float64]:
            of_side = sums[:, which]
            return ratio(np.stack([np.trace(of_side, axis1=-2, axis2=-1), of_side.sum(axis=(-1, -2))], axis=-1))

        # Rounding must not lift a share of equal grades above 1.
        equal = np.minimum(np.trace(tables[:, which], axis1=1, axis2=2), 1)
        return share_of_items(equal, keys, changes and rater_variance(tables.sum(axis=0), diagonal, changes, keys))

    difference = sides.difference
    if len(keys) < SHARE_ITEMS:
        difference = difference.marked(f"fewer than {SHARE_ITEMS} items: the interval's lower end is optimistic")
    return HumanReference(
        items=len(keys),
        ratings=int(panel.counts.sum()),
        raters=panel.people,
        one_human=sides.first,
        judge=sides.second,
        difference=difference,
        low98=sides.low98,
        high98=sides.high98,
        best_attainable=best,
        exact_one_human=exact(0),
        exact_judge=exact(1),
    )


def _best_attainable(one_human: Estimate, weight: Weight, counts: NDArray[np.float64]) -> Estimate:
    """What one human's kappa, and its bounds, let the best judge reach; 0 where a bound is not above 0."""
    if weight != "quadratic" or counts.shape[1] != 3:
        return Estimate(None, reason="known for quadratic weights and three labels only")
    if one_human.value is None:
        return Estimate(None, reason=one_human.reason)
    if one_human.value <= 0:
        return Estimate(None, reason="people agree no more than by chance")
    counts_by_level = counts.sum(axis=0)
    low, middle, high = (float(count / counts_by_level.sum()) for count in counts_by_level)

    def reached(kappa: float | None) -> float | None:
        return None if kappa is None else attainable_kappa(kappa, (low, middle, high)) if kappa > 0 else 0.0

    return Estimate(reached(one_human.value), reached(one_human.low), reached(one_human.high), one_human.reason)


@lru_cache(maxsize=1024)
def attainable_kappa(agreement: float, shares: tuple[float, float, float]) -> float:
    """Quadratic kappa of the best judge against one person, in [agreement, 1].

    A population of items is taken whose raters give each grade as often as these people did and agree as they did: each
    item has a latent level, which a rater sees with an error of normal size, and cuts. The best judge knows the level,
    and so each item's expected grade, but has to give one grade: it cuts the levels where its kappa is highest.

    `agreement` is the quadratic kappa of one person against another, in (0, 1]; `shares` those of people's grades.
    """

    def agreed(likeness: float) -> float:
        grades = _grades(likeness, shares)
        return float(kappas(grades.T @ grades, "quadratic"))

    low, high = 0.0, _MOST
    if agreed(high) <= agreement:
        return 1.0
    for _ in range(16):
        middle = (low + high) / 2
        low, high = (middle, high) if agreed(middle) < agreement else (low, middle)
    # The best of all pairs of cuts.
    below = np.concatenate([np.zeros((1, 3)), np.cumsum(_grades(high, shares), axis=0)])
    first, second = np.triu_indices(len(below))
    columns = [below[first], below[second] - below[first], below[-1] - below[second]]
    return max(agreement, float(np.nanmax(kappas(np.stack(columns, axis=-1), "quadratic"))))


def _grades(likeness: float, shares: tuple[float, float, float]) -> NDArray[np.float64]:
    """Probability of each grade at each level, where two raters' latent numbers correlate so far: shape (levels, 3)."""
    tails = [
        [_NORMAL.cdf((level * likeness**0.5 - cut) / (1 - likeness) ** 0.5) for level in _LEVELS]
        for cut in (
            _NORMAL.inv_cdf(1 - min(max(share, 1e-9), 1 - 1e-9)) for share in (shares[1] + shares[2], shares[2])
        )
    ]
    above = np.array([np.ones(_ITEMS), *tails, np.zeros(_ITEMS)])
    return (above[:-1] - above[1:]).T / _ITEMS


@dataclass(frozen=True)
class Standing:
    """Where one person stands among those who rated the same items."""

    rater: Hashable
    ratings: int
    """Items that the person rated."""
    shared: int
    """Those that somebody else rated too."""
    against_others: Estimate
    """Kappa against the distribution of the others' ratings of the shared items, in [-1, 1]."""
    against_judge: Estimate
    """Kappa against the judge, in [-1, 1]."""


def standings(judged: Judged, weight: Weight = "quadratic") -> list[Standing]:
    """Compare each person, in the order in which they first appear, with the others and with the judge.

    Intervals leave out one group at a time, and speak of each person among these others. The raters must be known.
    """
    panel, judge = judged.panel, judged.grades[judged.panel.items]

    def kappa(reference: NDArray[np.float64], chosen: NDArray[np.bool_]) -> Estimate:
        if not chosen.any():
            return Estimate(None, reason="no item that others rated too")
        tables = reference[chosen][:, :, None] * panel.own[chosen][:, None, :]
        return kappa_of_items(tables, [judged.groups[index] for index in panel.items[chosen]], weight)

    compared: list[Standing] = []
    for number, rater in enumerate(panel.names):
        mine = panel.raters == number
        shared = mine & panel.others.any(axis=1)
        against_others, against_judge = kappa(shares(panel.others), shared), kappa(judge, mine)
        compared.append(Standing(rater, int(mine.sum()), int(shared.sum()), against_others, against_judge))
    return compared


@dataclass(frozen=True)
class AltTest:
    """The judge against each person in turn."""

    winning_rate: Figure[float]
    """Share of the tested people over whom the judge wins, in [0, 1]."""
    passed: bool | None
    """Whether the winning rate is at least 0.5; None where there is no test."""
    advantage: Estimate
    """Share of items at which the judge is at least as near to the others as the person, in [0, 1]: mean over people
    with at least 5 shared items. Ties count for the judge: one no better than a person has far more than 0.5."""
    ties: Estimate
    """The part of it that is ties, in [0, 1]."""


def alt_test(judged: Judged, *, epsilon: float) -> AltTest:
    """Test the judge against each person who shares at least 30 items with others. The raters must be known.

    Fewer than three such people: no test, with the reason; the advantage is given all the same, with a jackknife
    interval that leaves out one group at a time, and speaks of other people like these from four on, else of these
    alone; whom a group or a person leaves without items is not in the mean. Nobody with five shared items: no
    advantage. Where a person's wins do not vary, the judge wins if they are below epsilon.

    `epsilon` is by how much a person may be better and yet lose, in [0, 1): 0.2 for experts, 0.15 for skilled people,
    0.1 for a crowd. Distances are steps between labels.
    """
    panel, raters = judged.panel, judged.panel.raters
    assert raters is not None, "raters are known"
    shared, nearer = panel.others.any(axis=1), _nearer(judged.grades[panel.items], panel.own, panel.others)
    duels = {
        number: nearer[:, shared & (raters == number)]
        for number, count in enumerate(np.bincount(raters[shared]))
        if count >= FEW_ITEMS
    }
    tested = [duel for duel in duels.values() if duel.shape[1] >= ENOUGH_ITEMS]
    if len(tested) >= TESTED_RATERS:
        rate = Figure(sum(_wins(tested, epsilon)) / len(tested))
    else:
        rate = Figure[float](
            None,
            f"not enough ratings for the alt-test: {len(tested) or 'no'} raters with {ENOUGH_ITEMS} items that others "
            f"rated too (at least {TESTED_RATERS} needed)",
        )
    advantage = ties = Estimate(None, reason=f"no rater with {FEW_ITEMS} items that others rated too")
    if duels:
        advantage, ties = _mean_shares(judged, raters, nearer, [*duels])
    return AltTest(rate, None if rate.value is None else rate.value >= PASSING, advantage, ties)


def _nearer(judge: NDArray[np.float64], own: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether the judge, and whether the person, is at least as near to the others as the other: shape (2, m).

    False where there are no others. Distances are squared steps from each grade to what others gave, on average.
    """
    levels, total = np.arange(others.shape[1], dtype=np.float64), others.sum(axis=1)
    first, second = (
        np.sum(others * (levels - (grades @ levels)[:, None]) ** 2, axis=1) / np.maximum(total, 1)
        for grades in (judge, own)
    )
    return np.stack([first <= second + ROUNDING, second <= first + ROUNDING]) & (total > 0)


def _wins(duels: Sequence[NDArray[np.bool_]], epsilon: float) -> list[bool]:
    """Over whom the judge wins: the p values up to the largest k with p_(k) <= k / (m (1 + 1/2 + ... + 1/m)) 5 %.

    A p value is at most a level where t, that of the person's lead over the judge less epsilon, is at most the quantile
    at that level. It is infinite where the lead does not vary.
    """
    count, statistics = len(duels), list[float]()
    for judge, person in duels:
        lead = person.astype(np.float64) - judge
        above = float(lead.mean()) - epsilon
        if np.all(lead == lead[0]):
            statistics.append(math.copysign(math.inf, above) if above else math.inf)
        else:
            statistics.append(above / float(lead.std(ddof=1)) * math.sqrt(len(lead)))
    step = LEVEL / (count * sum(1 / k for k in range(1, count + 1)))
    for k in range(count, 0, -1):
        won = [t <= t_quantile(k * step, duel.shape[1] - 1) for t, duel in zip(statistics, duels, strict=True)]
        if sum(won) >= k:
            return won
    return [False] * count


def _mean_shares(
    judged: Judged, raters: NDArray[np.intp], nearer: NDArray[np.bool_], entered: Sequence[int]
) -> tuple[Estimate, Estimate]:
    """Mean over some people of the share of their items that the judge has, and of those that are ties."""
    panel, items = judged.panel, judged.panel.items
    columns = np.full(len(panel.names), -1)
    columns[entered] = np.arange(len(entered))
    column = columns[raters]
    chosen = panel.others.any(axis=1) & (column >= 0)
    used = np.bincount(items[chosen], minlength=len(judged.groups)) > 0
    keys = [key for key, use in zip(judged.groups, used, strict=True) if use]
    # Every two ratings of one item: what becomes of the first person's duel there without the second's rating.
    counts = np.bincount(items)[items]
    first = np.repeat(np.arange(len(counts)), counts)
    turn = np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)
    second = np.searchsorted(items, items)[first] + turn
    pairs = (first != second) & (column[first] >= 0)
    first, second = first[pairs], second[pairs]
    others = panel.others[first] - panel.own[second]
    left = others.any(axis=1)
    without = _nearer(judged.grades[items[first]], panel.own[first], others)
    kept = used[items]

    def mean_share(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of the people with a count, from each person's sum and count: shape (B, raters, 2)."""
        shares = ratio(sums)
        known = np.isfinite(shares)
        return ratio(np.stack([np.where(known, shares, 0).sum(axis=-1), known.sum(axis=-1)], axis=-1))

    estimates: list[Estimate] = []
    for now, after in ((nearer[0], without[0]), (nearer[0] & nearer[1], without[0] & without[1])):
        parts = np.zeros((len(used), len(entered), 2))
        parts[items[chosen], column[chosen]] = np.stack([now[chosen], np.ones(int(chosen.sum()))], axis=1)
        change = np.zeros((len(items), *parts.shape[1:]))
        entered_ratings = np.nonzero(column >= 0)[0]
        change[entered_ratings, column[entered_ratings]] = -parts[items[entered_ratings], column[entered_ratings]]
        gained = np.stack([after & left, left], axis=1) - parts[items[first], column[first]]
        np.add.at(change, (second, column[first]), gained)
        changes = Changes(change[kept], (np.cumsum(used) - 1)[items[kept]], raters[kept])
        estimates.append(Jackknife.of(parts[used], keys, mean_share, changes=changes).estimate((0, 1), logit=True))
    return estimates[0], estimates[1]
