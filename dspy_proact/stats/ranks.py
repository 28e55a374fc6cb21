"""Ranks of models from counts alone, and the ranges of ranks that tests on them leave open.

Published tables give counts without cases or groups, so that nothing can be paired and the likeness of a group's cases
must be assumed: the design effect, by how much it widens a variance. It is measured where a model's groups are known.
"Cannot be told apart" is not transitive, so that models fall into no groups; each has a range of ranks.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from dspy_proact.stats.cluster import ENOUGH_GROUPS, cluster_mean, spread_of, tabulate
from dspy_proact.stats.estimate import ROUNDING, t_tail
from dspy_proact.stats.paired import FEWEST, LEVEL, holm

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
    df: float = math.inf
    """Degrees of freedom with which the design effect is known."""
    interval: tuple[float, float] | None = None
    """95 % interval of the mean over its groups; None where these are not known."""
    groups: int | None = None
    """Groups of the cases; None where these are not known."""

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

        The design effect is left open where the groups have fewer than four degrees of freedom, as less than five equal
        ones have, or do not differ. Where there is no interval, it is all of the scale.
        """
        counted, own = cls.of_labels([1] * len(scores), scores), cluster_mean(scores, groups)
        interval = (0.0, 1.0) if own.low is None or own.high is None else (own.low, own.high)
        table = tabulate(np.array(scores, dtype=float), groups)
        counted = replace(counted, interval=interval, groups=table.groups)
        if table.groups == 1 or not counted.variance:
            return counted
        spread = spread_of(table)
        if spread.df < ENOUGH_GROUPS - 1 - ROUNDING or spread.error < ROUNDING:
            return counted
        return replace(counted, design_effect=spread.variance * counted.count / counted.variance, df=spread.df)


def rank_ranges(models: Sequence[Counted], design_effect: float = DESIGN_EFFECT) -> list[tuple[int, int]]:
    """Range of ranks of each model, (best, worst): what lies outside is refuted at 5 % for all pairs together.

    Every two models are compared by a t test with SE^2 = D (var_A / N_A + var_B / N_B), and Holm adjusts over all
    pairs; they are not told apart where one's mean lies in the other's interval, or where one has so few groups that no
    paired difference of it can be significant either. A model's best rank is one below those
    significantly better than it, its worst one above those significantly worse (as in Mogstad, Romano, Shaikh & Wilhelm
    2024, with Holm).

    D is the larger of `design_effect` and what the models show: the factor by which the cases' likeness within groups
    widens a variance, above 0; 1 would be independent cases. Shown, it has degrees of freedom; 2 is an assumption, and
    has none. It is inside the 1.1 to 3.3 seen in simulations; where it is 3 and nothing shows it, ranges of models that
    are all equal miss a rank in one table of four (eval/README.md).
    """
    pairs = list(combinations(range(len(models)), 2))
    effect = max([(design_effect, math.inf), *((model.design_effect or 0.0, model.df) for model in models)])
    adjusted = holm([_pair_p(models[one], models[other], *effect) for one, other in pairs])
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


def _pair_p(one: Counted, other: Counted, design_effect: float, df: float) -> float:
    """Two-sided p value of the test that both have the same mean; 1 where nothing may tell them apart.

    A model whose cases all score alike shows no variance, yet one case proves nothing: its pairs are
    tested with the variance of both models' cases put together, which is what they would share if alike.
    """
    beside = ((one.mean, other.interval), (other.mean, one.interval))
    held = any(interval and interval[0] <= mean <= interval[1] for mean, interval in beside)
    few = any(model.groups is not None and model.groups < FEWEST for model in (one, other))
    if abs(one.mean - other.mean) < ROUNDING or held or few:
        return 1.0
    first, second = one.variance, other.variance
    if min(first, second) == 0:
        count = one.count + other.count
        within = (one.count * one.variance + other.count * other.variance) / count
        first = second = within + one.count * other.count * ((one.mean - other.mean) / count) ** 2
    error = math.sqrt(design_effect * (first / one.count + second / other.count))
    t = abs(one.mean - other.mean) / error
    return math.erfc(t / math.sqrt(2)) if math.isinf(df) else 2 * t_tail(t, df)
