"""What the scores of several models show of single items.

A respondent is a model: its runs and epochs are averaged before anything here, since answers of one model are not
independent. All intervals generalise to models like these, on these items.

The rest of an item is what a model scores on items of other groups, so that what a group shares is no correlation with
the total. A model that scored fewer than half as many items as the one with most counts in no correlation.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import atanh, sqrt, tanh
from statistics import NormalDist
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats.estimate import ROUNDING, UPPER, Estimate, t_quantile, t_tail
from dspy_proact.stats.tally import added_up, numbered

Flag = Literal["nobody", "everybody", "negative", "disputed", "unscored"]
"""Why an item ought to be read by a person."""
Tested = Literal["negative", "disputed", "unscored"]
"""Flags that rest on a test."""
TESTED: tuple[Tested, ...] = get_args(Tested)
End = Literal["nobody", "everybody"]
ENDS: tuple[End, ...] = get_args(End)
Matrix = NDArray[np.float64]
"""Shape (R, I): a row a model, a column an item, nan where there is nothing."""
ENOUGH_MODELS = 5
"""Bounds on fewer models are marked, and flag nothing."""
FEW_MODELS = f"fewer than {ENOUGH_MODELS} models"
FEWEST_CORRELATED = 4
"""With fewer models a correlation has no bounds."""
FEWEST_ITEMS = 20
"""With fewer items it is not known how many like them nobody would pass."""
FALSE_NEGATIVES = 1 - UPPER
"""Share of items not related to the rest whose interval lies below 0 by chance."""
RARE = 0.01
"""Largest p value, not adjusted, of an item that is flagged as disputed or unscored."""
RARE_END = 0.02
"""An item that nobody, or everybody, passes is flagged where at most so many sound ones would look so."""
_NODES, _SUREST = 21, 0.99
"""Points at which an item's factor is integrated over, and the largest chance of a mark with it."""
_NORMAL = NormalDist().inv_cdf(UPPER)


@dataclass(frozen=True)
class ModelScores:
    """What several models scored on the same items; raises a `ValueError` where shapes differ or a score is not one."""

    scores: Matrix
    """Mean score of the responses, in [0, 1], higher is better; nan where none is scored."""
    passes: Matrix
    """Share of these responses with a full pass; nan likewise."""
    groups: Sequence[Hashable]
    """Key of the group of each item."""
    unscored: Matrix
    """1 where a response that was tried has no score, else 0; nan where none was tried."""
    split: Matrix
    """1 where verdicts on a response differ, else 0; nan where no response has several verdicts."""

    def __post_init__(self):
        shapes = {array.shape for array in (self.scores, self.passes, self.unscored, self.split)}
        if len(shapes) != 1 or self.scores.ndim != 2 or self.scores.shape[1] != len(self.groups):
            raise ValueError(f"one row a model and one column and group an item: {shapes} for {len(self.groups)}")
        for array in (self.scores, self.passes, self.unscored, self.split):
            known = array[~np.isnan(array)]
            if not ((known >= 0) & (known <= 1)).all():
                raise ValueError("scores, passes and marks must be in [0, 1]")

    @property
    def models(self) -> int:
        """The number of models, R."""
        return len(self.scores)

    @cached_property
    def covering(self) -> NDArray[np.bool_]:
        """Which models scored at least half as many items as the one with most: shape (R,)."""
        counts = np.count_nonzero(~np.isnan(self.scores), axis=1)
        return 2 * counts >= max(1, counts.max(initial=0))

    def of_models(self, chosen: NDArray[np.intp]) -> "ModelScores":
        """The same items by some of the models."""
        rows = (array[chosen] for array in (self.scores, self.passes, self.unscored, self.split))
        scores, passes, unscored, split = rows
        return ModelScores(scores, passes, self.groups, unscored, split)


@dataclass(frozen=True)
class ItemFigures:
    """What the models' scores show of one item."""

    models: int
    """Models with a score."""
    difficulty: Estimate
    """Mean score over models, in [0, 1]: the lower, the harder."""
    rest: Estimate
    """Correlation over models of the item with the rest, in [-1, 1]."""
    passed: int
    """Models with a full pass."""
    end: End | None
    """Whether nobody passes it, or everybody in every response; None otherwise and without a score."""
    expected_end: float | None
    """Share of items like these at this end, were all sound; None if not known, or at neither end."""
    unscored: tuple[int, int]
    """Models with a response without a score, of those that tried."""
    split: tuple[int, int]
    """Models with a response on which verdicts differ, of those with several verdicts on one."""
    p_negative: float | None
    """One-sided p value of a correlation below 0; not adjusted, as the next two."""
    p_disputed: float | None
    """Of verdicts that differ more often than on other items."""
    p_unscored: float | None
    """Of responses that lack a score more often than those to other items."""
    flags: tuple[Flag, ...]


