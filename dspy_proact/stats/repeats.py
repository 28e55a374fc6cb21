"""What repeating is worth: how the variance of scores divides over triggers, responses and verdicts.

A trigger's score is its own level, plus what this response happened to be (epochs repeat it), plus what
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

    trigger_variance: Figure[float]
    """Variance between triggers: of their expected scores."""
    within_variance: Figure[float]
    """Variance within a trigger of one verdict on one response: the next two together."""
    response_variance: Figure[float]
    """Variance between responses to one trigger: of their expected verdicts."""
    judge_variance: Figure[float]
    """Variance between verdicts on one response."""
    design_effect: Figure[float]
    """Factor by which the triggers' likeness within scenarios widens the variance of their mean; floored at 1."""
    epochs_worth: Figure[int]
    """Smallest K with within / K <= 0.1 (design effect * trigger + within / K): more epochs than that buy at
    most a tenth of the variance of the mean score."""
    judge_epochs_worth: Figure[int]
    """Smallest J, at one epoch, with judge / J <= 0.1 (design effect * trigger + response + judge / J): more
    verdicts on each response than that buy at most a tenth of the variance of the mean score."""

    def epochs_by_cost(self, cost_of_trigger: float, cost_of_repeat: float) -> Figure[float]:
        """Number of epochs, at least 1 and not whole, that gives the narrowest interval for a budget.

        K* = sqrt(cost_of_trigger / cost_of_repeat * within / (design effect * trigger)).

        Args:
            cost_of_trigger: What one more trigger costs apart from its repeats, above 0.
            cost_of_repeat: What one response and its verdict cost, above 0 and in the same unit.

        Raises:
            ValueError: A cost is not above 0.
        """
        if not (0 < cost_of_trigger < math.inf and 0 < cost_of_repeat < math.inf):
            raise ValueError(f"costs must be above 0, not {cost_of_trigger!r} and {cost_of_repeat!r}")
        ratio = _noise_ratio(self.within_variance, self.design_effect, self.trigger_variance)
        if ratio.value is None:
            return ratio
        return Figure(max(1.0, math.sqrt(cost_of_trigger / cost_of_repeat * ratio.value)))


def repeats(
    scores: Sequence[float] | NDArray[np.float64],
    triggers: Sequence[Hashable],
    responses: Sequence[Hashable],
    clusters: Sequence[Hashable],
) -> Repeats:
    """Divide the variance of the scores of verdicts over triggers, responses and verdicts.

    Silence is decided as follows. No trigger with two responses: only the judge's variance can be told, and
    that needs a response with two verdicts. None with two verdicts: the responses' and the judge's variance
    are told together, as the variance within. One trigger: no variance between. One scenario, or triggers
    that do not differ: no design effect. What rests on a missing figure is missing for the same reason.

    Args:
        scores: Array of shape (n,), one a verdict, each in [0, 1].
        triggers: Key of the trigger of each verdict.
        responses: Key of the response (trigger and epoch) of each verdict; unique over all triggers or within its own.
        clusters: Key of the scenario of each verdict.

    Raises:
        ValueError: A score is outside [0, 1], the lengths differ, or a trigger is in two scenarios.
    """
    checked = checked_scores(scores, clusters, strata=[None] * len(triggers), order=[None])
    if len(responses) != len(checked):
        raise ValueError(f"one response a score: {len(checked)} and {len(responses)} differ")
    scenario_of = dict(zip(triggers, clusters, strict=True))
    if any(scenario_of[trigger] != cluster for trigger, cluster in zip(triggers, clusters, strict=True)):
        raise ValueError("a trigger is in one scenario, and here one is in two")
    nested = _Nested.of(checked, triggers, list(zip(triggers, responses, strict=True)))
    effect = _design_effect(nested.trigger_means, list(scenario_of.values()))
    trigger, within, response, judge = nested.components()
    return Repeats(
        trigger,
        within,
        response,
        judge,
        effect,
        epochs_worth=_repeats_worth(_noise_ratio(within, effect, trigger)),
        judge_epochs_worth=_repeats_worth(_noise_ratio(judge, effect, trigger, response)),
    )


