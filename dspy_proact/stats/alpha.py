"""Agreement of any number of ratings an item beyond chance: Krippendorff's alpha (2011).

alpha = 1 - observed / expected disagreement, from the table of coincidences: of an item with m ratings every
ordered pair counts 1 / (m - 1), so that each rating counts once. The expected disagreement is that of the same
ratings paired at random. 1 is perfect agreement, 0 chance, below 0 worse than chance.
"""

import math
from collections.abc import Hashable, Sequence
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats.estimate import Estimate
from dspy_proact.stats.panel import Panel
from dspy_proact.stats.tally import tally
from dspy_proact.stats.units import Units

AlphaMetric = Literal["nominal", "ordinal", "interval"]
"""How disagreement grows with the distance of two labels: any is 1, by the square of how many ratings lie between,
or by the square of the steps between."""


def alpha(ratings: Sequence[Sequence[Hashable]], labels: Sequence[Hashable], metric: AlphaMetric) -> float | None:
    """Alpha of ratings, in [-1, 1], higher is better. Items with fewer than two ratings pair with nothing.

    Args:
        ratings: The labels that each item was given, in any order.
        labels: All labels in rising order, each once, whether they occur or not.
        metric: How disagreement grows with the distance of the labels.

    Returns:
        None where it is undefined (0 / 0): no item has two ratings, or all ratings that pair are equal.

    Raises:
        ValueError: `labels` repeats one, or a rating is not in `labels`.
    """
    value = float(_alphas(coincidences(tally(ratings, labels)).sum(axis=0), metric))
    return None if math.isnan(value) else value


def alpha_estimate(
    ratings: Sequence[Sequence[Hashable]],
    labels: Sequence[Hashable],
    metric: AlphaMetric,
    groups: Sequence[Hashable],
    raters: Sequence[Sequence[Hashable]] | None = None,
) -> Estimate:
    """Alpha of ratings, with its jackknife interval, clipped to [-1, 1].

    One group at a time is left out; items that pair with nothing are left out of this. Silence and ties are decided
    as follows. No item with two ratings, or all that pair equal (0 / 0): no value. One group, undefined without one,
    or the same without any: no bounds. Two to four groups: bounds with a warning. From four raters on the interval
    speaks of raters like them, else of these, and says so.

    Arguments and errors are as in `alpha`, besides the group of each item, and who gave its ratings, aligned with
    `ratings`; None where that is not known.
    """
    if len(ratings) != len(groups):
        raise ValueError(f"one group an item: {len(ratings)} and {len(groups)} differ")
    panel = Panel.of(ratings, labels, raters)
    pairing = panel.counts.sum(axis=1) >= 2
    if not pairing.any():
        return Estimate(None, reason="no item with two ratings")
    units = Units.of([key for key, pairs in zip(groups, pairing, strict=True) if pairs])
    tables, changes = panel.where(pairing).parts(lambda counts, _: coincidences(counts))
    return units.estimate(tables, partial(_alphas, metric=metric), undefined="all ratings equal", changes=changes)


def coincidences(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each item's table of coincidences: shape (n, k, k), 0 for items with fewer than two ratings.

    Args:
        counts: How many ratings of each item gave each label: shape (n, k).
    """
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(counts.shape[1])
    return pairs / np.maximum(counts.sum(axis=1) - 1, 1)[:, None, None]


def disagreements(tables: NDArray[np.float64], metric: AlphaMetric) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Observed and expected disagreement of tables of coincidences, in one unit: alpha is 1 - their ratio.

    Args:
        tables: Shape (..., k, k).
        metric: How disagreement grows with the distance of the labels.

    Returns:
        Each of shape (...). The expected one is 0 exactly where alpha is undefined.
    """
    margins = tables.sum(axis=-1)
    total = margins.sum(axis=-1)
    distance = _distance(margins, metric)
    observed = (total - 1) * np.sum(distance * tables, axis=(-1, -2))
    expected = np.sum(distance * margins[..., :, None] * margins[..., None, :], axis=(-1, -2))
    return observed, expected


def _alphas(tables: NDArray[np.float64], metric: AlphaMetric) -> NDArray[np.float64]:
    """Alpha of each of many tables of coincidences, shape (..., k, k) to (...); nan where it is undefined."""
    observed, expected = disagreements(tables, metric)
    return 1 - np.divide(observed, expected, out=np.full(expected.shape, np.nan), where=expected > 0)


def _distance(margins: NDArray[np.float64], metric: AlphaMetric) -> NDArray[np.float64]:
    """Squared distance of each two labels: shape (..., k, k). Ordinal: of their mean ranks among all ratings."""
    places = np.broadcast_to(np.arange(margins.shape[-1], dtype=np.float64), margins.shape)
    if metric == "ordinal":
        places = np.cumsum(margins, axis=-1) - margins / 2
    squares = (places[..., :, None] - places[..., None, :]) ** 2
    return np.sign(squares) if metric == "nominal" else squares
