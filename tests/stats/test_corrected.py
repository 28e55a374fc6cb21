"""Corrected scores: when a value is given, when bounds are, and what is said of them."""

import numpy as np
import pytest
from dspy_proact.stats.correction import correction
from support.rated import RatedStudy, RatedWorld, simulate_rated

from dspy_proact.stats import RatedCases, cluster_mean, corrected_difference, corrected_mean, t_quantile

SCORES = {"PASS": 1.0, "PARTIAL": 0.5, "FAIL": 0.0}


def cases(rated=(10, 10, 10), *, judged=(20, 20, 20), raters=8, groups=10, given=(1, 0.5, 0, 0), stratum="E"):
    """PASS, PARTIAL and FAIL of a judge, cases and raters taking turns through groups and what is given."""
    labels = [label for label, count in zip(SCORES, judged, strict=True) for _ in range(count)]
    starts = np.cumsum([0, *judged[:-1]])
    of = [start + n for start, count in zip(starts, rated, strict=True) for n in range(count)]
    return RatedCases(
        labels=labels,
        scores=[SCORES[label] for label in labels],
        groups=[f"S{(n + n // 20) % groups}" for n in range(len(labels))],
        strata=[stratum] * len(labels),
        of=of,
        raters=[f"r{n % raters}" for n in range(len(of))],
        ratings=[given[n % len(given)] for n in range(len(of))],
    )


def joined(*parts):
    """The same of several strata."""
    starts = np.cumsum([0, *(len(part.labels) for part in parts)])
    return RatedCases(
        *(
            [each for part in parts for each in getattr(part, name)]
            for name in ("labels", "scores", "groups", "strata")
        ),
        of=[start + place for start, part in zip(starts, parts, strict=False) for place in part.place],
        raters=[rater for part in parts for rater in part.raters],
        ratings=[rating for part in parts for rating in part.given],
    )


def test_judge_mean_of_the_rated_and_corrected_score_stand_beside_each_other():
    rated = cases()
    found = corrected_mean(rated)
    assert (found.cases, found.rated, found.groups, found.ratings, found.raters) == (60, 30, 10, 30, 8)
    assert found.judge == cluster_mean(rated.score, rated.groups)
    # 30 ratings of 1, .5, 0, 0 in turn: 7 whole turns of 1.5, then 1 and .5.
    assert found.rated_mean == pytest.approx((7 * 1.5 + 1.5) / 30)
    assert found.corrected.value == correction(rated).value
    assert found.corrected.reason is None


def test_the_interval_is_a_t_interval_on_the_logit_scale_with_the_spread_of_groups_and_raters():
    found, spread = corrected_mean(cases()).corrected, correction(cases()).spread
    logit = [np.log(p / (1 - p)) for p in (found.low, found.value, found.high)]
    reach = t_quantile(0.975, spread.df) * spread.error / (found.value * (1 - found.value))
    assert np.diff(logit) == pytest.approx([reach, reach])
    assert spread.df <= 8 - 1


@pytest.mark.parametrize(
    ("rated", "why"),
    [
        (cases((0, 0, 0)), "0 of 60 cases rated, and 12 are the fewest"),
        (cases((4, 4, 3)), "11 of 60 cases rated, and 12 are the fewest"),
        (cases(groups=4), "rated cases of 4 groups, and 5 are the fewest"),
        (cases((15, 14, 1)), "1 of 20 cases with FAIL rated, and 2 are the fewest"),
        (cases((15, 15, 0), judged=(27, 26, 6)), "0 of 6 cases with FAIL rated, and 2 are the fewest"),
        (cases(raters=2), "2 raters are too few to stand for others, 4 the fewest"),
        (cases(raters=3), "3 raters are too few to stand for others, 4 the fewest"),
        (cases((4, 4, 3), raters=3), "11 of 60 cases rated, and 12 are the fewest; 3 raters are too few to stand for "),
    ],
)
def test_what_cannot_be_said_is_refused_with_every_reason(rated, why):
    found = corrected_mean(rated).corrected
    assert (found.value, found.low) == (None, None)
    assert found.reason is not None
    assert found.reason.startswith(why)


@pytest.mark.parametrize(
    "rated",
    [
        cases((4, 4, 4)),
        cases(groups=5),
        cases((15, 15, 0), judged=(27, 27, 6)),  # FAIL holds a tenth, and no more
        cases(raters=4),
    ],
)
def test_the_least_that_is_enough_gives_an_interval(rated):
    assert corrected_mean(rated).corrected.low is not None


