"""Ranks of models from counts alone, and the ranges of ranks that tests on them leave open.

Published tables give counts without cases or groups, so that nothing can be paired and the likeness of a group's cases
must be assumed: the design effect, by how much it widens a variance. That of a model with known groups is measured.
"Cannot be told apart" is not transitive, so that models fall into no groups; each has a range of ranks.
"""

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from dspy_proact.stats.cluster import ENOUGH_GROUPS
from dspy_proact.stats.paired import LEVEL, holm


@dataclass(frozen=True)
class Counted:
    """A model's score as counts tell it."""

    mean: float
    """Mean score in [0, 1], higher is better."""
    variance: float
    """Variance of one case's score, in [0, 0.25]."""
    count: int
    """Cases, at least 1."""
    design_effect: float | None = None
    """By how much the likeness of a group's cases widens its variance, where the groups are known."""

    @classmethod
    def of_scores(cls, full: int, half: int, none: int) -> "Counted":
        """From the number of cases that scored 1, 0.5 and 0; there is at least one case."""
        count = full + half + none
        mean = (full + half / 2) / count
        squares = full * (1 - mean) ** 2 + half * (0.5 - mean) ** 2 + none * mean**2
        return cls(mean, squares / count, count)

    def in_groups(self, scores: Sequence[float], groups: Sequence[Hashable]) -> "Counted":
        """A copy with the design effect of its own cases, from the spread of their groups.

        It is left open where fewer than five groups, or none that differ, tell nothing of it. `scores` are those of the
        cases, in [0, 1], and `groups` the key of the group of each.
        """
        sums = defaultdict[Hashable, float](float)
        for score, group in zip(scores, groups, strict=True):
            sums[group] += score - self.mean
        spread = sum(value**2 for value in sums.values()) * len(sums) / max(len(sums) - 1, 1) / self.count
        known = len(sums) >= ENOUGH_GROUPS and spread > 0 and self.variance > 0
        return replace(self, design_effect=spread / self.variance) if known else self


def rank_ranges(models: Sequence[Counted], design_effect: float = 2.0) -> list[tuple[int, int]]:
    """Range of ranks of each model, (best, worst): what lies outside is refuted at 5 % for all pairs together.

    Every two models are compared by a z test with SE^2 = D_A var_A / N_A + D_B var_B / N_B, where D is a model's own
    design effect or else the assumed one, and Holm adjusts over all pairs. A model's best rank is one below those
    significantly better than it, its worst one above those significantly worse (as in Mogstad, Romano, Shaikh &
    Wilhelm 2024, with Holm).

    `design_effect` is the factor by which the cases' likeness within groups widens a variance, above 0; 1 would be
    independent cases. 2 is an assumption, inside the 1.1 to 3.3 seen in simulations.
    """
    pairs = list(combinations(range(len(models)), 2))
    adjusted = holm([_pair_p(models[one], models[other], design_effect) for one, other in pairs])
    better, worse = [0] * len(models), [0] * len(models)
    for (one, other), p in zip(pairs, adjusted, strict=True):
        if p is not None and p <= LEVEL:
            high, low = (one, other) if models[one].mean > models[other].mean else (other, one)
            worse[high] += 1
            better[low] += 1
    return [(1 + above, len(models) - below) for above, below in zip(better, worse, strict=True)]


def competition_ranks(values: Sequence[float]) -> list[int]:
    """Rank of each value, in the same order: 1 is the highest, and ties share the better rank (1, 2, 2, 4)."""
    return [1 + sum(other > value for other in values) for value in values]


def _pair_p(one: Counted, other: Counted, design_effect: float) -> float:
    """Two-sided p value of the z test that both have the same mean; 1 where the means are equal.

    A model whose cases all score alike shows no variance, yet one case proves nothing: its pairs are
    tested with the variance of both models' cases put together, which is what they would share if alike.
    """
    if one.mean == other.mean:
        return 1.0
    first, second = one.variance, other.variance
    if min(first, second) == 0:
        count = one.count + other.count
        within = (one.count * one.variance + other.count * other.variance) / count
        first = second = within + one.count * other.count * ((one.mean - other.mean) / count) ** 2
    effects = [design_effect if model.design_effect is None else model.design_effect for model in (one, other)]
    error = math.sqrt(effects[0] * first / one.count + effects[1] * second / other.count)
    return math.erfc(abs(one.mean - other.mean) / error / math.sqrt(2))
