"""How well what was said fits what is true, where both are yes or no: statistics of a set of cases.

Each is a function of one table of counts, true by row and said by column. An interval leaves out one group at a time,
for the cases of a group resemble each other.
"""

from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dspy_proact.stats.estimate import Estimate
from dspy_proact.stats.kappa import kappa
from dspy_proact.stats.units import Units, each, gain

Classification = Literal["f1", "precision", "recall", "balanced_accuracy", "kappa"]
UNDEFINED: dict[Classification, str] = {
    "f1": "nothing is true and nothing was said to be",
    "precision": "nothing was said to be true",
    "recall": "nothing is true",
    "balanced_accuracy": "all true or all untrue",
    "kappa": "all one and the same",
}
"""What is so where a statistic is 0 / 0."""
Told = Sequence[Sequence[tuple[float, float]]]
"""What is true and what was said of each case, 0 or 1, once a verdict: a case's verdicts count 1 together."""


def classification(table: ArrayLike, statistic: Classification) -> float | None:
    """A statistic of a table of counts, higher is better: kappa in [-1, 1], the others in [0, 1].

    Precision is the share of true among those said to be, recall that of said among the true, F1 their harmonic mean;
    balanced accuracy is the mean of the recalls of yes and of no, so that 0.5 is chance; kappa is unweighted.

    Args:
        table: Shape (2, 2): counts by what is true (row) and what was said (column), no before yes. They are at least
            0 and need not be whole.
        statistic: Which.

    Returns:
        None where it is undefined (0 / 0): precision where yes was never said, recall where nothing is true, F1 where
        both is so, balanced accuracy where yes or no is never true, kappa where all is one and the same.

    Raises:
        ValueError: The table has another shape, or a count is below 0 or not finite.
    """
    counts = np.asarray(table, dtype=np.float64)
    if counts.shape != (2, 2) or not np.all((counts >= 0) & np.isfinite(counts)):
        raise ValueError(f"a table of yes and no has 2 x 2 counts of at least 0, not {counts.tolist()!r}")
    (right_no, false_yes), (missed, right_yes) = counts.tolist()
    match statistic:
        case "f1":
            return _ratio(2 * right_yes, 2 * right_yes + false_yes + missed)
        case "precision":
            return _ratio(right_yes, right_yes + false_yes)
        case "recall":
            return _ratio(right_yes, right_yes + missed)
        case "balanced_accuracy":
            yes, no = _ratio(right_yes, right_yes + missed), _ratio(right_no, right_no + false_yes)
            return None if yes is None or no is None else (yes + no) / 2
        case "kappa":
            return kappa(counts, "none")


def classification_estimate(told: Told, groups: Sequence[Hashable], statistic: Classification) -> Estimate:
    """A statistic of cases, with its interval: a jackknife that leaves out one group at a time.

    Silence is decided as follows. No cases, or a statistic that is undefined: no value. One group, or undefined
    without one, or the same without any: no bounds. Two to four groups: bounds with a warning.

    Args:
        told: What is true and what was said of each case.
        groups: Key of the group of each case.
        statistic: Which.

    Raises:
        ValueError: The lengths differ, nothing was said of a case, or something other than 0 or 1 is.
    """
    tables = _tables(told, groups)
    bounds = (-1.0 if statistic == "kappa" else 0.0, 1.0)
    return Units.of(groups).estimate(
        tables, each(lambda table: classification(table, statistic)), undefined=UNDEFINED[statistic], bounds=bounds
    )


def classification_difference(a: Told, b: Told, groups: Sequence[Hashable], statistic: Classification) -> Estimate:
    """A statistic of b minus that of a on the same cases, with its interval; silence as in `classification_estimate`.

    It is in [-1, 1], of kappa in [-2, 2]; above 0 where b is better. Errors are as in `classification_estimate`.
    """
    both = np.stack([_tables(a, groups), _tables(b, groups)], axis=1)
    gained = gain(each(lambda table: classification(table, statistic)))
    reach = 2.0 if statistic == "kappa" else 1.0
    undefined = f"{UNDEFINED[statistic]} in one of both"
    return Units.of(groups).estimate(both, gained, undefined=undefined, bounds=(-reach, reach))


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole > 0 else None


def _tables(told: Told, groups: Sequence[Hashable]) -> NDArray[np.float64]:
    """One table a case, which sums to 1: shape (n, 2, 2)."""
    if len(told) != len(groups):
        raise ValueError(f"one group a case: {len(told)} and {len(groups)} differ")
    tables = np.zeros((len(told), 2, 2))
    for table, pairs in zip(tables, told, strict=True):
        if not pairs or not {number for pair in pairs for number in pair} <= {0, 1}:
            raise ValueError(f"what is true and what was said is 0 or 1, once a case at least, not {list(pairs)!r}")
        for true, said in pairs:
            table[int(true), int(said)] += 1 / len(pairs)
    return tables
