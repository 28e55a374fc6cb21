"""A judge beside the people who rated the same items: how far its labels are theirs, and who is the more lenient."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dspy_proact.stats.cluster import part_mean, share_of_items
from dspy_proact.stats.disagreement import Weight
from dspy_proact.stats.estimate import Estimate
from dspy_proact.stats.gwet import ac_of_items
from dspy_proact.stats.kappa import kappa_of_items
from dspy_proact.stats.panel import Changes, Panel, commonest, shares
from dspy_proact.stats.raters import RaterVariance
from dspy_proact.stats.tally import tally
from dspy_proact.stats.units import Units, ratio


@dataclass(frozen=True)
class Judged:
    """A judge's labels beside people's, item by item.

    Items share groups, and their ratings raters: intervals speak of other groups like these, and, from four raters
    on, of other raters like these; with fewer they carry a warning. One group: no bounds; two to four: a warning.
    A share of fewer than 30 items carries one, too: its interval was measured to cover up to 99 %.
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
        """A judge beside a panel.

        Args:
            panel: People's ratings of the items.
            judge: The judge's label, one an item.
            labels: All labels in rising order, each once.
            groups: Key of the group of each item.
            ties: All labels: which is the commonest of several that tie; None for the share of each.

        Raises:
            ValueError: The lengths differ, `labels` or `ties` does not name every label once, or an item has no
                rating.
        """
        if not len(panel.counts) == len(judge) == len(groups):
            raise ValueError(f"one grade and group an item: {len(panel.counts)}, {len(judge)}, {len(groups)} differ")
        if ties is not None and sorted(map(list(labels).index, ties)) != list(range(len(labels))):
            raise ValueError(f"ties must name every label once: {ties!r} for {labels!r}")
        if not panel.counts.any(axis=1).all():
            raise ValueError("an item without ratings has no label: leave it out")
        order = None if ties is None else [list(labels).index(label) for label in ties]
        return cls(panel, tally([[label] for label in judge], labels), groups, order)

    def kappa(self, weight: Weight) -> Estimate:
        """Cohen's kappa in [-1, 1]; silence and ties as in `kappa_estimate`."""
        tables, changes = self.panel.parts(self._tables)
        return kappa_of_items(tables, self.groups, weight, changes)

    def ac(self, weight: Weight) -> Estimate:
        """Gwet's AC1 (weight "none") or AC2, at most 1; silence and ties as in `ac_of_items`."""
        tables, changes = self.panel.parts(self._tables)
        return ac_of_items(tables, self.groups, weight, changes)

    def exact(self) -> Estimate:
        """Share of items, or of ratings where people's label is their shares, with the judge's label: in [0, 1]."""
        same, changes = self.panel.parts(
            lambda counts, at: self._means(counts, np.sum(self._cells(counts, at), axis=1))
        )
        # Rounding must not lift a share of equal grades above 1.
        return share_of_items(np.minimum(same[:, 0], 1), self.groups, self._drawn(same, changes))

    def recall(self, place: int) -> Estimate:
        """Share of the items that people give a label, by its place, that the judge gives it too: in [0, 1]."""

        def found(counts: NDArray[np.float64], at: NDArray[np.intp]) -> NDArray[np.float64]:
            theirs = self._labels(counts)[:, place]
            return np.stack([theirs * self.grades[at, place], theirs], axis=1)

        hits, changes = self.panel.parts(found)
        chosen = hits[:, 1] > 0
        keys = [key for key, one in zip(self.groups, chosen, strict=True) if one]
        return share_of_items(hits[chosen, 0], keys, self._drawn(hits, changes))

    def bias(self, scores: ArrayLike) -> Estimate:
        """Mean score of the judge minus that of people, each item weighted equally: above 0 it is the more lenient.

        Args:
            scores: Of each label, in [0, 1]: shape (k,).
        """
        worth = np.asarray(scores, dtype=np.float64)

        def apart(counts: NDArray[np.float64], at: NDArray[np.intp]) -> NDArray[np.float64]:
            return self._means(counts, (self.grades[at] - shares(counts)) @ worth)

        found, changes = self.panel.parts(apart)
        return part_mean(found[:, 0], self.groups, bounds=(-1, 1), drawn=self._drawn(found, changes))

    def _labels(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        return shares(counts) if self.ties is None else commonest(counts, self.ties)

    def _cells(self, counts: NDArray[np.float64], at: NDArray[np.intp]) -> NDArray[np.float64]:
        return self._labels(counts) * self.grades[at]

    def _tables(self, counts: NDArray[np.float64], at: NDArray[np.intp]) -> NDArray[np.float64]:
        """People's label by row, the judge's by column: shape (m, k, k)."""
        return self._labels(counts)[:, :, None] * self.grades[at][:, None, :]

    def _means(self, counts: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values, and a one for each, of the items that have ratings: shape (m, 2)."""
        rated = (counts.sum(axis=1) > 0).astype(np.float64)
        return np.stack([values * rated, rated], axis=1)

    def _drawn(self, parts: NDArray[np.float64], changes: Changes | None) -> RaterVariance | None:
        """What raters add to a ratio of sums."""
        if changes is None:
            return None
        return Units.of(self.groups).drawn(parts.sum(axis=0), ratio, changes)
