"""Statistics of binary predictions: precision, recall, F1, balanced accuracy and kappa of a set of cases.

Each is a function of one table of counts, truth by row and prediction by column. Precision and recall are means, over
what was predicted and over what is true, with the interval of a mean: so has what is the same number by another name,
such as the share of wrong ones among the predicted. Intervals of the others leave out a group at a time, on the logit
scale between the least and the greatest that they can be.
"""

from collections.abc import Hashable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats.agreement import kappas
from dspy_proact.stats.cluster import ENOUGH_GROUPS, FEW_GROUPS, cluster_mean
from dspy_proact.stats.estimate import Estimate
from dspy_proact.stats.jackknife import Jackknife, gain, ratio
from dspy_proact.stats.tally import added_up, numbered
from dspy_proact.types import Classification

UNDEFINED: dict[Classification, str] = {
    "f1": "no positive case, and none predicted",
    "precision": "no case predicted as positive",
    "recall": "no positive case",
    "balanced_accuracy": "no positive or no negative case",
    "kappa": "truth and predictions are all alike",
}
"""What is so where a statistic is 0 / 0."""
Cases = Sequence[Sequence[tuple[float, ...]]]
"""Truth and prediction of each case, 0 or 1, once a verdict: a case's verdicts count 1 together."""


def classification(tables: NDArray[np.float64], statistic: Classification) -> NDArray[np.float64]:
    """A statistic of each of many tables of counts, higher is better: kappa in [-1, 1], the others in [0, 1].

    F1 is the harmonic mean of precision and recall; balanced accuracy is the mean of the recalls of yes and of no, so
    that 0.5 is chance; kappa is unweighted.

    From shape (..., 2, 2), truth by row and prediction by column, no before yes, to (...). nan where it is
    undefined (0 / 0, see `UNDEFINED`).
    """
    right_no, false_yes = tables[..., 0, 0], tables[..., 0, 1]
    missed, right_yes = tables[..., 1, 0], tables[..., 1, 1]

    def share(part: NDArray[np.float64], total: NDArray[np.float64]) -> NDArray[np.float64]:
        return ratio(np.stack([part, total], axis=-1))

    match statistic:
        case "f1":
            return share(2 * right_yes, 2 * right_yes + false_yes + missed)
        case "precision":
            return share(right_yes, right_yes + false_yes)
        case "recall":
            return share(right_yes, right_yes + missed)
        case "balanced_accuracy":
            return (share(right_yes, right_yes + missed) + share(right_no, right_no + false_yes)) / 2
        case "kappa":
            return kappas(tables, "none")


def classification_estimate(cases: Cases, groups: Sequence[Hashable], statistic: Classification) -> Estimate:
    """A statistic of cases, with its interval; silence as in `cluster_mean` or `Jackknife.of`.

    Near an end of the scale it carries a warning. Raises a `ValueError` where the lengths differ, a case has no
    prediction, or something other than 0 or 1 is.
    """
    tables = _tables(cases)
    if statistic in {"precision", "recall"}:
        yes = tables[:, :, 1] if statistic == "precision" else tables[:, 1]
        weights = yes.sum(axis=1)
        counted = weights > 0
        keys = [key for key, counts in zip(groups, counted, strict=True) if counts]
        if not keys:
            return Estimate(None, reason=UNDEFINED[statistic])
        return cluster_mean(yes[counted, 1] / weights[counted], keys, weights=weights[counted])
    bounds = (-1.0 if statistic == "kappa" else 0.0, 1.0)
    of_tables = partial(classification, statistic=statistic)
    estimate = Jackknife.of(tables, groups, of_tables, undefined=UNDEFINED[statistic]).estimate(bounds, logit=True)
    return estimate.marked(rests) if (rests := _rests_on_few(tables, groups, statistic)) else estimate


def _rests_on_few(tables: NDArray[np.float64], groups: Sequence[Hashable], statistic: Classification) -> str | None:
    """That a kind of cases is in few groups alone, on which the statistic then rests; None where each is in five."""
    sums: NDArray[np.bool_] = added_up(tables, numbered(groups)) > 0
    kinds = {
        "a positive case": sums[:, 1].any(axis=1),
        "a case predicted as positive": sums[:, :, 1].any(axis=1),
    }
    if statistic != "f1":  # which knows nothing of cases that are rightly negative
        kinds |= {
            "a negative case": sums[:, 0].any(axis=1),
            "a case predicted as negative": sums[:, :, 0].any(axis=1),
        }
    few = (kind for kind, there in kinds.items() if np.count_nonzero(there) < ENOUGH_GROUPS <= len(sums))
    return next((f"{FEW_GROUPS} with {kind}" for kind in few), None)


def classification_difference(a: Cases, b: Cases, groups: Sequence[Hashable], statistic: Classification) -> Estimate:
    """A statistic of b minus that of a on the same cases, with its interval; silence as in `Jackknife.of`.

    It is in [-1, 1], of kappa in [-2, 2]; above 0 where b is better. Errors are as in `classification_estimate`.
    """
    both = np.stack([_tables(a), _tables(b)], axis=1)
    gained = gain(partial(classification, statistic=statistic))
    reach = 2.0 if statistic == "kappa" else 1.0
    undefined = f"{UNDEFINED[statistic]} in one of both"
    return Jackknife.of(both, groups, gained, undefined=undefined).estimate((-reach, reach))


def _tables(cases: Cases) -> NDArray[np.float64]:
    """One table a case, which sums to 1: shape (n, 2, 2)."""
    tables = np.zeros((len(cases), 2, 2))
    for table, pairs in zip(tables, cases, strict=True):
        if not pairs or not {number for pair in pairs for number in pair} <= {0, 1}:
            raise ValueError(f"truth and prediction are 0 or 1, once a case at least, not {list(pairs)!r}")
        for true, predicted in pairs:
            table[int(true), int(predicted)] += 1 / len(pairs)
    return tables
