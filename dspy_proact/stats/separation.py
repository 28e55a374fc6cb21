"""Whether what is known of items without reading them separates the picked ones from the others.

Items come in pools. Of a pool, draws are made: each has picked items and others, and draws of a pool may share items.
A linear classifier is fitted to all groups but those of a fold and ranks the items of each draw of the fold. Its
separation is the share of pairs of a picked item and another one of the same draw in which the picked one is ranked
higher (the area under the ROC curve, AUC, within draws): chance is .5.

    w = (S + r I)^-1 d

d is the mean, over draws, of the mean features of the picked items less those of the others; S the covariance of the
features within pools, which knows nothing of picks, after each has been brought to unit variance.

If nothing tells picked items from others, any item of a pool could have had any other's part in its draws. p is the
share of such exchanges, each fitted anew, that separate as well as the data. Exchanging within single draws would be
wrong where draws share their other items, and so is an interval that takes the folds for independent: each group helps
to fit the classifier of the others. To the variance between groups that of the exchanges is added, on the logit scale.
By simulation (12 to 100 groups, shifts that all groups share or that differ between them) such an interval covers 95 to
99 %, and the truth lies above it in at most 4 %; with the larger of the two variances alone it covered 87 to 98 %.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats.cluster import ENOUGH_GROUPS, spread_of, tabulate
from dspy_proact.stats.estimate import ROUNDING, Estimate, logit_bounds, trial_bounds
from dspy_proact.stats.tally import numbered

EXCHANGES = 999
_FIRST = 99
"""Exchanges after which a p value of a tenth or more is left as it is: what is claimed at .05 loses nothing by it."""
_FOLDS = 5
_RIDGE = 0.3
"""r, where features have unit variance: several of them say much the same."""
CHANCE = 0.5


@dataclass(frozen=True)
class Drawn:
    """What was drawn of a pool, as indices of its items; no item is in both."""

    picked: NDArray[np.intp]
    """Shape (m,), at least one."""
    others: NDArray[np.intp]
    """Shape (n,), at least one."""


@dataclass(frozen=True)
class Pool:
    """Items that could have had each other's part, and the draws of them."""

    group: Hashable
    """What is drawn independently of others, such as a person; a group may have several pools."""
    features: NDArray[np.float64]
    """Shape (items, columns)."""
    draws: tuple[Drawn, ...]


@dataclass(frozen=True)
class Separation:
    """How well a classifier separates picked items from others of their draws."""

    share: Estimate
    """Share of pairs in which the picked item is ranked higher, ties as half, in [0, 1]; .5 is chance. Every draw
    counts once."""
    first: float
    """Share of draws in which the item that is ranked first is picked, in [0, 1]; of equal ones each counts alike."""
    p: float
    """One-sided p value, in (0, 1], of a separation above chance."""


def separation(pools: Sequence[Pool], columns: Sequence[int], seed: int = 0) -> Separation | None:
    """How well a classifier of these columns separates, tested on groups that it has not seen.

    None where no column varies within any pool, so that nothing can be told, or there are fewer than two groups.
    """
    groups = numbered([pool.group for pool in pools])
    scaled = _scaled([pool.features[:, list(columns)] for pool in pools])
    if scaled is None or groups.max(initial=-1) < 1:
        return None
    pools = [replace(pool, features=features) for pool, features in zip(pools, scaled[0], strict=True)]
    folds = np.random.default_rng((seed, 0)).permutation(groups.max() + 1)[groups] % _FOLDS
    observed, *exchanged = _separated(pools, scaled[1], folds, (seed, 1), _FIRST)
    if _reached(observed, exchanged) < len(exchanged) // 10:
        exchanged += _separated(pools, scaled[1], folds, (seed, 2), EXCHANGES - _FIRST)[1:]
    ranked = [group for pool in pools for group in [pool.group] * len(pool.draws)]
    chance = float(np.std([np.mean(one.shares) for one in exchanged]))
    share = _estimate(observed.shares, ranked, chance)
    p = (1 + _reached(observed, exchanged)) / (1 + len(exchanged))
    return Separation(share, float(np.mean(observed.firsts)), p)


@dataclass(frozen=True)
class _Ranked:
    """How the draws were ranked, in the order of pools and their draws."""

    shares: NDArray[np.float64]
    firsts: NDArray[np.float64]


def _reached(observed: _Ranked, exchanged: Sequence[_Ranked]) -> int:
    least = float(np.mean(observed.shares)) - 1e-9
    return sum(float(np.mean(one.shares)) >= least for one in exchanged)


