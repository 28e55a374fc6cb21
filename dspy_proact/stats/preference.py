"""The share of people's choices between two answers, with an interval over items and raters.

The exact binomial interval stands beside it: it takes every choice as independent, as if no item and no rater repeated.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from dspy_proact.stats.cluster import cluster_mean, spread_of, tabulate
from dspy_proact.stats.estimate import UPPER, Estimate
from dspy_proact.stats.raters import ENOUGH_RATERS, UNMARKED_RATERS, RaterVariance, rater_term
from dspy_proact.stats.tally import numbered

WIDELY = "raters differ widely: may be too narrow"
"""Where raters make most of the variance, and there are fewer than eight or fewer than two of them would prefer the
other thing, intervals were measured to cover 63 to 99 % (eval/README.md): whether such a rater is among them at all is
left to chance."""
_OTHER_MIND = 2


def preferred_share(chosen: Sequence[bool], groups: Sequence[Hashable], raters: Sequence[Hashable]) -> Estimate:
    """Share of choices that fell on one of two things, in [0, 1], as `cluster_mean` of groups and of drawn raters.

    Where all choices are equal, an item or a rater counts as one trial, whichever are fewer. With fewer than four
    raters the interval speaks of these alone and says so. Ties are left out by whoever calls; `groups` has the item of
    each choice, or what items share that are not independent.
    """
    values, rater = np.asarray(chosen, dtype=np.float64), numbered(raters)
    count, term = len(set(raters)), 0.0
    if count >= ENOUGH_RATERS:
        # Divided once more than in CR2, as CR3 does: raters of another mind are few and skew the share, and with eight
        # raters CR2 covered 91 to 93 % where most prefer one answer and raters differ much (eval/README.md).
        carried = np.bincount(rater) / len(rater)
        influence = (values - values.mean()) / len(values) / np.sqrt(1 - carried[rater])
        term = rater_term(influence, raters, groups)
    estimate = cluster_mean(values, groups, drawn=RaterVariance(term, count))
    if estimate.value is None or estimate.low is None or term <= spread_of(tabulate(values, groups)).variance:
        return estimate
    other_minds = count * min(estimate.value, 1 - estimate.value)
    return estimate.marked(WIDELY) if count < UNMARKED_RATERS or other_minds < _OTHER_MIND else estimate


@dataclass(frozen=True)
class Binomial:
    """So many hits of so many trials, taken as independent."""

    share: Estimate
    """In [0, 1], with the exact interval of Clopper & Pearson 1934."""
    p: float
    """Two-sided, that both outcomes are equally probable."""


def exact_binomial(hits: int, count: int) -> Binomial:
    """The exact interval and test of `hits` among `count` trials, at least one."""
    kinds = np.arange(count + 1)
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, count + 1)))])
    ways = logs[count] - logs - logs[::-1]  # logarithms, which do not overflow

    def at_least(least: int, p: float) -> float:
        """Probability of so many hits or more."""
        return float(np.exp(ways + kinds * math.log(p) + (count - kinds) * math.log1p(-p))[least:].sum())

    def bound(least: int, tail: float) -> float:
        """The probability of a hit at which `at_least` is `tail`: it rises with it."""
        low, high = 0.0, 1.0
        while (middle := (low + high) / 2) not in (low, high):
            low, high = (middle, high) if at_least(least, middle) < tail else (low, middle)
        return low

    low = bound(hits, 1 - UPPER) if hits else 0.0
    high = bound(hits + 1, UPPER) if hits < count else 1.0
    p = min(1.0, 2 * at_least(max(hits, count - hits), 0.5))
    return Binomial(Estimate(hits / count, low, high), p)
