"""Corrected scores: formulas by hand and by their letter; when a value and bounds are given; what is said of them."""

import math
from collections import defaultdict
from statistics import fmean

import numpy as np
import pytest

from dspy_proact.stats import Estimate, RatedCases, cluster_mean, corrected_difference, corrected_mean
from dspy_proact.stats.corrected import correction
from dspy_proact.stats.estimate import t_quantile

SCORES = {"PASS": 1.0, "PARTIAL": 0.5, "FAIL": 0.0}


def cases(rated=(17, 17, 16), *, judged=(20, 20, 20), raters=8, groups=10, ratings=(1, 0.5, 0, 0), stratum="E"):
    """PASS, PARTIAL and FAIL of a judge, cases and raters taking turns through groups and what is given."""
    labels = [label for label, count in zip(SCORES, judged, strict=True) for _ in range(count)]
    starts = np.cumsum([0, *judged[:-1]])
    of = [start + n for start, count in zip(starts, rated, strict=True) for n in range(count)]
    return RatedCases(
        labels=labels,
        scores=np.array([SCORES[label] for label in labels]),
        groups=[f"S{(n + n // 20) % groups}" for n in range(len(labels))],
        strata=[stratum] * len(labels),
        of=np.array(of, dtype=np.intp),
        raters=[f"r{n % raters}" for n in range(len(of))],
        ratings=np.array([ratings[n % len(ratings)] for n in range(len(of))], dtype=float),
    )


def joined(*parts):
    """The same of several strata."""
    starts = np.cumsum([0, *(len(part.labels) for part in parts)])
    of = [start + part.of for start, part in zip(starts, parts, strict=False)]
    columns = {name: [getattr(part, name) for part in parts] for name in ("labels", "groups", "strata", "raters")}
    return RatedCases(
        **{name: [item for part in column for item in part] for name, column in columns.items()},
        scores=np.concatenate([part.scores for part in parts]),
        of=np.concatenate(of),
        ratings=np.concatenate([part.ratings for part in parts]),
    )


def study_of(judged, ratings, stratum="s"):
    """Cases by key, each of scenario and grade, and what each rater gave to some: {(key, rater): score}."""
    order = {key: number for number, key in enumerate(judged)}
    return RatedCases(
        labels=[grade for _, grade in judged.values()],
        scores=np.array([SCORES[grade] for _, grade in judged.values()]),
        groups=[scenario for scenario, _ in judged.values()],
        strata=[stratum] * len(judged),
        of=np.array([order[key] for key, _ in ratings]),
        raters=[rater for _, rater in ratings],
        ratings=np.array(list(ratings.values())),
    )


@pytest.fixture
def small():
    """Three PASS, four PARTIAL and five FAIL in four scenarios; two of each rated, twice each, by three raters."""
    judged = {f"{s}{grade}{n}": (s, grade) for s in ("S1", "S2", "S3") for n, grade in enumerate(SCORES)}
    judged |= {"S4PARTIAL1": ("S4", "PARTIAL"), "S4FAIL2": ("S4", "FAIL"), "S4FAIL3": ("S4", "FAIL")}
    ratings = {
        ("S1PASS0", "A"): 1.0,
        ("S1PASS0", "B"): 0.5,
        ("S2PASS0", "A"): 1.0,
        ("S2PASS0", "C"): 0.5,
        ("S3PARTIAL1", "A"): 1.0,
        ("S3PARTIAL1", "C"): 0.0,
        ("S4PARTIAL1", "A"): 1.0,
        ("S4PARTIAL1", "C"): 0.0,
        ("S1FAIL2", "A"): 0.5,
        ("S1FAIL2", "B"): 0.0,
        ("S4FAIL2", "B"): 0.0,
        ("S4FAIL2", "C"): 0.5,
    }
    return study_of(judged, ratings)


# The formulas.


