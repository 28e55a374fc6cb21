"""What items make together: the reliability of their total, and what leaving out flagged ones changes."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import compress
from math import exp, log, sqrt

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats.estimate import ROUNDING, UPPER, Estimate, t_quantile
from dspy_proact.stats.items import (
    ENOUGH_MODELS,
    FEW_MODELS,
    TESTED,
    ItemFigures,
    Matrix,
    ModelScores,
    Tested,
    end_chances,
    item_figures,
    item_means,
    levels,
)
from dspy_proact.stats.jackknife import Jackknife, ratio
from dspy_proact.stats.paired import holm
from dspy_proact.stats.tally import added_up, numbered

FEWEST_TOTALS = 3
"""With fewer models a total has no reliability."""


@dataclass(frozen=True)
class Totals:
    """How well the total of all items tells the models from each other."""

    reliability: Estimate
    """Share of the variance of totals that is of the models, at most 1: Cronbach's alpha with groups as its parts."""
    error: float | None
    """Standard error of a model's total beside others on the same items, in the unit of scores."""
    models: int
    """Models that count in it."""


@dataclass(frozen=True)
class ItemStudy:
    """The figures of all items, and what leaving out the flagged ones changes."""

    items: tuple[ItemFigures, ...]
    """In the order of the columns."""
    totals: Totals
    expected: tuple[float, float] | None
    """How many such items nobody would pass, and everybody, were all like the others; None if that is not known."""
    changes: tuple[Estimate, ...]
    """By model, in the order of the rows: mean score without the flagged items minus mean score, in [-1, 1]."""
    change: Estimate
    """Likewise of the mean over models: the same data flag the items and show the change, which can flatter."""
    split_change: Estimate
    """Likewise, where half of the models flag the items and the other half shows the change, and the reverse."""


def adjusted(items: Sequence[ItemFigures]) -> dict[Tested, list[float | None]]:
    """By test, the p value of each item, Holm-adjusted over all items and tests; None where it is not tested."""
    of_all = holm([p for flag in TESTED for p in (getattr(item, f"p_{flag}") for item in items)])
    return {flag: of_all[at * len(items) : (at + 1) * len(items)] for at, flag in enumerate(TESTED)}


def item_study(data: ModelScores) -> ItemStudy:
    """Difficulty, correlation with the rest, marks and flags of every item; reliability; what dropping changes."""
    items = item_figures(data)
    dropped = flagged(items)
    changes = tuple(change_without([(row, dropped)], data.groups) for row in data.scores)
    overall = change_without([(item_means(data.scores), dropped)], data.groups)
    chances = end_chances(data.passes)
    nobody, everybody = np.nansum(chances, axis=1).tolist()
    expected = None if np.isnan(chances).all() else (nobody, everybody)
    return ItemStudy(items, reliability(data), expected, changes, overall, _split_change(data))


def reliability(data: ModelScores) -> Totals:
    """Cronbach's (1951) alpha of the total with groups as its parts, and the standard error of a total.

    Alpha is 1 - E / V: V is the variance of the models' levels, E the error variance of a level, from what a model
    scores on a group beyond its own level and the items', divided by 1 minus the group's share. In groups of one size
    that is alpha of their sums. The interval leaves out one model at a time, on the scale of log(1 - alpha) (Bonett
    2002), with t; Feldt's (1965) takes abilities for normal and covered up to 98.5 % where the scale ends.
    """
    scores = data.scores[data.covering]
    scored = np.count_nonzero(~np.isnan(scores), axis=0) > 0
    scores, groups = scores[:, scored], list(compress(data.groups, scored))
    count, group = len(scores), numbered(groups)
    if count < FEWEST_TOTALS:
        return Totals(Estimate(None, reason=f"fewer than {FEWEST_TOTALS} models"), None, count)
    if len(set(groups)) < 2:
        return Totals(Estimate(None, reason="one group"), None, count)
    error, between = _variances(scores, group)
    if between < ROUNDING:
        return Totals(Estimate(None, reason="no variance between models"), sqrt(error), count)
    alpha = 1 - error / between
    without = [_variances(np.delete(scores, model, axis=0), group) for model in range(count)]
    if min(error, *(min(pair) for pair in without)) < ROUNDING:
        return Totals(Estimate(alpha, reason="depends on one model"), sqrt(error), count)
    shifts = [log(noise / total) - log(error / between) for noise, total in without]
    spread = sqrt((count - 1) / count * sum(shift**2 for shift in shifts))
    reach = exp(t_quantile(UPPER, count - 1) * spread)
    few = FEW_MODELS if count < ENOUGH_MODELS else None
    bounds = Estimate(alpha, 1 - (1 - alpha) * reach, 1 - (1 - alpha) / reach, few)
    return Totals(bounds, sqrt(error), count)


