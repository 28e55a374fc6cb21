import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from study import LABELS, study

from dspy_proact.stats import AlphaMetric, Estimate, alpha, alpha_estimate

law = settings(deadline=None, max_examples=25)
METRICS: list[AlphaMetric] = ["nominal", "ordinal", "interval"]
metrics = st.sampled_from(METRICS)
rated = st.lists(st.lists(st.sampled_from(LABELS), max_size=5), max_size=15)
# Krippendorff's textbook table: four people, twelve units, five labels; a dot is no rating.
TABLE = ["1 1 . 1", "2 2 3 2", "3 3 3 3", "3 3 3 3", "2 2 2 2", "1 2 3 4", "4 4 4 4", "1 1 2 1", "2 2 2 2", ". 5 5 5",
         ". . 1 1", ". 3 . ."]  # fmt: skip
FOUR_ITEMS = [["FAIL", "FAIL"], ["FAIL", "PASS"], ["PASS", "PASS", "PASS"], ["FAIL", "PARTIAL"]]


def numbers(one: Estimate) -> list[float | None]:
    return [one.value, one.low, one.high]


# Worked by hand or published.


@pytest.mark.parametrize(("metric", "expected"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_the_textbook_table(metric: AlphaMetric, expected: float):
    ratings = [[label for label in unit.split() if label != "."] for unit in TABLE]
    assert alpha(ratings, "12345", metric) == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        # Coincidences: FF 2; FP and PF 1 (P: PASS); PP 3 * 2 / 2 = 3; FPa and PaF 1. F 4, Pa 1, P 4 of 9.
        # (9 - 1) * 4 = 32 of 2 (4 * 1 + 4 * 4 + 1 * 4) = 48.
        ("nominal", 1 - 32 / 48),
        # Mean ranks 2, 4.5, 7: 8 (2 * 25 + 2 * 6.25) = 500 of 2 (4 * 6.25 + 16 * 25 + 4 * 6.25) = 900.
        ("ordinal", 1 - 500 / 900),
        # 8 (2 * 4 + 2 * 1) = 80 of 2 (4 * 1 + 16 * 4 + 4 * 1) = 144.
        ("interval", 1 - 80 / 144),
    ],
)
def test_four_items_by_hand(metric: AlphaMetric, expected: float):
    assert alpha(FOUR_ITEMS, LABELS, metric) == pytest.approx(expected)


def test_the_extremes():
    for metric in METRICS:
        assert alpha([["FAIL"] * 2, ["PASS"] * 3], LABELS, metric) == 1
        # FP, PF: 2 of each, n = 4: (4 - 1) * 4 = 12 of 2 * 2 * 2 = 8.
        assert alpha([["FAIL", "PASS"]] * 2, LABELS, metric) == pytest.approx(-0.5)


def test_groups_are_left_out_by_hand():
    # Twenty times FF, FP, PPP: FF 40, FP and PF 40 together, PP 60: 1 - 139 * 40 / (2 * 60 * 80) = .420833.
    # Without an FF: 58 F, 80 P: 137 * 40 / 9280 = .590517: .409483. Without an FP: 59, 79: 137 * 38 / 9322 = .558464:
    # .441536. Without a PPP: 60, 77: 136 * 40 / 9240 = .588745: .411255.
    # SE^2 = 59/60 * 20 * (.011351^2 + .020703^2 + .009578^2) = .0127676; t(59) = 2.000995.
    ratings = [["FAIL"] * 2, ["FAIL", "PASS"], ["PASS"] * 3] * 20
    one = alpha_estimate(ratings, LABELS, "nominal", range(60))
    reach = 2.000995 * math.sqrt(0.0127676)
    assert numbers(one) == pytest.approx([0.420833, 0.420833 - reach, 0.420833 + reach], abs=1e-5)
    assert one.reason is None


@pytest.mark.parametrize(("stratum", "expected"), [("EMERGENT", 0.1703), ("CRITICAL", 0.1576), ("RECOVERY", 0.2780)])
def test_the_published_study(stratum: str, expected: float, data: Path):
    items = study(data).of(stratum)
    one = alpha_estimate(items.ratings, LABELS, "ordinal", items.keys)
    assert one.value == pytest.approx(expected, abs=5e-5)
    if stratum == "EMERGENT":
        # Measured elsewhere with all 20 items as units, of which 3 pair with nothing: [-.056, .397].
        assert [one.low, one.high] == pytest.approx([-0.056, 0.397], abs=0.003)


