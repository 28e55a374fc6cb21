"""Kappa, AC and alpha by hand, as published and by their laws; and the tables that they are made of."""

import math
from collections.abc import Callable, Hashable, Sequence

import numpy as np
import pytest
from builders.studies import LABELS, TIES
from hypothesis import given, settings
from hypothesis import strategies as st

from dspy_proact.stats import Estimate, Judged, Panel, alpha_estimate, cross_tables, tally
from dspy_proact.stats.agreement import AlphaMetric, Weight, acs, disagreements, kappas, rater_pairs
from dspy_proact.stats.tally import commonest

law = settings(deadline=None, max_examples=25)
WEIGHTS: list[Weight] = ["none", "linear", "quadratic"]
weights = st.sampled_from(WEIGHTS)
METRICS: list[AlphaMetric] = ["nominal", "ordinal", "interval"]
metrics = st.sampled_from(METRICS)
tables = st.lists(st.lists(st.integers(0, 20), min_size=3, max_size=3), min_size=3, max_size=3)
rated = st.lists(st.lists(st.sampled_from(LABELS), max_size=5), max_size=15)
# Cohen's example of 1968: 200 patients, two psychiatrists, three diagnoses.
COHEN = [[88, 14, 18], [10, 40, 10], [2, 6, 12]]
# Gwet's example of two abstractors and a hundred records; his package irrCAC prints AC1 0.8493305.
ABSTRACTORS = [[13, 0, 0], [0, 20, 7], [0, 4, 56]]
# Krippendorff's textbook table: four people, twelve units, five labels; a dot is no rating.
TABLE = ["1 1 . 1", "2 2 3 2", "3 3 3 3", "3 3 3 3", "2 2 2 2", "1 2 3 4", "4 4 4 4", "1 1 2 1", "2 2 2 2", ". 5 5 5",
         ". . 1 1", ". 3 . ."]  # fmt: skip
FOUR_ITEMS = [["FAIL", "FAIL"], ["FAIL", "PASS"], ["PASS", "PASS", "PASS"], ["FAIL", "PARTIAL"]]


def kappa(table: object, weight: Weight) -> float:
    return float(kappas(np.asarray(table, dtype=float), weight))


def ac(table: object, weight: Weight) -> float:
    return float(acs(np.asarray(table, dtype=float), weight))


def ac_estimate(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    labels: Sequence[Hashable],
    groups: Sequence[Hashable],
    weight: Weight = "quadratic",
) -> Estimate:
    """Of two gradings, the first of which is the one rating of each item."""
    return Judged.of(Panel.of([[label] for label in first], labels), second, labels, groups).ac(weight)


def alpha_of(ratings: list[list[str]], labels: Sequence[str], metric: AlphaMetric) -> Estimate:
    return alpha_estimate(Panel.of(ratings, labels), metric, range(len(ratings)))


def alpha(ratings: list[list[str]], labels: Sequence[str], metric: AlphaMetric) -> float | None:
    return alpha_of(ratings, labels, metric).value


# Kappa.


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
        assert ac([[5, 0, 0], [0, 0, 0], [0, 0, 0]], weight) == ac([[5, 0, 0], [0, 4, 0], [0, 0, 3]], weight) == 1
        assert math.isnan(ac([[4]], weight))
    # One grader never varies: no better than chance, and defined.
    assert kappa([[3, 0], [2, 0]], "none") == 0
    # Two labels, opposed: no agreement, 1/2 by chance: (0 - 1/2) / (1/2).
    assert ac([[0, 5], [5, 0]], "none") == -1
    for metric in METRICS:
        assert alpha([["FAIL"] * 2, ["PASS"] * 3], LABELS, metric) == 1
        # FP, PF: 2 of each, n = 4: (4 - 1) * 4 = 12 of 2 * 2 * 2 = 8.
        assert alpha([["FAIL", "PASS"]] * 2, LABELS, metric) == pytest.approx(-0.5)


# AC1 and AC2.


@pytest.mark.parametrize(
    ("weight", "expected"),
    [
        # Shares .13, .255, .615: sum of p (1 - p) = .1131 + .189975 + .236775 = .53985. Weights sum to 3.
        # (.89 - 3/6 * .53985) / (1 - .269925).
        ("none", 0.8493305),
        # Agreement .89 + 11/2 % = .945; weights sum to 5: (.945 - 5/6 * .53985) / (1 - .449875).
        ("linear", 0.900023),
        # Agreement .89 + 3/4 * 11 % = .9725; weights sum to 6: (.9725 - .53985) / (1 - .53985).
        ("quadratic", 0.940237),
    ],
)
def test_two_abstractors_as_published_and_by_hand(weight: Weight, expected: float):
    assert ac(ABSTRACTORS, weight) == pytest.approx(expected, abs=1e-6)