def _variances(scores: Matrix, group: NDArray[np.intp]) -> tuple[float, float]:
    """E and V of `reliability`; an item that none of the models scored counts for nothing."""
    models, items = levels(scores)
    known = ~np.isnan(scores)
    residuals = np.where(known, scores - items - models[:, None], 0.0)
    held = np.count_nonzero(known, axis=1)
    sums, sizes = (added_up(array.T.astype(np.float64), group) for array in (residuals, known))
    errors = (sums**2 / np.maximum(1 - sizes / held, ROUNDING)).sum(axis=0) / held**2
    return float(errors.sum() / (len(scores) - 1)), float(models.var(ddof=1))


def change_without(
    sides: Sequence[tuple[NDArray[np.float64], NDArray[np.bool_]]], groups: Sequence[Hashable]
) -> Estimate:
    """Mean score without flagged items minus mean score; of several sides the mean of their changes.

    The interval is the jackknife over groups of items. A side is the scores of all items, shape (I,), nan where there
    is none, and which are flagged.
    """
    if not any(dropped[~np.isnan(scores)].any() for scores, dropped in sides):
        return Estimate(0.0, reason="no item is flagged")
    columns: list[NDArray[np.float64]] = []
    for scores, dropped in sides:
        there = ~np.isnan(scores)
        value, kept = np.where(there, scores, 0.0), there & ~dropped
        columns += [np.stack([value * kept, kept.astype(float)], axis=1)]
        columns += [np.stack([value, there.astype(float)], axis=1)]
    parts = np.stack(columns, axis=1)

    def changed(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        means = ratio(sums)
        return (means[:, ::2] - means[:, 1::2]).mean(axis=1)

    return Jackknife.of(parts, groups, changed, undefined="no item is left").estimate((-1, 1))


def halves(data: ModelScores) -> tuple[ModelScores, ModelScores]:
    """Two halves of the models that are alike in level, whatever the order of rows and columns.

    In the order of their mean scores, models go to the halves as a, b, b, a and so on; of equal ones the first is that
    which scores on the harder items, and then that which has less in common with the others.
    """
    weighted = data.scores * item_means(data.scores)
    means, hard = (item_means(scores.T).round(9) for scores in (data.scores, weighted))
    common = np.nan_to_num(weighted) @ np.nan_to_num(weighted).T
    order = np.lexsort([(common**3).sum(axis=1).round(6), hard, means])
    turn = np.arange(data.models) % 4
    first = (turn == 0) | (turn == 3)
    return data.of_models(np.sort(order[first])), data.of_models(np.sort(order[~first]))


def _split_change(data: ModelScores) -> Estimate:
    """`change_without` where either half of the models flags for the other."""
    if data.models < 2 * ENOUGH_MODELS:
        return Estimate(None, reason=f"fewer than {2 * ENOUGH_MODELS} models")
    first, second = halves(data)
    sides = [(item_means(shown.scores), flagged(item_figures(by))) for shown, by in ((second, first), (first, second))]
    return change_without(sides, data.groups)


def flagged(items: Sequence[ItemFigures]) -> NDArray[np.bool_]:
    """Which of them have a flag: shape (I,)."""
    return np.array([bool(item.flags) for item in items], dtype=np.bool_)
