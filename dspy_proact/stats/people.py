"""Each person who rated, set against the others and against the judge: standings, and the alternative annotator test.

The test (Calderon, Reichart & Dror 2025) asks whether a judge may stand in for a person. Each person in turn is set
against the judge: whose grade is nearer to the grades that the others gave the item, by root mean square distance? A
tie counts for both. The judge wins over a person if the person's share of such items exceeds its own by less than
epsilon, which is what it is worth not to ask one: by a t test at 5 % for all people together (Benjamini & Yekutieli
2001). It passes if it wins over at least half of them. The test takes items for independent.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats.agreement import kappa_of_items
from dspy_proact.stats.estimate import ROUNDING, Estimate, Figure, t_quantile
from dspy_proact.stats.jackknife import Jackknife, ratio
from dspy_proact.stats.raters import Changes, Panel
from dspy_proact.stats.tally import tally

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


@dataclass(frozen=True)
class Advantage:
    """The judge against one person."""

    rater: Hashable
    items: int
    """Items that the person and somebody else rated."""
    advantage: float
    """Share of them at which the judge is at least as near to the others as the person, in [0, 1]."""
    ties: float
    """Share of them at which both are equally near, in [0, 1]: these are part of the advantage."""
    won: bool | None
    """Whether the judge wins over the person; None where that was not tested."""


@dataclass(frozen=True)
class AltTest:
    """The judge against each person in turn."""

    winning_rate: Figure[float]
    """Share of the tested people over whom the judge wins, in [0, 1]."""
    passed: bool | None
    """Whether the winning rate is at least 0.5; None where there is no test."""
    advantage: Estimate
    """Mean advantage over people with at least 5 shared items, in [0, 1]. Ties count for the judge: one that is no
    better than a person has far more than 0.5."""
    ties: Estimate
    """The part of it that is ties, in [0, 1]."""
    raters: tuple[Advantage, ...]
    """Those people, in the order in which they first appear."""


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
    rated = _Rated.of(ratings, raters, judge, labels, groups)

    def kappa(reference: NDArray[np.float64], chosen: NDArray[np.bool_]) -> Estimate:
        if not chosen.any():
            return Estimate(None, reason="no item that others rated too")
        tables = reference[chosen][:, :, None] * rated.own[chosen][:, None, :]
        return kappa_of_items(tables, [groups[place] for place in rated.items[chosen]])

    others = rated.others / np.maximum(rated.others.sum(axis=1, keepdims=True), 1)
    found: list[Standing] = []
    for number, rater in enumerate(rated.people):
        mine = rated.raters == number
        shared = mine & rated.shared
        against_others, against_judge = kappa(others, shared), kappa(rated.judge, mine)
        found.append(Standing(rater, int(mine.sum()), int(shared.sum()), against_others, against_judge))
    return found


def alt_test(
    ratings: Sequence[Sequence[Hashable]],
    raters: Sequence[Sequence[Hashable]],
    judge: Sequence[Hashable],
    labels: Sequence[Hashable],
    groups: Sequence[Hashable],
    *,
    epsilon: float,
) -> AltTest:
    """Test the judge against each person who shares at least 30 items with others.

    Fewer than three such people: no test, with the reason; the advantage is given all the same, with a jackknife
    interval that leaves out one group at a time, and speaks of other people like these from four on, else of these
    alone; whom a group or a person leaves without items is not in the mean. Nobody with five shared items: no
    advantage. Where a person's wins do not vary, the judge wins if they are below epsilon.

    Args:
        ratings: The labels that people gave each item.
        raters: Who gave them, aligned with `ratings`.
        judge: The judge's label, one an item.
        labels: All labels in rising order, each once: distances are steps.
        groups: Key of the group of each item.
        epsilon: By how much a person may be better and yet lose, in [0, 1): 0.2 for experts, 0.15 for skilled
            people, 0.1 for a crowd.

    Raises:
        ValueError: The lengths differ, a person rated an item twice, `labels` repeats one, a grading is not in
            `labels`, or epsilon is outside [0, 1).
    """
    if not 0 <= epsilon < 1:
        raise ValueError(f"epsilon is in [0, 1), not {epsilon!r}")
    rated = _Rated.of(ratings, raters, judge, labels, groups)
    nearer = np.zeros((2, len(rated.items)), dtype=bool)
    nearer[:, rated.shared] = _nearer(rated.judge[rated.shared], rated.own[rated.shared], rated.others[rated.shared])
    duels = {
        number: nearer[:, rated.shared & (rated.raters == number)]
        for number, count in enumerate(np.bincount(rated.raters[rated.shared], minlength=len(rated.people)))
        if count >= FEW_ITEMS
    }
    tested = {number: duel for number, duel in duels.items() if duel.shape[1] >= ENOUGH_ITEMS}
    won = dict(zip(tested, _wins([*tested.values()], epsilon), strict=True)) if len(tested) >= TESTED_RATERS else {}
    refusal = (
        f"not enough ratings for the alt-test: {len(tested) or 'no'} raters with {ENOUGH_ITEMS} items that others "
        f"rated too (at least {TESTED_RATERS} needed)"
    )
    rate = Figure(sum(won.values()) / len(won)) if won else Figure[float](None, refusal)
    advantage = ties = Estimate(None, reason=f"no rater with {FEW_ITEMS} items that others rated too")
    if duels:
        advantage, ties = _mean_shares(rated, nearer, [*duels], groups)
    people = (
        Advantage(
            rated.people[number], duel.shape[1], float(duel[0].mean()), float(duel.all(axis=0).mean()), won.get(number)
        )
        for number, duel in duels.items()
    )
    return AltTest(rate, None if rate.value is None else rate.value >= PASSING, advantage, ties, tuple(people))


@dataclass(frozen=True)
class _Rated:
    """Ratings, q of them, beside the others' ratings and the judge's grade of the same item."""

    people: list[Hashable]
    """Who gave them, in the order in which they first appear."""
    items: NDArray[np.intp]
    """Place of the item of each: shape (q,)."""
    raters: NDArray[np.intp]
    """Place of its rater among the people: shape (q,)."""
    own: NDArray[np.float64]
    """1 at its label, else 0: shape (q, k)."""
    others: NDArray[np.float64]
    """How many of the item's other ratings gave each label: shape (q, k)."""
    judge: NDArray[np.float64]
    """1 at the judge's label of its item, else 0: shape (q, k)."""

    @classmethod
    def of(
        cls,
        ratings: Sequence[Sequence[Hashable]],
        raters: Sequence[Sequence[Hashable]],
        judge: Sequence[Hashable],
        labels: Sequence[Hashable],
        groups: Sequence[Hashable],
    ) -> "_Rated":
        if not len(ratings) == len(raters) == len(judge) == len(groups):
            raise ValueError("raters, a judge's grade and a group for each item: the lengths differ")
        panel, grades = Panel.of(ratings, labels, raters), tally([[label] for label in judge], labels)
        assert panel.raters is not None, "raters are known"
        people = list(dict.fromkeys(rater for item in raters for rater in item))
        others = panel.counts[panel.items] - panel.own
        return cls(people, panel.items, panel.raters, panel.own, others, grades[panel.items])

    @property
    def shared(self) -> NDArray[np.bool_]:
        """Whether somebody else rated the item too: shape (q,)."""
        return self.others.sum(axis=1) > 0


