"""F1 and its kin of what is true and what was said: by hand, by law, and silent where nothing can be told."""

import math
from typing import get_args

import numpy as np
import pytest

from dspy_proact.stats import Estimate, classification_difference, classification_estimate, cluster_mean
from dspy_proact.stats.classification import UNDEFINED, classification
from dspy_proact.stats.cluster import NEAR_AN_END
from dspy_proact.stats.estimate import Spread, logit_bounds, t_quantile
from dspy_proact.types import Classification

STATISTICS: list[Classification] = list(get_args(Classification))
YES, NO, FALSE, MISSED = (1, 1), (0, 0), (0, 1), (1, 0)


def singles(*cases: tuple[float, float]) -> list[list[tuple[float, float]]]:
    """Cases that were asked once each."""
    return [[case] for case in cases]


@pytest.mark.parametrize(
    ("statistic", "expected"),
    [
        # 50 right no, 10 false yes, 5 missed, 35 right yes.
        ("precision", 35 / 45),
        ("recall", 35 / 40),
        ("f1", 70 / 85),  # 2 * 35 / (2 * 35 + 10 + 5)
        ("balanced_accuracy", (35 / 40 + 50 / 60) / 2),
        # Agreement .85, by chance .45 * .4 + .55 * .6 = .51: .34 / .49.
        ("kappa", 34 / 49),
    ],
)
def test_a_table_of_a_hundred_by_hand(statistic: Classification, expected: float):
    assert classification(np.array([[50.0, 10], [5, 35]]), statistic) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("table", "silent"),
    [
        ([[0, 0], [0, 0]], set(STATISTICS)),
        ([[5, 0], [0, 0]], set(STATISTICS)),  # nothing is true, and nothing was said to be
        ([[0, 0], [0, 5]], {"balanced_accuracy", "kappa"}),  # all is true and said
        ([[0, 5], [0, 0]], {"recall", "balanced_accuracy"}),  # nothing is true, all was said
        ([[0, 0], [5, 0]], {"precision", "balanced_accuracy"}),  # all is true, nothing was said
    ],
)
def test_nothing_over_nothing_is_no_number(table: list[list[int]], silent: set[str]):
    assert {one for one in STATISTICS if np.isnan(classification(np.array(table, dtype=float), one))} == silent


@pytest.mark.parametrize("statistic", STATISTICS)
def test_what_is_undefined_says_why(statistic: Classification):
    assert classification_estimate(singles(NO, NO), "AB", statistic) == Estimate(None, reason=UNDEFINED[statistic])
    difference = classification_difference(singles(NO), singles(NO), "A", statistic)
    assert difference.reason == f"{UNDEFINED[statistic]} in one of both"


def test_the_interval_of_f1_is_a_jackknife_over_groups_by_hand():
    # F1 2 * 4 / (8 + 2) = .8 of five groups: one right each, but the fifth, which has a false yes and a missed one.
    # Without a right one: 6 / 8 = .75, four times; without the fifth: 8 / 8 = 1.
    # SE^2 = 4/5 (4 * .05^2 + .2^2) = .04. Shares 1/6 x 4, 1/3: q = 1/30 x 4, 1/6; df = 1 / (8/36 + .09 - 7.2/225)
    estimate = classification_estimate(singles(YES, YES, YES, YES, FALSE, MISSED), "ABCDEE", "f1")
    df = 1 / (8 / 36 + (4 / 30 + 1 / 6) ** 2 - (4 / 900 + 1 / 36))
    assert estimate.value == pytest.approx(0.8)
    assert (estimate.low, estimate.high) == pytest.approx(logit_bounds(0.8, Spread(0.04, df)))
    assert (estimate.high < 1, estimate.reason) == (True, None)


