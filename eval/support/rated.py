"""Cases that a judge scored and people rated, whose truth is known, to see what corrected scores are worth.

Each case has a latent number that is standard normal over the population, with an effect of its group. The judge sees
it with noise, and so does each rater, who besides is more or less lenient than others; cuts make scores of 0, 0.5 and
1 of what they see. Over a population of groups and raters the mean rating is that of the cuts, exactly.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats import RatedCases
from dspy_proact.stats.plan import balanced_counts
from support.scores import Thresholds

SUBGROUPS, CHANCE = 10, 0.79
"""Cases of a group: a binomial number of these, and at least one."""
ALIKE = 0.35
"""Correlation of what is a case's own in one run with what is in another."""


@dataclass(frozen=True)
class RatedWorld:
    """What cases, judge and raters are like."""

    mean: float
    """Mean rating over the population, in (0, 1)."""
    sight: float
    """Correlation of what the judge sees with the latent number, in [0, 1]."""
    lift: float = 0.1
    """Mean score of the judge less that of people."""
    likeness: float = 0.15
    """Share of the latent variance that a group's cases have in common."""
    clarity: float = 0.4
    """Share of the latent number in the variance of what a rater sees, leniency apart."""
    leniency: float = 0.5
    """Standard deviation of raters' leniency, where that of the rest of what they see is 1."""


@dataclass(frozen=True)
class RatedStudy:
    """How many cases are judged and rated, and by whom."""

    groups: int
    rated: int
    """Cases of each stratum."""
    raters: int
    per_item: int
    """Ratings of each of these cases, at most as many as there are raters."""


def simulate_rated(
    rng: np.random.Generator, worlds: Sequence[RatedWorld], study: RatedStudy, *, by_label: bool = True
) -> RatedCases:
    """Judge new cases, and have a part of them rated.

    Args:
        rng: Where chance comes from.
        worlds: What there is to see, one a stratum; strata are counted from 0, and share groups and raters.
        study: How much of each stratum is rated.
        by_label: Whether the rated are drawn in equal numbers by the judge's label, or evenly from all.
    """
    return simulate_rated_runs(rng, [worlds], study, by_label=by_label)[0]


def simulate_rated_runs(
    rng: np.random.Generator, runs: Sequence[Sequence[RatedWorld]], study: RatedStudy, *, by_label: bool = True
) -> list[RatedCases]:
    """Judge several runs on the same cases, and have a part of each rated by the same people.

    Groups move all runs alike, and so does in part what is a case's own. Which cases of a run are rated is drawn for
    each run by itself.

    Args:
        rng: Where chance comes from.
        runs: The strata of each run, as `simulate_rated` takes them.
        study: How much of each stratum of each run is rated.
        by_label: As in `simulate_rated`.
    """
    of_groups, of_raters = rng.standard_normal(study.groups), rng.standard_normal(study.raters)
    groups: list[NDArray[np.intp]] = []
    strata: list[list[_Part]] = []
    for worlds in zip(*runs, strict=True):
        sizes = np.maximum(1, rng.binomial(SUBGROUPS, CHANCE, study.groups))
        group, first = np.repeat(np.arange(study.groups), sizes), None
        parts: list[_Part] = []
        for world in worlds:
            own = rng.standard_normal(len(group))
            own = own if first is None else np.sqrt(ALIKE) * first + np.sqrt(1 - ALIKE) * own
            first = own if first is None else first
            latent = np.sqrt(world.likeness) * of_groups[group] + np.sqrt(1 - world.likeness) * own
            parts.append(_part(rng, world, study, latent, of_raters, by_label=by_label))
        groups.append(group)
        strata.append(parts)
    return [_joined(groups, parts) for parts in zip(*strata, strict=True)]


def _joined(groups: Sequence[NDArray[np.intp]], parts: Sequence["_Part"]) -> RatedCases:
    """The strata of a run, with the groups of their cases."""
    starts = np.cumsum([0, *(len(part.scores) for part in parts)])
    scores = np.concatenate([part.scores for part in parts])
    return RatedCases(
        labels=scores.tolist(),
        scores=scores,
        groups=np.concatenate(groups).tolist(),
        strata=np.repeat(np.arange(len(parts)), np.diff(starts)).tolist(),
        of=np.concatenate([start + part.of for start, part in zip(starts, parts, strict=False)]),
        raters=np.concatenate([part.raters for part in parts]).tolist(),
        ratings=np.concatenate([part.ratings for part in parts]),
    )


def unlabelled(cases: RatedCases) -> RatedCases:
    """The same without what the judge said, so that a correction of them is a plain mean of the ratings."""
    return replace(cases, labels=[None] * len(cases.labels), scores=np.zeros(len(cases.labels)))


@dataclass(frozen=True)
class _Part:
    """One stratum of a run: score of each case, and case, rater and score of each rating."""

    scores: NDArray[np.float64]
    of: NDArray[np.intp]
    raters: NDArray[np.intp]
    ratings: NDArray[np.float64]


def _part(
    rng: np.random.Generator,
    world: RatedWorld,
    study: RatedStudy,
    latent: NDArray[np.float64],
    of_raters: NDArray[np.float64],
    *,
    by_label: bool,
) -> _Part:
    """One stratum of a run, by the cases' latent numbers and standard normal effects of the raters."""
    seen = world.sight * latent + np.sqrt(1 - world.sight**2) * rng.standard_normal(len(latent))
    scores = Thresholds.of_mean(world.mean + world.lift).scores(seen)
    rated = _drawn(rng, scores if by_label else np.zeros_like(scores), study.rated)
    of = np.repeat(rated, study.per_item)
    raters = rng.permuted(np.tile(np.arange(study.raters), (len(rated), 1)), axis=1)[:, : study.per_item].ravel()
    examined = np.sqrt(world.clarity) * latent[of] + np.sqrt(1 - world.clarity) * rng.standard_normal(len(of))
    examined += world.leniency * of_raters[raters]
    ratings = Thresholds.of_mean(world.mean).scores(examined / np.sqrt(1 + world.leniency**2))
    return _Part(scores, of, raters, ratings)


def _drawn(rng: np.random.Generator, kinds: NDArray[np.float64], count: int) -> NDArray[np.intp]:
    """Places of cases drawn in equal numbers from each kind, as far as it has them."""
    names = np.unique(kinds)
    counts = balanced_counts([int(np.sum(kinds == name)) for name in names], count)
    chosen = (
        rng.choice(np.flatnonzero(kinds == name), size, replace=False) for name, size in zip(names, counts, strict=True)
    )
    return np.concatenate([*chosen])
