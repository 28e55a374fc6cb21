"""Ranks of models from counts alone, and the ranges of ranks that tests on them leave open.

Published tables give counts without cases or groups, so that nothing can be paired and the likeness of a group's cases
must be assumed: the design effect, by how much it widens a variance. It is measured where a model's groups are known.
"Cannot be told apart" is not transitive, so that models fall into no groups; each has a range of ranks.
"""

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from dspy_proact.stats.cluster import ENOUGH_GROUPS
from dspy_proact.stats.estimate import ROUNDING
from dspy_proact.stats.paired import LEVEL, holm

DESIGN_EFFECT = 2.0
"""By how much the likeness of a group's cases widens a variance at least: an assumption, for counts do not tell."""


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
    def of_labels(cls, counts: Sequence[int], scores: Sequence[float]) -> "Counted":
        """From how many cases have each label, and the score of each label; there is at least one case."""
        count = sum(counts)
        mean = sum(cases * score for cases, score in zip(counts, scores, strict=True)) / count
        variance = sum(cases * (score - mean) ** 2 for cases, score in zip(counts, scores, strict=True)) / count
        return cls(mean, variance if variance > ROUNDING**2 else 0.0, count)

    @classmethod
    def of_cases(cls, scores: Sequence[float], groups: Sequence[Hashable]) -> "Counted":
        """From the score of every case, at least one, in [0, 1], and the key of the group of each.

        The design effect is left open where fewer than five groups, or none that differ, tell nothing of it.
        """
        counted = cls.of_labels([1] * len(scores), scores)
        sums = defaultdict[Hashable, float](float)
        for score, group in zip(scores, groups, strict=True):
            sums[group] += score - counted.mean
        spread = sum(value**2 for value in sums.values()) * len(sums) / max(len(sums) - 1, 1) / counted.count
        known = len(sums) >= ENOUGH_GROUPS and spread > ROUNDING**2 and counted.variance > 0
        return replace(counted, design_effect=spread / counted.variance) if known else counted


def rank_ranges(models: Sequence[Counted], design_effect: float = DESIGN_EFFECT) -> list[tuple[int, int]]:
    """Range of ranks of each model, (best, worst): what lies outside is refuted at 5 % for all pairs together.

    Every two models are compared by a z test with SE^2 = D (var_A / N_A + var_B / N_B), and Holm adjusts over all
    pairs. A model's best rank is one below those significantly better than it, its worst one above those significantly
    worse (as in Mogstad, Romano, Shaikh & Wilhelm 2024, with Holm).

    D is the larger of `design_effect` and what the models show: the factor by which the cases' likeness within groups
    widens a variance, above 0; 1 would be independent cases. 2 is an assumption, inside the 1.1 to 3.3 seen in
    simulations; at a true 3 the ranges of one table in six miss a rank.
    """
    pairs = list(combinations(range(len(models)), 2))
    effect = max([design_effect, *(model.design_effect or 0.0 for model in models)])
    adjusted = holm([_pair_p(models[one], models[other], effect) for one, other in pairs])
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
    if abs(one.mean - other.mean) < ROUNDING:
        return 1.0
    first, second = one.variance, other.variance
    if min(first, second) == 0:
        count = one.count + other.count
        within = (one.count * one.variance + other.count * other.variance) / count
        first = second = within + one.count * other.count * ((one.mean - other.mean) / count) ** 2
    error = math.sqrt(design_effect * (first / one.count + second / other.count))
    return math.erfc(abs(one.mean - other.mean) / error / math.sqrt(2))
