import math
from collections.abc import Hashable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspy_proact.stats import Estimate, Judged, Panel, Weight, ac

law = settings(deadline=None, max_examples=25)
LABELS = ["FAIL", "PARTIAL", "PASS"]
WEIGHTS: list[Weight] = ["none", "linear", "quadratic"]
weights = st.sampled_from(WEIGHTS)
tables = st.lists(st.lists(st.integers(0, 20), min_size=3, max_size=3), min_size=3, max_size=3)
rows = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS), st.integers(0, 13)), min_size=1)
# Gwet's example of two abstractors and a hundred records; his package irrCAC prints AC1 0.8493305.
ABSTRACTORS = [[13, 0, 0], [0, 20, 7], [0, 4, 56]]


def estimate(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    labels: Sequence[Hashable],
    groups: Sequence[Hashable],
    weight: Weight = "quadratic",
) -> Estimate:
    """Of two gradings, the first of which is the one rating of each item."""
    return Judged.of(Panel.of([[label] for label in first], labels), second, labels, groups).ac(weight)


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


def test_equal_gradings_agree_fully():
    for weight in WEIGHTS:
        assert ac([[5, 0, 0], [0, 0, 0], [0, 0, 0]], weight) == 1
        assert ac([[5, 0, 0], [0, 4, 0], [0, 0, 3]], weight) == 1
    # Two labels, opposed: no agreement, 1/2 by chance: (0 - 1/2) / (1/2).
    assert ac([[0, 5], [5, 0]], "none") == -1


def test_with_four_labels_it_can_fall_below_minus_one():
    # AD, BC, DA: agreement 8/9 / 3 = .296296; shares 1/3, 1/6, 1/6, 1/3: sum of p (1 - p) = .722222.
    # Weights 4 + 2 (3 * 8/9 + 2 * 5/9) = 11.5556: by chance 11.5556 / 12 * .722222 = .695473.
    # (.296296 - .695473) / .304527.
    one = estimate("ABD", "DCA", "ABCD", [0, 1, 2])
    assert one.value == pytest.approx(-1.310811, abs=1e-6)
    assert one.low is not None
    assert one.low < one.value


def test_without_items_or_labels_it_is_undefined():
    for weight in WEIGHTS:
        assert ac(np.zeros((3, 3)), weight) is None
        assert ac([[4]], weight) is None
    assert estimate([], [], LABELS, []) == Estimate(None, reason="no items")
    assert estimate(["PASS"], ["PASS"], ["PASS"], [0]) == Estimate(None, reason="fewer than two labels")


def test_agreement_without_a_flaw_and_one_item_have_no_bounds():
    assert estimate(LABELS, LABELS, LABELS, [0, 1, 2]) == Estimate(1, reason="the same whichever group is left out")
    assert estimate(["PASS"], ["PASS"], LABELS, [0]) == Estimate(1, reason="rests on one group")


def test_groups_are_left_out_by_hand():
    # PP, PF, FF of two labels, AC1: agreement 2/3; shares 1/2: chance .5: (1/6) / (1/2) = 1/3.
    # Without PF both agree in full, so that it rests on that one.
    one = estimate(["P", "P", "F"], ["P", "F", "F"], ["F", "P"], [0, 1, 2], "none")
    assert one.value == pytest.approx(1 / 3)
    assert (one.low, one.reason) == (None, "rests on one group")
    # The same thirty times over: left-outs differ by about a thirtieth as much, from 90 items.
    many = estimate(["P", "P", "F"] * 30, ["P", "F", "F"] * 30, ["F", "P"], range(90), "none")
    # Without a PP (or FF): agreement 59/89; shares 89/178 and 89/178 less a pair: 88/178, 90/178: chance .499937.
    # (.662921 - .499937) / .500063 = .325927. Without a PF: 60/89, shares equal: .348315.
    # -log(1 - AC): .405465, without one .394417 and .428194. SE^2 = 89/90 (60 * .011048^2 + 30 * .022729^2) =
    # .0225682; t(89) = 1.986979: .405465 -+ .298498.
    assert [many.low, many.high] == pytest.approx([1 - math.exp(-0.106967), 1 - math.exp(-0.703963)], abs=2e-5)


@pytest.mark.parametrize("table", [[1, 2], [[1, 2]], [[1, -1], [0, 2]], [[1, float("nan")], [0, 2]]])
def test_what_is_no_table_of_counts_is_refused(table: object):
    with pytest.raises(ValueError, match="square table of counts"):
        ac(table, "none")  # pyright: ignore[reportArgumentType]


def test_gradings_and_scenarios_must_align():
    with pytest.raises(ValueError, match="one grade and group an item"):
        estimate(["PASS"], ["PASS"], LABELS, [])


@law
@given(tables, weights, st.integers(1, 4))
def test_neither_side_nor_direction_nor_size_matters(table: list[list[int]], weight: Weight, times: int):
    counts = np.array(table)
    value = ac(counts, weight)
    assert [ac(counts.T, weight), ac(counts[::-1, ::-1], weight), ac(times * counts, weight)] == [
        pytest.approx(value)
    ] * 3
    assert value is None or value <= 1


@law
@given(rows, weights)
def test_an_estimate_is_ac_in_its_bounds(gradings: list[tuple[str, str, int]], weight: Weight):
    first, second, groups = zip(*gradings, strict=True)
    one = estimate(first, second, LABELS, groups, weight)
    table = [[sum(pair[:2] == (a, b) for pair in gradings) for b in LABELS] for a in LABELS]
    assert one.value == pytest.approx(ac(table, weight))
    assert one.low is None or one.high is None or one.low <= one.high <= 1