@dataclass(frozen=True)
class _Nested:
    """Sums of squares of scores nested in responses nested in triggers."""

    sizes: NDArray[np.float64]
    """Verdicts of each trigger: shape (triggers,)."""
    response_sizes: NDArray[np.float64]
    """Verdicts of each response: shape (responses,)."""
    spread: float
    """Sum over the triggers of the squares of its responses' sizes, over its own size."""
    trigger_means: NDArray[np.float64]
    """Mean score of each trigger: shape (triggers,)."""
    between_triggers: float
    between_responses: float
    between_verdicts: float
    """The sums of squares, weighted by verdicts."""

    @classmethod
    def of(cls, scores: NDArray[np.float64], triggers: Sequence[Hashable], responses: Sequence[Hashable]) -> "_Nested":
        by_trigger, sizes = _places(triggers)
        by_response, response_sizes = _places(responses)
        means = np.bincount(by_trigger, scores, len(sizes)) / sizes
        response_means = np.bincount(by_response, scores, len(response_sizes)) / response_sizes
        return cls(
            sizes,
            response_sizes,
            float(np.sum(response_sizes[by_response] / sizes[by_trigger])),
            means,
            float(np.sum((means[by_trigger] - scores.mean()) ** 2)) if len(scores) else 0.0,
            float(np.sum((response_means[by_response] - means[by_trigger]) ** 2)),
            float(np.sum((scores - response_means[by_response]) ** 2)),
        )

    def components(self) -> tuple[Figure[float], Figure[float], Figure[float], Figure[float]]:
        """Variances of triggers, of single verdicts within a trigger, of responses, and of verdicts on one."""
        verdicts, responses, triggers = float(self.sizes.sum()), len(self.response_sizes), len(self.sizes)
        if not triggers:
            missing = Figure[float](None, "no scores")
            return missing, missing, missing, missing
        repeated = Figure[float](None, "no repeated verdicts")
        judge = repeated if verdicts == responses else Figure(_floored(self.between_verdicts / (verdicts - responses)))
        if responses == triggers:
            missing = Figure[float](None, "no repeated responses")
            return missing, missing, missing, judge
        # Without repeated verdicts the judge's part cannot be told from the responses' and stays in it.
        judged = judge.value or 0.0
        reply = _floored((self.between_responses - (responses - triggers) * judged) / (verdicts - self.spread))
        within = Figure(reply + judged)
        response = repeated if judge.value is None else Figure(reply)
        if triggers == 1:
            return Figure(None, "one trigger"), within, response, judge
        of_replies = self.spread - np.sum(self.response_sizes**2) / verdicts
        of_triggers = verdicts - np.sum(self.sizes**2) / verdicts
        trigger = (self.between_triggers - (triggers - 1) * judged - of_replies * reply) / of_triggers
        return Figure(_floored(float(trigger))), within, response, judge


def _floored(variance: float) -> float:
    """The variance, or 0 where it is below 0 or nothing but rounding."""
    return variance if variance > ROUNDING else 0.0


def _places(keys: Sequence[Hashable]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The keys numbered as they first appear, and how often each occurs."""
    number = {key: index for index, key in enumerate(dict.fromkeys(keys))}
    places = np.array([number[key] for key in keys], dtype=np.intp)
    return places, np.bincount(places, minlength=len(number)).astype(np.float64)


def _design_effect(means: NDArray[np.float64], clusters: Sequence[Hashable]) -> Figure[float]:
    """Clustered variance (CR2) of the mean of the triggers' means over that of independent triggers."""
    if not len(means):
        return Figure(None, "no scores")
    table = tabulate(means, clusters, [None] * len(means), [None])
    if table.lonely:
        return Figure(None, table.lonely)
    alone = float(means.std(ddof=1)) / math.sqrt(len(means))
    if alone < ROUNDING:
        return Figure(None, "triggers do not differ")
    return Figure(max(1.0, (standard_error(table.influence, table.shares) / alone) ** 2))


def _noise_ratio(
    noise: Figure[float], effect: Figure[float], trigger: Figure[float], other: Figure[float] | None = None
) -> Figure[float]:
    """Variance of the noise over what is left without it: design effect * trigger, and another variance."""
    other = other or Figure(0.0)
    for figure in (noise, trigger, effect, other):
        if figure.value is None:
            return figure
    assert noise.value is not None and effect.value is not None  # noqa: PT018
    assert trigger.value is not None and other.value is not None  # noqa: PT018
    left = effect.value * trigger.value + other.value
    if noise.value == 0:
        return Figure(0.0)
    return Figure(noise.value / left) if left > 0 else Figure(None, "triggers do not differ")


def _repeats_worth(ratio: Figure[float]) -> Figure[int]:
    """Smallest number of repeats with ratio / repeats at most 0.1 of itself and 1: at least 9 times the ratio."""
    if ratio.value is None:
        return Figure(None, ratio.reason)
    # Less a hair, so that rounding does not ask for one repeat more.
    return Figure(max(1, math.ceil(ratio.value * (1 - NOISE) / NOISE - 1e-9)))