def _scaled(features: Sequence[NDArray[np.float64]]) -> tuple[list[NDArray[np.float64]], NDArray[np.float64]] | None:
    """The columns that vary within a pool, of unit variance there, and S + r I of them; None without any."""
    centred = [values - values.mean(axis=0) for values in features]
    spread = np.sqrt(np.mean(np.vstack(centred) ** 2, axis=0)) if centred else np.zeros(0)
    varies = spread > ROUNDING
    if not varies.any():
        return None
    scaled = [values[:, varies] / spread[varies] for values in centred]
    stacked = np.vstack(scaled)
    return scaled, stacked.T @ stacked / len(stacked) + _RIDGE * np.eye(stacked.shape[1])


def _separated(
    pools: Sequence[Pool], metric: NDArray[np.float64], folds: NDArray[np.intp], seed: tuple[int, int], count: int
) -> list[_Ranked]:
    """The ranking of the data, and of so many exchanges."""
    rows = count + 1
    parts = [_parts(len(pool.features), (*seed, number), rows) for number, pool in enumerate(pools)]
    pulls, draws = np.zeros((_FOLDS, rows, metric.shape[0])), np.zeros(_FOLDS)
    for pool, fold, held in zip(pools, folds, parts, strict=True):
        weights = np.zeros(len(pool.features))
        for draw in pool.draws:
            weights[draw.picked] += 1 / len(draw.picked)
            weights[draw.others] -= 1 / len(draw.others)
        # Of each exchange, the weight of the part that an item has in it.
        of_items = np.empty((rows, len(weights)))
        np.put_along_axis(of_items, held, np.broadcast_to(weights, held.shape), axis=1)
        pulls[fold] += of_items @ pool.features
        draws[fold] += len(pool.draws)
    unseen = (pulls.sum(axis=0) - pulls) / np.maximum(draws.sum() - draws, 1)[:, None, None]
    directions: NDArray[np.float64] = unseen @ np.linalg.inv(metric)  # which is symmetric
    shares, firsts = list[NDArray[np.float64]](), list[NDArray[np.float64]]()
    for pool, fold, held in zip(pools, folds, parts, strict=True):
        # Equal features must have equal scores, which products of matrices give but for their last digits.
        scores = (directions[fold] @ pool.features.T).astype(np.float32)
        by_part = np.take_along_axis(scores, held, axis=1)
        for draw in pool.draws:
            share, first = _ranks(by_part[:, draw.picked], by_part[:, draw.others])
            shares.append(share)
            firsts.append(first)
    by_row: list[NDArray[np.float64]] = [np.stack(values, axis=1) for values in (shares, firsts)]
    return [_Ranked(*pair) for pair in zip(*by_row, strict=True)]


def _parts(items: int, seed: tuple[int, ...], rows: int) -> NDArray[np.intp]:
    """Of each exchange the item that has each part, shape (rows, items); the first row is the data."""
    order = np.random.default_rng(seed).random((rows, items)).argsort(axis=1)
    order[0] = np.arange(items)
    return order


def _ranks(picked: NDArray[np.float32], others: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of each row, the share of pairs in which the picked one is higher, and how much of the first rank is picked's."""
    one, other = picked[:, :, None], others[:, None, :]
    pairs = one.shape[1] * other.shape[2]
    shares = (np.count_nonzero(one > other, axis=(1, 2)) + np.count_nonzero(one >= other, axis=(1, 2))) / (2 * pairs)
    best = np.maximum(picked.max(axis=1), others.max(axis=1))[:, None]
    own, rest = (np.count_nonzero(side == best, axis=1) for side in (picked, others))
    return shares, own / (own + rest)


def _estimate(shares: NDArray[np.float64], groups: Sequence[Hashable], chance: float) -> Estimate:
    """The mean of the shares of draws, with an interval; `chance` is their standard error over the exchanges."""
    table = tabulate(shares, groups)
    mean = float(table.means.mean())
    warning = table.warning if table.groups < ENOUGH_GROUPS else None
    if mean in {0, 1}:
        return Estimate(mean, *trial_bounds(mean, table.groups), warning)
    spread = spread_of(table)
    # On the logit scale, on which the bounds are drawn, so that it does not outgrow what is left of the scale at 1.
    fitted = chance * mean * (1 - mean) / (CHANCE * (1 - CHANCE))
    spread = replace(spread, variance=spread.variance + fitted**2)
    if spread.error < ROUNDING:
        return Estimate(mean, reason="no variance between groups")
    return Estimate(mean, *logit_bounds(mean, spread), warning)
