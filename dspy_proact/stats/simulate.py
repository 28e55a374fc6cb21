"""Scores whose truth is known, to see what the intervals and tests of this room are worth.

Each trigger has a latent number that is standard normal over the population: the sum of an effect of its
scenario, of its dialogue, of itself, of the run in this scenario, and of chance, with given shares of the
variance. Two cuts make it a score of 0, 0.5 or 1. The mean score of the population follows from the cuts
alone, exactly. Two runs on the same triggers share the first three effects and nothing else.

Scenarios are of unequal size: a log-normal number of dialogues, rounded, at least one, and one trigger in
a dialogue, or, with probability 0.1, two. Their number has nothing to do with the effects.
"""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

SCENARIO_SIZE = 8 * np.exp(-0.32), 0.8
"""Median and sigma of the log-normal number of dialogues: mean 8. The largest scenario of 8 has about 10 times the
triggers of the smallest, of 25 about 24 times."""
SECOND_TRIGGER = 0.1
"""Probability that a dialogue has a second trigger."""
NORMAL = NormalDist()


@dataclass(frozen=True)
class Cuts:
    """Where the latent number becomes a score: above `partial` it is 0.5, above `full` 1."""

    partial: float
    full: float

    @classmethod
    def of_mean(cls, mean: float) -> "Cuts":
        """Cuts with this population mean, in (0, 1), of which 4/3 mean (1 - mean) score 0.5."""
        half = 2 / 3 * mean * (1 - mean)
        return cls(-NORMAL.inv_cdf(mean + half), -NORMAL.inv_cdf(mean - half))

    @property
    def mean(self) -> float:
        """The mean score of the population, in (0, 1)."""
        return (NORMAL.cdf(-self.partial) + NORMAL.cdf(-self.full)) / 2

    def raised(self, difference: float) -> "Cuts":
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
        return ((latent > self.partial).astype(np.float64) + (latent > self.full)) / 2

    def _shifted(self, by: float) -> "Cuts":
        return Cuts(self.partial - by, self.full - by)


@dataclass(frozen=True)
class Effects:
    """Shares of the latent variance, each in [0, 1], at most 1 together; chance has the rest."""

    scenario: float = 0.15
    dialogue: float = 0.10
    trigger: float = 0.30
    """What runs on the same trigger share beyond scenario and dialogue."""
    run: float = 0.0
    """What a run has of its own in a scenario."""

    @property
    def chance(self) -> float:
        """What is left."""
        return max(0.0, 1 - self.scenario - self.dialogue - self.trigger - self.run)


@dataclass(frozen=True)
class SimulatedRun:
    """One simulated run."""

    scores: NDArray[np.float64]
    """0, 0.5 or 1 for each trigger: shape (n,)."""
    clusters: list[int]
    """Its scenario, counted from 0."""
    mean: float
    """The true mean of the population."""


@dataclass(frozen=True)
class SimulatedPair:
    """Two simulated runs on the same triggers."""

    a: NDArray[np.float64]
    b: NDArray[np.float64]
    """0, 0.5 or 1 for each trigger: shape (n,)."""
    clusters: list[int]
    """Its scenario, counted from 0."""
    difference: float
    """The true difference of the population means, b - a."""


def simulate_run(rng: np.random.Generator, scenarios: int, cuts: Cuts, effects: Effects) -> SimulatedRun:
    """Draw one run on new scenarios.

    Args:
        rng: Where chance comes from.
        scenarios: Number of scenarios, at least 1.
        cuts: Which latent numbers score what.
        effects: How much of the latent variance is whose.
    """
    frame = _Frame.drawn(rng, scenarios)
    scores = cuts.scores(frame.latent(rng, effects, frame.shared(rng, effects)))
    return SimulatedRun(scores, frame.scenario.tolist(), cuts.mean)


def simulate_pair(
    rng: np.random.Generator, scenarios: int, cuts: Cuts, effects: Effects, difference: float = 0.0
) -> SimulatedPair:
    """Draw two runs on the same triggers of new scenarios.

    Args:
        rng: Where chance comes from.
        scenarios: Number of scenarios, at least 1.
        cuts: Which latent numbers score what in the first run; the second's are shifted.
        effects: How much of the latent variance is whose.
        difference: True difference of the population means, b - a.

    Raises:
        ValueError: The second run's mean would leave (0, 1).
    """
    frame = _Frame.drawn(rng, scenarios)
    shared = frame.shared(rng, effects)
    raised = cuts.raised(difference) if difference else cuts
    a, b = (each.scores(frame.latent(rng, effects, shared)) for each in (cuts, raised))
    return SimulatedPair(a, b, frame.scenario.tolist(), raised.mean - cuts.mean)


@dataclass(frozen=True)
class _Frame:
    """Which dialogue and scenario each trigger is of, counted from 0: each of shape (n,)."""

    dialogue: NDArray[np.intp]
    scenario: NDArray[np.intp]

    @classmethod
    def drawn(cls, rng: np.random.Generator, scenarios: int) -> "_Frame":
        median, sigma = SCENARIO_SIZE
        dialogues = np.maximum(1, np.rint(median * rng.lognormal(0, sigma, scenarios))).astype(np.intp)
        of_dialogue = np.repeat(np.arange(scenarios), dialogues)
        dialogue = np.repeat(np.arange(len(of_dialogue)), 1 + (rng.random(len(of_dialogue)) < SECOND_TRIGGER))
        return cls(dialogue, of_dialogue[dialogue])

    def shared(self, rng: np.random.Generator, effects: Effects) -> NDArray[np.float64]:
        """What runs on these triggers have in common, of each latent number: shape (n,)."""
        return (
            _effect(rng, effects.scenario, self.scenario)
            + _effect(rng, effects.dialogue, self.dialogue)
            + _effect(rng, effects.trigger, np.arange(len(self.dialogue)))
        )

    def latent(self, rng: np.random.Generator, effects: Effects, shared: NDArray[np.float64]) -> NDArray[np.float64]:
        """Latent numbers of one run: what is shared, the run in its scenarios, and chance."""
        chance = _effect(rng, effects.chance, np.arange(len(self.dialogue)))
        return shared + _effect(rng, effects.run, self.scenario) + chance


def _effect(rng: np.random.Generator, variance: float, place: NDArray[np.intp]) -> NDArray[np.float64]:
    """A normal effect of this variance for each place, given to all that have it."""
    effects = np.sqrt(variance) * rng.standard_normal(int(place[-1]) + 1)
    return effects[place]
