"""What repeating is worth: how the variance of scores divides over cases, responses and verdicts.

A case's score is its own level, plus what this response happened to be (epochs repeat it), plus what
this verdict happened to be (judge epochs repeat it). The variances of the three are nested components,
estimated by the method of moments for unbalanced data (Henderson's method 1; Searle, Casella & McCulloch
1992, 5.3), each floored at 0. Nothing is assumed of the numbers of responses and verdicts, so that missing
ones only cost precision.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dspy_proact.stats.cluster import ROUNDING, standard_error
from dspy_proact.stats.figure import Figure
from dspy_proact.stats.table import checked_scores, tabulate

NOISE = 0.1
"""Share of a variance that noise may have before more repeats are worth their price."""


@dataclass(frozen=True)
class Repeats:
    """Variances of scores by their source, each at least 0, and the repeats that they call for."""

    case_variance: Figure[float]
    """Variance between cases: of their expected scores."""
    within_variance: Figure[float]
    """Variance within a case of one verdict on one response: the next two together."""
    response_variance: Figure[float]
    """Variance between responses to one case: of their expected verdicts."""
    judge_variance: Figure[float]
    """Variance between verdicts on one response."""
    design_effect: Figure[float]
    """Factor by which the cases' likeness within groups widens the variance of their mean; floored at 1."""
    epochs_worth: Figure[int]
    """Smallest K with within / K <= 0.1 (design effect * case + within / K): more epochs than that buy at
    most a tenth of the variance of the mean score."""
    judge_epochs_worth: Figure[int]
    """Smallest J, at one epoch, with judge / J <= 0.1 (design effect * case + response + judge / J): more
    verdicts on each response than that buy at most a tenth of the variance of the mean score."""


def repeats(
    scores: Sequence[float] | NDArray[np.float64],
    cases: Sequence[Hashable],
    responses: Sequence[Hashable],
    groups: Sequence[Hashable],
) -> Repeats:
    """Divide the variance of the scores of verdicts over cases, responses and verdicts.

    Silence is decided as follows. No case with two responses: only the judge's variance can be told, and
    that needs a response with two verdicts. None with two verdicts: the responses' and the judge's variance
    are told together, as the variance within. One case: no variance between. One group, or cases
    that do not differ: no design effect. What rests on a missing figure is missing for the same reason.

    Args:
        scores: Array of shape (n,), one a verdict, each in [0, 1].
        cases: Key of the case of each verdict.
        responses: Key of the response (case and epoch) of each verdict; unique over all cases or within its own.
        groups: Key of the group of each verdict.

    Raises:
        ValueError: A score is outside [0, 1], the lengths differ, or a case is in two groups.
    """
    checked = checked_scores(scores, groups, strata=[None] * len(cases), order=[None])
    if len(responses) != len(checked):
        raise ValueError(f"one response a score: {len(checked)} and {len(responses)} differ")
    group_of = dict(zip(cases, groups, strict=True))
    if any(group_of[case] != group for case, group in zip(cases, groups, strict=True)):
        raise ValueError("a case is in one group, and here one is in two")
    nested = _Nested.of(checked, cases, list(zip(cases, responses, strict=True)))
    effect = _design_effect(nested.case_means, list(group_of.values()))
    case, within, response, judge = nested.components()
    return Repeats(
        case,
        within,
        response,
        judge,
        effect,
        epochs_worth=_repeats_worth(_noise_ratio(within, effect, case)),
        judge_epochs_worth=_repeats_worth(_noise_ratio(judge, effect, case, response)),
    )