def test_three_grades_four_scenarios_and_three_raters_by_hand(small):
    # Item means .75 .75 | .5 .5 | .25 .25 of judge's scores 1 1 | .5 .5 | 0 0: mean .5 of both, var F = 1/6,
    # cov = 2/6 - 1/4 = 1/12, lambda 1/2; a = .75, .5, .25, and mu = (1.5 + .75)/3 = .75, (1 + .5)/3 = .5, .25.
    result = correction(small)
    assert result.value == pytest.approx((3 * 0.75 + 4 * 0.5 + 5 * 0.25) / 12)
    # Without any scenario the means stay on that line, so that only the counts move it:
    # without S1, S2 or S3: (2 x .75 + 3 x .5 + 4 x .25) / 9; without S4: three of each.
    assert result.without == pytest.approx({"S1": 4 / 9, "S2": 4 / 9, "S3": 4 / 9, "S4": 1 / 2})
    # V_J = 3/4 (3 (4/9 - 11/24)^2 + (1/2 - 11/24)^2) = 3/4 (3 + 9) / 72^2 = 1/576.
    # u = W sqrt(2/1) (y - mu) / (2 x 2), W = 3/12, 4/12, 5/12: in units of sqrt(2)/48 it is 3, 4 and 5 times y - mu.
    of_units = [0.75, -0.75, 0.75, -0.75, 2, -2, 2, -2, 1.25, -1.25, -1.25, 1.25]
    assert result.influence == pytest.approx(np.array(of_units) * math.sqrt(2) / 48)
    # By rater: A .75 + .75 + 2 + 2 + 1.25, B -.75 - 1.25 - 1.25, C -.75 - 2 - 2 + 1.25, of 5, 3 and 4 of 12 ratings.
    of_raters = 6.75**2 / (7 / 12) + 3.25**2 / (9 / 12) + 3.5**2 / (8 / 12)
    # By scenario and rater: S1 A 2, B -2; S2 A .75, C -.75; S3 A 2, C -2; S4 A 2, B -1.25, C -.75.
    of_both = 4 + 4 + 0.75**2 + 0.75**2 + 4 + 4 + 4 + 1.25**2 + 0.75**2
    assert result.spread.variance == pytest.approx(1 / 576 + (of_raters - of_both) * 2 / 48**2)
    # Rated items of a scenario 2, 1, 1, 2: 1 / (5/18 + .4^2 - 26/450) = 2.63 degrees of freedom, raters 3 - 1.
    assert result.spread.df == 2


def by_the_letter(judged, inputs, left_out=None):
    """Theta of one stratum in loops, all refitted without a scenario."""
    judged = {key: item for key, item in judged.items() if item[0] != left_out}
    ratings = defaultdict(list)
    for (key, _), score in inputs.items():
        if key in judged:
            ratings[key].append(score)
    y = {key: fmean(rating) for key, rating in ratings.items()}
    f = {key: SCORES[judged[key][1]] for key in y}
    ybar, fbar = fmean(y.values()), fmean(f.values())
    cov = fmean((y[key] - ybar) * (f[key] - fbar) for key in y)
    var = fmean((f[key] - fbar) ** 2 for key in y)
    slope = min(1, max(0, cov / var)) if var > 1e-12 else 0
    theta = 0
    for grade, score in SCORES.items():
        cell = [key for key, (_, own) in judged.items() if own == grade]
        own = [y[key] for key in cell if key in y]
        lean = min(1, max(0, ybar + slope * (score - fbar)))
        theta += len(cell) / len(judged) * (sum(own) + lean) / (len(own) + 1)
    return theta


