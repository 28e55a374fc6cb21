"""Items whose difficulty, discrimination and faults are known, and the answers of simulated models to them.

A model has an ability, normal over models. The chance that it passes an item is logistic in its ability with the item's
slope and threshold, never below a chance of guessing (2PL and 3PL of item response theory; Lord 1980); a partial score
has a threshold of its own. A model does better in some groups of items than in others, whatever the items. Of every
response there are two verdicts, which differ with a chance of the item's.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats.items import ModelScores

FAULTS: tuple[str, ...] = (
    "mis-keyed",
    "strongly mis-keyed",
    "by chance",
    "impossible",
    "leaked",
    "judge flips",
    "often unscored",
)
"""What is wrong with an item: worse models score higher, with the slopes of others or twice them; chance decides;
nobody can pass it; everybody passes it; a judge's verdict is a coin; two fifths of the answers have no score."""
LOST = 0.02
"""Chance that an answer to a sound item has no score."""
DIFFER = 0.06, 0.04
"""Mean and standard deviation over sound items of the chance that two verdicts differ: beta."""


@dataclass(frozen=True)
class Setting:
    """From what items and models are drawn."""

    spread: float
    """Standard deviation of abilities, where thresholds have 1; 0 for models that are alike."""
    partial: bool = False
    """Whether half a score can be had."""
    group_size: int = 1
    group_effect: float = 0.0
    """Standard deviation of what a model does better in a group."""
    epochs: int = 1
    family: int = 1
    """How many models have one maker, whose level is 64 % of the variance of abilities."""
    family_effect: float = 0.0
    """Standard deviation of what a family does better on an item, on the logit scale."""
    faulty: bool = True
    """Whether some items have a fault: one of 60 of every kind."""


@dataclass(frozen=True)
class Bank:
    """Items; arrays of shape (I,)."""

    setting: Setting
    slopes: NDArray[np.float64]
    thresholds: NDArray[np.float64]
    guessing: NDArray[np.float64]
    differ: NDArray[np.float64]
    """Chance that two verdicts on a response differ."""
    lost: NDArray[np.float64]
    """Chance that an answer has no score."""
    faults: Mapping[str, NDArray[np.intp]]
    """The items of each fault."""

    @classmethod
    def drawn(cls, rng: np.random.Generator, setting: Setting, items: int) -> "Bank":
        """Items at random, the faulty ones first, each kind in groups of its own as far as sizes allow."""
        slopes, thresholds = rng.lognormal(0.1, 0.35, items), rng.standard_normal(items)
        guessing = np.zeros(items) if setting.partial else rng.choice([0.0, 0.1, 0.2], items)
        mean, deviation = DIFFER
        size = mean * (1 - mean) / deviation**2 - 1
        differ, lost = rng.beta(mean * size, (1 - mean) * size, items), np.full(items, LOST)
        order, per_kind = rng.permutation(items), items // 60 if setting.faulty else 0
        faults = {kind: order[at * per_kind : (at + 1) * per_kind] for at, kind in enumerate(FAULTS)}
        slopes[faults["mis-keyed"]] *= -1
        slopes[faults["strongly mis-keyed"]] *= -2
        slopes[faults["by chance"]] = 0
        for kind, threshold in (("impossible", 1e3), ("leaked", -1e3)):
            slopes[faults[kind]], thresholds[faults[kind]], guessing[faults[kind]] = 1.0, threshold, 0.0
        differ[faults["judge flips"]], lost[faults["often unscored"]] = 0.5, 0.4
        return cls(setting, slopes, thresholds, guessing, differ, lost, faults)

    @property
    def groups(self) -> list[int]:
        """Of each item, its number."""
        return (np.arange(len(self.slopes)) // self.setting.group_size).tolist()

    @property
    def sound(self) -> NDArray[np.bool_]:
        """Which items have no fault."""
        sound = np.ones(len(self.slopes), dtype=np.bool_)
        for items in self.faults.values():
            sound[items] = False
        return sound

    def answers(self, rng: np.random.Generator, models: int) -> NDArray[np.float64]:
        """Scores of one epoch after another of new models, all there: shape (K, R, I)."""
        setting, groups = self.setting, np.array(self.groups)
        family = np.arange(models) // setting.family
        ability = rng.standard_normal(models)
        if setting.family > 1:
            ability = 0.6 * ability + 0.8 * rng.standard_normal(models)[family]
        effects = setting.group_effect * rng.standard_normal((models, groups.max() + 1))
        logits = self.slopes * (setting.spread * ability[:, None] + effects[:, groups] - self.thresholds)
        if setting.family_effect:
            logits += setting.family_effect * rng.standard_normal((family.max() + 1, len(groups)))[family]
        chances = self.guessing + (1 - self.guessing) / (1 + np.exp(-np.clip(logits, -500, 500)))
        drawn = rng.random((setting.epochs, *chances.shape))
        if not setting.partial:
            return (drawn < chances).astype(np.float64)
        partly = 1 / (1 + np.exp(-np.clip(logits + np.abs(self.slopes), -500, 500)))
        return ((drawn < chances) + (drawn < partly).astype(np.float64)) / 2

    def study(self, rng: np.random.Generator, models: int) -> ModelScores:
        """What new models scored, with answers that have no score and verdicts that differ."""
        scores = self.answers(rng, models)
        gone = rng.random(scores.shape) < self.lost
        differ = np.where(gone, False, rng.random(scores.shape) < self.differ)
        scored = np.count_nonzero(~gone, axis=0)
        means = [np.where(gone, 0.0, array).sum(axis=0) / np.maximum(scored, 1) for array in (scores, scores == 1)]
        mean, passes = (np.where(scored > 0, array, np.nan) for array in means)
        split = np.where(scored > 0, np.max(differ, axis=0), np.nan)
        return ModelScores(mean, passes, self.groups, np.asarray(np.max(gone, axis=0), dtype=np.float64), split)


@dataclass(frozen=True)
class Truth:
    """What a bank's figures are over a large number of models: arrays of shape (I,)."""

    difficulty: NDArray[np.float64]
    rest: NDArray[np.float64]
    """Correlation with the mean of other groups; nan for what does not vary."""
    alpha: float
    """Of the sums of groups, which are of one size."""

    @classmethod
    def of(cls, bank: Bank, rng: np.random.Generator, models: int = 20_000) -> "Truth":
        """By the textbook's formulas, on new models."""
        scores = bank.answers(rng, models).mean(axis=0)
        size = bank.setting.group_size
        sums = scores.reshape(models, -1, size).sum(axis=2)
        total = sums.sum(axis=1)
        rest = total[:, None] - np.repeat(sums, size, axis=1)
        with np.errstate(invalid="ignore"):
            centred, others = scores - scores.mean(axis=0), rest - rest.mean(axis=0)
            correlations = (centred * others).sum(axis=0) / np.sqrt((centred**2).sum(axis=0) * (others**2).sum(axis=0))
        parts = sums.shape[1]
        alpha = parts / (parts - 1) * (1 - sums.var(axis=0, ddof=1).sum() / total.var(ddof=1))
        return cls(scores.mean(axis=0), correlations, float(alpha))