def test_kappa_has_the_interval_of_fishers_z():
    # Five groups: a right yes and a right no in each, and a false yes in the first. Agreement 10/11, by chance
    # (5 * 6 + 6 * 5) / 121 = 60/121: (110 - 60) / (121 - 60) = 50/61.
    estimate = classification_estimate(singles(*[YES, NO] * 5, FALSE), "AABBCCDDEEA", "kappa")
    assert estimate.value == pytest.approx(50 / 61)
    # Without A: 1. Without another: agreement 8/9, by chance 40/81: 32/41.
    spread = 4 / 5 * ((1 - 50 / 61) ** 2 + 4 * (32 / 41 - 50 / 61) ** 2)
    shares = np.array([3, 2, 2, 2, 2]) / 11
    q = shares**2 / (1 - shares)
    df = 1 / (np.sum(shares**2) + np.sum(q) ** 2 - np.sum(q**2))
    z, reach = math.atanh(50 / 61), t_quantile(0.975, df) * math.sqrt(spread) / (1 - (50 / 61) ** 2)
    assert (estimate.low, estimate.high) == pytest.approx((math.tanh(z - reach), math.tanh(z + reach)))


@pytest.mark.parametrize(("statistic", "case"), [("precision", FALSE), ("recall", MISSED)])
def test_precision_and_recall_are_means_of_what_was_predicted_and_of_what_is_true(statistic, case):
    """So the share of wrong ones, and what else is the same number, has the same interval."""
    cases, groups = singles(YES, YES, case, YES, case, YES, YES, NO, NO), "AABBCDEFA"
    of = [true == predicted for ((true, predicted),) in cases if (true, predicted) != NO]
    expected = cluster_mean(of, "AABBCDE")
    assert classification_estimate(cases, groups, statistic) == expected
    wrong = cluster_mean([1 - right for right in of], "AABBCDE")
    assert (1 - wrong.high, 1 - wrong.low) == pytest.approx((expected.low, expected.high))


def test_verdicts_of_a_case_count_one_together():
    # Of A's two verdicts one finds its yes right: 1/2. B 1, C 1, D 0, E 1: precision 3.5 / 5.
    cases = [[YES, FALSE], [YES], [YES], [FALSE], [YES]]
    assert classification_estimate(cases, "ABCDE", "precision") == cluster_mean([0.5, 1, 1, 0, 1], "ABCDE")
    # By truth A weighs a half: recall is 1 of 3.5, in four groups.
    assert classification_estimate(cases, "ABCDE", "recall").value == 1


@pytest.mark.parametrize("statistic", STATISTICS)
def test_near_an_end_of_the_scale_intervals_lie_within_it_and_are_marked(statistic: Classification):
    cases = singles(*[YES, NO] * 12, *[YES, NO] * 12, FALSE, MISSED)
    groups = [*np.repeat(range(24), 2) % 12, 0, 1]
    estimate = classification_estimate(cases, groups, statistic)
    assert 0.5 < estimate.low < 0.9 < estimate.value < estimate.high < 1
    assert estimate.reason == NEAR_AN_END


def test_what_rests_on_cases_of_few_groups_is_marked():
    # A yes in two of eight groups: kappa and balanced accuracy of the six others tell nothing of acting.
    cases = singles(*[YES, NO] * 2, FALSE, *[NO] * 8)
    result = classification_estimate(cases, "AABBAABCDEFGH", "kappa")
    assert result.reason == "fewer than 5 groups with a positive case"
    assert result.low is not None


@pytest.mark.parametrize("statistic", ["f1", "balanced_accuracy", "kappa"])
def test_what_is_perfect_in_every_group_has_no_interval(statistic: Classification):
    estimate = classification_estimate(singles(*[YES, NO] * 6), np.repeat(range(6), 2).tolist(), statistic)
    assert estimate == Estimate(1, reason="no variance between groups")


def test_a_difference_by_hand():
    # a: F1 2 / 3 (a right and a missed one), b: 1; without A: 0 to 1, without B: 1 to 1. Difference 1/3.
    # SE^2 = 1/2 ((1 - 1/3)^2 + (1/3)^2) = 5/18; df 1.
    result = classification_difference(singles(YES, MISSED), singles(YES, YES), "AB", "f1")
    assert result.value == pytest.approx(1 / 3)
    assert (result.low, result.high) == (-1, 1)  # 1/3 +- 12.7 * .527
    assert result.reason == "fewer than 5 groups"