# Silence and ties.


@pytest.mark.parametrize("ratings", [[], [[]], [["PASS"], ["FAIL"]]])
def test_what_does_not_pair_leaves_no_value(ratings: list[list[str]]):
    for metric in METRICS:
        assert alpha(ratings, LABELS, metric) is None
        silent = alpha_estimate(ratings, LABELS, metric, range(len(ratings)))
        assert silent == Estimate(None, reason="no item with two ratings")


def test_equal_ratings_leave_no_value():
    for metric in METRICS:
        # Thirds add up with a rounding error that must not make 0 / 0 a number.
        ratings = [["PASS"] * 4] * 7 + [["FAIL"]]
        assert alpha(ratings, LABELS, metric) is None
        equal = alpha_estimate(ratings, LABELS, metric, range(8))
        assert equal == Estimate(None, reason="all ratings equal")


def test_one_item_has_no_bounds():
    one = alpha_estimate([["PASS", "FAIL"], ["PASS"]], LABELS, "ordinal", [1, 2])
    # FP and PF, n = 2: (2 - 1) * 2 = 2 of 2 * 1 * 1.
    assert one == Estimate(0, reason="rests on one group")


def test_what_rests_on_one_scenario_has_no_bounds():
    ratings = [["PASS", "PASS"]] * 11 + [["FAIL", "FAIL"]] * 2
    one = alpha_estimate(ratings, LABELS, "ordinal", [*range(11), 11, 11])
    assert one == Estimate(1, reason="rests on one group")


def test_items_and_scenarios_must_align():
    with pytest.raises(ValueError, match="one group an item"):
        alpha_estimate([["PASS"]], LABELS, "ordinal", [])


# Laws.


@law
@given(rated, metrics, st.randoms())
def test_neither_raters_nor_items_have_an_order(ratings: list[list[str]], metric: AlphaMetric, random):
    shuffled = [random.sample(item, len(item)) for item in ratings]
    random.shuffle(shuffled)
    assert alpha(shuffled, LABELS, metric) == pytest.approx(alpha(ratings, LABELS, metric))


@law
@given(rated, metrics)
def test_an_item_with_one_rating_changes_nothing(ratings: list[list[str]], metric: AlphaMetric):
    more = [*ratings, ["PASS"], []]
    assert alpha(more, LABELS, metric) == alpha(ratings, LABELS, metric)
    same = alpha_estimate(ratings, LABELS, metric, range(len(ratings)))
    assert alpha_estimate(more, LABELS, metric, range(len(more))) == same


@law
@given(rated, metrics)
def test_reversed_labels_change_nothing_and_renamed_ones_nothing_nominal(ratings: list[list[str]], metric: AlphaMetric):
    value = alpha(ratings, LABELS, metric)
    assert alpha(ratings, LABELS[::-1], metric) == pytest.approx(value)
    renamed = {"FAIL": "PARTIAL", "PARTIAL": "PASS", "PASS": "FAIL"}
    other = [[renamed[label] for label in item] for item in ratings]
    assert alpha(other, LABELS, "nominal") == pytest.approx(alpha(ratings, LABELS, "nominal"))


@law
@given(rated)
def test_of_two_labels_all_metrics_are_one(ratings: list[list[str]]):
    two = [[label for label in item if label != "PARTIAL"] for item in ratings]
    values = [alpha(two, ["FAIL", "PASS"], metric) for metric in METRICS]
    assert values == [pytest.approx(values[0])] * 3


@law
@given(rated, metrics, st.integers(1, 13))
def test_an_estimate_is_alpha_in_its_bounds(ratings: list[list[str]], metric: AlphaMetric, groups: int):
    one = alpha_estimate(ratings, LABELS, metric, [place % groups for place in range(len(ratings))])
    assert one.value == pytest.approx(alpha(ratings, LABELS, metric))
    assert one.low is None or one.high is None or -1 <= one.low <= one.high <= 1
