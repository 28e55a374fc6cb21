from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dspy_proact.stats import Counted, competition_ranks, rank_ranges

STEPS = (1, 0.5, 0)
counts = st.tuples(*[st.integers(0, 100)] * 3).filter(any)
models = st.lists(counts.map(lambda grades: Counted.of_labels(grades, STEPS)), max_size=8)
# 60 of 100 right, 40, and 50: means .6, .4 and .5, variances .24, .24 and .25.
HIGH, LOW, MIDDLE = Counted(0.6, 0.24, 100), Counted(0.4, 0.24, 100), Counted(0.5, 0.25, 100)


def of(right, wrong):
    return Counted.of_labels((right, wrong), (1, 0))


def test_grades_give_mean_and_variance_by_hand():
    # 10 of 1, 5 of .5, 5 of 0: mean 12.5/20 = .625; (10 * .375^2 + 5 * .125^2 + 5 * .625^2) / 20 = .171875.
    assert Counted.of_labels((10, 5, 5), STEPS) == Counted(0.625, 0.171875, 20)
    assert Counted.of_labels((60, 40), (1, 0)).variance == pytest.approx(HIGH.variance)
    # A middle label worth .2: mean 11/20 = .55; (10 * .45^2 + 5 * .35^2 + 5 * .55^2) / 20 = .2075.
    other = Counted.of_labels((10, 5, 5), (1, 0.2, 0))
    assert (other.mean, other.variance) == (pytest.approx(0.55), pytest.approx(0.2075))
    # Rounding is no spread.
    assert Counted.of_cases([0.1] * 30, range(30)) == Counted(pytest.approx(0.1), 0.0, 30, interval=(0, 1), groups=30)


def test_two_models_by_hand():
    # SE^2 = 2 (.24 + .24) / 100 = .0096, z = .2 / .09798 = 2.041, p = .041.
    assert rank_ranges([LOW, HIGH]) == [(2, 2), (1, 1)]
    # With a design effect of 3: SE^2 = .0144, z = 1.667, p = .096.
    assert rank_ranges([LOW, HIGH], design_effect=3) == [(1, 2), (1, 2)]


def test_holm_is_over_all_pairs():
    # The same two beside a third: p = .041 * 3.
    assert rank_ranges([HIGH, MIDDLE, LOW]) == [(1, 3)] * 3
    # Independent triggers: z = 2.887, p = .0039 * 3 = .012. The middle is told from neither: z = 1.43.
    assert rank_ranges([HIGH, MIDDLE, LOW], design_effect=1) == [(1, 2), (1, 3), (2, 3)]


def test_a_model_without_spread_is_tested_with_the_spread_of_both():
    # One trigger each, all against nothing: together .25; SE^2 = 2 * .25 * 2 = 1, z = 1.
    assert rank_ranges([of(1, 0), of(0, 1)]) == [(1, 2), (1, 2)]
    # Ten each: SE^2 = .1, z = 3.16, p = .0016.
    assert rank_ranges([of(10, 0), of(0, 10)]) == [(1, 1), (2, 2)]
    # One PASS against .27 of 200: together about .2; SE = sqrt(2 * .2) = .63, z = 1.2, where its own spread says inf.
    assert rank_ranges([of(1, 0), of(54, 146)]) == [(1, 2), (1, 2)]


def test_ties_share_the_better_rank():
    assert competition_ranks([0.3, 0.9, 0.5, 0.5]) == [4, 1, 2, 2]
    assert competition_ranks([]) == []


@given(models)
def test_ranges_hold_the_rank_of_the_score(entries: list[Counted]):
    ranks = competition_ranks([entry.mean for entry in entries])
    for rank, (best, worst) in zip(ranks, rank_ranges(entries), strict=True):
        assert 1 <= best <= rank <= worst <= len(entries)


def test_the_larger_of_the_assumed_design_effect_and_what_a_model_shows_is_used_for_all():
    # 20 groups of 5 alike: the cases of a group add nothing to the first, so that the effect is about 5.
    scores = [float(number % 5 < 3) for number in range(20) for _ in range(5)]
    alike = Counted.of_cases(scores, [number // 5 for number in range(100)])
    assert alike.design_effect == pytest.approx(5 * 20 / 19)
    assert rank_ranges([LOW, HIGH]) == [(2, 2), (1, 1)]
    assert rank_ranges([LOW, alike]) == [(1, 2), (1, 2)]
    # What one shows, the pair of the two others is tested with: at 1 it would be told apart, as above.
    assert rank_ranges([HIGH, replace(MIDDLE, design_effect=5), LOW], design_effect=1) == [(1, 3)] * 3
    # Less than the assumed one makes no range narrower: SE^2 = 2 (.24 + .25) / 100, z = 1.01; at .1 it would be 4.5.
    assert rank_ranges([replace(LOW, design_effect=0.1), replace(MIDDLE, design_effect=0.1)]) == [(1, 2), (1, 2)]
    # Fewer than five groups do not tell, nor do more of which one has nearly all cases.
    assert Counted.of_cases(scores, [number // 25 for number in range(100)]).design_effect is None
    assert Counted.of_cases(scores, [max(0, number - 92) for number in range(100)]).design_effect is None


def test_a_design_effect_that_few_groups_show_is_known_less_well():
    """T of .2 / sqrt(2 * .48 / 100) = 2.041: p .041 where the effect is assumed, .111 where it has four df."""
    shown = {"design_effect": 2.0000001, "df": 4.0}
    assert rank_ranges([LOW, HIGH]) == [(2, 2), (1, 1)]
    assert rank_ranges([replace(LOW, **shown), HIGH]) == [(1, 2), (1, 2)]


def test_a_model_is_not_told_from_what_lies_in_its_own_interval():
    """Of 100 cases in two groups, 47 and 8 of 50 passed: 55 %, but from two groups alone 0 to 100."""
    own = Counted.of_cases([float(number < 47 or 50 <= number < 58) for number in range(100)], ["a"] * 50 + ["b"] * 50)
    assert own.interval is not None
    assert own.interval[0] < 0.05
    assert rank_ranges([own, of(10, 190)]) == [(1, 2), (1, 2)]
    assert rank_ranges([Counted(own.mean, own.variance, 100), of(10, 190)]) == [(1, 1), (2, 2)]
    # With one group nothing is known of it.
    assert Counted.of_cases([1.0, 0.0], ["a", "a"]).interval == (0, 1)


@pytest.mark.parametrize(("groups", "ranges"), [(5, [(1, 2), (1, 2)]), (6, [(1, 1), (2, 2)])])
def test_no_rank_is_ruled_out_by_so_few_groups_that_no_paired_difference_can_be_significant(groups, ranges):
    """T of .8 / sqrt(2 * .18 / 60) is 10.3; but signs of five groups reach p = 2 / 2^5 = .0625 at least."""
    assert rank_ranges([Counted(0.9, 0.09, 60, groups=groups), Counted(0.1, 0.09, 60, groups=groups)]) == ranges
