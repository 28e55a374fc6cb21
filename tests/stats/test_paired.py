"""Differences of two runs: by hand, by flips of whole groups, and by their laws; swaps, Holm and discordant cases."""

import math
import random
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspy_proact.stats import Discordant, Estimate, Paired, discordant, holm, paired_difference, rounded_points
from dspy_proact.stats.paired import UNDECIDED, excludes_zero, swap_p

law = settings(deadline=None, max_examples=25)
STRATA = ["E", "C", "R"]
grades = st.sampled_from([0.0, 0.5, 1.0])
# One row is (a, b, scenario, stratum).
Rows = list[tuple[float, float, int, str]]
few_rows = st.lists(st.tuples(grades, grades, st.integers(0, 4), st.sampled_from(STRATA)), min_size=2, max_size=15)


def numbers(paired: Paired) -> list[float | None]:
    return [paired.difference.value, paired.difference.low, paired.difference.high, paired.detectable]


def singles(differences: Sequence[float]) -> Paired:
    """One pair in each scenario."""
    a = [max(0, -difference) for difference in differences]
    b = [max(0, difference) for difference in differences]
    return paired_difference(a, b, range(len(differences)))


# Worked by hand.


def test_unequal_scenarios_by_hand():
    # A: 1, 0; B: 1; C: .5. D = 1, 1, .5; n = 2, 1, 1: d = 2.5/4 = .625; r = -.25, .375, -.125; w = .5, .25, .25.
    # SE = sqrt(.0625/.5 + .140625/.75 + .015625/.75) / 4 = sqrt(1/3) / 4 = .144338.
    # q = .5, 1/12, 1/12: df = 1.8, t = 4.794881: .625 - .692082 = -.067082.
    paired = paired_difference([0, 0, 0, 0], [1, 0, 1, 0.5], list("AABC"))
    assert numbers(paired)[:3] == pytest.approx([0.625, -0.067082, 1], abs=1e-6)
    # T = 4.33 as it is. Turned: A: d = .125, r = -1.25, .875, .375, SE^2 = (3.125 + 1.0208 + .1875) / 16, T = .24;
    # B: d = .125, r = .75, -1.125, .375, SE^2 = (1.125 + 1.6875 + .1875) / 16, T = .29; C: d = .375, r = .25, .625,
    # -.875, SE^2 = (.125 + .5208 + 1.0208) / 16, T = 1.16. With their mirrors: 2 of 8.
    assert paired.p == 0.25


def test_macro_by_hand():
    # X: A 1, B 0; Y: A 0, B .5, C .5. d_X = 1/2, d_Y = 1/3, mean 5/12.
    # h = 1/2 in X, 1/3 in Y. A: (.5/2) / 2 = 1/8 by sqrt(1/2), less (1/3 / 3) / 2 = 1/18 by sqrt(2/3): .108735;
    # B: -1/8 and 1/36: -.142756; C: 1/36: .034021. SE^2 = .011823 + .020379 + .001157 = .033360, SE = .182647.
    paired = paired_difference([0] * 5, [1, 0, 0, 0.5, 0.5], list("ABABC"), list("XXYYY"), list("XY"))
    # Moments: A and B 1/8 + 1/24 - 1/16 - 1/72 = .090278 each, C 1/24 - 1/72 = .027778; A with B -1/16 - 1/72, with C
    # and B with C -1/72. df = .208333^2 / (2 (.090278^2 + .076389^2) + .027778^2 + 4 / 72^2) = 1.470588, t = 6.188116.
    assert numbers(paired)[:3] == pytest.approx([5 / 12, 5 / 12 - 6.188116 * 0.182647, 1], abs=1e-4)