def item_figures(data: ModelScores) -> tuple[ItemFigures, ...]:
    """The figures of each item, in the order of the columns."""
    rest = rest_correlations(data)
    disputed, unscored = unusual(data.split), unusual(data.unscored)
    chances = end_chances(data.passes)
    figures: list[ItemFigures] = []
    for item in range(data.scores.shape[1]):
        column, passes = (array[:, item][~np.isnan(data.scores[:, item])] for array in (data.scores, data.passes))
        estimate, p_negative = rest[item]
        end: End | None = None
        if len(passes) and passes.max() in {0, passes.min()} and passes.min() in {0, 1}:
            end = ENDS[int(passes.min())]
        chance = float(chances[ENDS.index(end), item]) if end else np.nan
        marks = (array[:, item][~np.isnan(array[:, item])] for array in (data.unscored, data.split))
        missing, split = ((int(mark.sum()), len(mark)) for mark in marks)
        flags: dict[Flag, bool] = {
            "nobody": end == "nobody" and chance <= RARE_END,
            "everybody": end == "everybody" and chance <= RARE_END,
            "negative": estimate.high is not None and estimate.high < 0 and estimate.reason is None,
            "disputed": disputed[item] is not None and (disputed[item] or 0) <= RARE,
            "unscored": unscored[item] is not None and (unscored[item] or 0) <= RARE,
        }
        figures.append(
            ItemFigures(
                models=len(column),
                difficulty=difficulty(column),
                rest=estimate,
                passed=int(np.count_nonzero(passes)),
                end=end,
                expected_end=None if np.isnan(chance) else chance,
                unscored=missing,
                split=split,
                p_negative=p_negative,
                p_disputed=disputed[item],
                p_unscored=unscored[item],
                flags=tuple(flag for flag, raised in flags.items() if raised),
            )
        )
    return tuple(figures)


def difficulty(scores: NDArray[np.float64]) -> Estimate:
    """Mean score of an item over models, one score each: shape (n,).

    The interval is Wilson's (1927) with an effective number of models, m (1 - m) over the variance of the mean (Korn &
    Graubard 1998). Of passes and fails the mean tells the variance, which is then no estimate: the quantile is the
    normal one, and the further the variance is below theirs, the nearer that of t with n - 1 degrees of freedom.
    """
    count = len(scores)
    if not count:
        return Estimate(None, reason="no scores")
    mean = float(scores.mean())
    if count == 1:
        return Estimate(mean, reason="one model")
    binary, spread = mean * (1 - mean), float(scores.var())
    if binary > ROUNDING and spread < ROUNDING:
        return Estimate(mean, reason="no variance between models")
    likeness = min(1.0, spread / binary) if binary > ROUNDING else 1.0
    effective = count / likeness
    quantile = likeness * _NORMAL + (1 - likeness) * t_quantile(UPPER, count - 1)
    shrunk = quantile**2 / effective
    centre = (mean + shrunk / 2) / (1 + shrunk)
    reach = sqrt(shrunk * (binary + shrunk / 4)) / (1 + shrunk)
    bounds = max(0.0, min(mean, centre - reach)), min(1.0, max(mean, centre + reach))
    return Estimate(mean, *bounds, FEW_MODELS if count < ENOUGH_MODELS else None)


