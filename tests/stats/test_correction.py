"""The formulas of corrected scores: by hand on a small case, and by their letter on random ones."""

import math
from collections import defaultdict
from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest

from dspy_proact.stats import RatedCases, correction

GRADES = {"PASS": 1.0, "PARTIAL": 0.5, "FAIL": 0.0}


def rated_cases(judged, given, stratum="s"):
    """Cases by key, each of scenario and grade, and what each rater gave to some: {(key, rater): score}."""
    place = {key: number for number, key in enumerate(judged)}
    return RatedCases(
        labels=[grade for _, grade in judged.values()],
        scores=[GRADES[grade] for _, grade in judged.values()],
        groups=[scenario for scenario, _ in judged.values()],
        strata=[stratum] * len(judged),
        of=[place[key] for key, _ in given],
        raters=[rater for _, rater in given],
        ratings=list(given.values()),
    )


@pytest.fixture
def small():
    """Three PASS, four PARTIAL and five FAIL in four scenarios; two of each rated, twice each, by three raters."""
    judged = {f"{s}{grade}{n}": (s, grade) for s in ("S1", "S2", "S3") for n, grade in enumerate(GRADES)}
    judged |= {"S4PARTIAL1": ("S4", "PARTIAL"), "S4FAIL2": ("S4", "FAIL"), "S4FAIL3": ("S4", "FAIL")}
    given = {
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
    return rated_cases(judged, given)


def test_three_grades_four_scenarios_and_three_raters_by_hand(small):
    # Item means .75 .75 | .5 .5 | .25 .25 of judge's scores 1 1 | .5 .5 | 0 0: mean .5 of both, var F = 1/6,
    # cov = 2/6 - 1/4 = 1/12, lambda 1/2; a = .75, .5, .25, and mu = (1.5 + .75)/3 = .75, (1 + .5)/3 = .5, .25.
    found = correction(small)
    assert found.value == pytest.approx((3 * 0.75 + 4 * 0.5 + 5 * 0.25) / 12)
    # Without any scenario the means stay on that line, so that only the counts move it:
    # without S1, S2 or S3: (2 x .75 + 3 x .5 + 4 x .25) / 9; without S4: three of each.
    assert found.without == pytest.approx({"S1": 4 / 9, "S2": 4 / 9, "S3": 4 / 9, "S4": 1 / 2})
    # V_J = 3/4 (3 (4/9 - 11/24)^2 + (1/2 - 11/24)^2) = 3/4 (3 + 9) / 72^2 = 1/576.
    # u = W sqrt(2/1) (y - mu) / (2 x 2), W = 3/12, 4/12, 5/12: in units of sqrt(2)/48 it is 3, 4 and 5 times y - mu.
    of_units = [0.75, -0.75, 0.75, -0.75, 2, -2, 2, -2, 1.25, -1.25, -1.25, 1.25]
    assert found.influence == pytest.approx(np.array(of_units) * math.sqrt(2) / 48)
    # By rater: A .75 + .75 + 2 + 2 + 1.25, B -.75 - 1.25 - 1.25, C -.75 - 2 - 2 + 1.25, of 5, 3 and 4 of 12 ratings.
    of_raters = 6.75**2 / (7 / 12) + 3.25**2 / (9 / 12) + 3.5**2 / (8 / 12)
    # By scenario and rater: S1 A 2, B -2; S2 A .75, C -.75; S3 A 2, C -2; S4 A 2, B -1.25, C -.75.
    of_both = 4 + 4 + 0.75**2 + 0.75**2 + 4 + 4 + 4 + 1.25**2 + 0.75**2
    assert found.spread.variance == pytest.approx(1 / 576 + (of_raters - of_both) * 2 / 48**2)
    # Rated items of a scenario 2, 1, 1, 2: 1 / (5/18 + .4^2 - 26/450) = 2.63 degrees of freedom, raters 3 - 1.
    assert found.spread.df == 2


def by_the_letter(judged, given, left_out=None):
    """Theta of one stratum in loops, all refitted without a scenario."""
    judged = {key: each for key, each in judged.items() if each[0] != left_out}
    ratings = defaultdict(list)
    for (key, _), score in given.items():
        if key in judged:
            ratings[key].append(score)
    y = {key: fmean(each) for key, each in ratings.items()}
    f = {key: GRADES[judged[key][1]] for key in y}
    ybar, fbar = fmean(y.values()), fmean(f.values())
    cov = fmean((y[key] - ybar) * (f[key] - fbar) for key in y)
    var = fmean((f[key] - fbar) ** 2 for key in y)
    slope = min(1, max(0, cov / var)) if var > 1e-12 else 0
    theta = 0
    for grade, score in GRADES.items():
        cell = [key for key, (_, own) in judged.items() if own == grade]
        own = [y[key] for key in cell if key in y]
        lean = min(1, max(0, ybar + slope * (score - fbar)))
        theta += len(cell) / len(judged) * (sum(own) + lean) / (len(own) + 1)
    return theta


@pytest.mark.parametrize("seed", range(5))
def test_every_refit_is_by_the_letter_of_the_formulas(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(3, 8, 6)
    judged = {f"{s}/{n}": (f"S{s}", str(rng.choice(list(GRADES)))) for s, size in enumerate(sizes) for n in range(size)}
    chosen = [*rng.choice(list(judged), 12, replace=False), next(iter(judged))]
    given = {
        (str(key), rater): float(rng.choice([0, 0.5, 1])) for key in chosen for rater in "ABC"[: rng.integers(1, 4)]
    }
    found = correction(rated_cases(judged, given))
    assert found.value == pytest.approx(by_the_letter(judged, given))
    letter = {scenario: by_the_letter(judged, given, scenario) for scenario, _ in judged.values()}
    assert found.without == pytest.approx(letter)


def test_the_mean_of_several_strata_is_that_of_each_by_its_cases(small):
    # Twelve cases corrected to 11/24, and six that everybody rated 1: (12 x 11/24 + 6) / 18.
    more = rated_cases({f"m{n}": (f"S{n}", "PASS") for n in range(6)}, {(f"m{n}", "A"): 1.0 for n in range(6)}, "t")
    both = RatedCases(
        [*small.labels, *more.labels],
        [*small.score, *more.score],
        [*small.groups, *more.groups],
        [*small.strata, *more.strata],
        [*small.place, *(more.place + 12)],
        [*small.raters, *more.raters],
        [*small.given, *more.given],
    )
    assert correction(both).value == pytest.approx((5.5 + 6) / 18)
    assert correction(both.of_stratum("s")).without == correction(small).without


def test_a_cell_with_one_rated_case_counts_as_one_with_two():
    judged = {"a": ("S1", "PASS"), "b": ("S2", "FAIL"), "c": ("S3", "FAIL")}
    found = correction(rated_cases(judged, {("a", "A"): 1.0, ("b", "A"): 0.0, ("c", "B"): 0.0}))
    # y = F: lambda 1, ybar = Fbar, so that a is 1 and 0, and nothing is moved; with one rated 0 of three PASS it is.
    assert found.influence == pytest.approx([0, 0, 0])
    judged |= {"d": ("S1", "PASS"), "e": ("S1", "PASS")}
    found = correction(rated_cases(judged, {("a", "A"): 0.0, ("b", "A"): 0.5, ("c", "B"): 0.5}))
    # ybar = 1/3, lambda 0 (people and judge part): mu = (0 + 1/3) / 2, u = 3/5 sqrt(2) (0 - 1/6).
    assert found.influence[0] == pytest.approx(-0.6 * math.sqrt(2) / 6)


def test_the_difference_of_two_estimates_knows_groups_and_raters_by_their_keys(small):
    found = correction(small).minus(correction(small))
    assert (found.value, found.spread.variance) == (0, pytest.approx(0))
    assert found.rated == {"S1": 4, "S2": 2, "S3": 2, "S4": 4}


def test_ratings_of_one_scenario_alone_cannot_be_left_out(small):
    alone = {("S1PASS0", "A"): 1.0, ("S1FAIL2", "B"): 0.0}
    judged = dict(zip(("S1PASS0", "S1FAIL2", "x"), (("S1", "PASS"), ("S1", "FAIL"), ("S2", "FAIL")), strict=True))
    with pytest.raises(ValueError, match="in two groups are needed"):
        correction(rated_cases(judged, alone))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"scores": [1.0]}, "one score, group and stratum a label"),
        ({"raters": ["A"]}, "one case and rater a rating"),
        ({"of": [12] * 12}, "counted from 0"),
        ({"ratings": [2.0] * 12}, r"in \[0, 1\]"),
    ],
)
def test_what_does_not_fit_together_is_refused(small, change, said):
    with pytest.raises(ValueError, match=said):
        replace(small, **change)
