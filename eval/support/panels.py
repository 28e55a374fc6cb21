"""Studies of raters and judges whose truth is known, to see what the intervals of agreement are worth.

An item has a latent level, standard normal over the population, of which its group has a share. A rater sees it with an
error, and from a height of their own, their leniency; two cuts make it a label. A judge sees it with an error of its
own, and cuts it elsewhere.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

GROUP_SHARE = 0.15
"""Of the variance of an item's level, its group's."""
RATER_ERROR, JUDGE_ERRORS = 0.7, (0.5, 0.9)
"""Standard deviations, in units of the level: of raters, and of the better and the worse of two judges."""
RATER_CUTS, JUDGE_CUTS = (-0.1, 0.75), (-0.3, 0.5)
"""From where on a level is the middle label, and the best."""
MOST_RATINGS = 5
"""An item has one to so many ratings, each number as often."""


@dataclass(frozen=True)
class PanelDesign:
    """How many there are of each, and how raters differ."""

    groups: int
    items: int
    """At least as many as groups."""
    raters: int
    leniency: float
    """Standard deviation of the raters' heights, in units of the level; 0 where they differ by chance alone."""


@dataclass(frozen=True)
class SimulatedPanel:
    """A study of two judges beside people; labels are 0, 1 and 2."""

    ratings: list[list[int]]
    """Of each item."""
    raters: list[list[int]]
    """Who gave them, aligned."""
    judges: NDArray[np.intp]
    """The better judge's label of each item, and the worse one's: shape (2, n)."""
    groups: list[int]
    """Of each item, counted from 0."""
    levels: NDArray[np.float64]
    """The latent level of each item: shape (n,)."""


def simulate_panel(rng: np.random.Generator, design: PanelDesign, *, fresh: bool = False) -> SimulatedPanel:
    """Draw a study.

    Items fall into groups at random, of unequal size, none of which is empty.

    Args:
        rng: Where chance comes from.
        design: What is drawn.
        fresh: Whether every rating is of a rater who gave no other, and every item in a group of its own: the more
            items, the nearer are its numbers to those of the population.
    """
    n, groups = design.items, design.items if fresh else design.groups
    sizes = rng.lognormal(0, 0.5, groups)
    rest = rng.choice(groups, n - groups, p=sizes / sizes.sum())
    group = np.sort(np.concatenate([np.arange(groups), rest]))
    levels = np.sqrt(GROUP_SHARE) * rng.standard_normal(groups)[group] + np.sqrt(1 - GROUP_SHARE) * _normal(rng, n)
    most = min(MOST_RATINGS, design.raters)
    counts = rng.integers(1, most + 1, n)
    items = np.repeat(np.arange(n), counts)
    if fresh:
        raters = np.arange(len(items))
    else:
        order = rng.random((n, design.raters)).argsort(axis=1)
        raters = order[:, :most][np.arange(most) < counts[:, None]]
    heights = design.leniency * _normal(rng, int(raters.max()) + 1)
    labels = _cut(levels[items] + heights[raters] + RATER_ERROR * _normal(rng, len(items)), RATER_CUTS)
    judges = [_cut(levels + error * _normal(rng, n), JUDGE_CUTS) for error in JUDGE_ERRORS]
    ends = np.cumsum(counts)[:-1]
    ratings, people = ([part.tolist() for part in np.split(column, ends)] for column in (labels, raters))
    return SimulatedPanel(ratings, people, np.stack(judges), group.tolist(), levels)


def _normal(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    return rng.standard_normal(count)


def _cut(seen: NDArray[np.float64], cuts: tuple[float, float]) -> NDArray[np.intp]:
    """0, 1 or 2 for each."""
    return np.count_nonzero(seen[:, None] >= np.array(cuts), axis=1)
