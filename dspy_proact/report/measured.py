"""What reports count in a run: one judge's verdicts, declared measures, control cases."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

import numpy as np

from dspy_proact.calls import Usage
from dspy_proact.evaluation.controls import Controls
from dspy_proact.evaluation.registry import controls_of
from dspy_proact.runs import Evidence, Manifest, Measure, Nouns, Outcome, Outcomes
from dspy_proact.runs.manifest import in_nouns
from dspy_proact.stats import Estimate, classification_difference, classification_estimate, cluster_mean, part_mean
from dspy_proact.stats.jackknife import Jackknife, gain, ratio


@dataclass(frozen=True)
class Grader:
    """What one judge of a run said."""

    name: str
    verdicts: int
    """Verdicts that were read."""
    unread: Mapping[str, int]
    """Verdicts that were tried and are not there, by reason."""
    weighted: Estimate
    """Mean score of its verdicts, each response counted once."""
    evidence: Evidence
    """How well they quote."""
    usage: Usage | None
    """What its calls took; None where it is not known."""

    @classmethod
    def of(
        cls, name: str, outcomes: Sequence[Outcome], labels: Sequence[str], nouns: Nouns, usage: Usage | None
    ) -> "Grader":
        """That of a name, among the outcomes of a run; labels from best to worst."""
        own = [graded for outcome in outcomes if (graded := outcome.by(name, labels)).label]
        verdicts = [verdict for outcome in own for verdict in outcome.verdicts]
        unread = Counter(failure.reason for outcome in outcomes for judge, failure in outcome.unread if judge == name)
        weighted = in_nouns(cluster_mean([outcome.score for outcome in own], [outcome.group for outcome in own]), nouns)
        return cls(name, len(verdicts), dict(unread), weighted, Evidence.of(verdicts), usage)


SMALL = 10
"""Cases below which a group of a breakdown is marked."""


def is_small(outcomes: Iterable[Outcome]) -> bool:
    """Whether there are too few cases to make much of a group."""
    return len({outcome.key for outcome in outcomes}) < SMALL


Values = list[tuple[float, ...]]
"""A measure's parts of one case, once a verdict that has them all."""


@dataclass(frozen=True)
class Compared:
    """A measure of two runs on the same cases."""

    a: Estimate
    b: Estimate
    difference: Estimate
    """b minus a: above 0 where the second's is higher."""


def values_of(measure: Measure, outcomes: Iterable[Outcome]) -> Values:
    """The parts of a case that one or several outcomes tell; empty where no verdict has them all."""
    verdicts = (verdict.parts for outcome in outcomes for verdict in outcome.verdicts)
    return [tuple(parts[name] for name in measure.parts) for parts in verdicts if parts.keys() >= set(measure.parts)]


Bounds = tuple[float, float]
"""The least and the greatest value of a measure's parts."""


def bounds_of(measure: Measure, outcomes: Iterable[Outcome]) -> Bounds:
    """Those that a measure declares; of one that declares none 0 and 1, if its values differ and are all in between.

    What is always the same may be of any range: no bound is made up for it.
    """
    if measure.least is not None or measure.most is not None:
        return measure.span
    values = {value for values in values_of(measure, outcomes) for value in values}
    return (0.0, 1.0) if len(values) > 1 and all(0 <= value <= 1 for value in values) else (-np.inf, np.inf)


def measured(
    measure: Measure, outcomes: Sequence[Outcome], bounds: Bounds, strata: Sequence[str] | None = None
) -> Estimate:
    """A measure of outcomes, each counted as a case.

    Silence is decided as follows. No outcome with all parts, a part that is to be 0 or 1 and is not, or one out of its
    bounds: no value. A constant: no bounds. Fewer outcomes with them than are scored: a warning with both numbers.
    Otherwise as the statistic says. Outcomes without a verdict do not count. `strata` are weighted equally; where None,
    cases are. Only a mean can be taken so.
    """
    if strata is not None and measure.statistic != "mean":
        return Estimate(None, reason="no mean")
    scored = [outcome for outcome in outcomes if outcome.state == "scored"]
    measurable = [(outcome, values) for outcome in scored if (values := values_of(measure, [outcome]))]
    by_stratum = ([outcome.stratum for outcome, _ in measurable], strata) if strata else ()
    estimate = _estimate(
        measure, [case.group for case, _ in measurable], [values for _, values in measurable], bounds, *by_stratum
    )
    if measure.constant and estimate.value is not None:
        return Estimate(estimate.value, reason="fixed by the rule")
    if not measurable or len(measurable) == len(scored):
        return estimate
    reason = "; ".join(filter(None, [estimate.reason, f"over {len(measurable)} of {len(scored)} scored"]))
    return replace(estimate, reason=reason)


