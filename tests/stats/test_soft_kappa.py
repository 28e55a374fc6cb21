from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspy_proact.stats import (
    Estimate,
    kappa_estimate,
    soft_kappa,
    soft_kappa_estimate,
    within_strata_kappa,
    within_strata_kappa_estimate,
)

law = settings(deadline=None, max_examples=25)
levels = st.integers(0, 2)
counts = st.lists(st.integers(0, 4), min_size=3, max_size=3).filter(any)
# One row is (level, counts of people's grades, phase, scenario).
Row = tuple[int, list[int], str, int]
rows = st.lists(st.tuples(levels, counts, st.sampled_from("ECR"), st.integers(0, 13)), max_size=25)
SOFT = [[1, 0, 0], [0.5, 0, 0.5], [0, 1 / 3, 2 / 3]]


def columns(table: Sequence[Row]) -> tuple[list[int], list[list[float]], list[str], list[int]]:
    soft = [[count / sum(row[1]) for count in row[1]] for row in table]
    return [row[0] for row in table], soft, [row[2] for row in table], [row[3] for row in table]


def test_three_items_by_hand():
    # Rows 3/2, 1/3, 7/6, columns 1, 0, 2: observed 3 (1/2 + 1/12) = 21/12 of 3 + 1/12 + 1/6 + 7/6 = 53/12.
    assert soft_kappa([0, 2, 2], SOFT) == pytest.approx(32 / 53)


def test_strata_are_averaged_by_their_labels():
    # The three items above, and two at which both agree: 3/5 * 32/53 + 2/5 * 1.
    soft = [*SOFT, [1, 0, 0], [0, 1, 0]]
    assert within_strata_kappa([0, 2, 2, 0, 1], soft, "XXXYY") == pytest.approx(0.6 * 32 / 53 + 0.4)


def test_strictness_by_phase_is_no_agreement_within():
    # The judge knows only that people fail X and pass Y: pooled it agrees, within neither.
    levels = [0, 0, 0, 0, 2, 2, 2, 2]
    soft = [[1, 0, 0]] * 3 + [[0, 0, 1]] * 4 + [[1, 0, 0]]
    # Pooled: 8 * 2 = 16 of 4 * 4 + 4 * 4 = 32.
    assert soft_kappa(levels, soft) == pytest.approx(0.5)
    assert within_strata_kappa(levels, soft, "XXXXYYYY") == 0


def test_a_stratum_whose_labels_are_all_one_grade_is_left_out():
    soft = [*SOFT, [1, 0, 0], [1, 0, 0]]
    for last in (0, 2):
        judged = [0, 2, 2, 0, last]
        assert within_strata_kappa(judged, soft, "XXXYY") == pytest.approx(32 / 53)
        one = within_strata_kappa_estimate(judged, soft, "XXXYY", range(5))
        assert one.reason is not None
        assert one.reason.endswith("without Y: all items graded alike")
        assert one.low is not None
    # In a place that rests on one group the two reasons stand together.
    one = within_strata_kappa_estimate([0, 2, 0], [[1, 0, 0], [0, 0, 1], [1, 0, 0]], "XXY", range(3))
    assert one == Estimate(1, reason="rests on one group; without Y: all items graded alike")


def test_bounds_keep_the_weights_of_all_labels():
    # X: levels 0, 2, 2 of F, F, P, twice each; Y: 0, 2 of F, P, twice each. Weights .6 and .4.
    # In squared steps: X: 6 * 2 * 4 = 48 of 4 (4 * 4 + 2 * 2) = 80: .4. Y: 1. Mean .64.
    judged, soft = [0, 2, 2, 0, 2] * 2, [[1, 0, 0], [1, 0, 0], [0, 0, 1], [1, 0, 0], [0, 0, 1]] * 2
    one = within_strata_kappa_estimate(judged, soft, "XXXYY" * 2, range(10))
    assert one.value == pytest.approx(0.64)
    # Left out in X: FF: 5 * 2 * 4 of 4 (3 * 4 + 2 * 1) = 40/56: 2/7; FP: 5 * 1 * 4 of 4 (3 * 3 + 2 * 2) = 20/52: 8/13;
    # PP: 5 * 2 * 4 of 4 (4 * 3 + 1 * 2) = 40/56: 2/7. In Y always 1. So .4 + .6 times these; without one of Y .64.
    # SE^2 = 9/10 * 2 * .36 ((2/7 - .4)^2 + (8/13 - .4)^2 + (2/7 - .4)^2) = .046958; t(9) = 2.262157.
    reach = 2.262157 * (0.9 * 2 * 0.36 * (2 * (2 / 7 - 0.4) ** 2 + (8 / 13 - 0.4) ** 2)) ** 0.5
    assert [one.low, one.high] == pytest.approx([0.64 - reach, min(1, 0.64 + reach)], abs=1e-6)


