"""Which cases people are to rate, and how many."""

import math
from collections import Counter

import numpy as np
import pytest

from dspy_proact.stats import RatedCases
from dspy_proact.stats.estimate import t_quantile
from dspy_proact.stats.plan import (
    Plan,
    PlanFrame,
    RatingComponents,
    balanced_counts,
    balanced_order,
    best_plan,
    drawn_counts,
    plan_frame,
    planned_half_width,
    plans,
    rating_components,
)

HIGH, LOW = ("s", "PASS"), ("s", "FAIL")
OF = RatingComponents(between=0.04, within=0.06, leniency=0.01, means={HIGH: 0.8, LOW: 0.2})
FRAME = PlanFrame({HIGH: 50, LOW: 50}, mean=0.5, fixed=0.0005, shares=(1 / 25,) * 25)
KEYS = [f"k{n}" for n in range(40)]
KINDS = [("s", label) for label in "a" * 25 + "b" * 12 + "c" * 3]
A, B, C = ("s", "a"), ("s", "b"), ("s", "c")


def test_the_width_of_a_study_by_hand():
    # Ten of each cell: 2 x (1/2)^2 / 10 x (.04 + .06 / 2) = .0035; raters .01 / 10; groups .0005: V = .005.
    # On the logit scale t(9) sqrt(.005) / (.5 x .5), and half of expit(x) - expit(-x) is tanh(x / 2) / 2;
    # plans fall short by 1.12.
    reach = t_quantile(0.975, 9) * math.sqrt(0.005) / 0.25
    assert planned_half_width(FRAME, OF, rated=20, raters=10, per_case=2) == pytest.approx(
        1.12 * math.tanh(reach / 2) / 2
    )


def test_a_frame_has_the_sizes_of_cells_and_the_scatter_of_its_groups():
    # Means .8 .2 | .8 .8 of two scenarios: theta .65, z = (1.0 - 1.3) / 4 and its opposite; 2 x .075^2 / (1 - 1/2).
    frame = plan_frame([HIGH, LOW, HIGH, HIGH], ["S1", "S1", "S2", "S2"], OF.means)
    assert (frame.sizes, frame.cases) == ({HIGH: 3, LOW: 1}, 4)
    assert frame.mean == pytest.approx(0.65)
    assert frame.fixed == pytest.approx(4 * 0.075**2)
    assert (frame.shares, frame.df) == ((0.5, 0.5), pytest.approx(1))


def test_a_plan_has_the_fewest_ratings_that_reach_the_width():
    result = list(plans(0.12, FRAME, OF))
    for plan in result:
        assert plan.half_width == pytest.approx(planned_half_width(FRAME, OF, plan.rated, plan.raters, plan.per_case))
        assert plan.half_width <= 0.12 < planned_half_width(FRAME, OF, plan.rated - 1, plan.raters, plan.per_case)
        assert plan.likely == pytest.approx((0.7 * plan.half_width, 1.3 * plan.half_width))
    # More raters need fewer cases.
    assert [plan.rated for plan in result] == sorted((plan.rated for plan in result), reverse=True)
    assert [plan.raters for plan in result] == sorted(plan.raters for plan in result)


def test_a_case_is_rated_again_only_where_there_are_no_further_ones():
    once = next(plans(0.12, FRAME, OF))
    few = PlanFrame(dict.fromkeys(FRAME.sizes, once.rated * 2 // 5), FRAME.mean, FRAME.fixed, FRAME.shares)
    again = next(plan for plan in plans(0.12, few, OF) if plan.raters == once.raters)
    assert (once.per_case, again.per_case) == (1, 2)


def test_a_width_that_nothing_reaches_has_no_plan():
    assert list(plans(0.01, FRAME, OF)) == []
    assert best_plan([]) is None


def test_raters_are_added_while_they_save_a_tenth_of_the_ratings():
    by_raters = [
        Plan(raters, rated, 1, 0.1) for raters, rated in ((8, 300), (12, 200), (18, 150), (24, 136), (36, 100))
    ]
    # 136 is more than nine tenths of 150.
    best = best_plan(by_raters)
    assert best is not None
    assert (best.raters, best.ratings) == (18, 150)
    assert best_plan(by_raters[:2]) == by_raters[1]


# How ratings vary.


def crossed(ratings):
    """Ratings of cases (rows) by raters (columns), each case in a scenario of its own."""
    rows, columns = np.indices(np.shape(ratings))
    count = len(ratings)
    return RatedCases(
        ["FAIL"] * count, np.zeros(count), range(count), ["s"] * count, rows.ravel(), columns.ravel(), np.ravel(ratings)
    )


def test_raters_who_differ_in_leniency_alone_have_no_other_variance():
    of = rating_components(crossed(np.tile([0.2, 0.4, 0.6], (20, 1))))
    # Three raters .2 apart: variance .04.
    assert of.leniency == pytest.approx(0.04, rel=0.1)
    assert (of.between, of.within) == (pytest.approx(0, abs=0.002), pytest.approx(0, abs=0.004))


def test_cases_that_differ_alone_have_no_other_variance():
    of = rating_components(crossed(np.repeat([[0.0], [0.5], [1.0], [0.5]] * 5, 3, axis=1)))
    # Ten of twenty .5 away from the mean: 2.5 / 19.
    assert of.between == pytest.approx(2.5 / 19)
    assert (of.within, of.leniency) == (0, 0)


# What is drawn.


@pytest.mark.parametrize(
    ("count", "drawn"),
    [(6, [2, 2, 2]), (7, [3, 2, 2]), (12, [5, 4, 3]), (30, [15, 12, 3]), (99, [25, 12, 3]), (0, [0, 0, 0])],
)
def test_kinds_are_drawn_as_equally_as_they_last(count, drawn):
    assert balanced_counts([25, 12, 3], count).tolist() == drawn


def test_every_first_part_of_the_order_is_balanced():
    order = balanced_order(KEYS, KINDS)
    assert sorted(order) == list(range(40))
    for count in range(41):
        drawn = Counter(KINDS[index] for index in order[:count])
        # Within a round the kinds come by chance, so that one may be a case ahead.
        least, most = min(drawn[A], drawn[B]), max(drawn[A], drawn[B])
        assert most - least <= 1 or least == 12
        assert drawn[C] >= min(3, least - 1)


def test_strata_are_drawn_equally_whatever_labels_they_have():
    kinds = [("s", "a")] * 20 + [("s", "b")] * 10 + [("t", "a")] * 9 + [("t", "b")]
    order = [kinds[index] for index in balanced_order(KEYS, kinds)]
    # Of 12, six a stratum: three of each label of s, and all that t has of b.
    assert Counter(stratum for stratum, _ in order[:12]) == {"s": 6, "t": 6}
    counted = Counter(order[:12])
    assert (counted["s", "a"], counted["s", "b"]) == (3, 3)
    assert counted["t", "b"] == 1
    sizes = {("s", "a"): 20, ("s", "b"): 10, ("t", "a"): 9, ("t", "b"): 1}
    assert drawn_counts(sizes, 12).tolist() == [3, 3, 5, 1]
    assert drawn_counts(sizes, 100).tolist() == [20, 10, 9, 1]


def test_the_order_depends_on_keys_kinds_and_seed_alone():
    order = [KEYS[index] for index in balanced_order(KEYS, KINDS)]
    backwards = balanced_order(KEYS[::-1], KINDS[::-1])
    assert [KEYS[::-1][index] for index in backwards] == order
    assert [KEYS[index] for index in balanced_order(KEYS, KINDS, seed=1)] != order
