"""What a compile changed: kappa within strata, scores and lengths, by hand, with unread verdicts, and by their laws."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from builders.studies import numbers
from hypothesis import strategies as st
from support.compiles import SimulatedJudges, improvement_shown, simulate_compile

from dspy_proact.stats import (
    SCORE_SPREADS,
    Change,
    Estimate,
    Panel,
    detectable_gain,
    improvement,
    is_shown_lower,
    length_change,
    score_change,
    selected_gain,
    value_change,
)
from dspy_proact.stats.improvement import Improvements, levels_at_worst

PHASES = ["E", "C", "R"]
levels = st.integers(0, 2)
counts = st.lists(st.integers(0, 3), min_size=3, max_size=3).filter(any)
# One row is (before, after, counts of people's grades, phase, scenario).
Row = tuple[int | None, int | None, list[int], str, int]
# Three items: all 0, half 0 and half 2, a third 1 and two thirds 2.
THREE = [[1, 0, 0], [1, 0, 1], [0, 1, 2]]


def panel_of(counts: Sequence[Sequence[int]], raters: Sequence[Sequence[int]] | None = None) -> Panel:
    ratings = [[level for level, count in enumerate(row) for _ in range(count)] for row in counts]
    return Panel.of(ratings, [0, 1, 2], raters)


def compare(table: Sequence[Row], seed: int = 0, raters: Sequence[Sequence[int]] | None = None) -> Improvements:
    before, after, counts, strata, groups = ([row[column] for row in table] for column in range(5))
    return improvement(before, after, panel_of(counts, raters), strata, groups, order=PHASES, seed=seed)  # pyright: ignore[reportArgumentType]


def agreement(
    levels: Sequence[int], counts: Sequence[Sequence[int]], strata: str, groups: Sequence[int] = ()
) -> Estimate:
    """Of one judge alone."""
    keys = groups or range(len(levels))
    return improvement(levels, levels, panel_of(counts), strata, keys, order=sorted({*strata})).overall.before


def study(labels: int, groups: int, wrong_before: int, wrong_after: int = 0) -> list[Row]:
    """Items that people fail or pass in turn, six a scenario; before and after grade every n-th of them wrongly."""
    table: list[Row] = []
    for index in range(labels):
        truth = 2 * (index % 2)
        before, after = (
            (2 - truth if every and index % every == 0 else truth) for every in (wrong_before, wrong_after)
        )
        table.append((before, after, [1 - truth // 2, 0, truth // 2], "ECR"[index // 2 % 3], index // 6 % groups))
    return table


def unread_after(table: Sequence[Row], unread: Sequence[int]) -> list[Row]:
    return [(row[0], None if index in unread else row[1], *row[2:]) for index, row in enumerate(table)]


# Kappa within strata.


def test_three_items_by_hand():
    # Rows 3/2, 1/3, 7/6, columns 1, 0, 2: observed 3 (1/2 + 1/12) = 21/12 of 3 + 1/12 + 1/6 + 7/6 = 53/12.
    assert agreement([0, 2, 2], THREE, "XXX").value == pytest.approx(32 / 53)
    # With two more at which both agree, strata count by their labels: 3/5 * 32/53 + 2/5 * 1.
    counts = [*THREE, [1, 0, 0], [0, 1, 0]]
    assert agreement([0, 2, 2, 0, 1], counts, "XXXYY").value == pytest.approx(0.6 * 32 / 53 + 0.4)


def test_strictness_by_phase_is_no_agreement_within():
    # The judge knows only that people fail X and pass Y: pooled it agrees, within neither.
    levels = [0, 0, 0, 0, 2, 2, 2, 2]
    counts = [[1, 0, 0]] * 3 + [[0, 0, 1]] * 4 + [[1, 0, 0]]
    # Pooled: 8 * 2 = 16 of 4 * 4 + 4 * 4 = 32.
    assert agreement(levels, counts, "X" * 8).value == pytest.approx(0.5)
    assert agreement(levels, counts, "XXXXYYYY").value == 0


@pytest.mark.parametrize(
    ("after", "lower"),
    [
        # Differences -1, 0, -1 of three groups: mean -2/3, jackknife SE sqrt(2/3 * (1/36 + 1/9 + 1/36)) = 1/3, and
        # t(.9; 2) = 1.886 carries it to -.04.
        ([0, 1, 0], True),
        # -1, 0, 0: mean -1/3, with the same SE.
        ([0, 1, 1], False),
        # All groups alike.
        ([0, 0, 0], True),
        ([1, 1, 1], False),
    ],
)
def test_scores_are_shown_lower_where_the_one_sided_interval_of_90_percent_is_below_0(after, lower):
    assert is_shown_lower([1, 1, 1], after, "abc") is lower
    assert not is_shown_lower([1, 1, 1], after, "aaa"), "of one group nothing is shown"


def test_bounds_keep_the_weights_of_all_labels():
    # X: levels 0, 2, 2 of F, F, P, twice each; Y: 0, 2 of F, P, twice each. Weights .6 and .4.
    # In squared steps: X: 6 * 2 * 4 = 48 of 4 (4 * 4 + 2 * 2) = 80: .4. Y: 1. Mean .64.
    judged, counts = [0, 2, 2, 0, 2] * 2, [[1, 0, 0], [1, 0, 0], [0, 0, 1], [1, 0, 0], [0, 0, 1]] * 2
    one = agreement(judged, counts, "XXXYY" * 2, range(10))
    assert one.value == pytest.approx(0.64)
    # Left out in X: FF: 5 * 2 * 4 of 4 (3 * 4 + 2 * 1) = 40/56: 2/7; FP: 5 * 1 * 4 of 4 (3 * 3 + 2 * 2) = 20/52: 8/13;
    # PP: 5 * 2 * 4 of 4 (4 * 3 + 1 * 2) = 40/56: 2/7. In Y always 1. So .4 + .6 times these; without one of Y .64.
    # SE^2 = 9/10 * 2 * .36 ((2/7 - .4)^2 + (8/13 - .4)^2 + (2/7 - .4)^2) = .046958; t(9) = 2.262157.
    reach = 2.262157 * (0.9 * 2 * 0.36 * (2 * (2 / 7 - 0.4) ** 2 + (8 / 13 - 0.4) ** 2)) ** 0.5
    assert [one.low, one.high] == pytest.approx([0.64 - reach, min(1, 0.64 + reach)], abs=1e-6)


# The claim.


def test_one_phase_by_hand():
    # People F, P four times; before always F, after right: kappas 0 and 1. Without any scenario 0 and 1 again.
    # Of 2^4 swaps: the kappas are 0 and 1 only in the data and its mirror, or where the changed are all or none.
    table: list[Row] = [
        row for index in range(4) for row in ((0, 0, [1, 0, 0], "E", index), (0, 2, [0, 0, 1], "E", index))
    ]
    one = compare(table).overall
    assert (one.before.value, one.after.value, one.difference.value) == (0, 1, 1)
    assert (one.p, one.count, one.groups, one.shown) == (2 / 16, 8, 4, False)


@pytest.mark.parametrize(("labels", "groups", "shown"), [(59, 12, False), (72, 9, False), (60, 10, True)])
def test_a_large_improvement_is_shown_unless_labels_or_scenarios_are_few(labels: int, groups: int, shown: bool):
    # Before wrong at every fifth.
    one = compare(study(labels, groups, 5)).overall
    assert one.low98 is not None
    assert one.difference.low is not None
    assert one.p is not None
    assert 0 < one.low98 < one.difference.low
    assert (one.after.value, one.shown) == (1, shown)
    assert one.p < 0.01


def test_random_swaps_do_not_see_the_order_of_items():
    table = study(102, 17, 5, 4)
    p = compare(table).overall.p
    assert p is not None
    assert 0.05 < p < 1
    shuffled = [table[index] for index in np.random.default_rng(0).permutation(len(table))]
    assert compare(shuffled).overall.p == p
    assert compare(table, seed=1).overall.p == pytest.approx(p, abs=0.03)
    assert compare(table, seed=1).overall.p != p


def test_the_p_of_a_stratum_is_adjusted_for_the_others():
    # E improves at 7 items that are in 5 scenarios of 12: its interval lies above 0, yet of 2^5 swaps 2 are as far.
    table: list[Row] = []
    for stratum, index in product(PHASES, range(96)):
        truth = 2 * (index // 12 % 2)
        before = 2 - truth if stratum == "E" and index % 12 < 5 and index // 12 < 6 else truth
        table.append((before, truth, [1 - truth // 2, 0, truth // 2], stratum, index % 12))
    one = compare(table).strata[0]
    assert one.low98 is not None
    assert one.low98 > 0
    assert one.p == 2 / 32 * 3


def test_a_gain_that_some_raters_see_and_others_do_not_is_less_sure():
    # Raters 0 to 2 give the truth, and so see the gain; 3 to 5 the middle grade, and see none.
    who = [(index + index // 6) % 6 for index in range(144)]
    table = [
        (before, after, truth if rater < 3 else [0, 1, 0], *rest)
        for (before, after, truth, *rest), rater in zip(study(144, 24, 5), who, strict=True)
    ]
    these, others = compare(table).overall, compare(table, raters=[[rater] for rater in who]).overall
    assert others.difference.value == these.difference.value
    assert others.low98 is not None
    assert these.low98 is not None
    assert others.low98 < these.low98


# Silence and ties.


def test_no_labels_or_equal_ones_leave_no_value():
    nothing = Change(0, 0, *[Estimate(None, reason="no items")] * 3)
    assert compare([]) == Improvements(nothing, (nothing,) * 3)
    one = compare([(0, 2, [0, 0, 4], "ECR"[index % 3], index) for index in range(72)])
    for part in (one.overall, *one.strata):
        assert (part.difference, part.p) == (Estimate(None, reason="all items graded alike"), None)
        assert not part.shown


def test_a_phase_of_equal_labels_is_not_part_of_the_average():
    table = [(b, a, [1, 0, 0] if stratum == "R" else c, stratum, s) for b, a, c, stratum, s in study(108, 12, 5)]
    one = compare(table)
    assert (one.overall.shown, one.overall.count) == (True, 108)
    assert one.strata[2].difference.value is None


# Unread verdicts.


def worst(levels: list[float | None], soft: list[list[float]]) -> list[list[float]]:
    """Of the first judge, and of the second: those that are unread speak for the one and against the other."""
    filled = np.array(levels, dtype=float), np.array(soft), ["E"] * len(soft)
    return [levels_at_worst(*filled, worst=worst).tolist() for worst in (False, True)]


def test_the_unread_speak_against_the_second_judge_by_hand():
    # Three items are read, both judges as people: kappa 1, so that chance adds nothing. The fourth, 0 of people, is 4
    # from level 2 and 0 from 0.
    soft = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert worst([0, 1, 2, None], [*soft, [1, 0, 0]]) == [[0, 1, 2, 0], [0, 1, 2, 2]]
    # Read: 0, 0, 0 of 0, 1, 2, kappa 0. The mean label of the four is (2, 1, 1) / 4: the disagreement with it of
    # level 0 is 1/4 + 1 = 1.25, of 1 is 2/4 + 1/4 = .75, of 2 is 2 + 1/4 = 2.25. That of the fourth item is 0, 1, 4;
    # less chance -1.25, .25, 1.75.
    assert worst([0, 0, 0, None], [*soft, [1, 0, 0]]) == [[0, 0, 0, 0], [0, 0, 0, 2]]
    # An item whose people are evenly 0 and 1 is .5, .5, 2.5 from the levels, less chance: mean (1.5, 1.5, 1) / 4, so
    # 1.375, .625, 1.875: -.875, -.125, .625.
    assert worst([0, 0, 0, None], [*soft, [0.5, 0.5, 0]]) == [[0, 0, 0, 0], [0, 0, 0, 2]]
    # Where nothing was read the worst is farthest from the labels.
    assert worst([None] * 2, [[1, 0, 0], [0, 0, 1]]) == [[0, 2], [2, 0]]


def test_a_claim_must_hold_with_the_unread_against_it():
    one = compare(unread_after(study(72, 12, 5), [7])).overall
    assert (one.shown, one.count, one.unread) == (True, 71, 1)
    assert one.low98 is not None
    assert one.low98_unread is not None
    assert 0 < one.low98_unread < one.low98
    many = compare(unread_after(study(72, 12, 5), range(1, 72, 7)))
    assert (many.overall.shown, many.overall.unread) == (False, 11)
    assert sum(stratum.unread for stratum in many.strata) == 11


def test_whether_it_is_shown_is_what_the_whole_says():
    drawn = [
        simulate_compile(np.random.default_rng(seed), [6] * 20, SimulatedJudges(0.8, 0.5, better), unread)
        for seed, better in enumerate((0.95, 0.8, 0.5))
        for unread in (0.0, 0.03)
    ]
    read = [(x.before, x.after, x.panel, x.strata, x.groups) for x in drawn]
    complete = [improvement(*item, order="ABC").overall.shown for item in read]
    assert complete == [improvement_shown(*item, order="ABC") for item in read]
    assert set(complete) == {True, False}


# What so many labels show.


@pytest.mark.parametrize(
    ("sizes", "raters", "gain"),
    [
        ([2] * 29, 6, None),
        ([22] * 9, 6, None),
        # 150 of 200 labels in one of ten groups: 1.7 degrees of freedom, and nothing is promised.
        ([150, *[6] * 5, *[5] * 4], 0, None),
        # t of 19 degrees: 2.5395 at .99, .8610 at .80. J is the root of 20 / 19 times S: 2.6055 + .8610 = 3.4665. S is
        # .52 / sqrt(120) = .04747 at least, and 1.1 sqrt(1 + .05 x 5) / sqrt(120) = .11227 at most.
        ([6] * 20, 3, (0.16456, 0.38918)),
        # The harmonic mean of 19 and 5 degrees of freedom is 7.9167: t 2.9037 and .8894, 2.9792 + .8894 = 3.8686.
        ([6] * 20, 6, (0.18365, 0.43433)),
    ],
)
def test_the_detectable_gain_is_worked_from_the_labels_of_each_group_and_raters_by_hand(sizes, raters, gain):
    assert detectable_gain(sizes, raters) == (gain and pytest.approx(gain, abs=1e-4))


def test_of_a_mean_score_the_detectable_gain_has_the_spreads_of_scores():
    # 3.4665 as above; .25 / sqrt(120) at least, and .5 sqrt(1 + .05 x 5) / sqrt(120) at most.
    assert detectable_gain([6] * 20, 3, SCORE_SPREADS) == pytest.approx((0.07911, 0.17690), abs=1e-4)


def test_the_gain_that_selection_finds_is_worked_from_candidates_and_items_by_hand():
    # z of 18.625 / 19.25 is 1.8453. .02 + .0025 / sqrt(.0025 + .0625 / 48) z, and with .25 / 48 at the noisier end.
    assert selected_gain(19, 48, SCORE_SPREADS) == pytest.approx((0.07255, 0.09482), abs=1e-4)
    # Of ever more items it comes to the best there is: .02 + .05 z.
    assert selected_gain(19, 10**9) == pytest.approx((0.11226, 0.11226), abs=1e-4)


def test_unequal_groups_detect_less_than_as_many_equal_ones():
    # 8.2 degrees of freedom in place of 11, and a jackknife that overstates the largest.
    equal, unequal = detectable_gain([18] * 12, 0), detectable_gain([34, 32, 28, 24, 20, 18, 16, 14, 10, 8, 6, 6], 0)
    assert equal
    assert unequal
    assert all(wider > narrower for narrower, wider in zip(equal, unequal, strict=True))


# Scores and lengths.


def change(table: Sequence[tuple[float | None, float | None, int]]) -> Change:
    before, after, groups = ([row[index] for row in table] for index in range(3))
    return score_change(before, after, groups)  # pyright: ignore[reportArgumentType]


def rising(counts: Sequence[int], turns: int = 6) -> list[tuple[float, float, int]]:
    """Scenarios of so many turns each, of which so many rise from 0 to 1 and the others stay, half of them at 1."""
    return [
        (0.0, 1.0, group) if turn < count else (float(turn % 2), float(turn % 2), group)
        for group, count in enumerate(counts)
        for turn in range(turns)
    ]


def test_ten_scenarios_by_hand():
    # They shift by 1/3 and 2/3 in turn: mean 1/2, deviations of 1/6, error (1/6) sqrt(10/9) / sqrt(10) = 1/18.
    one = change(rising([2, 4] * 5))
    # With 9 degrees of freedom t is 2.2622 at 97.5 % and 2.8214 at 99 %.
    expected = [0.5, 0.5 - 2.2622 / 18, 0.5 + 2.2622 / 18]
    assert numbers(one.difference) == pytest.approx(expected, abs=1e-4)
    assert one.low98 == pytest.approx(0.5 - 2.8214 / 18, abs=1e-4)
    assert one.p == 2 / 2**10  # all ten rise


@pytest.mark.parametrize(
    ("table", "shown"),
    [
        (rising([2, 4] * 5), True),
        (rising([2, 4] * 5)[:-1], False),  # 59 turns
        (rising([2, 4, 3] * 3, turns=7), False),  # 9 scenarios
        # Shifts of 2, 2, 1, 1, 1 and five times 0 sixths: the mean is 2.69 errors, between 2.2622 and 2.8214.
        (rising([2, 2, 1, 1, 1, 0, 0, 0, 0, 0]), False),
        (rising([3] * 10), False),  # no interval
        (rising([0] * 10), False),
    ],
)
def test_a_rise_may_be_claimed_from_60_turns_in_10_scenarios_on_where_98_percent_lie_above_nothing(table, shown):
    assert change(table).shown == shown


def test_a_score_that_could_not_be_read_is_in_no_number_and_its_bounds_stand_beside():
    one = change([(0, 1, 0), (0, None, 0), (None, 1, 1), (1, 1, 1)])
    assert (one.count, one.unread, one.difference.value) == (2, 2, 0.5)
    assert one.least is not None
    assert one.most is not None
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
    assert (lost.low98, lost.shown, lost.unread) == (few.low98, False, 60)


def test_values_by_hand():
    """Differences 2, 0, -1, 3 in groups of one: mean 1, error sqrt((1 + 1 + 4 + 4) / 12) = .913, t of 3 is 3.182."""
    one = value_change([-1, 0, 1, -2], [1, 0, 0, 1], list("abcd"))
    assert (one.count, one.before.value, one.after.value, one.p, one.shown) == (4, -0.5, 0.5, None, False)
    assert numbers(one.difference) == pytest.approx([1, 1 - 3.182 * 0.913, 1 + 3.182 * 0.913], abs=2e-3)


def test_lengths_by_hand():
    one = length_change([10, 20], [20, 20], ["S0", "S1"])
    assert (one.count, one.before.value, one.after.value) == (2, 15, 20)
    # 40 / 30, and 20 / 20 and 20 / 10 without one: error sqrt(1/2 ((1/3)^2 + (2/3)^2)) = .527; t is 12.706.
    assert numbers(one.difference) == pytest.approx([4 / 3, 0, 4 / 3 + 12.706 * (5 / 18) ** 0.5], abs=1e-3)


def test_kappa_is_of_any_number_of_levels_and_unweighted_where_they_have_no_order():
    """Four items that people grade 0, 1, 2 and 3, and a judge 0, 1, 2 and 2.

    Quadratic: the judge is off by 1 once. By chance, with its grades 0, 1, 2, 2 beside each of people's: (9 + 3 + 5 +
    15) / 4 = 8. Kappa is 1 - 1/8. Unweighted: one of four differs, by chance (3 + 3 + 2 + 4) / 4 = 3: 1 - 1/3.
    """
    panel = Panel.of([[0], [1], [2], [3]], range(4))
    changes = {
        weight: improvement([0, 1, 2, 2], [0, 1, 2, 3], panel, "aaaa", range(4), order="a", weight=weight).overall
        for weight in ("quadratic", "none")
    }
    assert {weight: change.before.value for weight, change in changes.items()} == pytest.approx(
        {"quadratic": 7 / 8, "none": 2 / 3}
    )
    assert {change.after.value for change in changes.values()} == {1.0}


def test_an_unread_level_without_order_is_at_worst_any_other_and_at_best_peoples():
    levels, soft = np.array([0, 1, np.nan]), np.eye(3)
    filled = [levels_at_worst(levels, soft, "aaa", "none", worst=worst).tolist() for worst in (True, False)]
    assert filled == [[0, 1, 0], [0, 1, 2]]
