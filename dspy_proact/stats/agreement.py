"""Agreement beyond chance: of two gradings of the same items, of any number of raters, of a judge with people.

- Cohen's kappa (1960), weighted (1968): 1 - observed / expected disagreement, where the expected one is that of
  gradings with the same margins that have nothing to do with each other.
- Gwet's AC1 (2008) and AC2 (2014): (agreement - by chance) / (1 - by chance), where chance is what raters would agree
  on who guess at items that are hard to grade: sum of the weights / (k (k - 1)) * sum of p (1 - p) over the labels, p
  being the mean share of a label in both gradings. Unlike kappa it stays high where nearly all items have one label.
- Krippendorff's alpha (2011): 1 - observed / expected disagreement, from the table of coincidences: of an item with m
  ratings every ordered pair counts 1 / (m - 1), so that each rating counts once. The expected disagreement is that of
  the same ratings paired at random.

1 is perfect agreement, 0 chance, below 0 worse than chance. Intervals are jackknives over groups.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dspy_proact.stats.cluster import part_mean, share_of_items
from dspy_proact.stats.estimate import ROUNDING, Estimate
from dspy_proact.stats.jackknife import Jackknife, rater_variance, ratio
from dspy_proact.stats.raters import Changes, Panel, RaterVariance
from dspy_proact.stats.tally import commonest, cross_tables, shares, tally

Weight = Literal["none", "linear", "quadratic"]
"""How disagreement grows with the distance of two labels: any is 1, by steps, or by their square."""
AlphaMetric = Literal["nominal", "ordinal", "interval"]
"""How disagreement grows with the distance of two labels: any is 1, by the square of how many ratings lie between,
or by the square of the steps between."""
EQUAL = "gradings that do not vary"
"""Why there is no kappa: of one side, or of each stratum."""
UNPAIRED = "no item with two ratings"


def disagreement(labels: int, weight: Weight) -> NDArray[np.float64]:
    """How far each two of so many labels disagree: shape (k, k), 0 on the diagonal, 1 between the ends."""
    steps = np.abs(np.subtract.outer(np.arange(labels), np.arange(labels))) / max(labels - 1, 1)
    return {"none": np.ceil(steps), "linear": steps, "quadratic": steps**2}[weight]


def kappas(tables: NDArray[np.float64], weight: Weight) -> NDArray[np.float64]:
    """Kappa of each of many tables of counts, shape (..., k, k) to (...); nan where it is undefined (0 / 0)."""
    distance = disagreement(tables.shape[-1], weight)
    rows, columns = tables.sum(axis=-1), tables.sum(axis=-2)
    expected = np.sum(distance * rows[..., :, None] * columns[..., None, :], axis=(-1, -2))
    observed = rows.sum(axis=-1) * np.sum(distance * tables, axis=(-1, -2))
    undefined = np.full(expected.shape, np.nan)
    # Rounding must not carry a perfect disagreement below -1.
    return np.maximum(-1.0, 1 - np.divide(observed, expected, out=undefined, where=expected > 0))


def kappa_estimate(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    labels: Sequence[Hashable],
    groups: Sequence[Hashable],
    weight: Weight = "quadratic",
) -> Estimate:
    """Kappa of two gradings of the same items, with its interval, clipped to [-1, 1]; silence as in `Jackknife.of`.

    `labels` are all labels in rising order, each once, whether they occur or not. Raises a `ValueError` where the
    lengths differ, `labels` repeats one, or a grading is not in `labels`.
    """
    return kappa_of_items(cross_tables(first, second, labels), groups, weight)


def kappa_of_items(
    tables: NDArray[np.float64],
    groups: Sequence[Hashable],
    weight: Weight = "quadratic",
    changes: Changes | None = None,
) -> Estimate:
    """Kappa of the sum of one table an item, shape (n, k, k)."""
    return Jackknife.of(tables, groups, partial(kappas, weight=weight), undefined=EQUAL, changes=changes).estimate()


def acs(tables: NDArray[np.float64], weight: Weight) -> NDArray[np.float64]:
    """AC1 (weight "none") or AC2 of each of many tables, shape (..., k, k) to (...), each at most 1.

    nan where it is undefined: no counts, or fewer than two labels. All gradings equal: 1, while kappa is undefined.
    """
    labels, total = tables.shape[-1], np.sum(tables, axis=(-1, -2))
    if labels < 2:
        return np.full(tables.shape[:-2], np.nan)
    total = np.where(total > 0, total, np.nan)
    weights = 1 - disagreement(labels, weight)
    mean = (tables.sum(axis=-1) + tables.sum(axis=-2)) / (2 * total[..., None])
    chance = weights.sum() / (labels * (labels - 1)) * np.sum(mean * (1 - mean), axis=-1)
    agreed = np.sum(weights * tables, axis=(-1, -2)) / total
    beyond: NDArray[np.float64] = (agreed - chance) / (1 - chance)
    return beyond


def alpha_estimate(panel: Panel, metric: AlphaMetric, groups: Sequence[Hashable]) -> Estimate:
    """Krippendorff's alpha of ratings, in [-1, 1], higher is better, with its interval.

    Items with fewer than two ratings pair with nothing and are left out. Silence as in `Jackknife.of`: all ratings that
    pair equal (0 / 0) is undefined. `groups` holds the key of the group of each item.
    """
    pairing = panel.counts.sum(axis=1) >= 2
    if not pairing.any():
        return Estimate(None, reason=UNPAIRED)
    keys = [key for key, pairs in zip(groups, pairing, strict=True) if pairs]
    tables, changes = panel.where(pairing).parts(lambda counts, _: coincidences(counts))
    statistic = partial(alphas, metric=metric)
    return Jackknife.of(tables, keys, statistic, undefined="all ratings equal", changes=changes).estimate()


def coincidences(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """The table of coincidences of each item's counts, shape (n, k) to (n, k, k); 0 with fewer than two ratings."""
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(counts.shape[1])
    return pairs / np.maximum(counts.sum(axis=1) - 1, 1)[:, None, None]


