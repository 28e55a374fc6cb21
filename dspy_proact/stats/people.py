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
    panel, grades = _panel(ratings, raters, judge, labels, groups)

    def kappa(reference: NDArray[np.float64], own: NDArray[np.float64], items: NDArray[np.intp]) -> Estimate:
        if not len(items):
            return Estimate(None, reason="no item that others rated too")
        return kappa_of_items(reference[:, :, None] * own[:, None, :], [groups[place] for place in items])

    found: list[Standing] = []
    for slate in _slates(panel, raters):
        others = slate.others[slate.shared]
        against_others = kappa(
            others / others.sum(axis=1, keepdims=True), slate.own[slate.shared], slate.items[slate.shared]
        )
        against_judge = kappa(grades[slate.items], slate.own, slate.items)
        shared = int(slate.shared.sum())
        found.append(Standing(slate.rater, len(slate.items), shared, against_others, against_judge))
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
    panel, grades = _panel(ratings, raters, judge, labels, groups)
    everyone = [_Duel.of(slate, grades) for slate in _slates(panel, raters)]
    entered = np.array([len(duel.items) >= FEW_ITEMS for duel in everyone], dtype=bool)
    duels = [duel for duel in everyone if len(duel.items) >= FEW_ITEMS]
    tested = [duel for duel in duels if len(duel.items) >= ENOUGH_ITEMS]
    won: dict[Hashable, bool] = {}
    if len(tested) >= TESTED_RATERS:
        won = dict(zip((duel.rater for duel in tested), _wins(tested, epsilon), strict=True))
    refusal = (
        f"not enough ratings for the alt-test: {f'only {len(tested)}' if tested else 'no'} raters with {ENOUGH_ITEMS} "
        f"items that others rated too, of at least {TESTED_RATERS}"
    )
    rate = Figure(sum(won.values()) / len(won)) if won else Figure[float](None, refusal)
    advantage, ties = _mean_shares(duels, panel, grades, entered, groups)
    return AltTest(
        winning_rate=rate,
        passed=None if rate.value is None else rate.value >= PASSING,
        advantage=advantage,
        ties=ties,
        raters=tuple(
            Advantage(
                duel.rater,
                len(duel.items),
                float(duel.judge.mean()),
                float((duel.judge & duel.person).mean()),
                won.get(duel.rater),
            )
            for duel in duels
        ),
    )


def _panel(
    ratings: Sequence[Sequence[Hashable]],
    raters: Sequence[Sequence[Hashable]],
    judge: Sequence[Hashable],
    labels: Sequence[Hashable],
    groups: Sequence[Hashable],
) -> tuple[Panel, NDArray[np.float64]]:
    """People's ratings, and 1 at the judge's label of each item, else 0: shape (n, k)."""
    if not len(ratings) == len(raters) == len(judge) == len(groups):
        raise ValueError("raters, a judge's grade and a group for each item: the lengths differ")
    return Panel.of(ratings, labels, raters), tally([[label] for label in judge], labels)


@dataclass(frozen=True)
class _Slate:
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


def _slates(panel: Panel, raters: Sequence[Sequence[Hashable]]) -> list[_Slate]:
    """The slate of each person, in the order in which they first appear, as the panel numbers them."""
    found: list[_Slate] = []
    for number, rater in enumerate(dict.fromkeys(rater for people in raters for rater in people)):
        mine = panel.raters == number
        items, own = panel.items[mine], panel.own[mine]
        found.append(_Slate(rater, items, own, panel.counts[items] - own))
    return found


@dataclass(frozen=True)
class _Duel:
    """The judge against one person, item by item."""

    rater: Hashable
    items: NDArray[np.intp]
    """Places of the items that somebody else rated too: shape (m,)."""
    judge: NDArray[np.bool_]
    """Whether the judge is at least as near to the others: shape (m,)."""
    person: NDArray[np.bool_]
    """Whether the person is: shape (m,)."""

    @classmethod
    def of(cls, slate: _Slate, grades: NDArray[np.float64]) -> "_Duel":
        items, others = slate.items[slate.shared], slate.others[slate.shared]
        return cls(slate.rater, items, *_outcomes(grades[items], slate.own[slate.shared], others))