def _nearer(judge: NDArray[np.float64], own: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether the judge, and whether the person, is at least as near to the others as the other: shape (2, m)."""
    levels = np.arange(others.shape[1], dtype=np.float64)

    def distances(grades: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean square distance, in steps, of each grade from what others gave the item: shape (m,)."""
        steps = levels - (grades @ levels)[:, None]
        return np.sum(others * steps**2, axis=1) / others.sum(axis=1)

    first, second = distances(judge), distances(own)
    return np.stack([first <= second + ROUNDING, second <= first + ROUNDING])


def _wins(duels: Sequence[NDArray[np.bool_]], epsilon: float) -> list[bool]:
    """Over whom the judge wins: the p values up to the largest k with p_(k) <= k / (m (1 + 1/2 + ... + 1/m)) 5 %.

    A p value is at most a level where t is at most the quantile at that level.
    """
    count = len(duels)
    step = LEVEL / (count * sum(1 / k for k in range(1, count + 1)))
    statistics = [_t(duel, epsilon) for duel in duels]
    for k in range(count, 0, -1):
        won = [t <= t_quantile(k * step, duel.shape[1] - 1) for t, duel in zip(statistics, duels, strict=True)]
        if sum(won) >= k:
            return won
    return [False] * count


def _t(duel: NDArray[np.bool_], epsilon: float) -> float:
    """Student's t of the person's lead over the judge, less epsilon; infinite where the lead does not vary."""
    judge, person = duel
    lead = person.astype(np.float64) - judge
    above = float(lead.mean()) - epsilon
    if np.all(lead == lead[0]):
        return math.copysign(math.inf, above) if above else math.inf
    return above / float(lead.std(ddof=1)) * math.sqrt(len(lead))


def _mean_shares(
    rated: _Rated, nearer: NDArray[np.bool_], entered: Sequence[int], groups: Sequence[Hashable]
) -> tuple[Estimate, Estimate]:
    """Mean over some people of the share of their items that the judge has, and of those that are ties."""
    columns = np.full(len(rated.people), -1)
    columns[entered] = np.arange(len(entered))
    column, items = columns[rated.raters], rated.items
    chosen = rated.shared & (column >= 0)
    used = np.bincount(items[chosen], minlength=len(groups)) > 0
    keys = [key for key, use in zip(groups, used, strict=True) if use]
    # Every two ratings of one item: what becomes of the first person's duel there without the second's rating.
    counts = np.bincount(items)[items]
    first = np.repeat(np.arange(len(counts)), counts)
    turn = np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)
    second = np.searchsorted(items, items)[first] + turn
    pairs = (first != second) & (column[first] >= 0)
    first, second = first[pairs], second[pairs]
    others = rated.others[first] - rated.own[second]
    left = others.sum(axis=1) > 0
    without = np.zeros((2, len(first)), dtype=bool)
    without[:, left] = _nearer(rated.judge[first[left]], rated.own[first[left]], others[left])
    found: list[Estimate] = []
    for now, after in ((nearer[0], without[0]), (nearer[0] & nearer[1], without[0] & without[1])):
        parts = np.zeros((len(groups), len(entered), 2))
        parts[items[chosen], column[chosen]] = np.stack([now[chosen], np.ones(int(chosen.sum()))], axis=1)
        change = np.zeros((len(items), *parts.shape[1:]))
        places = np.nonzero(column >= 0)[0]
        change[places, column[places]] = -parts[items[places], column[places]]
        gained = np.stack([after & left, left], axis=1) - parts[items[first], column[first]]
        np.add.at(change, (second, column[first]), gained)
        changes = Changes(change, items, rated.raters).where(used)
        found.append(Jackknife.of(parts[used], keys, _mean_of_shares, changes=changes).estimate((0, 1)))
    return found[0], found[1]


def _mean_of_shares(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """From each person's sum and count, shape (B, raters, 2), those with a count; nan where nobody has one."""
    shares = ratio(sums)
    known = np.isfinite(shares)
    return ratio(np.stack([np.where(known, shares, 0).sum(axis=-1), known.sum(axis=-1)], axis=-1))
