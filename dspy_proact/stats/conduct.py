"""Tests of what is unusual in how one of several raters rated, compared with the others.

A strict rater is not unusual: every test here allows each rater to give each label as often as they like.

- `likeness_p`: whether ratings have clearly less in common with those of others than theirs have with one another. The
  others' pairs give the table of who gives what beside what; it is thinned to seven tenths of what they have in common,
  and raked to the rater's own margins (iterative proportional fitting keeps odds ratios, which do not depend on
  margins). The statistic is the likelihood ratio of that table and of labels given by chance, nearly normal under it.
- `drift_p`: whether how far a rater is above or below the others changes in time: a permutation test of the correlation
  with order, whose variance is exactly 1 / (n - 1). The others' heights are taken away first, by least squares with an
  effect of every item and rater: whom a rater is beside changes in time, too. Without it, 20 % of studies with a strict
  rater among eight said that another had changed.
- `run_p`: whether one label was given more often in a row than by chance, in any order of the rater's own labels: the
  expected number of such runs, which bounds their probability.
- `outlier_p`: whether a rater's number, such as of the time they take, lies beyond those of the others: a t test of one
  new observation.

Whoever reads the p values of several raters or tests adjusts them together, with `stats.holm`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import NormalDist, fmean, stdev

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats.agreement import coincidences
from dspy_proact.stats.estimate import ROUNDING, t_tail
from dspy_proact.stats.raters import Panel
from dspy_proact.stats.tally import added_up

FEWEST_TESTED = 10
"""Ratings, with others beside them or in a row, below which nothing is tested."""
FEWEST_OTHERS = 3
"""Other raters, below which nobody lies beyond them."""
ALIKE = 0.7
"""Share of what others have in common that a rater may fall short of unnoticed: honest ones differ in skill, and of few
pairs a table knows little. At 1, 9 % of honest raters with 30 ratings beside 30 pairs had a p below .05, at 0.7 none
(eval/README.md)."""
_RAKED = 50
"""Rounds of raking; three labels settle in about ten."""
_NORMAL = NormalDist()


@dataclass(frozen=True)
class Conduct:
    """How one rater rated; a p value is None where there is too little to test."""

    ratings: int
    same: float | None
    """Share of the others' ratings of the same items with the same label, in [0, 1]; None where there are none."""
    theirs: float | None
    """The same among the others."""
    likeness: float | None
    """`likeness_p`."""
    moved: float | None
    """How much higher than the others the rater was in the second half than in the first, in labels."""
    drift: float | None
    """`drift_p`."""
    longest: int
    """The most ratings in a row with one label."""
    run: float | None
    """`run_p`; of a rater with one label, `outlier_p` of how often it is given, on the logit scale: whether that is
    being strict can only be told from how far the others differ."""


def conducts(panel: Panel, order: Sequence[float]) -> list[Conduct]:
    """How each rater of a panel rated, by number.

    Args:
        panel: Whose labels are in rising order; where they have none, that in which they are declared stands for one.
        order: When each rating was given, in any unit: shape (q,).
    """
    assert panel.raters is not None, "raters are known"
    labels, times = panel.own.argmax(axis=1), np.asarray(order)
    level = labels - _heights(panel, labels)[panel.raters]
    sums = np.bincount(panel.items, level, len(panel.counts))
    found: list[Conduct] = []
    for number in range(len(panel.names)):
        mine = np.flatnonzero(panel.raters == number)
        mine = mine[np.argsort(times[mine], kind="stable")]
        beside = mine[panel.others[mine].any(axis=1)]
        rest = panel.counts.copy()
        rest[panel.items[mine]] -= panel.own[mine]
        pairs = coincidences(rest[rest.sum(axis=1) > 1])
        others: NDArray[np.float64] = panel.others[beside] / panel.others[beside].sum(axis=1, keepdims=True)
        level_of_others = (sums[panel.items] - level)[beside] / panel.others[beside].sum(axis=1)
        above: NDArray[np.float64] = labels[beside] - level_of_others
        half, given = len(above) // 2, labels[mine].tolist()
        run = run_p(given)
        if len(set(given)) == 1 and len(given) >= FEWEST_TESTED:
            often = [_log_odds(panel.own[panel.raters == each, given[0]]) for each in range(len(panel.names))]
            run = outlier_p(often.pop(number), often)
        found.append(
            Conduct(
                ratings=len(mine),
                same=float(np.sum(panel.own[beside] * others) / len(beside)) if len(beside) else None,
                theirs=float(np.trace(pairs, axis1=1, axis2=2).sum() / pairs.sum()) if len(pairs) else None,
                likeness=likeness_p(labels[beside].tolist(), others, pairs),
                moved=float(np.mean(above[half:]) - np.mean(above[:half])) if half else None,
                drift=drift_p(above),
                longest=max((len(list(run)) for _, run in groupby(given)), default=0),
                run=run,
            )
        )
    return found