def alphas(tables: NDArray[np.float64], metric: AlphaMetric) -> NDArray[np.float64]:
    """Alpha of each of many tables of coincidences, shape (..., k, k) to (...); nan where it is undefined (0 / 0)."""
    margins = tables.sum(axis=-1)
    total = margins.sum(axis=-1)
    ranks = np.broadcast_to(np.arange(margins.shape[-1], dtype=np.float64), margins.shape)
    if metric == "ordinal":  # of their mean ranks among all ratings
        ranks = np.cumsum(margins, axis=-1) - margins / 2
    distance = (ranks[..., :, None] - ranks[..., None, :]) ** 2
    distance = np.sign(distance) if metric == "nominal" else distance
    observed = (total - 1) * np.sum(distance * tables, axis=(-1, -2))
    expected = np.sum(distance * margins[..., :, None] * margins[..., None, :], axis=(-1, -2))
    undefined = np.full(np.shape(expected), np.nan)
    return 1 - np.divide(observed, expected, out=undefined, where=expected > 0)


def disagreements(panel: Panel, weight: Weight) -> list[float]:
    """How far two of an item's ratings disagree on average, in [0, 1], for each item; 0 with fewer than two."""
    pairs, distance = coincidences(panel.counts), disagreement(panel.counts.shape[1], weight)
    means: NDArray[np.float64] = np.sum(pairs * distance, axis=(1, 2)) / np.maximum(1, panel.counts.sum(axis=1))
    return means.tolist()


@dataclass(frozen=True)
class RaterPair:
    """Two raters on the items that both rated."""

    raters: tuple[Hashable, Hashable]
    items: int
    same: float
    """Share of these with the same label, in [0, 1]."""
    kappa: Estimate
    """Cohen's, in [-1, 1]."""


