"""How each of several raters rated, as numbers to be read beside those of the others.

None of them says that somebody rates badly, and there is no test of that: with few raters, what one of them does moves
the numbers of all. A strict rater agrees less often with others; of two raters, each has the other's change, reversed.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats.agreement import UNPAIRED
from dspy_proact.stats.cluster import cluster_mean
from dspy_proact.stats.estimate import Estimate
from dspy_proact.stats.raters import Panel
from dspy_proact.stats.tally import added_up


@dataclass(frozen=True)
class Conduct:
    """How one rater rated."""

    shares: tuple[float, ...]
    """Share of the rater's ratings with each label, in [0, 1], in the order of the labels."""
    agreement: Estimate
    """Share of the others' ratings of the same items with the same label, in [0, 1]; every item counts once."""
    change: float | None
    """By how many labels the rater rose, beside the others, from the first half of the items that others rated too to
    the second; None with fewer than two of them."""


def conducts(panel: Panel, order: Sequence[float], groups: Sequence[Hashable]) -> dict[Hashable, Conduct]:
    """How each rater of a panel, whose labels are in rising order, rated, by name.

    `order` is when each rating was given, in any unit, shape (q,); intervals allow for the `groups` of the items.
    """
    assert panel.raters is not None, "raters are known"
    labels, times = panel.own.argmax(axis=1), np.asarray(order)
    level = labels - _heights(panel, labels)[panel.raters]
    sums, counts = np.bincount(panel.items, level, len(panel.counts)), panel.others.sum(axis=1)
    by_name = dict[Hashable, Conduct]()
    for number, name in enumerate(panel.names):
        own = np.flatnonzero(panel.raters == number)
        shared = own[counts[own] > 0]
        shared = shared[np.argsort(times[shared], kind="stable")]
        same = np.sum(panel.own[shared] * panel.others[shared], axis=1) / counts[shared]
        above: NDArray[np.float64] = labels[shared] - (sums[panel.items] - level)[shared] / counts[shared]
        half = len(shared) // 2
        keys = [groups[item] for item in panel.items[shared].tolist()]
        by_name[name] = Conduct(
            shares=tuple(panel.own[own].mean(axis=0).tolist()),
            agreement=cluster_mean(same, keys) if keys else Estimate(None, reason=UNPAIRED),
            change=float(np.mean(above[half:]) - np.mean(above[:half])) if half else None,
        )
    return by_name


def _heights(panel: Panel, labels: NDArray[np.intp]) -> NDArray[np.float64]:
    """How much higher each rater's labels are than those of others on the same items, in labels: shape (raters,).

    By least squares with an effect of every item and rater. Whom a rater is beside changes in time, too: without these
    heights, somebody who rates as before would seem to change where a strict rater joins late.
    """
    who = np.eye(len(panel.names))[panel.raters]
    sizes = panel.counts.sum(axis=1)[panel.items]

    def within(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return values - added_up(values, panel.items)[panel.items] / sizes[:, None]

    fitted = np.linalg.lstsq(within(who), within(labels[:, None].astype(np.float64)))[0]
    return np.asarray(fitted[:, 0], dtype=np.float64)
