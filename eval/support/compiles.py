"""Compiles of a judge whose true gain is known, to see what a claim is worth.

Each item has a latent standard normal number, part of which its group shares. Who grades it sees that number through
noise and cuts what they see, so that half of all is worst and three in ten are best: of what a rater sees one share of
the variance is the item's, of what the judge sees another, and so for each candidate. Part of the noise of a judge is
its model's, which all candidates have, and the rest the candidate's own. Candidates are chosen in five folds of whole
groups, by agreement on the others.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats.improvement import Items, Strata, enough_for_claim
from dspy_proact.stats.raters import Panel
from dspy_proact.stats.tally import shares
from support.scores import NORMAL

FOLDS = 5
STRATA = ("A", "B", "C")
CUTS = NORMAL.inv_cdf(0.5), NORMAL.inv_cdf(0.7)
"""Where the latent number becomes level 1, and level 2."""
_BEST = 0.99
GROUP = 0.15
"""Share of the latent variance that is a group's."""


@dataclass(frozen=True)
class SimulatedJudges:
    """Who grades in a simulated compile; shares are of the variance of what each sees, in [0, 1]."""

    rater: float
    """What is the item's of what a rater sees. Two raters agree by a quadratic kappa of about .8 of it."""
    start: float
    """Likewise of the judge that is compiled."""
    better: float | None = None
    """Likewise of one candidate; None where all are worth what the start is."""
    alike: float = 0.5
    """Correlation of what two candidates see beside the item, in [0, 1]: how far they err alike."""
    shared: float = 0.0
    """Share of that, in [0, 1], which all items of a group have in common."""
    candidates: int = 10
    """That a compile chooses among, besides the start."""
    ratings: int = 3
    """Of each item."""
    raters: int | None = None
    """Who share out the ratings, each at most one of an item; None where every rating is of another person."""
    leniency: float = 0.0
    """Standard deviation of the raters' heights, from which each sees all items; in units of what a rater sees."""

    @cached_property
    def gain(self) -> float:
        """Kappa of the better candidate with soft labels, less that of the start, by 40,000 items; else 0."""
        if self.better is None:
            return 0.0
        rng, items = np.random.default_rng(0), 40_000
        latent = rng.standard_normal(items)
        drawn = _panel(rng, replace(self, raters=None), latent)
        soft, levels = shares(drawn.counts), _levels(rng, self, latent, np.arange(items) // 8)[:2]
        strata = Strata.of(soft, ["A"] * items, ["A"])
        start, better = strata.averages(np.stack([_tables(level, soft, strata).sum(axis=0) for level in levels]))
        return float(better - start)

    def gaining(self, gain: float) -> "SimulatedJudges | None":
        """The same with a candidate that gains so much; None where none can."""
        low, high = self.start, _BEST
        if replace(self, better=high).gain < gain:
            return None
        for _ in range(8):
            middle = (low + high) / 2
            low, high = (middle, high) if replace(self, better=middle).gain < gain else (low, middle)
        return replace(self, better=high)


@dataclass(frozen=True)
class SimulatedCompile:
    """Before and after, out of fold."""

    before: NDArray[np.float64]
    """Level of each item by the start, 0, 1 or 2: shape (n,)."""
    after: NDArray[np.float64]
    """Level by the program that its fold chose; nan where it could not be read."""
    strata: list[str]
    groups: list[int]
    """Group of each item, counted from 0."""
    panel: Panel
    """The ratings, whose raters are known where they are the study's."""


def simulate_compile(
    rng: np.random.Generator, sizes: Sequence[int], judges: SimulatedJudges, unread: float = 0.0
) -> SimulatedCompile:
    """Draw a study and compile a judge on it; the arguments are those of `simulate_compiles`."""
    return next(simulate_compiles(rng, sizes, judges, unread))


def simulate_compiles(
    rng: np.random.Generator, sizes: Sequence[int], judges: SimulatedJudges, unread: float = 0.0, seeds: int = 1
) -> Iterator[SimulatedCompile]:
    """Draw a study and compile a judge on it, with so many seeds, each with candidates and folds of its own.

    Args:
        rng: Where chance comes from.
        sizes: How many rated items each group has, of at least five groups.
        judges: Who grades; only the first seed has the better candidate.
        unread: Share of verdicts of the compiled judge that cannot be read, in [0, 1]: the farther from people, the
            likelier.
        seeds: Compiles of the study.
    """
    groups, items, own = len(sizes), sum(sizes), judges.candidates
    group = np.repeat(np.arange(groups), sizes)
    latent = np.sqrt(GROUP) * rng.standard_normal(groups)[group] + np.sqrt(1 - GROUP) * rng.standard_normal(items)
    panel = _panel(rng, judges, latent)
    levels = _levels(rng, replace(judges, candidates=own * seeds), latent, group)
    soft = shares(panel.counts)
    positions: list[int] = rng.integers(len(STRATA), size=items).tolist()
    names = [STRATA[index] for index in positions]
    for seed in range(seeds):
        candidates = levels[[0, *range(1 + seed * own, 1 + (seed + 1) * own)]]
        after = _chosen(candidates, soft, names, rng.permutation(groups)[group] % FOLDS).astype(np.float64)
        errors = np.sum(soft * np.square(after[:, None] - np.arange(3)), axis=1)
        after[rng.random(items) < unread * errors / max(errors.mean(), 1e-9)] = np.nan
        yield SimulatedCompile(levels[0].astype(np.float64), after, names, group.tolist(), panel)


def improvement_shown(
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    panel: Panel,
    strata: Sequence[Hashable],
    groups: Sequence[Hashable],
    *,
    order: Sequence[Hashable],
) -> bool:
    """Whether `improvement` says overall that one is shown; without its p values, which take long and do not decide."""
    items = Items(before, after, panel, strata, groups)
    read = items.where(~items.unread)
    ways = [read, items.at_worst()] if items.unread.any() else [read]
    enough = enough_for_claim(len(read.groups), len(set(read.groups)))
    return enough and all((way.kappas(order).low98 or 0) > 0 for way in ways)


def _chosen(
    levels: NDArray[np.intp], soft: NDArray[np.float64], names: list[str], fold: NDArray[np.intp]
) -> NDArray[np.intp]:
    """The level of each item by the program that agrees best on the other folds: shape (n,)."""
    strata = Strata.of(soft, names, STRATA)
    tables = np.stack([_tables(level, soft, strata) for level in levels])
    of_folds = np.stack([tables[:, fold == number].sum(axis=1) for number in range(FOLDS)])
    best = [int(np.argmax(strata.averages(of_folds.sum(axis=0) - of_folds[number]))) for number in range(FOLDS)]
    return levels[np.array(best)[fold], np.arange(len(soft))]


def _tables(levels: NDArray[np.intp], soft: NDArray[np.float64], strata: Strata) -> NDArray[np.float64]:
    """One table an item, its soft label in the level's column, in the place of its stratum: shape (n, P, 3, 3)."""
    return strata.member[:, :, None, None] * (soft[:, :, None] * np.eye(3)[levels][:, None, :])[:, None]


def _panel(rng: np.random.Generator, judges: SimulatedJudges, latent: NDArray[np.float64]) -> Panel:
    n = len(latent)
    if judges.raters is None:
        raters = np.arange(n * judges.ratings).reshape(n, -1)
    else:
        raters = rng.random((n, judges.raters)).argsort(axis=1)[:, : judges.ratings]
    heights = judges.leniency * rng.standard_normal(int(raters.max()) + 1)
    noise = np.sqrt(1 - judges.rater) * rng.standard_normal(raters.shape)
    own = np.eye(3)[_cut(np.sqrt(judges.rater) * latent[:, None] + noise + heights[raters])]
    items, known = np.repeat(np.arange(n), raters.shape[1]), None if judges.raters is None else raters.ravel()
    return Panel(own.sum(axis=1), own.reshape(-1, 3), items, known)


def _levels(
    rng: np.random.Generator, judges: SimulatedJudges, latent: NDArray[np.float64], group: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Levels by the start, the better candidate and the others: shape (1 + candidates, n)."""
    seen = np.full((1 + judges.candidates, 1), judges.start)
    if judges.better is not None:
        seen[1] = judges.better
    noise = rng.standard_normal((len(seen) + 1, len(latent)))
    if judges.shared:
        together = rng.standard_normal((len(noise), group.max() + 1))[:, group]
        noise = np.sqrt(judges.shared) * together + np.sqrt(1 - judges.shared) * noise
    errors = np.sqrt(judges.alike) * noise[:1] + np.sqrt(1 - judges.alike) * noise[1:]
    return _cut(np.sqrt(seen) * latent + np.sqrt(1 - seen) * errors)


def _cut(seen: NDArray[np.float64]) -> NDArray[np.intp]:
    return np.sum(seen[..., None] > np.array(CUTS), axis=-1)