def rater_pairs(panel: Panel, groups: Sequence[Hashable], weight: Weight, fewest: int) -> list[RaterPair]:
    """Every two raters of a panel who share as many items, at least one, in the order in which they first appear."""
    pairs: list[RaterPair] = []
    for one, other in combinations(range(len(panel.names)), 2):
        mine, theirs = (np.flatnonzero(panel.raters == number) for number in (one, other))
        shared, first, second = np.intersect1d(panel.items[mine], panel.items[theirs], return_indices=True)
        if len(shared) < fewest:
            continue
        tables = panel.own[mine[first]][:, :, None] * panel.own[theirs[second]][:, None, :]
        kappa = kappa_of_items(tables, [groups[index] for index in shared], weight)
        same = float(np.trace(tables.sum(axis=0))) / len(shared)
        pairs.append(RaterPair((panel.names[one], panel.names[other]), len(shared), same, kappa))
    return pairs


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
    weight: Weight = "quadratic"
    """Of the kappas."""

    @classmethod
    def of(
        cls,
        soft: NDArray[np.float64],
        strata: Sequence[Hashable],
        order: Sequence[Hashable],
        weight: Weight = "quadratic",
    ) -> "Strata":
        """Sort items with soft labels, of shape (n, k), into their strata, each of which `order` names once."""
        member = tally([[stratum] for stratum in strata], order)
        differ = np.count_nonzero(member.T @ soft, axis=1) > 1
        labels = member[:, differ].sum(axis=0)
        return cls(member[:, differ], labels / max(1.0, labels.sum()), weight)

    def placed(self, tables: NDArray[np.float64], at: NDArray[np.intp]) -> NDArray[np.float64]:
        """Two tables of each of some items, in the place of its stratum: from shape (m, 2, k, k) to (m, 2, P, k, k)."""
        return self.member[at][:, None, :, None, None] * tables[:, :, None]

    def averages(self, tables: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean of the strata's kappas by their weights, shape (B, P, k, k) to (B,); nan without strata."""
        if not len(self.weights):
            return np.full(len(tables), np.nan)
        means = kappas(tables, self.weight) @ self.weights
        return np.where(np.abs(means) < ROUNDING, 0.0, means)


@dataclass(frozen=True)
class Judged:
    """A judge's labels beside people's, item by item.

    Intervals speak of other groups like these, and, from four raters on, of other raters like these; with fewer they
    carry a warning. So does a share of fewer than 30 items.
    """

    panel: Panel
    """People's ratings of the items."""
    grades: NDArray[np.float64]
    """1 at the judge's label of each item, else 0: shape (n, k)."""
    groups: Sequence[Hashable]
    """Key of the group of each item."""
    ties: Sequence[int] | None
    """Places of all labels: people's label of an item is their commonest, of several the one that comes first here.
    None where it is the share of each label."""

    @classmethod
    def of(
        cls,
        panel: Panel,
        judge: Sequence[Hashable],
        labels: Sequence[Hashable],
        groups: Sequence[Hashable],
        ties: Sequence[Hashable] | None = None,
    ) -> "Judged":
        """A judge beside a panel: one label and the key of one group an item, `ties` as labels.

        Raises a `ValueError` where lengths differ, `labels` or `ties` does not name every label once, or an item has no
        rating.
        """
        if not len(panel.counts) == len(judge) == len(groups):
            raise ValueError(f"one grade and group an item: {len(panel.counts)}, {len(judge)}, {len(groups)} differ")
        order = None if ties is None else [list(labels).index(label) for label in ties]
        if order is not None and sorted(order) != list(range(len(labels))):
            raise ValueError(f"ties must name every label once: {ties!r} for {labels!r}")
        if not panel.counts.any(axis=1).all():
            raise ValueError("an item without ratings has no label: leave it out")
        return cls(panel, tally([[label] for label in judge], labels), groups, order)

    def kappa(self, weight: Weight) -> Estimate:
        """Cohen's kappa in [-1, 1]; all gradings equal (0 / 0) is undefined."""
        tables, changes = self.panel.parts(self._tables)
        return kappa_of_items(tables, self.groups, weight, changes)

    def ac(self, weight: Weight) -> Estimate:
        """Gwet's AC1 (weight "none") or AC2, at most 1; full agreement, of all or without one group, has no bounds.

        The interval is that of -log(1 - AC), carried back: where AC is high it scatters less, so that on its own scale
        the lower end lay too high (at 20 items AC2 was covered in 88 %).
        """
        tables, changes = self.panel.parts(self._tables)
        value = float(acs(tables.sum(axis=0), weight))
        if not value <= 1 - ROUNDING:  # or nan
            jackknife = Jackknife.of(
                tables, self.groups, partial(acs, weight=weight), undefined="fewer than two labels", changes=changes
            )
            return jackknife.estimate()

        def logarithm(sums: NDArray[np.float64]) -> NDArray[np.float64]:
            short = 1 - acs(sums, weight)
            return -np.log(np.where(short > ROUNDING, short, np.nan))

        logs = Jackknife.of(tables, self.groups, logarithm, changes=changes).estimate((-np.inf, np.inf))
        low, high = (None if end is None else 1 - math.exp(-end) for end in (logs.low, logs.high))
        return Estimate(value, low, high, logs.reason)

    def exact(self) -> Estimate:
        """Share of items, or of ratings where people's label is their shares, with the judge's label: in [0, 1]."""
        same, changes = self.panel.parts(
            lambda counts, at: self._means(counts, np.sum(self._labels(counts) * self.grades[at], axis=1))
        )
        # Rounding must not lift a share of equal grades above 1.
        return share_of_items(np.minimum(same[:, 0], 1), self.groups, self._drawn(same, changes))

    def recall(self, label: int) -> Estimate:
        """Share of the items that people give a label, by its place, that the judge gives it too: in [0, 1]."""

        def hits_of(counts: NDArray[np.float64], at: NDArray[np.intp]) -> NDArray[np.float64]:
            theirs = self._labels(counts)[:, label]
            return np.stack([theirs * self.grades[at, label], theirs], axis=1)

        hits, changes = self.panel.parts(hits_of)
        chosen = hits[:, 1] > 0
        keys = [key for key, one in zip(self.groups, chosen, strict=True) if one]
        return share_of_items(hits[chosen, 0], keys, self._drawn(hits, changes))

    def bias(self, scores: ArrayLike) -> Estimate:
        """Mean score of the judge minus that of people, each item weighted equally: above 0 it is the more lenient.

        `scores` are those of the labels, in [0, 1]: shape (k,).
        """
        worth = np.asarray(scores, dtype=np.float64)
        parts, changes = self.panel.parts(
            lambda counts, at: self._means(counts, (self.grades[at] - shares(counts)) @ worth)
        )
        return part_mean(parts[:, 0], self.groups, bounds=(-1, 1), drawn=self._drawn(parts, changes))

    def _labels(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        return shares(counts) if self.ties is None else commonest(counts, self.ties)

    def _tables(self, counts: NDArray[np.float64], at: NDArray[np.intp]) -> NDArray[np.float64]:
        """People's label by row, the judge's by column: shape (m, k, k)."""
        return self._labels(counts)[:, :, None] * self.grades[at][:, None, :]

    def _means(self, counts: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values, and a one for each, of the items that have ratings: shape (m, 2)."""
        rated = (counts.sum(axis=1) > 0).astype(np.float64)
        return np.stack([values * rated, rated], axis=1)

    def _drawn(self, parts: NDArray[np.float64], changes: Changes | None) -> RaterVariance | None:
        """What raters add to a ratio of sums."""
        return changes and rater_variance(parts.sum(axis=0), ratio, changes, self.groups)