def _heights(panel: Panel, labels: NDArray[np.intp]) -> NDArray[np.float64]:
    """How much higher each rater's labels are than those of others on the same items, in labels: shape (raters,)."""
    who = np.eye(len(panel.names))[panel.raters]
    sizes = panel.counts.sum(axis=1)[panel.items]

    def within(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return values - added_up(values, panel.items)[panel.items] / sizes[:, None]

    fitted = np.linalg.lstsq(within(who), within(labels[:, None].astype(np.float64)))[0]
    return np.asarray(fitted[:, 0], dtype=np.float64)


def _log_odds(given: NDArray[np.float64]) -> float:
    """How often a label is among ratings, on the logit scale; half a rating on either side keeps it finite."""
    return math.log((given.sum() + 0.5) / (len(given) - given.sum() + 0.5))


def likeness_p(own: Sequence[int], others: NDArray[np.float64], pairs: NDArray[np.float64]) -> float | None:
    """One-sided p value that a rater has at least `ALIKE` as much in common with others as they have with one another.

    None with fewer than ten such ratings, or where one label is all that the rater, or others, give.

    Args:
        own: Place of the rater's label on each item that others rated too: shape (n,).
        others: How many others gave each label of these items: shape (n, k), no row empty.
        pairs: Of each item with several ratings of others, how often one of them gave a label, by row, where another
            gave that of the column: shape (m, k, k).
    """
    labels, shares = np.asarray(own, dtype=np.intp), others / others.sum(axis=1, keepdims=True)
    count, size, width = len(labels), len(pairs), others.shape[1]
    margins = np.bincount(labels, minlength=width), shares.sum(axis=0)
    if count < FEWEST_TESTED or not size or min(np.count_nonzero(each) for each in margins) < 2:
        return None
    together = pairs.sum(axis=0)
    given = (together.sum(axis=0) + together.sum(axis=1) + 1) / (2 * together.sum() + width)
    # Of raters who agree by chance alone: what thins the table, and half a pair a cell, so that none is empty.
    by_chance = ((1 - ALIKE) * together.sum() + width**2 / 2) * np.outer(given, given)
    table = ALIKE * together + by_chance
    for _ in range(_RAKED):
        table *= (margins[0] / np.maximum(table.sum(axis=1), ROUNDING))[:, None]
        table *= margins[1] / np.maximum(table.sum(axis=0), ROUNDING)
    # By the other's label, in columns: how probable each label is, and how much more than by chance.
    likely = np.maximum(table / np.maximum(table.sum(axis=0), ROUNDING), ROUNDING)
    ratios = np.log(likely / np.maximum(margins[0] / count, ROUNDING)[:, None])
    means = np.sum(likely * ratios, axis=0)
    variance = float(np.sum(shares @ np.sum(likely * (ratios - means) ** 2, axis=0)))
    if variance < ROUNDING:
        return None
    # What is expected was itself learned, from `size` items.
    return _NORMAL.cdf(float(np.sum(shares * (ratios[labels] - means))) / math.sqrt(variance * (1 + count / size)))


def drift_p(above: Sequence[float] | NDArray[np.float64]) -> float | None:
    """Two-sided p value that how far a rater is above others does not change in the order of the ratings.

    None with fewer than ten ratings, or where it never varies.
    """
    values, order = np.asarray(above, dtype=np.float64), np.arange(len(above), dtype=np.float64)
    if len(values) < FEWEST_TESTED or float(np.ptp(values)) < ROUNDING:
        return None
    correlation = float(np.corrcoef(values, order)[0, 1])
    return 2 * _NORMAL.cdf(-abs(correlation) * math.sqrt(len(values) - 1))


def run_p(labels: Sequence[int]) -> float | None:
    """One-sided p value that the longest run of one label is due to chance; None with fewer than ten, or all alike.

    Of n labels in random order, g of them alike, runs of at least k of these are expected
    (n - g + 1) g! (n - k)! / (n! (g - k)!) times: each begins first, or after one of the n - g others.
    """
    if len(labels) < FEWEST_TESTED or len(set(labels)) < 2:
        return None
    longest, total = max(len(list(run)) for _, run in groupby(labels)), len(labels)
    expected = 0.0
    for label in set(labels):
        alike = sum(each == label for each in labels)
        expected += (total - alike + 1) * math.comb(alike, longest) / math.comb(total, longest)
    return min(1.0, expected)


def outlier_p(value: float, others: Sequence[float]) -> float | None:
    """One-sided p value that a number is not above those of others, taken as normal.

    None with fewer than three others, or where these do not vary.
    """
    count = len(others)
    if count < FEWEST_OTHERS or (spread := stdev(others)) < ROUNDING:
        return None
    t = (value - fmean(others)) / (spread * math.sqrt(1 + 1 / count))
    return t_tail(t, count - 1) if t >= 0 else 1 - t_tail(-t, count - 1)