def compared(
    measure: Measure,
    pairs: Sequence[tuple[str, Sequence[Outcome], Sequence[Outcome]]],
    bounds: Bounds,
    strata: Sequence[str] | None = None,
) -> Compared:
    """A measure of two runs on the same cases; `strata` as in `measured`.

    A mean is over each run's cases that have its part, as in the report of the run: where these differ, as what is told
    of the acts of two runs does, the difference leaves out a group at a time, else it is paired by case. Averaged over
    strata, and of other statistics, it is of the cases that have the parts in both.

    `pairs` are the group of each case, and its outcomes in both.
    """
    if strata is not None and measure.statistic != "mean":
        return Compared(*[Estimate(None, reason="no mean")] * 3)
    rows = [
        (group, ours[0].stratum, values_of(measure, ours), values_of(measure, theirs)) for group, ours, theirs in pairs
    ]
    both = [row for row in rows if row[2] and row[3]]
    of = rows if measure.statistic == "mean" and strata is None else both
    sides = [[(group, stratum, (a, b)[side]) for group, stratum, a, b in of if (a, b)[side]] for side in (0, 1)]

    def alone(own: Sequence[tuple[str, str, Values]]) -> Estimate:
        by_stratum = ([row[1] for row in own], strata) if strata else ()
        return _estimate(measure, [row[0] for row in own], [row[2] for row in own], bounds, *by_stratum)

    first, second = map(alone, sides)
    if missing := next((side for side in (first, second) if side.value is None), None):
        return Compared(first, second, missing)
    groups, a, b = [row[0] for row in both], [row[2] for row in both], [row[3] for row in both]
    width = bounds[1] - bounds[0]
    if measure.statistic != "mean":
        difference = classification_difference(a, b, groups, measure.statistic)
    elif len(sides[0]) == len(sides[1]) == len(both):
        by_stratum = ([row[1] for row in both], strata) if strata else ()
        difference = part_mean(np.subtract(_means(b), _means(a)), groups, *by_stratum, bounds=(-width, width))
    else:
        means = [[(fmean(one[0] for one in values), 1) if values else (0, 0) for values in row[2:]] for row in rows]
        left_out = Jackknife.of(np.array(means, dtype=np.float64), [row[0] for row in rows], gain(ratio))
        difference = left_out.estimate((-width, width))
    return Compared(first, second, difference)


def _estimate(
    measure: Measure, groups: Sequence[str], cases: Sequence[Values], bounds: Bounds, *by_stratum: Sequence[str]
) -> Estimate:
    if not cases:
        return Estimate(None, reason=f"no scored case has {' and '.join(measure.parts)}")
    if measure.statistic == "mean":
        means = _means(cases)
        if not all(bounds[0] <= mean <= bounds[1] for mean in means):
            return Estimate(None, reason=f"{measure.parts[0]} is out of its bounds somewhere")
        if bounds == (0, 1):
            return cluster_mean(means, groups, *by_stratum)
        return part_mean(means, groups, *by_stratum, bounds=bounds)
    if any(value not in {0, 1} for values in cases for pair in values for value in pair):
        return Estimate(None, reason=f"{' or '.join(measure.parts)} is neither 0 nor 1 somewhere")
    return classification_estimate(cases, groups, measure.statistic)


def _means(cases: Sequence[Values]) -> list[float]:
    return [fmean(values[0] for values in case) for case in cases]


@dataclass(frozen=True)
class ControlCases(Outcomes):
    """The control cases of a run."""

    outcomes: tuple[Outcome, ...] = ()
    """One a control case and epoch; empty where there are none."""
    reason: str | None = "none are recorded"
    """Why there are none."""
    requested: bool = True
    """Whether they were asked for, as far as is known."""
    worst: str = ""
    nouns: Nouns = field(default_factory=Nouns)
    declared: Controls = field(default_factory=Controls)
    """How reports show them."""

    @classmethod
    def of(cls, manifest: Manifest, outcomes: Sequence[Outcome]) -> "ControlCases":
        """Those of a run."""
        nouns, declared = manifest.nouns, controls_of(manifest.identity.benchmark)
        if outcomes:
            return cls(tuple(outcomes), None, True, manifest.control_labels[-1], nouns, declared)
        if manifest.controls:
            return cls(reason=f"the corpus has no {nouns.controls}", nouns=nouns, declared=declared)
        reason = f"{nouns.controls} were not asked for; a run with controls asks at them"
        return cls(reason=reason, requested=False, nouns=nouns, declared=declared)

    @property
    def key(self) -> str:
        """The name of the rate in JSON."""
        return self.declared.rate.replace(" ", "_") or "rate"

    @property
    def title(self) -> str:
        """Its name for people."""
        return self.declared.rate or "rate of the worst label"

    @property
    def rate(self) -> Estimate:
        """Share of the scored control cases with the worst label; lower is better."""
        if self.reason:
            return Estimate(None, reason=self.reason)
        worst, groups = [float(o.label == self.worst) for o in self.scored], [o.group for o in self.scored]
        return in_nouns(cluster_mean(worst, groups), self.nouns)
