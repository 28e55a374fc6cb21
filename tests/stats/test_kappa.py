import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspy_proact.stats import Estimate, Weight, kappa, kappa_estimate

law = settings(deadline=None, max_examples=25)
LABELS = ["FAIL", "PARTIAL", "PASS"]
WEIGHTS: list[Weight] = ["none", "linear", "quadratic"]
weights = st.sampled_from(WEIGHTS)
tables = st.lists(st.lists(st.integers(0, 20), min_size=3, max_size=3), min_size=3, max_size=3)
# One row is (first grading, second grading, scenario).
rows = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS), st.integers(0, 13)), min_size=1)
# Cohen's example of 1968: 200 patients, two psychiatrists, three diagnoses.
COHEN = [[88, 14, 18], [10, 40, 10], [2, 6, 12]]


def estimate(table: Sequence[tuple[str, str, object]], weight: Weight = "quadratic") -> Estimate:
    first, second, groups = zip(*table, strict=True)
    return kappa_estimate(first, second, LABELS, groups, weight)


def numbers(one: Estimate) -> list[float | None]:
    return [one.value, one.low, one.high]


# Worked by hand.


@pytest.mark.parametrize(
    ("weight", "expected"),
    [
        # Observed agreement .70, by chance .6 * .5 + .3 * .3 + .1 * .2 = .41: .29 / .59. Cohen prints .492.
        ("none", 0.491525),
        # One step off: 40 observed, 36 + 30 + 12 + 6 = 84 expected; two steps: 20, and 24 + 10 = 34.
        # 1 - (40 / 2 + 20) / (84 / 2 + 34) = 1 - 40 / 76.
        ("linear", 0.473684),
        # 1 - (40 / 4 + 20) / (84 / 4 + 34) = 1 - 30 / 55.
        ("quadratic", 0.454545),
    ],
)
def test_three_diagnoses_by_hand(weight: Weight, expected: float):
    assert kappa(COHEN, weight) == pytest.approx(expected, abs=1e-6)


def test_the_extremes():
    for weight in WEIGHTS:
        assert kappa([[5, 0, 0], [0, 5, 0], [0, 0, 5]], weight) == 1
        assert kappa([[0, 5], [5, 0]], weight) == -1
        # All 25 of a 5 x 5 table of products: chance and nothing else.
        assert kappa(np.outer([1, 2, 3], [4, 5, 6]), weight) == pytest.approx(0)
    # One grader never varies: no better than chance, and defined.
    assert kappa([[3, 0], [2, 0]], "none") == 0


def test_groups_are_left_out_by_hand():
    # Twenty times PP, PF, FF, FF: table [[20, 20], [0, 40]], po = .75, pe = .5, kappa = .5.
    # Without a PP: [[19, 20], [0, 40]]: po = 59/79, pe = (39 * 19 + 40 * 60) / 79^2 = 3141/6241: 1520/3100 = .490323.
    # Without a PF: [[20, 19], [0, 40]]: po = 60/79, pe = (39 * 20 + 40 * 59) / 6241 = 3140/6241: 1600/3101 = .515963.
    # Without an FF: [[20, 20], [0, 39]]: po = 59/79, pe = (40 * 20 + 39 * 59) / 6241 = 3101/6241: 1560/3140 = .496815.
    # SE^2 = 79/80 * (20 * .0096774^2 + 20 * .0159626^2 + 40 * .0031847^2) = .0072835; t(79) = 1.990450.
    gradings = [("PASS", "PASS"), ("PASS", "FAIL"), ("FAIL", "FAIL"), ("FAIL", "FAIL")] * 20
    one = estimate([(*pair, place) for place, pair in enumerate(gradings)])
    reach = 1.990450 * math.sqrt(0.0072835)
    assert numbers(one) == pytest.approx([0.5, 0.5 - reach, 0.5 + reach], abs=1e-5)
    assert one.reason is None


# Silence and ties.


@pytest.mark.parametrize("table", [[[0, 0], [0, 0]], [[7, 0], [0, 0]], [[3]], np.zeros((0, 0))])
def test_nothing_over_nothing_is_undefined(table: object):
    for weight in WEIGHTS:
        assert kappa(table, weight) is None  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("table", [[1, 2], [[1, 2]], [[1, -1], [0, 2]], [[1, math.nan], [0, 2]]])
def test_what_is_no_table_of_counts_is_refused(table: object):
    with pytest.raises(ValueError, match="square table of counts"):
        kappa(table, "none")  # pyright: ignore[reportArgumentType]


def test_no_items_and_equal_gradings_leave_no_value():
    assert kappa_estimate([], [], LABELS, []) == Estimate(None, reason="no items")
    assert estimate([("PASS", "PASS", place) for place in range(12)]) == Estimate(None, reason="all gradings equal")


