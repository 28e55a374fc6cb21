import pytest
from hypothesis import given
from hypothesis import strategies as st

from dspy_proact.stats import Counted, competition_ranks, rank_ranges

counts = st.tuples(*[st.integers(0, 100)] * 3).filter(any)
models = st.lists(counts.map(lambda grades: Counted.of_scores(*grades)), max_size=8)
# 60 of 100 right, 40, and 50: means .6, .4 and .5, variances .24, .24 and .25.
HIGH, LOW, MIDDLE = Counted(0.6, 0.24, 100), Counted(0.4, 0.24, 100), Counted(0.5, 0.25, 100)


def test_grades_give_mean_and_variance_by_hand():
    # 10 of 1, 5 of .5, 5 of 0: mean 12.5/20 = .625; (10 * .375^2 + 5 * .125^2 + 5 * .625^2) / 20 = .171875.
    assert Counted.of_scores(10, 5, 5) == Counted(0.625, 0.171875, 20)
    assert Counted.of_scores(60, 0, 40).variance == pytest.approx(HIGH.variance)


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
    assert rank_ranges([Counted.of_scores(1, 0, 0), Counted.of_scores(0, 0, 1)]) == [(1, 2), (1, 2)]
    # Ten each: SE^2 = .1, z = 3.16, p = .0016.
    assert rank_ranges([Counted.of_scores(10, 0, 0), Counted.of_scores(0, 0, 10)]) == [(1, 1), (2, 2)]
    # One PASS against .27 of 200: together about .2; SE = sqrt(2 * .2) = .63, z = 1.2, where its own spread says inf.
    assert rank_ranges([Counted.of_scores(1, 0, 0), Counted.of_scores(54, 0, 146)]) == [(1, 2), (1, 2)]


def test_ties_share_the_better_rank():
    assert competition_ranks([0.3, 0.9, 0.5, 0.5]) == [4, 1, 2, 2]
    assert competition_ranks([]) == []


@given(models)
def test_ranges_hold_the_rank_of_the_score(entries: list[Counted]):
    ranks = competition_ranks([entry.mean for entry in entries])
    for rank, (best, worst) in zip(ranks, rank_ranges(entries), strict=True):
        assert 1 <= best <= rank <= worst <= len(entries)


def test_a_model_with_groups_is_tested_with_its_own_design_effect():
    # 20 groups of 5 alike: the cases of a group add nothing to the first, so that the effect is about 5.
    scores = [float(number % 5 < 3) for number in range(20) for _ in range(5)]
    counted = Counted.of_scores(60, 0, 40).in_groups(scores, [number // 5 for number in range(100)])
    assert counted.design_effect == pytest.approx(5 * 20 / 19)
    assert rank_ranges([LOW, HIGH]) == [(2, 2), (1, 1)]
    assert rank_ranges([LOW, counted]) == [(1, 2), (1, 2)]
    # Fewer than five groups do not tell.
    assert HIGH.in_groups(scores, [number // 25 for number in range(100)]) == HIGH