@pytest.mark.parametrize("seed", range(5))
def test_every_refit_is_by_the_letter_of_the_formulas(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(3, 8, 6)
    judged = {f"{s}/{n}": (f"S{s}", str(rng.choice(list(SCORES)))) for s, size in enumerate(sizes) for n in range(size)}
    chosen = [*rng.choice(list(judged), 12, replace=False), next(iter(judged))]
    ratings = {
        (str(key), rater): float(rng.choice([0, 0.5, 1])) for key in chosen for rater in "ABC"[: rng.integers(1, 4)]
    }
    result = correction(study_of(judged, ratings))
    assert result.value == pytest.approx(by_the_letter(judged, ratings))
    letter = {scenario: by_the_letter(judged, ratings, scenario) for scenario, _ in judged.values()}
    assert result.without == pytest.approx(letter)


def test_the_mean_of_several_strata_is_that_of_each_by_its_cases(small):
    # Twelve cases corrected to 11/24, and six that everybody rated 1: (12 x 11/24 + 6) / 18.
    more = study_of({f"m{n}": (f"S{n}", "PASS") for n in range(6)}, {(f"m{n}", "A"): 1.0 for n in range(6)}, "t")
    both = joined(small, more)
    assert correction(both).value == pytest.approx((5.5 + 6) / 18)
    assert correction(both.of_stratum("s")).without == correction(small).without


def test_a_cell_with_one_rated_case_counts_as_one_with_two():
    judged = {"a": ("S1", "PASS"), "b": ("S2", "FAIL"), "c": ("S3", "FAIL")}
    result = correction(study_of(judged, {("a", "A"): 1.0, ("b", "A"): 0.0, ("c", "B"): 0.0}))
    # y = F: lambda 1, ybar = Fbar, so that a is 1 and 0, and nothing is moved; with one rated 0 of three PASS it is.
    assert result.influence == pytest.approx([0, 0, 0])
    judged |= {"d": ("S1", "PASS"), "e": ("S1", "PASS")}
    result = correction(study_of(judged, {("a", "A"): 0.0, ("b", "A"): 0.5, ("c", "B"): 0.5}))
    # ybar = 1/3, lambda 0 (people and judge part): mu = (0 + 1/3) / 2, u = 3/5 sqrt(2) (0 - 1/6).
    assert result.influence[0] == pytest.approx(-0.6 * math.sqrt(2) / 6)


def test_the_difference_of_two_estimates_knows_groups_and_raters_by_their_keys(small):
    result = correction(small).minus(correction(small))
    assert (result.value, result.spread.variance) == (0, pytest.approx(0))
    assert result.rated == {"S1": 4, "S2": 2, "S3": 2, "S4": 4}


def test_ratings_of_one_scenario_alone_cannot_be_left_out(small):
    alone = {("S1PASS0", "A"): 1.0, ("S1FAIL2", "B"): 0.0}
    judged = dict(zip(("S1PASS0", "S1FAIL2", "x"), (("S1", "PASS"), ("S1", "FAIL"), ("S2", "FAIL")), strict=True))
    with pytest.raises(ValueError, match="in two groups are needed"):
        correction(study_of(judged, alone))


# What is said.


def test_judge_mean_of_the_rated_and_corrected_score_stand_beside_each_other():
    rated = cases()
    result = corrected_mean(rated)
    assert (result.scored, result.rated, result.groups, result.ratings, result.raters) == (60, 50, 10, 50, 8)
    assert result.judge == cluster_mean(rated.scores, rated.groups)
    # 50 ratings of 1, .5, 0, 0 in turn: 12 whole turns of 1.5, then 1 and .5.
    assert result.mean_of_the_rated == pytest.approx((12 * 1.5 + 1.5) / 50)
    assert result.corrected.value == correction(rated).value
    assert result.corrected.reason is None


def test_the_interval_is_a_t_interval_on_the_logit_scale_with_the_spread_of_groups_and_raters():
    result, spread = corrected_mean(cases()).corrected, correction(cases()).spread
    logit = [np.log(p / (1 - p)) for p in (result.low, result.value, result.high)]
    reach = t_quantile(0.975, spread.df) * spread.error / (result.value * (1 - result.value))
    assert np.diff(logit) == pytest.approx([reach, reach])
    assert spread.df <= 8 - 1


@pytest.mark.parametrize(
    ("rated", "why"),
    [
        (cases((0, 0, 0)), "0 of 60 cases rated (at least 12 needed)"),
        (cases((4, 4, 3)), "11 of 60 cases rated (at least 12 needed)"),
        (cases(groups=4), "rated cases of 4 groups (at least 5 needed)"),
        (cases((15, 14, 1)), "1 of 20 cases with FAIL rated (at least 2 needed)"),
        (cases((15, 15, 0), judged=(27, 26, 6)), "0 of 6 cases with FAIL rated (at least 2 needed)"),
        (cases(raters=2), "2 raters are too few to generalise to others (at least 4 needed)"),
        (cases(raters=3), "3 raters are too few to generalise to others (at least 4 needed)"),
        (cases((4, 4, 3), raters=3), "11 of 60 cases rated (at least 12 needed); 3 raters are too few to generalise"),
    ],
)
def test_what_cannot_be_said_is_refused_with_every_reason(rated, why):
    result = corrected_mean(rated).corrected
    assert (result.value, result.low) == (None, None)
    assert result.reason is not None
    assert result.reason.startswith(why)


@pytest.mark.parametrize(
    ("rated", "warning"),
    [
        (cases((4, 4, 4)), "fewer than 50 rated"),
        (cases(groups=5), None),
        (cases((25, 25, 0), judged=(27, 27, 6)), None),  # FAIL holds a tenth, and no more
        (cases((17, 16, 16)), "fewer than 50 rated"),
        (cases(raters=7), "fewer than 8 raters"),
        (cases((17, 16, 16), raters=4), "fewer than 50 rated; fewer than 8 raters"),
        (cases(), None),
    ],
)
def test_the_least_that_is_enough_gives_bounds_that_are_marked_where_they_rest_on_little(rated, warning):
    result = corrected_mean(rated).corrected
    assert result.low is not None
    assert result.reason == warning


def test_only_zeros_or_ones_are_as_many_trials_as_scenarios_are_rated_or_raters_where_they_are_fewer():
    none, all_of_it = (corrected_mean(cases(ratings=(score,), raters=12)).corrected for score in (0, 1))
    # 1 - .025^(1/10), and by eight raters 1 - .025^(1/8).
    assert corrected_mean(cases(ratings=(0,))).corrected.high == pytest.approx(0.3694, abs=1e-4)
    assert (none.value, none.low, none.high) == (0, 0, pytest.approx(0.3085, abs=1e-4))
    assert (all_of_it.low, all_of_it.value) == (pytest.approx(0.6915, abs=1e-4), 1)
    assert none.reason == all_of_it.reason == "all ratings equal"


def test_all_strata_together_are_refused_where_one_of_them_is():
    together = joined(cases(), cases((4, 4, 3), stratum="R"))
    assert corrected_mean(together.of_stratum("E")).corrected.low is not None
    assert corrected_mean(together).corrected.reason == "11 of 60 cases rated in R (at least 12 needed)"
    assert corrected_mean(joined(cases((4, 4, 4)), cases((13, 13, 12), stratum="R"))).corrected.reason is None
    assert corrected_mean(joined(cases((4, 4, 4)), cases((13, 12, 12), stratum="R"))).corrected.reason is not None


def test_the_difference_of_two_runs_is_of_their_corrected_scores():
    a, b = cases(ratings=(1, 0, 0, 0)), cases(ratings=(1, 1, 0.5, 0))
    result = corrected_difference(a, b)
    assert result.value == pytest.approx(correction(b).value - correction(a).value)
    assert result.low is not None
    assert result.high - result.value == pytest.approx(result.value - result.low)
    back = corrected_difference(b, a)
    assert (back.low, back.high) == (pytest.approx(-result.high), pytest.approx(-result.low))


def test_a_difference_is_refused_where_either_side_is():
    why = "3 raters are too few to generalise to others (at least 4 needed)"
    assert corrected_difference(cases(), cases(raters=3)).reason == f"b: {why}"
    assert corrected_difference(cases(raters=3), cases(raters=3)).reason == f"a: {why}; b: {why}"
    assert corrected_difference(cases(), cases()).reason == "no variance between groups"
    assert corrected_difference(cases(), cases(raters=1)).low is None
    one_rater = corrected_mean(cases(raters=1)).corrected
    assert one_rater == Estimate(correction(cases(raters=1)).value, reason="one rater: no interval for other raters")
    with pytest.raises(ValueError, match="on the same cases"):
        corrected_difference(cases(), cases(groups=9))