def test_agreement_without_a_flaw_has_no_bounds():
    same = [(label, label, place) for place, label in enumerate(LABELS * 3)]
    assert estimate(same) == Estimate(1, reason="the same whichever group is left out")


def test_what_rests_on_one_item_has_no_bounds():
    # Without the only FAIL all is equal.
    assert estimate([("PASS", "PASS", 0), ("PASS", "PASS", 1), ("FAIL", "FAIL", 2)]).reason == "rests on one group"
    assert estimate([("PASS", "FAIL", 0)]) == Estimate(0, reason="rests on one group")


def test_what_rests_on_one_scenario_has_no_bounds():
    table = [("PASS", "PASS", place) for place in range(12)] + [("FAIL", "FAIL", 12)] * 3
    assert estimate(table) == Estimate(1, reason="rests on one group")
    # Thirty items of one scenario that agree in two of three: whose items they are is what was drawn.
    assert estimate([*[("PASS", "PASS", 0), ("FAIL", "FAIL", 0), ("PARTIAL", "PASS", 0)] * 10]).low is None


@pytest.mark.parametrize(
    ("first", "second", "groups"), [(["PASS"], [], [0]), (["PASS"], ["PASS"], []), ([], ["PASS"], [0])]
)
def test_gradings_and_scenarios_must_align(first: list[str], second: list[str], groups: list[int]):
    with pytest.raises(ValueError, match="two gradings an item"):
        kappa_estimate(first, second, LABELS, groups)


@pytest.mark.parametrize("labels", [["FAIL", "PASS"], [*LABELS, "PASS"]])
def test_labels_name_every_grading_once(labels: list[str]):
    with pytest.raises(ValueError, match="labels must name every rating once"):
        kappa_estimate(["PARTIAL"], ["PASS"], labels, [0])


# Laws.


@given(tables, weights)
def test_kappa_is_symmetric_and_free_of_the_number_of_items(table: list[list[int]], weight: Weight):
    value = kappa(table, weight)
    assert value is None or -1 <= value <= 1
    for other in (np.transpose(table), np.multiply(table, 3), np.array(table)[::-1, ::-1]):
        assert kappa(other, weight) == (None if value is None else pytest.approx(value, abs=1e-12))


@given(tables, st.permutations(range(3)))
def test_names_of_labels_do_not_matter_without_weights(table: list[list[int]], places: list[int]):
    value = kappa(table, "none")
    assert kappa(np.array(table)[places][:, places], "none") == (None if value is None else pytest.approx(value))


@given(st.lists(st.lists(st.integers(0, 20), min_size=2, max_size=2), min_size=2, max_size=2))
def test_two_labels_have_one_kappa(table: list[list[int]]):
    assert kappa(table, "none") == kappa(table, "linear") == kappa(table, "quadratic")


@law
@given(rows, weights, st.randoms())
def test_order_of_items_and_names_of_scenarios_change_nothing(
    table: list[tuple[str, str, int]], weight: Weight, random
):
    shuffled = [(first, second, ("group", -group)) for first, second, group in table]
    random.shuffle(shuffled)
    before, after = estimate(table, weight), estimate(shuffled, weight)
    assert numbers(after) == pytest.approx(numbers(before), abs=1e-9)
    assert after.reason == before.reason


@law
@given(rows, weights)
def test_the_graders_can_be_exchanged(table: list[tuple[str, str, int]], weight: Weight):
    before, after = estimate(table, weight), estimate([(b, a, group) for a, b, group in table], weight)
    assert numbers(after) == pytest.approx(numbers(before), abs=1e-9)


@law
@given(rows, weights)
def test_bounds_enclose_kappa_inside_its_range(table: list[tuple[str, str, int]], weight: Weight):
    found = estimate(table, weight)
    inside = [number for number in (found.low, found.value, found.high) if number is not None]
    assert [-1, *inside, 1] == sorted([-1, *inside, 1])


@pytest.mark.parametrize("groups", [4, 9, 30])
def test_whole_scenarios_are_left_out_however_few_they_are(groups: int):
    """Copies within a scenario say nothing more."""
    rng = np.random.default_rng(1)
    pairs = [(LABELS[a], LABELS[min(2, max(0, a + b))]) for a, b in zip(*rng.integers(0, 2, (2, groups)), strict=True)]
    alone = estimate([(*pair, place) for place, pair in enumerate(pairs)])
    assert alone.high is not None
    copies = estimate([(*pair, place) for place, pair in enumerate(pairs) for _ in range(3)])
    assert numbers(copies) == pytest.approx(numbers(alone), abs=1e-9)
    assert copies.reason == ("too few groups: very wide" if groups < 5 else None)
