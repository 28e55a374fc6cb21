"""What changed between two programs on the same cases: scores, rates and lengths."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from dspy_proact.stats.claim import ENOUGH_GROUPS, ENOUGH_LABELS
from dspy_proact.stats.cluster import cluster_mean
from dspy_proact.stats.estimate import Estimate
from dspy_proact.stats.paired import paired_difference
from dspy_proact.stats.units import Units, ratio


@dataclass(frozen=True)
class ScoreChange:
    """A mean score or a rate before and after, on the same cases."""

    count: int
    """Cases."""
    groups: int
    before: Estimate
    """In [0, 1], with its 95 % interval."""
    after: Estimate
    """Likewise."""
    difference: Estimate
    """After minus before in [-1, 1], with its 95 % interval."""
    low98: float | None
    """Lower end of the 98 % interval of the difference, which decides; None where there is none."""
    p: float | None
    """Two-sided p value of flipping whole groups."""
    shown: bool
    """Whether a rise may be claimed: the 98 % interval lies above 0, with at least 60 cases in 10 groups."""
    reason: str
    """Why not, as a sentence without its full stop; empty where it may."""


@dataclass(frozen=True)
class LengthChange:
    """A mean length before and after, on the same cases."""

    count: int
    before: Estimate
    """Mean, with its 95 % interval."""
    after: Estimate
    """Likewise."""
    ratio: Estimate
    """After by before, with its 95 % interval."""


def score_change(
    before: Sequence[float], after: Sequence[float], groups: Sequence[Hashable], *, seed: int = 0
) -> ScoreChange:
    """Compare two programs on the same cases.

    Silence is decided as in `cluster_mean` and `paired_difference`. The 98 % interval is a jackknife over groups;
    where it cannot be given nothing is claimed.

    Args:
        before: Scores of the first program in [0, 1], shape (n,).
        after: Scores of the second on the same cases, aligned.
        groups: Key of the group of each case.
        seed: Of the random flips.

    Raises:
        ValueError: A score is outside [0, 1], or the lengths differ.
    """
    paired = paired_difference(before, after, groups, seed=seed)
    differences = np.subtract(after, before, dtype=float)
    parts = np.column_stack([differences, np.ones_like(differences)])
    low98, _ = Units.of(groups).claim_bounds(parts, ratio, bounds=(-1, 1))
    reason = _reason(paired.count, paired.groups, low98)
    return ScoreChange(
        count=paired.count,
        groups=paired.groups,
        before=cluster_mean(before, groups),
        after=cluster_mean(after, groups),
        difference=paired.difference,
        low98=low98,
        p=paired.p,
        shown=not reason,
        reason=reason,
    )


def length_change(before: Sequence[float], after: Sequence[float], groups: Sequence[Hashable]) -> LengthChange:
    """Compare the lengths, none below 0, of two programs' responses on the same cases; intervals are jackknives.

    Arguments are as in `score_change`.

    Raises:
        ValueError: There is not one group and two lengths a case.
    """
    if not len(before) == len(after) == len(groups):
        raise ValueError(f"one group and two lengths a case: {len(before)}, {len(after)}, {len(groups)} differ")
    units = Units.of(groups)
    parts = np.array([before, after, [1.0] * len(before)], dtype=float).T.reshape(-1, 3)

    def estimate(top: int, bottom: int) -> Estimate:
        undefined = "nothing to compare with"
        return units.estimate(parts[:, [top, bottom]], ratio, undefined=undefined, bounds=(0, math.inf))

    return LengthChange(len(before), estimate(0, 2), estimate(1, 2), estimate(1, 0))


def _reason(count: int, groups: int, low98: float | None) -> str:
    if count < ENOUGH_LABELS or groups < ENOUGH_GROUPS:
        least = f"{ENOUGH_LABELS} in {ENOUGH_GROUPS}"
        return f"{count} cases in {groups} groups are too few for a claim, which takes {least}"
    if low98 is None:
        return "the difference has no interval"
    return "" if low98 > 0 else "the 98 % interval of the difference does not lie above 0"