# Silence and ties.


def test_no_items_and_equal_labels_leave_no_value():
    assert soft_kappa([], []) is None
    assert within_strata_kappa([], [], []) is None
    assert soft_kappa_estimate([], [], []) == Estimate(None, reason="no items")
    assert within_strata_kappa_estimate([], [], [], []) == Estimate(None, reason="no items")
    equal = [[0, 0, 1]] * 12
    assert soft_kappa([2] * 12, equal) is None
    assert soft_kappa_estimate([2] * 12, equal, range(12)) == Estimate(None, reason="all gradings equal")
    for judged in ([2] * 12, [0, 1, 2] * 4):
        assert within_strata_kappa(judged, equal, "XY" * 6) is None
        silent = within_strata_kappa_estimate(judged, equal, "XY" * 6, range(12))
        assert silent == Estimate(None, reason="all items graded alike")


def test_a_constant_judge_agrees_no_better_than_chance():
    assert soft_kappa([1, 1, 1], SOFT) == pytest.approx(0)
    one = within_strata_kappa_estimate([1, 1, 1], SOFT, "XXX", range(3))
    assert one == Estimate(0, reason="the same whichever group is left out")


def test_one_item_has_no_bounds():
    one = within_strata_kappa_estimate([2], [[0.5, 0, 0.5]], "X", [0])
    assert one == Estimate(0, reason="rests on one group")


@pytest.mark.parametrize(("strata", "groups"), [("X", [0, 1]), ("XX", [0])])
def test_strata_and_scenarios_must_align(strata: str, groups: list[int]):
    with pytest.raises(ValueError, match=r"one (stratum|group)"):
        within_strata_kappa_estimate([0, 1], [[1, 0, 0], [0, 1, 0]], strata, groups)
    with pytest.raises(ValueError, match="one group"):
        soft_kappa_estimate([0, 1], [[1, 0, 0], [0, 1, 0]], [0])


# Laws.


@law
@given(st.lists(st.tuples(levels, levels, st.integers(0, 13)), min_size=1))
def test_of_hard_labels_it_is_cohens_kappa(table: list[tuple[int, int, int]]):
    judged, people, groups = (list(column) for column in zip(*table, strict=True))
    soft = np.eye(3)[people]
    expected = kappa_estimate(people, judged, [0, 1, 2], groups)
    one = soft_kappa_estimate(judged, soft, groups)
    assert one.reason == expected.reason
    assert [one.value, one.low, one.high] == pytest.approx([expected.value, expected.low, expected.high])


@law
@given(rows)
def test_levels_and_labels_reversed_or_twice_over_agree_as_before(table: list[Row]):
    judged, soft, strata, _ = columns(table)
    value = within_strata_kappa(judged, soft, strata)
    reversed_ = [2 - level for level in judged], [label[::-1] for label in soft]
    assert within_strata_kappa(*reversed_, strata) == pytest.approx(value, abs=1e-9)
    assert within_strata_kappa(judged * 2, soft * 2, strata * 2) == pytest.approx(value, abs=1e-9)


@law
@given(rows, st.randoms())
def test_the_order_of_items_and_the_names_of_strata_do_not_matter(table: list[Row], random):
    judged, soft, strata, _ = columns(table)
    shuffled = random.sample(table, len(table))
    other, labels, names, _ = columns(shuffled)
    renamed = [{"E": "C", "C": "R", "R": "E"}[name] for name in names]
    assert within_strata_kappa(other, labels, renamed) == pytest.approx(
        within_strata_kappa(judged, soft, strata), abs=1e-9
    )


@law
@given(rows)
def test_one_stratum_is_soft_kappa_unless_labels_are_equal(table: list[Row]):
    judged, soft, _, groups = columns(table)
    within = within_strata_kappa_estimate(judged, soft, ["X"] * len(table), groups)
    plain = soft_kappa_estimate(judged, soft, groups)
    if within.value is not None:
        assert [within.value, within.low, within.high] == pytest.approx([plain.value, plain.low, plain.high], abs=1e-9)
