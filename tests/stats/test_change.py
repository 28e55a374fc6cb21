"""What a compile changed, with the arithmetic worked by hand."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspy_proact.stats import Estimate, ScoreChange, length_change, score_change

law = settings(deadline=None, max_examples=25)
# One row is (before, after, scenario).
Row = tuple[float, float, int]
grades = st.sampled_from([0.0, 0.5, 1.0])
rows = st.lists(st.tuples(grades, grades, st.integers(0, 13)), max_size=40).filter(lambda drawn: len(drawn) != 1)
lengths = st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300), st.integers(0, 13)), max_size=40)


def numbers(one: Estimate) -> list[float | None]:
    return [one.value, one.low, one.high]


def change(table: Sequence[tuple[float | None, float | None, int]], seed: int = 0) -> ScoreChange:
    before, after, groups = ([row[place] for row in table] for place in range(3))
    return score_change(before, after, [f"S{place}" for place in groups], seed=seed)  # pyright: ignore[reportArgumentType]


def rising(counts: Sequence[int], turns: int = 6) -> list[Row]:
    """Scenarios of so many turns each, of which so many rise from 0 to 1 and the others stay, half of them at 1."""
    return [
        (0.0, 1.0, group) if turn < count else (float(turn % 2), float(turn % 2), group)
        for group, count in enumerate(counts)
        for turn in range(turns)
    ]


def test_two_scenarios_by_hand():
    one = change([(0, 1, 0), (1, 1, 0), (0, 1, 1), (0, 1, 1)])
    assert (one.count, one.groups) == (4, 2)
    assert one.before.value == 0.25
    assert one.after.value == 1
    # Scenarios shift by 1/2 and 1, the mean is 3/4. Each moves it by 1/8, so that the error is
    # sqrt(2 (1/8)^2 / (1 - 1/2)) = 1/4; t with 1 degree of freedom is 12.7: beyond both ends.
    assert numbers(one.difference) == [0.75, -1, 1]
    # Of four flips, the data's own and its mirror are as far.
    assert one.p == 2 / 4
    assert one.low98 == -1
    assert not one.shown
    assert one.reason == "4 cases in 2 groups are too few for a claim, which takes 60 in 10"


def test_ten_scenarios_by_hand():
    # They shift by 1/3 and 2/3 in turn: mean 1/2, deviations of 1/6, error (1/6) sqrt(10/9) / sqrt(10) = 1/18.
    one = change(rising([2, 4] * 5))
    assert one.difference.value == pytest.approx(0.5)
    # With 9 degrees of freedom t is 2.2622 at 97.5 % and 2.8214 at 99 %.
    assert one.difference.low == pytest.approx(0.5 - 2.2622 / 18, abs=1e-4)
    assert one.difference.high == pytest.approx(0.5 + 2.2622 / 18, abs=1e-4)
    assert one.low98 == pytest.approx(0.5 - 2.8214 / 18, abs=1e-4)
    assert (one.shown, one.reason) == (True, "")
    assert one.p == 2 / 2**10  # all ten rise


def test_lengths_by_hand():
    one = length_change([10, 20], [20, 20], ["S0", "S1"])
    assert (one.count, one.before.value, one.after.value) == (2, 15, 20)
    # 40 / 30, and 20 / 20 and 20 / 10 without one: error sqrt(1/2 ((1/3)^2 + (2/3)^2)) = .527; t is 12.706.
    assert one.ratio.value == pytest.approx(4 / 3)
    assert one.ratio.low == 0
    assert one.ratio.high == pytest.approx(4 / 3 + 12.706 * (5 / 18) ** 0.5, abs=1e-3)


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (rising([2, 4] * 5), ""),
        (rising([2, 4] * 5)[:-1], "59 cases in 10 groups are too few for a claim, which takes 60 in 10"),
        (
            rising([2, 4, 3] * 3, turns=7),
            "63 cases in 9 groups are too few for a claim, which takes 60 in 10",
        ),
        # Shifts of 2, 2, 1, 1, 1 and five times 0 sixths: the mean is 2.69 errors, between 2.2622 and 2.8214.
        (rising([2, 2, 1, 1, 1, 0, 0, 0, 0, 0]), "the 98 % interval of the difference does not lie above 0"),
        (rising([3] * 10), "the difference has no interval"),
        (rising([0] * 10), "the difference has no interval"),
    ],
)
def test_a_rise_may_be_claimed_from_60_turns_in_10_scenarios_on_where_98_percent_lie_above_nothing(table, reason):
    one = change(table)
    assert (one.shown, one.reason) == (not reason, reason)


def test_no_turns_leave_no_value():
    one = score_change([], [], [])
    assert (one.count, one.groups, one.low98, one.p, one.shown) == (0, 0, None, None, False)
    assert [one.before.value, one.after.value, one.difference.value] == [None] * 3
    assert one.reason == "0 cases in 0 groups are too few for a claim, which takes 60 in 10"
    none = length_change([], [], [])
    assert none.count == 0
    assert [none.before.value, none.after.value, none.ratio.value] == [None] * 3


def test_what_rests_on_one_turn_has_no_interval():
    one = score_change([0.0], [1.0], ["S"])
    assert (one.difference.value, one.difference.low, one.low98, one.p) == (1, None, None, None)
    assert numbers(length_change([2], [4], ["S"]).ratio) == [2, None, None]
    ratio = length_change([0, 5], [3, 5], ["S0", "S1"]).ratio
    assert ratio == Estimate(8 / 5, reason="depends on one group")


def test_nothing_said_before_leaves_no_ratio():
    one = length_change([0, 0], [3, 4], ["S0", "S1"])
    assert (one.before.value, one.after.value) == (0, 3.5)
    assert (one.ratio.value, one.ratio.reason) == (None, "nothing to compare with")


@law
@given(lengths, st.randoms())
def test_lengths_neither_see_names_nor_order_and_their_ratio_turns_over(table, random):
    def of(rows: Sequence[tuple[int, int, int]]):
        return length_change(*([row[place] for row in rows] for place in range(3)))

    one = of(table)
    shuffled = of([(*row[:2], 100 - row[2]) for row in random.sample(table, len(table))])
    turned = of([(after, before, group) for before, after, group in table])
    for name in ("before", "after", "ratio"):
        assert numbers(getattr(shuffled, name)) == pytest.approx(numbers(getattr(one, name)), abs=1e-9)
    assert (turned.before, turned.after) == (one.after, one.before)
    if one.ratio.value and turned.ratio.value:
        assert one.ratio.value * turned.ratio.value == pytest.approx(1)
    for estimate in (one.before, one.after, one.ratio):
        assert estimate.low is None or estimate.low >= 0


def test_a_score_that_could_not_be_read_is_in_no_number_and_its_bounds_stand_beside():
    one = change([(0, 1, 0), (0, None, 0), (None, 1, 1), (1, 1, 1)])
    assert (one.count, one.unread, one.difference.value) == (2, 2, 0.5)
    # 0 and 1 of those read; the second at least 0 and at most 1, the third 1 before at worst and 0 at best.
    assert (one.least.value, one.most.value) == ((1 + 0 + 0 + 0) / 4, (1 + 1 + 1 + 0) / 4)


def test_a_rise_must_hold_with_the_unread_at_their_worst():
    read = rising([3, 4] * 6)
    few, many = (change([*read, *((0.0, None, group % 12) for group in range(count))]) for count in (2, 60))
    assert few.low98_unread is not None
    assert few.low98 is not None
    assert (few.shown, many.shown) == (True, True)
    assert 0 < few.low98_unread < few.low98
    lost = change([*read, *((None, None, group % 12) for group in range(60))])
    assert lost.low98 == few.low98
    assert (lost.shown, lost.unread) == (False, 60)
    assert lost.reason == "the 98 % interval does not lie above 0 when the 60 unreadable scores count against it"
