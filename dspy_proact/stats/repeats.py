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

from dspy_proact.stats.cluster import Scores, checked_scores, standard_error, tabulate
from dspy_proact.stats.estimate import ROUNDING, Figure
from dspy_proact.stats.tally import numbered

NOISE = 0.1
"""Share of a variance that noise may have before more repeats are worth their price."""


@dataclass(frozen=True)
class Repeats:
    """Variances of scores by their source, each at least 0, and the repeats that they call for."""

    case_variance: Figure[float]
    """Between cases: of their expected scores."""
    within_variance: Figure[float]
    """Within a case, of one verdict on one response: the next two together."""
    response_variance: Figure[float]
    """Between responses to one case: of their expected verdicts."""
    judge_variance: Figure[float]
    """Between verdicts on one response."""
    design_effect: Figure[float]
    """Factor by which the cases' likeness within groups widens the variance of their mean; floored at 1."""
    epochs_worth: Figure[int]
    """Smallest K with within / K <= 0.1 (design effect * case + within / K): more epochs than that buy at
    most a tenth of the variance of the mean score."""
    judge_epochs_worth: Figure[int]
    """Smallest J, at one epoch, with judge / J <= 0.1 (design effect * case + response + judge / J)."""


def repeats(
    scores: Scores, cases: Sequence[Hashable], responses: Sequence[Hashable], groups: Sequence[Hashable]
) -> Repeats:
    """Divide the variance of the scores of verdicts over cases, responses and verdicts.

    No case with two responses: only the judge's variance can be told, from a response with two verdicts. None with two
    verdicts: the responses' and the judge's variance are told together, as the variance within. One case: no variance
    between. One group, or cases that do not differ: no design effect. What rests on a missing figure is missing for the
    same reason.

    Scores and keys are one a verdict; the key of a response (case and epoch) is unique at least within its case, and a
    case is in one group. Raises a `ValueError` where a score is outside [0, 1], or the lengths differ.
    """
    checked = checked_scores(scores, groups)
    by_case, by_response = numbered(cases), numbered(list(zip(cases, responses, strict=True)))
    case, within, response, judge = _components(checked, by_case, by_response)
    group_of = dict(zip(cases, groups, strict=True))
    effect = _design_effect(_means(checked, by_case), list(group_of.values()))
    epochs, verdicts = _repeats_worth(within, effect, case), _repeats_worth(judge, effect, case, response)
    return Repeats(case, within, response, judge, effect, epochs, verdicts)


def _means(scores: NDArray[np.float64], key: NDArray[np.intp]) -> NDArray[np.float64]:
    """Mean score of each key: shape (keys,)."""
    return np.bincount(key, scores) / np.bincount(key)


def _components(
    scores: NDArray[np.float64], by_case: NDArray[np.intp], by_response: NDArray[np.intp]
) -> tuple[Figure[float], Figure[float], Figure[float], Figure[float]]:
    """Variances of cases, of single verdicts within a case, of responses, and of verdicts on one.

    They come from the sums of squares between cases, between responses and between verdicts, weighted by verdicts.
    `by_case` and `by_response` number the case and the response of each verdict.
    """
    sizes, response_sizes = np.bincount(by_case), np.bincount(by_response)
    verdicts, responses, cases = len(scores), len(response_sizes), len(sizes)
    if not cases:
        missing = Figure[float](None, "no scores")
        return missing, missing, missing, missing
    of_case, of_response = _means(scores, by_case)[by_case], _means(scores, by_response)[by_response]
    repeated = Figure[float](None, "no repeated verdicts")
    between_verdicts = np.sum((scores - of_response) ** 2)
    judge = repeated if verdicts == responses else Figure(_floored(between_verdicts / (verdicts - responses)))
    if responses == cases:
        missing = Figure[float](None, "no repeated responses")
        return missing, missing, missing, judge
    # Without repeated verdicts the judge's part cannot be told from the responses' and stays in it.
    judged = judge.value or 0.0
    spread = np.sum(response_sizes[by_response] / sizes[by_case])
    between_responses = np.sum((of_response - of_case) ** 2)
    reply = _floored((between_responses - (responses - cases) * judged) / (verdicts - spread))
    within = Figure(reply + judged)
    response = repeated if judge.value is None else Figure(reply)
    if cases == 1:
        return Figure(None, "one case"), within, response, judge
    of_replies = spread - np.sum(response_sizes**2) / verdicts
    of_cases = verdicts - np.sum(sizes**2) / verdicts
    between_cases = np.sum((of_case - scores.mean()) ** 2)
    case = (between_cases - (cases - 1) * judged - of_replies * reply) / of_cases
    return Figure(_floored(case)), within, response, judge


def _floored(variance: float) -> float:
    """The variance, or 0 where it is below 0 or nothing but rounding."""
    return float(variance) if variance > ROUNDING else 0.0


def _design_effect(means: NDArray[np.float64], groups: Sequence[Hashable]) -> Figure[float]:
    """Clustered variance (CR2) of the mean of the cases' means over that of independent cases."""
    table = tabulate(means, groups)
    if reason := table.empty("scores") or table.lonely:
        return Figure(None, reason)
    alone = float(means.std(ddof=1)) / math.sqrt(len(means))
    if alone < ROUNDING:
        return Figure(None, "no variance between cases")
    return Figure(max(1.0, (standard_error(table) / alone) ** 2))


def _repeats_worth(
    noise: Figure[float], effect: Figure[float], case: Figure[float], other: Figure[float] | None = None
) -> Figure[int]:
    """Smallest K at which noise / K is at most 0.1 (effect * case + other + noise / K), the variance of a mean."""
    for figure in filter(None, (noise, case, effect, other)):
        if figure.value is None:
            return Figure(None, figure.reason)
    within, between, factor, rest = ((figure and figure.value) or 0.0 for figure in (noise, case, effect, other))
    left = factor * between + rest
    if within and not left:
        return Figure(None, "no variance between cases")
    # At least 9 times their ratio. Less a hair, so that rounding does not ask for one repeat more.
    ratio = within / left if within else 0.0
    return Figure(max(1, math.ceil(ratio * (1 - NOISE) / NOISE - 1e-9)))