def item_means(scores: Matrix) -> NDArray[np.float64]:
    """Mean of each column over what is there: shape (I,); nan for a column without anything."""
    known = ~np.isnan(scores)
    counts = np.count_nonzero(known, axis=0)
    sums = np.where(known, scores, 0.0).sum(axis=0)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def levels(scores: Matrix) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Level of each model, which sum to 0, and of each item: the additive fit by least squares, by turns.

    nan for a model or an item without a score.
    """
    items, models = item_means(scores), np.zeros(len(scores))
    for _ in range(200):
        before = models
        models = item_means((scores - items).T)
        models = models - np.nanmean(models)
        items = item_means(scores - models[:, None])
        if np.nanmax(np.abs(models - before), initial=0.0) < ROUNDING:
            break
    return models, items


def rest_correlations(data: ModelScores) -> list[tuple[Estimate, float | None]]:
    """Of each item Pearson's correlation over models with the rest, and its one-sided p value for one below 0.

    The interval is Fisher's z, p by Student's t; by simulation either holds from four models on for passes and fails
    too (eval/README.md). Where an item's scores, or the rest, do not vary: no value. Fewer than four models: no bounds.
    """
    scores = data.scores[data.covering]
    known = ~np.isnan(scores)
    if not known.any():
        return [(Estimate(None, reason="no scores"), None)] * scores.shape[1]
    residuals = np.where(known, scores - levels(scores)[1], 0.0)
    group = numbered(data.groups)
    sums, counts = (added_up(array.T.astype(np.float64), group) for array in (residuals, known))
    others = counts.sum(axis=0) - counts[group]
    rest = np.where(others > 0, (sums.sum(axis=0) - sums[group]) / np.maximum(others, 1), np.nan).T
    return [_correlation(scores[:, item], rest[:, item]) for item in range(scores.shape[1])]


def _correlation(scores: NDArray[np.float64], rest: NDArray[np.float64]) -> tuple[Estimate, float | None]:
    """Of one item, over the models that have both: arrays of shape (R,)."""
    there = ~np.isnan(scores) & ~np.isnan(rest)
    count = int(np.count_nonzero(there))
    if count < 2:
        return Estimate(None, reason="fewer than two models"), None
    scores, rest = scores[there], rest[there]
    centred = scores - scores.mean()
    shift = rest - rest.mean()
    lengths = sqrt(float(centred @ centred)), sqrt(float(shift @ shift))
    if lengths[0] < 1e-9:
        return Estimate(None, reason="all models score alike"), None
    if lengths[1] < 1e-9:
        return Estimate(None, reason="the rest does not vary"), None
    value = min(1.0, max(-1.0, float(centred @ shift) / lengths[0] / lengths[1]))
    if count < FEWEST_CORRELATED:
        return Estimate(value, reason=f"fewer than {FEWEST_CORRELATED} models"), None
    if 1 - abs(value) < ROUNDING:
        return Estimate(value, reason="all models on a line"), None
    reach = _NORMAL / sqrt(count - 3)
    t = abs(value) * sqrt((count - 2) / (1 - value**2))
    tail = t_tail(t, count - 2)
    few = FEW_MODELS if count < ENOUGH_MODELS else None
    estimate = Estimate(value, tanh(atanh(value) - reach), tanh(atanh(value) + reach), few)
    return estimate, (tail if value < 0 else 1 - tail)


def end_chances(passes: Matrix) -> Matrix:
    """Share of items like these that nobody would pass, and that everybody would: shape (2, I); nan if not known.

    Were all sound, their pass rates are taken to be spread as a beta distribution with the mean and the variance that
    the items show beyond chance; the share is that of the beta-binomial, with one trial a model. Flawed items widen it,
    which only flags fewer.
    """
    known = ~np.isnan(passes)
    counts = np.count_nonzero(known, axis=0)
    usable = counts >= 2
    chances = np.full((2, passes.shape[1]), np.nan)
    if np.count_nonzero(usable) < FEWEST_ITEMS:
        return chances
    means = item_means(passes)
    squares = np.where(known, (passes - means) ** 2, 0.0).sum(axis=0)
    noise = squares[usable] / (counts[usable] - 1) / counts[usable]
    mean = float(means[usable].mean())
    between = float(means[usable].var(ddof=1) - noise.mean())
    for end, share in ((0, 1 - mean), (1, mean)):
        trials = np.arange(len(passes), dtype=np.float64)
        if between <= ROUNDING:
            factors = np.full(len(trials), share)
        else:
            size = max(0.0, mean * (1 - mean) / between - 1)
            factors = (size * share + trials) / np.maximum(size + trials, ROUNDING)
            factors[0] = share
        products = np.cumprod(factors)
        chances[end, usable] = products[counts[usable] - 1]
    return chances


def unusual(marks: Matrix) -> list[float | None]:
    """One-sided p value of as many marks of an item, were they as likely as on items like the others.

    A model's chance of a mark is (marks + 1) / (items + 2) over its other items, times a factor of the item, log-normal
    with mean 1 over items; its variance is how far the other items' counts scatter beyond chance, by moments. So an
    item stands out of how items differ, not of their mean. Given the factor the count is Poisson-binomial. None for an
    item without any model that could have a mark.
    """
    known = ~np.isnan(marks)
    raised = known & (marks > 0)
    marked, judged = (np.count_nonzero(array, axis=1, keepdims=True) - array for array in (raised, known))
    rates = np.where(known, (marked + 1) / (judged + 2), 0.0)
    counts, expected = np.count_nonzero(raised, axis=0), rates.sum(axis=0)
    beyond = (counts - expected) ** 2 - (rates * (1 - rates)).sum(axis=0)
    squares = expected**2
    others = np.maximum(squares.sum() - squares, ROUNDING)
    sigma = np.sqrt(np.log1p(np.maximum(0.0, (beyond.sum() - beyond) / others)))
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    factors = np.exp(sigma[:, None] * nodes - sigma[:, None] ** 2 / 2)
    shares = np.zeros((len(marks) + 1, *factors.shape))
    shares[0] = weights / weights.sum()
    for rate in rates:
        chance = np.minimum(rate[:, None] * factors, _SUREST)
        shares[1:] = shares[1:] * (1 - chance) + shares[:-1] * chance
        shares[0] *= 1 - chance
    tails = np.cumsum(shares.sum(axis=2)[::-1], axis=0)[::-1]
    observed = tails[counts, np.arange(len(counts))].tolist()
    present = np.count_nonzero(known, axis=0).tolist()
    return [min(1.0, p) if any_model else None for p, any_model in zip(observed, present, strict=True)]