@pytest.mark.parametrize(("tests", "t"), [(1, 2.131450), (3, 2.693739)], ids=["alone", "after Holm over three"])
@pytest.mark.parametrize("mirrored", [False, True])
def test_what_is_detected_with_80_and_with_50_percent_power_by_hand(tests: int, t: float, mirrored: bool):
    # D = 1 and fifteen 0: d = 1/16, r = 15/16 and -1/16, w = 1/16, so SE^2 = (225 + 15) / 256 * 16/15 / 256 = 1/256.
    # Means 4/16 and 5/16: base 9/32; m (1 - m) of both adds up to 103/256, so the scatter is 1/103. df = 15: t at
    # 1 - .05 / (2 tests) is given, t at .84 is 1.028533, at .50 it is 0.
    a, b = [*[0] * 12, *[1] * 4], [1, *[0] * 11, *[1] * 4]
    if mirrored:
        a, b = ([1 - score for score in scores] for scores in (a, b))
    paired = paired_difference(a, b, range(16), tests=tests)
    assert paired.base == pytest.approx(23 / 32 if mirrored else 9 / 32)
    for errors, result in ((t + 1.028533, paired.detectable), (t, paired.detectable_half)):
        assert result is not None
        raised = 9 / 32 + result
        assert result**2 == pytest.approx(errors**2 / 103 * (207 / 1024 + raised * (1 - raised)), abs=1e-6)


def test_what_would_leave_the_scale_is_not_told():
    # Two of sixteen rise and two fall: base 1/8; nothing of the scale lies so many standard errors away from it where p
    # is adjusted over a thousand million tests.
    rows = [1, 1, *[0] * 14], [0, 0, 1, 1, *[0] * 12]
    assert paired_difference(*rows, range(16)).detectable is not None
    assert paired_difference(*rows, range(16), tests=10**9).detectable is None


def rises(size: int, rising: int, largest: int = 1) -> Paired:
    """So many of the scenarios rise from 0 to 1; the first scenario is so large, and the others have a case each."""
    groups = [*[0] * (largest - 1), *range(size)]
    return paired_difference([0.0] * len(groups), [float(group < rising) for group in groups], groups)


@pytest.mark.parametrize(
    ("of", "is_known"),
    [
        ((15, 5), False),  # df is 14
        ((16, 5), True),  # df is 15
        ((40, 9, 60), False),  # one scenario has 60 of 99 cases: df is 2
        ((40, 7), False),  # the base, half of 7/40, is .0875
        ((40, 8), True),  # .1
    ],
)
def test_what_would_be_seen_is_not_told_of_few_degrees_of_freedom_or_near_an_end(of: tuple[int, ...], is_known: bool):
    paired = rises(*of)
    assert ((paired.detectable is not None), (paired.detectable_half is not None)) == (is_known, is_known)


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        # With one pair each, T rises with |sum|. Sum 2: only equal signs of the three that differ: 2 of 8.
        ([1, 0.5, 0.5, 0], 2 / 8),
        # Sum 4.5 of 4.5: 2 of 32.
        ([1, 1, 1, 1, 0.5], 2 / 32),
        # Sum 4: all alike (2) and all but one alike (12): 14 of 64.
        ([1, 1, 1, 1, 1, -1], 14 / 64),
        # All shift alike: T is infinite, as it is for the mirror only: 2 of 64.
        ([0.5] * 6, 2 / 64),
        # Only those that differ are flipped: 2 of 2^6, exactly, though 2^40 could not be taken.
        ([1] * 6 + [0] * 34, 2 / 64),
        # Sum 0: every flip is at least as far.
        ([1, -1, 0.5, -0.5], 1),
    ],
)
def test_all_flips_of_few_scenarios_by_hand(differences: list[float], p: float):
    assert singles(differences).p == p
    assert singles([-difference for difference in differences]).p == p


def test_random_flips_agree_with_all_of_them():
    # 14 differ: random flips. Of integer sums all 2^14 are easily counted; |sum| orders T, sizes being equal.
    halves = [2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1]
    sums = np.array(list(product((1, -1), repeat=14))) @ np.array(halves)
    exact = float(np.mean(np.abs(sums) >= abs(sum(halves))))
    assert singles([half / 2 for half in halves]).p == pytest.approx(exact, abs=4 * math.sqrt(exact / 9999))
    assert exact == pytest.approx(0.02686, abs=1e-5)
    # Swaps of a statistic likewise.
    table = [(max(0, -half), max(0, half), index) for index, half in enumerate(halves)]
    assert p(table) == pytest.approx(exact, abs=4 * math.sqrt(exact / 9999))
    assert p(table, seed=1) != p(table)


@pytest.mark.parametrize(
    ("difference", "points"), [(0.094, 9), (0.095, 10), (0.1049, 10), (0.0049, 1), (0.0001, 1), (1.3, 130)]
)
def test_a_detectable_difference_is_known_in_whole_points(difference: float, points: int):
    assert rounded_points(difference) == points


# Silence and ties.


