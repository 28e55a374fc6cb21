"""How well one person agrees with another, and the judge with one person: the same measure on the same items.

For each rating of an item with at least two, the reference is the distribution of the item's other ratings. The
human table counts that rating against it, the judge's table the judge's grade, each rating with weight 1 / m. The
reference does not sharpen as ratings are added, so that the number of raters biases neither; a majority's does.

Of an item with c_a ratings of label a, m in all, this comes to c_a (c_b - [a = b]) / (m (m - 1)) in the human table
and to c_a / m in the column of the judge's grade.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats.agreement import BOTH, EQUAL, Weight, coincidences, kappas
from dspy_proact.stats.cluster import SHARE_ITEMS, share_of_items
from dspy_proact.stats.estimate import Estimate
from dspy_proact.stats.jackknife import Jackknife, gain, rater_variance, ratio
from dspy_proact.stats.raters import Panel
from dspy_proact.stats.tally import tally

NOTHING = Estimate(None, reason="no item with two ratings")
_ITEMS = 100
"""Levels of the population of `attainable_kappa`, at equal steps of probability: kappa is then good to .001."""
_NORMAL = NormalDist()
_LEVELS = np.array([_NORMAL.inv_cdf((place + 0.5) / _ITEMS) for place in range(_ITEMS)])
_MOST = 0.999
"""Likeness of two raters beyond which they are taken to agree on every item."""


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
    """Judge minus one human: above 0 where the judge agrees with a person better than another person does. With fewer
    than 30 items its lower end is too high, and it says so."""
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
    ratings: Sequence[Sequence[Hashable]],
    judge: Sequence[Hashable],
    labels: Sequence[Hashable],
    groups: Sequence[Hashable],
    weight: Weight = "quadratic",
    *,
    raters: Sequence[Sequence[Hashable]] | None = None,
) -> HumanReference:
    """Compare the judge with people by leave-one-out references.

    Intervals of kappas are jackknives that leave out one group at a time; shares of equal grades are clustered means.
    All speak of other raters like these from four raters on, else of these, and say so. Silence is decided as in
    `Jackknife.of`; no item with two ratings: no value. The best attainable kappa is only known for quadratic weights
    and three labels, and where people agree beyond chance.

    Args:
        ratings: The labels that people gave each item, in any order.
        judge: The judge's label, one an item.
        labels: All labels in rising order, each once, whether they occur or not.
        groups: Key of the group of each item.
        weight: How disagreement grows with the distance of the labels.
        raters: Who gave the ratings, aligned with them; None where that is not known.

    Raises:
        ValueError: The lengths differ, `labels` repeats one, a grading is not in `labels`, or a person rated an item
            twice.
    """
    if not len(ratings) == len(judge) == len(groups):
        raise ValueError(f"one grade and group an item: {len(ratings)}, {len(judge)} and {len(groups)} differ")
    panel, grades = Panel.of(ratings, labels, raters), tally([[grade] for grade in judge], labels)
    shared = panel.counts.sum(axis=1) >= 2
    keys = [key for key, shares in zip(groups, shared, strict=True) if shares]
    if not keys:
        return HumanReference(0, 0, None, NOTHING, NOTHING, NOTHING, None, None, NOTHING, NOTHING, NOTHING)
    panel, grades = panel.where(shared), grades[shared]
    tables, changes = panel.parts(lambda counts, at: _tables(counts, grades[at]))
    of_table, jackknife = partial(kappas, weight=weight), partial(Jackknife.of, undefined=EQUAL, changes=changes)
    one_human, against_judge = (
        jackknife(tables, keys, lambda sums, which=which: of_table(sums[:, which])).estimate() for which in (0, 1)
    )

    def exact(which: int) -> Estimate:
        # Rounding must not lift a share of equal grades above 1.
        shares = np.minimum(np.trace(tables[:, which], axis1=1, axis2=2), 1)
        drawn = changes and rater_variance(tables.sum(axis=0), lambda sums: _diagonal(sums[:, which]), changes, keys)
        return share_of_items(shares, keys, drawn)

    apart = jackknife(tables, keys, gain(of_table))
    difference, (low98, high98) = apart.estimate(BOTH), apart.claim_bounds(BOTH)
    if len(keys) < SHARE_ITEMS:
        difference = difference.marked(f"fewer than {SHARE_ITEMS} items: the interval's lower end is optimistic")
    return HumanReference(
        items=len(keys),
        ratings=int(panel.counts.sum()),
        raters=panel.people,
        one_human=one_human,
        judge=against_judge,
        difference=difference,
        low98=low98,
        high98=high98,
        best_attainable=_best_attainable(one_human, weight, panel.counts),
        exact_one_human=exact(0),
        exact_judge=exact(1),
    )


def _tables(counts: NDArray[np.float64], grades: NDArray[np.float64]) -> NDArray[np.float64]:
    """The human table and the judge's of each item, reference by row: shape (m, 2, k, k); 0 without two ratings."""
    ratings = counts.sum(axis=1)[:, None, None]
    human = coincidences(counts) / np.maximum(ratings, 1)
    judged = counts[:, :, None] * grades[:, None, :] / np.maximum(ratings, 1) * (ratings >= 2)
    return np.stack([human, judged], axis=1)


def _diagonal(tables: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of the diagonal: shape (B, k, k) to (B,)."""
    return ratio(np.stack([np.trace(tables, axis1=-2, axis2=-1), tables.sum(axis=(-1, -2))], axis=-1))


def _best_attainable(one_human: Estimate, weight: Weight, counts: NDArray[np.float64]) -> Estimate:
    """What one human's kappa, and its bounds, let the best judge reach; 0 where a bound is not above 0."""
    if weight != "quadratic" or counts.shape[1] != 3:
        return Estimate(None, reason="known for quadratic weights and three labels only")
    if one_human.value is None:
        return Estimate(None, reason=one_human.reason)
    if one_human.value <= 0:
        return Estimate(None, reason="people agree no more than by chance")
    given = counts.sum(axis=0)
    low, middle, high = (float(count / given.sum()) for count in given)

    def reached(kappa: float | None) -> float | None:
        return None if kappa is None else attainable_kappa(kappa, (low, middle, high)) if kappa > 0 else 0.0

    return Estimate(reached(one_human.value), reached(one_human.low), reached(one_human.high), one_human.reason)


@lru_cache(maxsize=1024)
def attainable_kappa(agreement: float, shares: tuple[float, float, float]) -> float:
    """Quadratic kappa of the best judge against one person, in [agreement, 1].

    A population of items is taken whose raters give each grade as often as these people did and agree as they did: each
    item has a latent level, which a rater sees with an error of normal size, and cuts. The best judge knows the level,
    and so each item's expected grade, but has to give one grade: it cuts the levels where its kappa is highest.

    `agreement` is the quadratic kappa of one person against another, `shares` how often people give each grade.

    Raises:
        ValueError: The agreement is not in (0, 1].
    """
    if not 0 < agreement <= 1:
        raise ValueError(f"best is known where people agree beyond chance, not at {agreement!r}")

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
