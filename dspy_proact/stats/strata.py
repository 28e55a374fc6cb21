import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats.cluster import ROUNDING
from dspy_proact.stats.kappa import kappas
from dspy_proact.stats.tally import tally


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
            ValueError: The lengths differ, or `order` does not name every stratum once.
        """
        if len(strata) != len(soft):
            raise ValueError(f"one stratum a soft label: {len(strata)} and {len(soft)} differ")
        if len(set(order)) < len(order) or not set(strata) <= set(order):
            raise ValueError(f"order must name every stratum once: {order!r} for {set(strata)!r}")
        member = tally([[stratum] for stratum in strata], order)
        levels = np.count_nonzero(member.T @ soft, axis=1)
        labels = member[:, levels > 1].sum(axis=0)
        without = tuple(name for name, count in zip(order, levels, strict=True) if count == 1)
        return cls(member[:, levels > 1], labels / max(1.0, labels.sum()), without)

    @property
    def warning(self) -> str | None:
        """The strata that are not among these, by name; None where all are."""
        return f"without {', '.join(map(str, self.without))}: all items graded alike" if self.without else None

    def tables(self, tables: NDArray[np.float64]) -> NDArray[np.float64]:
        """Tables of items, shape (n, 3, 3), each in the place of its stratum: shape (n, P, 3, 3)."""
        return self.member[:, :, None, None] * tables[:, None]

    def average(self, tables: NDArray[np.float64]) -> float | None:
        """Mean of the strata's quadratic kappas by their weights; None without strata, or where one is undefined.

        Args:
            tables: One table a stratum: shape (P, 3, 3).
        """
        mean = float(self.averages(tables[None])[0])
        return None if math.isnan(mean) else mean

    def averages(self, tables: NDArray[np.float64]) -> NDArray[np.float64]:
        """What `average` gives, of many at a time: shape (B, P, 3, 3) to (B,); nan where it gives None."""
        if not len(self.weights):
            return np.full(len(tables), np.nan)
        means = kappas(tables, "quadratic") @ self.weights
        return np.where(np.abs(means) < ROUNDING, 0.0, means)