@pytest.mark.parametrize(
    ("rated", "warning"),
    [
        (cases((10, 10, 9)), "fewer than 30 rated"),
        (cases(raters=7), "fewer than 8 raters"),
        (cases((10, 10, 9), raters=4), "fewer than 30 rated; fewer than 8 raters"),
        (cases(), None),
    ],
)
def test_bounds_that_rest_on_little_are_marked(rated, warning):
    found = corrected_mean(rated).corrected
    assert found.low is not None
    assert found.reason == warning


def test_one_rater_has_a_value_and_no_interval():
    found = corrected_mean(cases(raters=1)).corrected
    assert found.value == correction(cases(raters=1)).value
    assert (found.low, found.reason) == (
        None,
        "one rater: what this one would have given, and no interval speaks of others",
    )


def test_only_zeros_or_ones_are_as_many_trials_as_scenarios_are_rated():
    none, all_of_it = (corrected_mean(cases(given=(score,))).corrected for score in (0, 1))
    # 1 - .025^(1/10)
    assert (none.value, none.low, none.high) == (0, 0, pytest.approx(0.3085, abs=1e-4))
    assert (all_of_it.low, all_of_it.value) == (pytest.approx(0.6915, abs=1e-4), 1)
    assert none.reason == all_of_it.reason == "all ratings equal"


def test_all_strata_together_are_refused_where_one_of_them_is():
    together = joined(cases(), cases((4, 4, 3), stratum="R"))
    assert corrected_mean(together.of_stratum("E")).corrected.low is not None
    assert corrected_mean(together).corrected.reason == "11 of 60 cases rated in R, and 12 are the fewest"
    assert corrected_mean(joined(cases((4, 4, 4)), cases((6, 6, 6), stratum="R"))).corrected.reason is None
    assert corrected_mean(joined(cases((4, 4, 4)), cases((6, 6, 5), stratum="R"))).corrected.reason is not None


def test_no_case_that_is_scored_is_no_score():
    assert corrected_mean(cases((0, 0, 0), judged=(0, 0, 0))).corrected.reason == "no scores"


def test_raters_who_differ_in_leniency_widen_the_interval():
    apart = simulate_rated(np.random.default_rng(1), [RatedWorld(0.33, 0.5, leniency=2.0)], RatedStudy(25, 100, 6, 4))
    spread = correction(apart).spread
    everyone = RatedCases(
        apart.labels, apart.scores, apart.groups, apart.strata, apart.of, [*map(str, apart.place)], apart.ratings
    )
    assert spread.variance > 2 * correction(everyone).spread.variance


def test_the_difference_of_two_runs_is_of_their_corrected_scores():
    a, b = cases(given=(1, 0, 0, 0)), cases(given=(1, 1, 0.5, 0))
    found = corrected_difference(a, b)
    assert found.value == pytest.approx(correction(b).value - correction(a).value)
    assert found.low is not None
    assert found.high - found.value == pytest.approx(found.value - found.low)
    back = corrected_difference(b, a)
    assert (back.low, back.high) == (pytest.approx(-found.high), pytest.approx(-found.low))


def test_what_two_runs_share_cancels_in_their_difference():
    """The same raters, as lenient with both: no wider than with raters of its own each."""
    rng = np.random.default_rng(2)
    a = simulate_rated(rng, [RatedWorld(0.33, 0.5, leniency=2.0)], RatedStudy(25, 100, 6, 6))
    others = RatedCases(a.labels, a.scores, a.groups, a.strata, a.of, [r + 6 for r in a.raters], 1 - a.given)
    same = RatedCases(a.labels, a.scores, a.groups, a.strata, a.of, a.raters, np.minimum(1, a.given + 0.5))
    widths = [found.high - found.low for found in (corrected_difference(a, same), corrected_difference(a, others))]
    assert widths[0] < widths[1]


def test_a_difference_is_refused_where_either_side_is():
    why = "3 raters are too few to stand for others, 4 the fewest"
    assert corrected_difference(cases(), cases(raters=3)).reason == f"b: {why}"
    assert corrected_difference(cases(raters=3), cases(raters=3)).reason == f"a: {why}; b: {why}"
    assert corrected_difference(cases(), cases()).reason == "groups do not differ"
    assert corrected_difference(cases(), cases(raters=1)).low is None
    with pytest.raises(ValueError, match="on the same cases"):
        corrected_difference(cases(), cases(groups=9))