def test_with_four_labels_it_can_fall_below_minus_one():
    # AD, BC, DA: agreement 8/9 / 3 = .296296; shares 1/3, 1/6, 1/6, 1/3: sum of p (1 - p) = .722222.
    # Weights 4 + 2 (3 * 8/9 + 2 * 5/9) = 11.5556: by chance 11.5556 / 12 * .722222 = .695473.
    # (.296296 - .695473) / .304527.
    one = ac_estimate("ABD", "DCA", "ABCD", [0, 1, 2])
    assert one.value == pytest.approx(-1.310811, abs=1e-6)
    assert one.low is not None
    assert one.low < one.value


def test_groups_of_ac_are_left_out_by_hand():
    # PP, PF, FF of two labels, AC1: agreement 2/3; shares 1/2: chance .5: (1/6) / (1/2) = 1/3.
    # Without PF both agree in full, so that it rests on that one.
    one = ac_estimate(["P", "P", "F"], ["P", "F", "F"], ["F", "P"], [0, 1, 2], "none")
    assert one.value == pytest.approx(1 / 3)
    assert (one.low, one.reason) == (None, "depends on one group")


@law
@given(tables, weights, st.sampled_from([kappa, ac]))
def test_neither_side_nor_direction_nor_size_matters(table: list[list[int]], weight: Weight, of: Callable[..., float]):
    value = of(table, weight)
    assert not value > 1  # nan without two labels
    others = [of(other, weight) for other in (np.transpose(table), np.array(table)[::-1, ::-1], np.multiply(table, 3))]
    assert others == pytest.approx([value] * 3, abs=1e-12, nan_ok=True)


# Alpha.


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


@law
@given(rated, metrics)
def test_an_item_with_one_rating_changes_nothing(ratings: list[list[str]], metric: AlphaMetric):
    assert alpha_of([*ratings, ["PASS"], []], LABELS, metric) == alpha_of(ratings, LABELS, metric)


# Tables.


def test_two_raters_are_compared_on_the_items_that_both_rated():
    """Ann and Bob: FAIL FAIL, FAIL PASS, PASS PASS. Same 2 of 3, by chance 1/3 * 2/3 + 2/3 * 1/3 = 4/9: kappa 2/5."""
    labels = ["FAIL", "PARTIAL", "PASS"]
    ratings = [["FAIL", "FAIL"], ["FAIL", "PASS", "PARTIAL"], ["PASS", "PASS"], ["PASS", "FAIL"]]
    panel = Panel.of(ratings, labels, [["Ann", "Bob"], ["Ann", "Bob", "Cy"], ["Bob", "Ann"], ["Ann", "Cy"]])
    both, with_cy = rater_pairs(panel, [*"abcd"], "none", fewest=2)
    assert (both.raters, both.items, both.same, both.kappa.value) == (("Ann", "Bob"), 3, 2 / 3, pytest.approx(2 / 5))
    assert (with_cy.raters, with_cy.items, with_cy.same) == (("Ann", "Cy"), 2, 0)
    # Of the second item the pairs differ by all, a half and a half: squared 1, 1/4 and 1/4.
    assert disagreements(panel, "quadratic") == pytest.approx([0, 1 / 2, 0, 1])
    assert disagreements(panel, "none") == pytest.approx([0, 1, 0, 1])


def test_gradings_as_tables():
    assert tally([["b", "a", "b"], [], ["c"]], "abc").tolist() == [[1, 2, 0], [0, 0, 0], [0, 0, 1]]
    assert cross_tables(["a", "b"], ["b", "b"], "ab").tolist() == [[[0, 1], [0, 0]], [[0, 0], [0, 1]]]


@pytest.mark.parametrize(
    ("ratings", "label"),
    [
        (["PASS", "PASS", "FAIL"], "PASS"),
        (["FAIL", "FAIL", "PARTIAL", "PASS"], "FAIL"),
        (["PASS", "PARTIAL"], "PARTIAL"),
        (["FAIL", "PASS"], "PASS"),
        (["FAIL", "PARTIAL", "PASS"], "PARTIAL"),
        (["FAIL"], "FAIL"),
        ([], None),
    ],
)
def test_the_commonest_label_breaks_ties_as_stated(ratings: list[str], label: str | None):
    (chosen,) = commonest(tally([ratings], LABELS), [LABELS.index(tie) for tie in TIES]).tolist()
    assert chosen == [float(name == label) for name in LABELS]