def test_a_stratum_within_one_scenario_has_no_bounds_and_yet_a_p():
    a, b = [0.5] * 7, [1, 0.5, 0, 1, 1, 1, 0.5]
    macro = paired_difference(a, b, list("ABCDEFA"), list("XXXXXXY"), list("XY"))
    # X: 2 of 3 halves up net: (.5 - .5 + 1.5) / 6 = .25; Y: 0.
    assert macro.difference == Estimate(0.125, reason="one group in Y")
    assert (macro.detectable, macro.reason) == (None, None)
    assert macro.p is not None


@pytest.mark.parametrize("groups", [2, 3, 4, 5, 6])
def test_few_scenarios_carry_a_warning_and_cannot_be_significant(groups: int):
    paired = paired_difference([0.25] * groups, [1] + [0.5] * (groups - 1), range(groups))
    assert paired.difference.low is not None
    assert paired.difference.reason == ("fewer than 5 groups" if groups < 5 else None)
    assert paired.reason == (f"cannot be significant with {groups} groups" if groups < 6 else None)
    assert paired.p == 2 / 2**groups
    assert (paired.p > 0.05) == (groups < 6)


@pytest.mark.parametrize("scores", [(0.5, 1.0), (0.1, 0.3)])
def test_differences_that_cancel_in_every_scenario_are_no_shift(scores: tuple[float, float]):
    # +x and -x in each: every sum is 0, though pairs differ.
    a, b = [*scores] * 20, [*reversed(scores)] * 20
    paired = paired_difference(a, b, [k // 2 for k in range(40)])
    base = pytest.approx(sum(scores) / 2)
    assert paired == Paired(40, 20, Estimate(0, reason="all groups shift alike"), 1, None, base, None, None)


# Laws.


def flipped_by_definition(table: Rows) -> float:
    """Share of all flips at least as far as the data, straight from the formulas; None of the arrays of the room."""
    groups = sorted({row[2] for row in table})
    strata = sorted({row[3] for row in table})
    counts = {(g, p): sum(row[2:] == (g, p) for row in table) for g in groups for p in strata}
    sums = {(g, p): sum(row[1] - row[0] for row in table if row[2:] == (g, p)) for g in groups for p in strata}
    totals = {p: sum(counts[g, p] for g in groups) for p in strata}
    shares = {g: sum(counts[g, p] for p in strata) / len(table) for g in groups}

    def statistic(signs: dict[int, int]) -> tuple[float, float]:
        means = {p: sum(signs[g] * sums[g, p] for g in groups) / totals[p] for p in strata}
        mean = sum(means.values()) / len(strata)
        influence = {
            g: sum((signs[g] * sums[g, p] - counts[g, p] * means[p]) / totals[p] for p in strata) / len(strata)
            for g in groups
        }
        error = math.sqrt(sum(influence[g] ** 2 / (1 - shares[g]) for g in groups))
        if error < 1e-12:
            return (math.inf if abs(mean) > 1e-12 else 0), abs(mean)
        return abs(mean) / error, abs(mean)

    seen, shift = statistic(dict.fromkeys(groups, 1))
    flips = [statistic(dict(zip(groups, s, strict=True))) for s in product((1, -1), repeat=len(groups))]
    if math.isinf(seen):
        return sum(t == math.inf and other >= shift - 1e-9 for t, other in flips) / len(flips)
    return sum(t >= seen - 1e-9 * (1 + seen) for t, _ in flips) / len(flips)


@law
@given(few_rows.filter(lambda table: len({row[2] for row in table}) > 1))
def test_p_is_the_share_of_the_flips_by_definition(table: Rows):
    order = sorted({row[3] for row in table})
    a, b, groups, strata = zip(*table, strict=True)
    assert paired_difference(a, b, groups, strata, order).p == pytest.approx(flipped_by_definition(table))


# Swaps of any statistic.


def p(table: Sequence[tuple[int, int, int]], seed: int = 0) -> float:
    before, after, groups = (np.array(column, dtype=float) for column in zip(*table, strict=True))
    return swap_p(before, after, groups.tolist(), lambda sums: sums, seed)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        # Shifts 1, 1, 1: only all alike come to 3: 2 of 8.
        ([(0, 1, 0), (0, 1, 1), (0, 1, 2)], 2 / 8),
        # Shifts 2, 1, -1: 2 - 1 + 1 = 2 or farther: with the 2 up, sums 4, 2, 2, 0: 3; and the mirrors: 6 of 8.
        ([(0, 2, 0), (0, 1, 1), (1, 0, 2)], 6 / 8),
        # A scenario moves as a whole, and one that cancels does not move: 2 of 2.
        ([(0, 1, 0), (0, 1, 0), (0, 1, 1), (1, 0, 1)], 1),
        # Nothing moves: one swap, which is the data.
        ([(1, 1, 0), (2, 2, 1)], 1),
    ],
)
def test_swaps_of_few_scenarios_by_hand(table: list[tuple[int, int, int]], expected: float):
    assert p(table) == expected


