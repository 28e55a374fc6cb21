from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspy_proact.stats import within_strata_kappa

law = settings(deadline=None, max_examples=25)
levels = st.integers(0, 2)
counts = st.lists(st.integers(0, 4), min_size=3, max_size=3).filter(any)
# One row is (level, counts of people's grades, phase).
Row = tuple[int, list[int], str]
rows = st.lists(st.tuples(levels, counts, st.sampled_from("ECR")), max_size=25)
SOFT = [[1, 0, 0], [0.5, 0, 0.5], [0, 1 / 3, 2 / 3]]


def columns(table: Sequence[Row]) -> tuple[list[int], list[list[float]], list[str]]:
    soft = [[count / sum(row[1]) for count in row[1]] for row in table]
    return [row[0] for row in table], soft, [row[2] for row in table]


def test_three_items_by_hand():
    # Rows 3/2, 1/3, 7/6, columns 1, 0, 2: observed 3 (1/2 + 1/12) = 21/12 of 3 + 1/12 + 1/6 + 7/6 = 53/12.
    assert within_strata_kappa([0, 2, 2], SOFT, "XXX") == pytest.approx(32 / 53)


def test_strata_are_averaged_by_their_labels():
    # The three items above, and two at which both agree: 3/5 * 32/53 + 2/5 * 1.
    soft = [*SOFT, [1, 0, 0], [0, 1, 0]]
    assert within_strata_kappa([0, 2, 2, 0, 1], soft, "XXXYY") == pytest.approx(0.6 * 32 / 53 + 0.4)


def test_strictness_by_phase_is_no_agreement_within():
    # The judge knows only that people fail X and pass Y: pooled it agrees, within neither.
    levels = [0, 0, 0, 0, 2, 2, 2, 2]
    soft = [[1, 0, 0]] * 3 + [[0, 0, 1]] * 4 + [[1, 0, 0]]
    # Pooled: 8 * 2 = 16 of 4 * 4 + 4 * 4 = 32.
    assert within_strata_kappa(levels, soft, "X" * 8) == pytest.approx(0.5)
    assert within_strata_kappa(levels, soft, "XXXXYYYY") == 0


@pytest.mark.parametrize("last", [0, 2])
def test_a_stratum_whose_labels_are_all_one_grade_is_left_out(last: int):
    soft = [*SOFT, [1, 0, 0], [1, 0, 0]]
    assert within_strata_kappa([0, 2, 2, 0, last], soft, "XXXYY") == pytest.approx(32 / 53)


@pytest.mark.parametrize("judged", [[2] * 12, [0, 1, 2] * 4])
def test_no_items_and_equal_labels_leave_no_value(judged: list[int]):
    assert within_strata_kappa([], [], []) is None
    assert within_strata_kappa(judged, [[0, 0, 1]] * 12, "XY" * 6) is None


def test_a_constant_judge_agrees_no_better_than_chance():
    assert within_strata_kappa([1, 1, 1], SOFT, "XXX") == pytest.approx(0)


@pytest.mark.parametrize(("levels", "strata"), [([0, 1], "X"), ([0], "XX"), ([0, 3], "XX")])
def test_levels_and_strata_must_align(levels: list[int], strata: str):
    with pytest.raises(ValueError, match=r"one (stratum|level)"):
        within_strata_kappa(levels, [[1, 0, 0], [0, 1, 0]], strata)


# Laws.


@law
@given(rows)
def test_levels_and_labels_reversed_or_twice_over_agree_as_before(table: list[Row]):
    judged, soft, strata = columns(table)
    value = within_strata_kappa(judged, soft, strata)
    reversed_ = [2 - level for level in judged], [label[::-1] for label in soft]
    assert within_strata_kappa(*reversed_, strata) == pytest.approx(value, abs=1e-9)
    assert within_strata_kappa(judged * 2, soft * 2, strata * 2) == pytest.approx(value, abs=1e-9)


@law
@given(rows, st.randoms())
def test_the_order_of_items_and_the_names_of_strata_do_not_matter(table: list[Row], random):
    judged, soft, strata = columns(table)
    shuffled = random.sample(table, len(table))
    other, labels, names = columns(shuffled)
    renamed = [{"E": "C", "C": "R", "R": "E"}[name] for name in names]
    assert within_strata_kappa(other, labels, renamed) == pytest.approx(
        within_strata_kappa(judged, soft, strata), abs=1e-9
    )
