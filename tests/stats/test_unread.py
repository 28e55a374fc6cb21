"""Verdicts that could not be read: a claim must hold with them at their worst."""

from collections.abc import Sequence

import numpy as np
import pytest
from dspy_proact.stats.unread import levels_at_worst
from support.compiles import SimulatedJudges, simulate_compile

from dspy_proact.stats import Improvement, improvement, improvement_shown

SOFT = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]]


def test_the_unread_speak_against_the_second_judge_by_hand():
    # Three items are read, both judges as people: kappa 1, so that chance adds nothing. The fourth, 0 of people, is 4
    # from level 2 and 0 from 0.
    before, after = levels_at_worst([0, 1, 2, None], [0, 1, 2, None], SOFT, "EEEE")
    assert before.tolist() == [0, 1, 2, 0]
    assert after.tolist() == [0, 1, 2, 2]


def test_a_judge_that_is_no_better_than_chance_is_hurt_by_what_is_rarest_by_hand():
    # Read: 0, 0, 0 of 0, 1, 2, kappa 0. The mean label of the four is (2, 1, 1) / 4: the disagreement with it of
    # level 0 is 1/4 + 1 = 1.25, of 1 is 2/4 + 1/4 = .75, of 2 is 2 + 1/4 = 2.25. That of the fourth item is 0, 1, 4;
    # less chance -1.25, .25, 1.75.
    before, after = levels_at_worst([0, 0, 0, None], [0, 0, 0, None], SOFT, "EEEE")
    assert (before[3], after[3]) == (0, 2)
    # An item whose people are evenly 0 and 1 is .5, .5, 2.5 from the levels, less chance: mean (1.5, 1.5, 1) / 4, so
    # 1.375, .625, 1.875: -.875, -.125, .625.
    before, after = levels_at_worst([0, 0, 0, None], [0, 0, 0, None], [*SOFT[:3], [0.5, 0.5, 0]], "EEEE")
    assert (before[3], after[3]) == (0, 2)


def test_of_a_stratum_in_which_nothing_was_read_the_worst_is_farthest_from_its_labels():
    before, after = levels_at_worst([None] * 2, [None] * 2, [[1, 0, 0], [0, 0, 1]], "EE")
    assert (before.tolist(), after.tolist()) == ([0, 2], [2, 0])


@pytest.mark.parametrize("levels", [[0, 1], [0, 1, 3]])
def test_levels_that_do_not_fit_are_refused(levels: list[int]):
    with pytest.raises(ValueError, match="one level"):
        levels_at_worst(levels, [0, 1, 2], SOFT[:3], "EEE")


def study(unread: Sequence[int]) -> Improvement:
    """72 items of 12 groups that people fail or pass in turn; before errs at every fifth, after is right or unread."""
    truth = [2 * (place % 2) for place in range(72)]
    before = [2 - level if place % 5 == 0 else level for place, level in enumerate(truth)]
    after = [None if place in unread else level for place, level in enumerate(truth)]
    soft = [[1 - level // 2, 0, level // 2] for level in truth]
    return improvement(before, after, soft, ["E"] * 72, [place // 6 for place in range(72)], order=["E"]).overall


def test_what_is_read_of_all_is_claimed_as_before():
    one = study(())
    assert (one.shown, one.unread, one.low98_unread) == (True, 0, None)


def test_one_unread_verdict_does_not_forbid_a_large_gain():
    one = study([7])
    assert (one.shown, one.labels, one.unread) == (True, 71, 1)
    assert one.low98 is not None
    assert one.low98_unread is not None
    assert 0 < one.low98_unread < one.low98


def test_a_gain_that_does_not_bear_the_unread_is_not_claimed():
    one = study(range(1, 72, 7))
    assert one.low98 is not None
    assert one.low98 > 0  # of what was read
    assert (one.shown, one.unread) == (False, 11)
    assert one.reason == "no improvement shown: not with the 11 unread at their worst"


def test_what_takes_a_claim_back_leaves_it_said_which_strata_are_left_out():
    # The study above, and a stratum that all people pass.
    truth, alike = [2 * (place % 2) for place in range(72)], [2] * 12
    before = [2 - level if place % 5 == 0 else level for place, level in enumerate(truth)] + alike
    after = [None if place % 7 == 1 else level for place, level in enumerate(truth)] + alike
    soft = [[1 - level // 2, 0, level // 2] for level in truth + alike]
    groups = [place // 6 for place in range(72)] + list(range(12))
    one = improvement(before, after, soft, ["E"] * 72 + ["C"] * 12, groups, order="EC").overall
    assert one.note == "without C: all items graded alike"
    assert one.reason == f"no improvement shown: not with the 11 unread at their worst; {one.note}"


@pytest.mark.parametrize("unread", [0.0, 0.2])
def test_verdicts_that_are_unread_where_the_judge_errs_make_no_claim(unread: float):
    """Ten candidates worth what the start is, 200 labels: of 60 compiles 20 % unread made 17 false claims before."""
    judges = SimulatedJudges(rater=0.8, start=0.8)
    drawn = [simulate_compile(np.random.default_rng(seed), 200, 25, judges, unread) for seed in range(60)]
    shown = [improvement_shown(x.before, x.after, x.soft, x.strata, x.groups, order="ABC") for x in drawn]
    assert sum(shown) <= 3
    assert np.mean([np.isnan(x.after).mean() for x in drawn]) == pytest.approx(unread, abs=0.02)


def test_whether_it_is_shown_is_what_the_whole_says():
    drawn = [
        simulate_compile(np.random.default_rng(seed), 120, 20, SimulatedJudges(0.8, 0.5, better), unread)
        for seed, better in enumerate((0.95, 0.8, 0.5))
        for unread in (0.0, 0.03)
    ]
    told = [(x.before, x.after, x.soft, x.strata, x.groups) for x in drawn]
    whole = [improvement(*each, order="ABC").overall.shown for each in told]
    assert whole == [improvement_shown(*each, order="ABC") for each in told]
    assert set(whole) == {True, False}
