"""What changed between two programs on the same cases: scores, rates and lengths."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from dspy_proact.stats.cluster import cluster_mean
from dspy_proact.stats.estimate import Estimate
from dspy_proact.stats.improvement import CLAIM_GROUPS, CLAIM_LABELS
from dspy_proact.stats.jackknife import Jackknife, ratio
from dspy_proact.stats.paired import paired_difference


@dataclass(frozen=True)
class ScoreChange:
    """A mean score or a rate before and after, on the same cases."""

    count: int
    """Cases."""
    groups: int
    """Groups of these cases."""
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
    """Whether a rise may be claimed: the 98 % interval lies above 0, with at least 60 cases in 10 groups, and does so
    with the unread at their worst."""
    reason: str
    """Why not, as a sentence without its full stop; empty where it may."""
    unread: int
    """Further cases, of which a number is missing before or after; they are in no number above."""
    low98_unread: float | None
    """`low98` over all cases, the unread having been 1 before and 0 after."""
    least: Estimate
    """The difference likewise, with its 95 % interval: `difference` where all are read."""
    most: Estimate
    """Likewise with the unread having been 0 before and 1 after."""


@dataclass(frozen=True)
class LengthChange:
    """A mean length before and after, on the same cases."""

    count: int
    """Cases."""
    before: Estimate
    """Mean, with its 95 % interval."""
    after: Estimate
    """Likewise."""
    ratio: Estimate
    """After by before, with its 95 % interval."""


def score_change(
    before: Sequence[float | None], after: Sequence[float | None], groups: Sequence[Hashable], *, seed: int = 0
) -> ScoreChange:
    """Compare two programs on the same cases.

    Silence is decided as in `cluster_mean` and `paired_difference`. The 98 % interval is a jackknife over groups;
    where it cannot be given nothing is claimed.

    Args:
        before: Scores of the first program in [0, 1], None where one could not be read: shape (n,).
        after: Scores of the second on the same cases, aligned.
        groups: Key of the group of each case.
        seed: Of the random flips.

    Raises:
        ValueError: A score is outside [0, 1], or the lengths differ.
    """
    cases = list(zip(before, after, groups, strict=True))
    read = [(b, a, group) for b, a, group in cases if b is not None and a is not None]
    first, second, known = [b for b, _, _ in read], [a for _, a, _ in read], [group for _, _, group in read]
    paired = paired_difference(first, second, known, seed=seed)
    low98 = low98_unread = _low98(first, second, known)
    least = most = paired.difference
    if unread := len(cases) - len(read):
        worst, best = ((_filled(before, 1 - way), _filled(after, way), groups) for way in (0.0, 1.0))
        low98_unread = _low98(*worst)
        least, most = (paired_difference(*way, seed=seed).difference for way in (worst, best))
    reason = _reason(paired.count, paired.groups, low98, unread, low98_unread)
    return ScoreChange(
        count=paired.count,
        groups=paired.groups,
        before=cluster_mean(first, known),
        after=cluster_mean(second, known),
        difference=paired.difference,
        low98=low98,
        p=paired.p,
        shown=not reason,
        reason=reason,
        unread=unread,
        low98_unread=low98_unread,
        least=least,
        most=most,
    )


def _filled(scores: Sequence[float | None], score: float) -> list[float]:
    return [score if each is None else each for each in scores]


def _low98(before: Sequence[float], after: Sequence[float], groups: Sequence[Hashable]) -> float | None:
    """Lower end of the 98 % jackknife interval of the mean difference."""
    differences = np.subtract(after, before, dtype=float)
    parts = np.column_stack([differences, np.ones_like(differences)])
    return Jackknife.of(parts, groups, ratio).claim_bounds()[0]


def _reason(count: int, groups: int, low98: float | None, unread: int, low98_unread: float | None) -> str:
    if count < CLAIM_LABELS or groups < CLAIM_GROUPS:
        least = f"{CLAIM_LABELS} in {CLAIM_GROUPS}"
        return f"{count} cases in {groups} groups are too few for a claim, which takes {least}"
    if low98 is None:
        return "the difference has no interval"
    if low98 <= 0:
        return "the 98 % interval of the difference does not lie above 0"
    if low98_unread is None or low98_unread <= 0:
        return f"the 98 % interval does not lie above 0 when the {unread} unreadable scores count against it"
    return ""


def length_change(before: Sequence[float], after: Sequence[float], groups: Sequence[Hashable]) -> LengthChange:
    """Compare the lengths, none below 0, of two programs' responses on the same cases; intervals are jackknives.

    Arguments are as in `score_change`.

    Raises:
        ValueError: There is not one group and two lengths a case.
    """
    if not len(before) == len(after) == len(groups):
        raise ValueError(f"one group and two lengths a case: {len(before)}, {len(after)}, {len(groups)} differ")
    parts = np.array([before, after, [1.0] * len(before)], dtype=float).T.reshape(-1, 3)
    estimates = (
        Jackknife.of(parts[:, columns], groups, ratio, undefined="nothing to compare with").estimate((0, math.inf))
        for columns in ([0, 2], [1, 2], [1, 0])
    )
    return LengthChange(len(before), *estimates)
