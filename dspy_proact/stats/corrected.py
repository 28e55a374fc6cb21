"""What people would have given, with its interval, or why that cannot be said.

The thresholds are from simulations of the method in `correction`: below them intervals were as wide as half the scale,
or did not cover. They rest on ratings of cases that were drawn by the judge's label alone.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from dspy_proact.stats.cluster import ROUNDING, cluster_mean, logit_bounds, plain_bounds, trial_bounds
from dspy_proact.stats.correction import Correction, correction
from dspy_proact.stats.estimate import Estimate, joined
from dspy_proact.stats.rated_cases import RatedCases

FEWEST_RATED = 12
"""Rated cases of a stratum, below which the intervals were 33 to 61 points wide."""
ENOUGH_RATED = 30
"""Rated cases, in all, below which bounds are marked."""
FEWEST_GROUPS = 5
"""Groups with rated cases, in a stratum."""
THICK = 0.10
"""Share of a stratum's cases above which a label needs more than one rated case."""
FEWEST_RATERS, UNMARKED_RATERS = 4, 8
"""Two or three give intervals 93 or 46 points wide, four to seven 33 to 28, which are marked."""


@dataclass(frozen=True)
class CorrectedMean:
    """What people would have given, beside what the judge gave."""

    cases: int
    """Cases that the judge scored: those that all three numbers are about, but for the mean of the rated."""
    rated: int
    """Cases of them with a rating."""
    groups: int
    """Groups of the rated cases."""
    ratings: int
    """Of these cases."""
    raters: int
    """People who gave them."""
    judge: Estimate
    """Mean of the judge's scores, in [0, 1], higher is better."""
    rated_mean: float | None
    """Mean rating of the rated cases, in [0, 1]: of these cases and no others, for they were not drawn evenly.
    None without any."""
    corrected: Estimate
    """Mean that people would have given to all the cases, in [0, 1], higher is better."""


def corrected_mean(cases: RatedCases) -> CorrectedMean:
    """Estimate what people would have given to all cases, every case weighted equally.

    Silence is decided as follows. No value: fewer than 12 rated cases or 5 groups of them in a stratum, a label of more
    than a tenth of a stratum with fewer than 2 of them, or 2 or 3 raters. A value without bounds: one rater, or groups
    that do not differ. Bounds with a warning: fewer than 30 rated cases, or 8 raters. Only 0 or only 1
    given: as in `cluster_mean`, by the groups of the rated cases.

    Args:
        cases: Of one or several strata; the rated ones were drawn within each stratum by the judge's label alone.
    """
    rated = cases.means[cases.rated]
    return CorrectedMean(
        cases=len(cases.labels),
        rated=len(rated),
        groups=_groups(cases),
        ratings=len(cases.raters),
        raters=cases.rater_count,
        judge=cluster_mean(cases.score, cases.groups),
        rated_mean=float(rated.mean()) if len(rated) else None,
        corrected=_corrected(cases),
    )


def corrected_difference(a: RatedCases, b: RatedCases) -> Estimate:
    """Mean that people would have given to b, less that of a: two judged runs on the same cases, each with ratings.

    Groups and raters of one key are the same in both; its interval is on the plain scale. Silence is decided as in
    `corrected_mean`, of each.

    Returns:
        In [-1, 1], with its 95 % interval, clipped to [-1, 1].

    Raises:
        ValueError: They are not of the same cases.
    """
    if [*a.groups] != [*b.groups] or [*a.strata] != [*b.strata]:
        raise ValueError("two runs on the same cases are compared, in one order")
    if not len(a.labels):
        return Estimate(None, reason="no pairs")
    sides = (("a", a), ("b", b))
    if refused := joined(*(f"{name}: {why}" for name, side in sides for why in corrected_refusals(side))):
        return Estimate(None, reason=refused)
    found = correction(b).minus(correction(a))
    if min(a.rater_count, b.rater_count) == 1:
        return Estimate(found.value, reason=_ONE_RATER)
    if found.spread.error < ROUNDING:
        return Estimate(found.value, reason="groups do not differ")
    warning = joined(*dict.fromkeys([*corrected_warnings(a), *corrected_warnings(b)]))
    return Estimate(found.value, *plain_bounds(found.value, found.spread, (-1.0, 1.0)), warning)


def corrected_refusals(cases: RatedCases) -> Iterator[str]:
    """Every reason why it cannot be said what people would have given."""
    for stratum in cases.order:
        yield from _refused(cases.of_stratum(stratum), f" in {stratum}" if len(cases.order) > 1 else "")
    if 1 < cases.rater_count < FEWEST_RATERS:
        yield f"{cases.rater_count} raters are too few to stand for others, {FEWEST_RATERS} the fewest"


def corrected_warnings(cases: RatedCases) -> Iterator[str]:
    """What is wrong with bounds that can be given."""
    if cases.rated.sum() < ENOUGH_RATED:
        yield f"fewer than {ENOUGH_RATED} rated"
    if cases.rater_count < UNMARKED_RATERS:
        yield f"fewer than {UNMARKED_RATERS} raters"


_ONE_RATER = "one rater: what this one would have given, and no interval speaks of others"


def _refused(cases: RatedCases, where: str) -> Iterator[str]:
    """Of one stratum."""
    rated, groups = int(cases.rated.sum()), _groups(cases)
    if rated < FEWEST_RATED:
        yield f"{rated} of {len(cases.labels)} cases rated{where}, and {FEWEST_RATED} are the fewest"
        return
    if groups < FEWEST_GROUPS:
        yield f"rated cases of {groups} groups{where}, and {FEWEST_GROUPS} are the fewest"
    held = Counter(label for label, rates in zip(cases.labels, cases.rated, strict=True) if rates)
    for label, count in Counter(cases.labels).items():
        if count > THICK * len(cases.labels) and held[label] < 2:
            yield f"{held[label]} of {count} cases with {label} rated{where}, and 2 are the fewest"


def _corrected(cases: RatedCases) -> Estimate:
    if not len(cases.labels):
        return Estimate(None, reason="no scores")
    if refused := joined(*corrected_refusals(cases)):
        return Estimate(None, reason=refused)
    found = correction(cases)
    if cases.rater_count == 1:
        return Estimate(found.value, reason=_ONE_RATER)
    return _bounded(found, joined(*corrected_warnings(cases)))


def _bounded(found: Correction, warning: str | None) -> Estimate:
    value = found.value
    if min(value, 1 - value) < ROUNDING:
        value = float(round(value))
        return Estimate(value, *trial_bounds(value, len(found.rated)), joined("all ratings equal", warning))
    if found.spread.error < ROUNDING:
        return Estimate(value, reason="groups do not differ")
    return Estimate(value, *logit_bounds(value, found.spread), warning)


def _groups(cases: RatedCases) -> int:
    """Groups with rated cases."""
    return len({group for group, rates in zip(cases.groups, cases.rated, strict=True) if rates})