# Several tests.


def test_four_tests_by_hand():
    # The worked example of Holm's procedure: .005 * 4, .01 * 3, then .03 * 2, and .04 * 1 is raised to it.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_a_test_without_p_counts_as_none():
    assert holm([0.02, None, 0.04]) == [pytest.approx(0.04), None, pytest.approx(0.04)]
    assert holm([0.6, 0.7]) == [1, 1]
    assert holm([]) == []


# Who passed.


def test_pairs_are_counted_by_who_passed():
    a, b = [True, True, True, False, False, False], [True, True, False, True, False, False]
    assert discordant(a, b) == Discordant(both=2, only_a=1, only_b=1, neither=2)


def test_where_test_and_interval_disagree_the_interval_says_that_nothing_is_claimed():
    """Seven scenarios of which a few decide: flips and t then differ now and then, in both directions."""
    different = set[bool]()
    for seed in range(150):
        draw = random.Random(seed)
        groups = [number // 4 for number in range(28)]
        shift = [draw.choice([0.0, 0.0, 0.25, 0.5]) for _ in range(7)]
        a = [draw.choice([0.0, 0.5]) for _ in groups]
        b = [score + shift[group] for score, group in zip(a, groups, strict=True)]
        result = paired_difference(a, b, groups)
        if result.p is not None and result.difference.low is not None:
            significant, outside = result.p <= 0.05, excludes_zero(result.difference)
            assert (UNDECIDED in (result.difference.reason or "")) is (significant is not outside)
            different |= {significant} if significant is not outside else set()
    assert different


def test_an_interval_of_the_full_scale_is_not_said_to_be_perhaps_too_narrow():
    """28 pairs of one group fall by .1, each of 12 alone rises by 1: the big group is most of the spread."""
    groups = [0] * 28 + list(range(1, 13))
    difference = paired_difference([1.0] * 28 + [0.0] * 12, [0.9] * 28 + [1.0] * 12, groups).difference
    assert (difference.low, difference.high, difference.reason) == (-1.0, 1.0, None)


@pytest.mark.parametrize(("rises", "within"), [(1_010, 0.02), (1_044, 0.003), (1_080, 0.0001)])
def test_from_two_thousand_scenarios_on_p_is_a_tail_of_the_normal_distribution(rises: int, within: float):
    # All shift by .5, which fits least: of 2^2000 flips those count of which at least as many, or as few, rise. Their
    # shares are .67, .052 and .0004.
    tail = sum(math.comb(2_000, number) for number in range(rises, 2_001)) / 2**1_999
    p = singles([0.5 if number < rises else -0.5 for number in range(2_000)] + [0.0] * 200).p
    assert p is not None
    assert abs(p - tail) < within


def test_a_hundred_thousand_scenarios_are_compared_without_a_matrix_of_their_flips():
    # Random flips of them would be a matrix of 8 GB. Half rise and half fall: p is 1; all rise: the smallest there is.
    assert round(singles([0.5, -0.5] * 50_000).p or 0, 9) == 1
    assert singles([0.5] * 100_000).p == 1e-4


def test_a_few_heavy_scenarios_among_thousands_are_flipped_one_by_one(monkeypatch: pytest.MonkeyPatch):
    # Three of 3,000 have 1,001 pairs each, and so nearly all of the weight: what they do decides, and no normal tail.
    groups = [*range(3_000), *(number for number in range(3) for _ in range(1_000))]
    b = [0.5 if group < 3 or group % 2 else 0.0 for group in groups]
    heavy = paired_difference([0.25] * len(groups), b, groups)
    monkeypatch.setattr("dspy_proact.stats.paired.MANY_GROUPS", math.inf)
    assert heavy == paired_difference([0.25] * len(groups), b, groups)
