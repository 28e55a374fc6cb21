"""The statistics of ProactBench's human study by its own rules, to be reproduced and not to be relied on.

The more people rate an item, the better their majority agrees with anything; kappa is unweighted; percentile intervals
over items are about 15 % narrower than ours. Ours stand beside it: `human_reference`, `Judged.kappa`, `alpha_estimate`.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats import Estimate, Standing, alphas, coincidences, cross_tables, kappas, majority, tally

RESAMPLES = 10_000
ALPHA_SEED = 2026
KAPPA_SEED = 2027

LEAST_KAPPA = 0.10
"""Below this against the judge it leaves a person out."""
LEAST_RATINGS = 5
"""With fewer ratings it leaves nobody out."""


@dataclass(frozen=True)
class PublishedRule:
    """What the published study prints for one phase."""

    items: int
    """Items with a consensus."""
    ratings: int
    """Ratings, of all items."""
    confusion: tuple[tuple[int, ...], ...]
    """Items by their consensus (row) and the judge's grade (column), labels in rising order."""
    exact: int
    """Items at which both are equal."""
    kappa: Estimate
    """Cohen's kappa of the consensus and the judge, unweighted, in [-1, 1]."""
    alpha: Estimate
    """Krippendorff's ordinal alpha of all ratings, in [-1, 1]."""


def excludes(standing: Standing) -> bool:
    """Whether the published rule leaves a person out, and so raises the agreement of people with the judge.

    To reproduce a study, never to clean one. A person without a kappa against the judge stays.
    """
    kappa = standing.against_judge.value
    return kappa is not None and kappa < LEAST_KAPPA and standing.ratings >= LEAST_RATINGS


def published_rule(
    ratings: Sequence[Sequence[Hashable]],
    judge: Sequence[Hashable],
    labels: Sequence[Hashable],
    ties: Sequence[Hashable],
    *,
    min_ratings: int = 1,
) -> PublishedRule:
    """Apply the published rules to the items of one phase.

    Intervals are percentiles of 10,000 resamples of the rated items; resamples in which a statistic is undefined are
    left out. No items, or all gradings equal (0 / 0): no value. One item, or resamples that do not enclose the value:
    no bounds.

    `ratings` are the labels that people gave each item, `judge` has one an item, `labels` rise, and of several labels
    that tie for the consensus the first in `ties` is taken. An item with fewer than `min_ratings`, at least 1, has no
    consensus; it counts for alpha all the same.
    """
    counts = tally(ratings, labels)
    pairs = [
        (majority(item, ties), grade) for item, grade in zip(ratings, judge, strict=True) if len(item) >= min_ratings
    ]
    tables = cross_tables([common for common, _ in pairs], [grade for _, grade in pairs], labels)
    confusion = tables.sum(axis=0)
    return PublishedRule(
        items=len(pairs),
        ratings=int(counts.sum()),
        confusion=tuple(tuple(int(count) for count in row) for row in confusion),
        exact=int(np.trace(confusion)),
        kappa=_percentiles(tables, partial(kappas, weight="none"), KAPPA_SEED),
        alpha=_percentiles(coincidences(counts[counts.any(axis=1)]), partial(alphas, metric="ordinal"), ALPHA_SEED),
    )


def _percentiles(
    tables: NDArray[np.float64], statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]], seed: int
) -> Estimate:
    """A statistic of the sum of tables, one an item, with percentiles over resampled items."""
    if not len(tables):
        return Estimate(None, reason="no items")
    value = float(statistic(tables.sum(axis=0)))
    if math.isnan(value):
        return Estimate(None, reason="all gradings equal")
    items = len(tables)
    if items == 1:
        return Estimate(value, reason="rests on one item")
    # How often each item is in each resample: shape (RESAMPLES, items).
    places = np.random.default_rng(seed).integers(0, items, size=(RESAMPLES, items))
    places += items * np.arange(RESAMPLES)[:, None]
    drawn = np.bincount(places.ravel(), minlength=RESAMPLES * items).reshape(RESAMPLES, items).astype(np.float64)
    resampled = statistic(np.tensordot(drawn, tables, axes=1))
    low, high = (float(end) for end in np.nanpercentile(resampled, [2.5, 97.5]))
    if not low <= value <= high:
        return Estimate(value, reason="the resamples do not enclose it")
    return Estimate(value, low, high)