def _outcomes(judge: NDArray[np.float64], own: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether the judge, and whether the person, is at least as near to the others as the other: shape (2, m)."""
    levels = np.arange(others.shape[1], dtype=np.float64)

    def distances(grades: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean square distance, in steps, of each grade from what others gave the item: shape (m,)."""
        steps = levels - (grades @ levels)[:, None]
        return np.sum(others * steps**2, axis=1) / others.sum(axis=1)

    first, second = distances(judge), distances(own)
    return np.stack([first <= second + ROUNDING, second <= first + ROUNDING])


def _wins(duels: Sequence[_Duel], epsilon: float) -> list[bool]:
    """Over whom the judge wins: the p values up to the largest k with p_(k) <= k / (m (1 + 1/2 + ... + 1/m)) 5 %.

    A p value is at most a level where t is at most the quantile at that level.
    """
    count = len(duels)
    step = LEVEL / (count * sum(1 / k for k in range(1, count + 1)))
    statistics = [_t(duel, epsilon) for duel in duels]
    for k in range(count, 0, -1):
        won = [t <= t_quantile(k * step, len(duel.items) - 1) for t, duel in zip(statistics, duels, strict=True)]
        if sum(won) >= k:
            return won
    return [False] * count


def _t(duel: _Duel, epsilon: float) -> float:
    """Student's t of the person's lead over the judge, less epsilon; infinite where the lead does not vary."""
    lead = duel.person.astype(np.float64) - duel.judge
    above = float(lead.mean()) - epsilon
    if np.all(lead == lead[0]):
        return math.copysign(math.inf, above) if above else math.inf
    return above / float(lead.std(ddof=1)) * math.sqrt(len(lead))


def _mean_shares(
    duels: Sequence[_Duel],
    panel: Panel,
    grades: NDArray[np.float64],
    entered: NDArray[np.bool_],
    groups: Sequence[Hashable],
) -> tuple[Estimate, Estimate]:
    """Mean over people of the share of items that the judge has, and of those that are ties.

    Args:
        duels: Of the people who are in the mean.
        panel: People's ratings, of known raters.
        grades: The judge's: shape (n, k).
        entered: Whether each rater of the panel is in the mean.
        groups: Key of the group of each item.
    """
    if not duels:
        nothing = Estimate(None, reason=f"no rater with {FEW_ITEMS} items that others rated too")
        return nothing, nothing
    used = np.zeros(len(groups), dtype=bool)
    used[np.concatenate([duel.items for duel in duels])] = True
    keys = [key for key, use in zip(groups, used, strict=True) if use]
    pairs = _Pairs.of(panel, grades, entered)
    found: list[Estimate] = []
    for ties in (False, True):
        parts = np.zeros((len(groups), len(duels), 2))
        for place, duel in enumerate(duels):
            parts[duel.items, place, 0] = duel.judge & duel.person if ties else duel.judge
            parts[duel.items, place, 1] = 1
        changes = pairs.changes(parts, ties=ties).where(used)
        found.append(Jackknife.of(parts[used], keys, _mean_of_shares, changes=changes).estimate((0, 1)))
    return found[0], found[1]


@dataclass(frozen=True)
class _Pairs:
    """Every two ratings of one item: what becomes of the first person's duel there without the second's rating."""

    items: NDArray[np.intp]
    """Place of the item of each rating: shape (q,)."""
    raters: NDArray[np.intp]
    """Its rater, as a number: shape (q,)."""
    columns: NDArray[np.intp]
    """Place of each rating's person among the duels; -1 for one who has none: shape (q,)."""
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    """Places of the ratings: shape (pairs,)."""
    shared: NDArray[np.bool_]
    """Whether others are left: shape (pairs,)."""
    outcomes: NDArray[np.bool_]
    """As `_outcomes` has them, without the second rating: shape (2, pairs)."""

    @classmethod
    def of(cls, panel: Panel, grades: NDArray[np.float64], entered: NDArray[np.bool_]) -> "_Pairs":
        assert panel.raters is not None, "raters are known"
        columns = np.where(entered, np.cumsum(entered) - 1, -1)[panel.raters]
        counts = np.bincount(panel.items)[panel.items]
        first = np.repeat(np.arange(len(counts)), counts)
        turn = np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)
        second = np.searchsorted(panel.items, panel.items)[first] + turn
        other = (first != second) & (columns[first] >= 0)
        first, second = first[other], second[other]
        at = panel.items[first]
        others = panel.counts[at] - panel.own[first] - panel.own[second]
        shared = others.sum(axis=1) > 0
        outcomes = np.zeros((2, len(first)), dtype=bool)
        outcomes[:, shared] = _outcomes(grades[at[shared]], panel.own[first[shared]], others[shared])
        return cls(panel.items, panel.raters, columns, first, second, shared, outcomes)

    def changes(self, parts: NDArray[np.float64], *, ties: bool) -> Changes:
        """What leaving out each rating does to the parts of the items, of shape (n, duels, 2)."""
        change = np.zeros((len(self.items), *parts.shape[1:]))
        places = np.nonzero(self.columns >= 0)[0]
        change[places, self.columns[places]] = -parts[self.items[places], self.columns[places]]
        now = self.outcomes.all(axis=0) if ties else self.outcomes[0]
        after = np.stack([now & self.shared, self.shared], axis=1).astype(np.float64)
        column = self.columns[self.first]
        np.add.at(change, (self.second, column), after - parts[self.items[self.first], column])
        return Changes(change, self.items, self.raters)


def _mean_of_shares(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """From each person's sum and count, shape (B, raters, 2), those with a count; nan where nobody has one."""
    shares = ratio(sums)
    known = np.isfinite(shares)
    return ratio(np.stack([np.where(known, shares, 0).sum(axis=-1), known.sum(axis=-1)], axis=-1))
