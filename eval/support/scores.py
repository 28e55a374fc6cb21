"""Scores whose truth is known, to see what intervals and tests are worth.

Each case has a latent number that is standard normal over the population: the sum of an effect of its
group, of its subgroup, of itself, of the run in this group, and of chance, with given shares of the
variance. Two cuts make it a score of 0, 0.5 or 1. The mean score of the population follows from the cuts
alone, exactly. Two runs on the same cases share the first three effects and nothing else.

Groups are of unequal size: a log-normal number of subgroups, rounded, at least one, and one case in
a subgroup, or, with probability 0.1, two. Their number has nothing to do with the effects.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

GROUP_SIZE = 8 * np.exp(-0.32), 0.8
"""Median and sigma of the log-normal number of subgroups: mean 8. The largest group of 8 has about 10 times the
cases of the smallest, of 25 about 24 times."""
SECOND_CASE = 0.1
"""Probability that a subgroup has a second case."""
NORMAL = NormalDist()


@dataclass(frozen=True)
class Thresholds:
    """Where the latent number becomes a score: above `half` it is 0.5, above `full` 1."""

    half: float
    full: float

    @classmethod
    def of_mean(cls, mean: float) -> "Thresholds":
        """Thresholds with this population mean, in (0, 1), of which 4/3 mean (1 - mean) score 0.5."""
        half = 2 / 3 * mean * (1 - mean)
        return cls(-NORMAL.inv_cdf(mean + half), -NORMAL.inv_cdf(mean - half))

    @property
    def mean(self) -> float:
        """The mean score of the population, in (0, 1)."""
        return (NORMAL.cdf(-self.half) + NORMAL.cdf(-self.full)) / 2

    def raised(self, difference: float) -> "Thresholds":
        """Both cuts shifted alike, so that the population mean is higher by `difference`, in (-mean, 1 - mean).

        Raises:
            ValueError: The mean would leave (0, 1).
        """
        wanted = self.mean + difference
        if not 0 < wanted < 1:
            raise ValueError(f"a population mean is in (0, 1): {self.mean!r} cannot be raised by {difference!r}")
        low, high = -16.0, 16.0
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if self._shifted(middle).mean < wanted else (low, middle)
        return self._shifted(high)

    def scores(self, latent: NDArray[np.float64]) -> NDArray[np.float64]:
        """The scores of latent numbers, aligned: 0, 0.5 or 1."""
        return ((latent > self.half).astype(np.float64) + (latent > self.full)) / 2

    def _shifted(self, by: float) -> "Thresholds":
        return Thresholds(self.half - by, self.full - by)


@dataclass(frozen=True)
class Effects:
    """Shares of the latent variance, each in [0, 1], at most 1 together; chance has the rest."""

    group: float = 0.15
    subgroup: float = 0.10
    case: float = 0.30
    """What runs on the same case share beyond group and subgroup."""
    run: float = 0.0
    """What a run has of its own in a group."""

    @property
    def chance(self) -> float:
        """What is left."""
        return max(0.0, 1 - self.group - self.subgroup - self.case - self.run)


@dataclass(frozen=True)
class SimulatedRun:
    """One simulated run."""

    scores: NDArray[np.float64]
    """0, 0.5 or 1 for each case: shape (n,)."""
    groups: list[int]
    """Its group, counted from 0."""
    mean: float
    """The true mean of the population."""


@dataclass(frozen=True)
class SimulatedPair:
    """Two simulated runs on the same cases."""

    a: NDArray[np.float64]
    b: NDArray[np.float64]
    """0, 0.5 or 1 for each case: shape (n,)."""
    groups: list[int]
    """Its group, counted from 0."""
    difference: float
    """The true difference of the population means, b - a."""


def simulate_run(rng: np.random.Generator, groups: int, cuts: Thresholds, effects: Effects) -> SimulatedRun:
    """Draw one run on new groups.

    Args:
        rng: Where chance comes from.
        groups: Number of groups, at least 1.
        cuts: Which latent numbers score what.
        effects: How much of the latent variance is whose.
    """
    group_of, latent = _drawn_cases(rng, groups, effects)
    return SimulatedRun(cuts.scores(latent()), group_of, cuts.mean)


def simulate_skewed(rng: np.random.Generator, groups: int, mean: float) -> SimulatedRun:
    """Draw a run whose groups differ widely: most score nothing, some much.

    A group's mean is drawn from a beta distribution with this mean and a + b = 2; it has 1 to 60 cases, evenly on the
    logarithmic scale, of which each scores 1 with that probability, else 0.
    """
    sizes = np.maximum(1, np.rint(60 ** rng.random(groups))).astype(np.intp)
    group = np.repeat(np.arange(groups), sizes)
    means = rng.beta(2 * mean, 2 * (1 - mean), groups)
    return SimulatedRun((rng.random(len(group)) < means[group]).astype(np.float64), group.tolist(), mean)


def simulate_pair(
    rng: np.random.Generator,
    groups: int | Sequence[int],
    cuts: Thresholds,
    effects: Effects,
    difference: float = 0.0,
) -> SimulatedPair:
    """Draw two runs on the same cases of new groups.

    Arguments are as in `simulate_run`; groups may be given by their numbers of subgroups. The cuts are the first run's;
    the second's are shifted, so that the true difference of the population means, b - a, is as given.

    Raises:
        ValueError: The second run's mean would leave (0, 1).
    """
    group_of, latent = _drawn_cases(rng, groups, effects)
    raised = cuts.raised(difference) if difference else cuts
    a, b = (item.scores(latent()) for item in (cuts, raised))
    return SimulatedPair(a, b, group_of, raised.mean - cuts.mean)


def _drawn_cases(
    rng: np.random.Generator, groups: int | Sequence[int], effects: Effects
) -> tuple[list[int], Callable[[], NDArray[np.float64]]]:
    """The group of each of n new cases, counted from 0, and what draws the latent numbers of a run: shape (n,)."""
    median, sigma = GROUP_SIZE
    sizes = groups
    if isinstance(sizes, int):
        sizes = list[int](np.maximum(1, np.rint(median * rng.lognormal(0, sigma, sizes))).astype(np.intp).tolist())
    of_subgroup = np.repeat(np.arange(len(sizes)), sizes)
    subgroup = np.repeat(np.arange(len(of_subgroup)), 1 + (rng.random(len(of_subgroup)) < SECOND_CASE))
    group, case = of_subgroup[subgroup], np.arange(len(subgroup))

    def effect(variance: float, index: NDArray[np.intp]) -> NDArray[np.float64]:
        """A normal effect of this variance for each place, given to all that have it."""
        return (np.sqrt(variance) * rng.standard_normal(int(index[-1]) + 1))[index]

    shared = effect(effects.group, group) + effect(effects.subgroup, subgroup) + effect(effects.case, case)

    def latent() -> NDArray[np.float64]:
        chance = effect(effects.chance, case)
        return shared + effect(effects.run, group) + chance

    return group.tolist(), latent