@dataclass(frozen=True)
class _Nested:
    """Sums of squares of scores nested in responses nested in cases."""

    sizes: NDArray[np.float64]
    """Verdicts of each case: shape (cases,)."""
    response_sizes: NDArray[np.float64]
    """Verdicts of each response: shape (responses,)."""
    spread: float
    """Sum over the cases of the squares of its responses' sizes, over its own size."""
    case_means: NDArray[np.float64]
    """Mean score of each case: shape (cases,)."""
    between_cases: float
    between_responses: float
    between_verdicts: float
    """The sums of squares, weighted by verdicts."""

    @classmethod
    def of(cls, scores: NDArray[np.float64], cases: Sequence[Hashable], responses: Sequence[Hashable]) -> "_Nested":
        by_case, sizes = _places(cases)
        by_response, response_sizes = _places(responses)
        means = np.bincount(by_case, scores, len(sizes)) / sizes
        response_means = np.bincount(by_response, scores, len(response_sizes)) / response_sizes
        return cls(
            sizes,
            response_sizes,
            float(np.sum(response_sizes[by_response] / sizes[by_case])),
            means,
            float(np.sum((means[by_case] - scores.mean()) ** 2)) if len(scores) else 0.0,
            float(np.sum((response_means[by_response] - means[by_case]) ** 2)),
            float(np.sum((scores - response_means[by_response]) ** 2)),
        )

    def components(self) -> tuple[Figure[float], Figure[float], Figure[float], Figure[float]]:
        """Variances of cases, of single verdicts within a case, of responses, and of verdicts on one."""
        verdicts, responses, cases = float(self.sizes.sum()), len(self.response_sizes), len(self.sizes)
        if not cases:
            missing = Figure[float](None, "no scores")
            return missing, missing, missing, missing
        repeated = Figure[float](None, "no repeated verdicts")
        judge = repeated if verdicts == responses else Figure(_floored(self.between_verdicts / (verdicts - responses)))
        if responses == cases:
            missing = Figure[float](None, "no repeated responses")
            return missing, missing, missing, judge
        # Without repeated verdicts the judge's part cannot be told from the responses' and stays in it.
        judged = judge.value or 0.0
        reply = _floored((self.between_responses - (responses - cases) * judged) / (verdicts - self.spread))
        within = Figure(reply + judged)
        response = repeated if judge.value is None else Figure(reply)
        if cases == 1:
            return Figure(None, "one case"), within, response, judge
        of_replies = self.spread - np.sum(self.response_sizes**2) / verdicts
        of_cases = verdicts - np.sum(self.sizes**2) / verdicts
        case = (self.between_cases - (cases - 1) * judged - of_replies * reply) / of_cases
        return Figure(_floored(float(case))), within, response, judge


def _floored(variance: float) -> float:
    """The variance, or 0 where it is below 0 or nothing but rounding."""
    return variance if variance > ROUNDING else 0.0


def _places(keys: Sequence[Hashable]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The keys numbered as they first appear, and how often each occurs."""
    number = {key: index for index, key in enumerate(dict.fromkeys(keys))}
    places = np.array([number[key] for key in keys], dtype=np.intp)
    return places, np.bincount(places, minlength=len(number)).astype(np.float64)


def _design_effect(means: NDArray[np.float64], groups: Sequence[Hashable]) -> Figure[float]:
    """Clustered variance (CR2) of the mean of the cases' means over that of independent cases."""
    if not len(means):
        return Figure(None, "no scores")
    table = tabulate(means, groups, [None] * len(means), [None])
    if table.lonely:
        return Figure(None, table.lonely)
    alone = float(means.std(ddof=1)) / math.sqrt(len(means))
    if alone < ROUNDING:
        return Figure(None, "cases do not differ")
    return Figure(max(1.0, (standard_error(table.influence, table.shares) / alone) ** 2))


def _noise_ratio(
    noise: Figure[float], effect: Figure[float], case: Figure[float], other: Figure[float] | None = None
) -> Figure[float]:
    """Variance of the noise over what is left without it: design effect * case, and another variance."""
    other = other or Figure(0.0)
    for figure in (noise, case, effect, other):
        if figure.value is None:
            return figure
    assert noise.value is not None and effect.value is not None  # noqa: PT018
    assert case.value is not None and other.value is not None  # noqa: PT018
    left = effect.value * case.value + other.value
    if noise.value == 0:
        return Figure(0.0)
    return Figure(noise.value / left) if left > 0 else Figure(None, "cases do not differ")


def _repeats_worth(ratio: Figure[float]) -> Figure[int]:
    """Smallest number of repeats with ratio / repeats at most 0.1 of itself and 1: at least 9 times the ratio."""
    if ratio.value is None:
        return Figure(None, ratio.reason)
    # Less a hair, so that rounding does not ask for one repeat more.
    return Figure(max(1, math.ceil(ratio.value * (1 - NOISE) / NOISE - 1e-9)))
