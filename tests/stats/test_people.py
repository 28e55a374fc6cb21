"""Each person beside the others: standings and the alternative annotator test."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from study import LABELS, PHASES, study

from dspy_proact.stats import AltTest, Estimate, Figure, Standing, alt_test, standings
from dspy_proact.stats.people import Advantage

law = settings(deadline=None, max_examples=25)
PEOPLE = ["A", "B", "C"]
grades = st.sampled_from(LABELS)
# One row is (ratings by the first so many people, the judge's grade).
Rows = Sequence[tuple[Sequence[str], str]]
rows = st.lists(st.tuples(st.lists(grades, max_size=4), grades), max_size=30)
FAIL, PARTIAL, PASS = LABELS
# All agree: a tie for everybody.
SAME = ([FAIL, FAIL, FAIL], FAIL)
# A is alone. For A the judge is nearer to the others: 0 < 4. B's others are 0 and 2 steps away, from B and the judge.
ALONE = ([FAIL, PASS, PASS], PASS)
# The judge is alone: everybody is nearer than the judge.
WRONG = ([PASS, PASS, PASS], PARTIAL)


def judged(table: Rows, epsilon: float = 0.1) -> AltTest:
    people = [["A", "B", "C", "D"][: len(ratings)] for ratings, _ in table]
    ratings, judge = [ratings for ratings, _ in table], [grade for _, grade in table]
    return alt_test(ratings, people, judge, LABELS, range(len(table)), epsilon=epsilon)


def test_a_judge_like_everybody_wins_over_everybody():
    one = judged([SAME] * 30)
    assert (one.winning_rate, one.passed) == (Figure(1.0), True)
    assert [one.advantage.value, one.ties.value] == [1, 1]
    assert one.raters == tuple(Advantage(name, 30, 1, 1, True) for name in PEOPLE)
    # Without any worth in not asking a person, who is as good: no win.
    assert judged([SAME] * 30, epsilon=0).winning_rate == Figure(0.0)


def test_a_judge_that_is_always_alone_wins_over_nobody():
    one = judged([WRONG] * 30)
    assert (one.winning_rate, one.passed) == (Figure(0.0), False)
    assert [one.advantage.value, one.ties.value] == [0, 0]


def test_a_winning_rate_by_hand():
    # A: at 28 items the judge is nearer, at 4 A is: lead -24/32 = -.75, s^2 = (32 - 32 * .5625) / 31 = .451613,
    # t = -.85 / (.672022 / 5.656854) = -7.2. B and C: lead 4/32 = .125: above epsilon = .1.
    one = judged([ALONE] * 28 + [WRONG] * 4)
    assert one.winning_rate == Figure(1 / 3)
    assert one.passed is False
    assert [(part.advantage, part.ties, part.won) for part in one.raters] == [
        (28 / 32, 0, True),
        (28 / 32, 28 / 32, False),
        (28 / 32, 28 / 32, False),
    ]
    assert one.advantage.value == pytest.approx(28 / 32)
    assert one.ties.value == pytest.approx((0 + 28 / 32 + 28 / 32) / 3)


def test_wins_over_others_carry_a_win_over_one():
    # A: at 4 of 32 items the judge is nearer: lead -.125, s^2 = (4 - 32 * .015625) / 31 = .112903, SE = .059399.
    # Epsilon .01: t = -.135 / .059399 = -2.27. p is between 1 % (t = -2.45) and 2 % (-2.14): more than 5 % / (3 * 11/6)
    # = .9 %, which the smallest of three p values needs, and less than 2.7 %, which the largest needs. B and C, always
    # tied with the judge, have p = 0.
    table = [ALONE] * 4 + [SAME] * 28
    assert judged(table, epsilon=0.01).winning_rate == Figure(1.0)
    # Epsilon 0: B and C are not won over, so that A would need .9 %, and has 2.2 % (t = -2.10).
    assert judged(table, epsilon=0).winning_rate == Figure(0.0)


def test_people_with_fewer_than_thirty_items_are_not_tested():
    refused = judged([SAME] * 29)
    reason = "not enough ratings for the alt-test: no raters with 30 items that others rated too (at least 3 needed)"
    assert (refused.winning_rate, refused.passed) == (Figure(None, reason), None)
    assert [refused.advantage.value, refused.ties.value] == [1, 1]
    assert [part.won for part in refused.raters] == [None] * 3
    # C rates 29 items only: two people are too few.
    two = judged([SAME] * 29 + [([FAIL, FAIL], FAIL)])
    assert two.winning_rate.value is None
    assert " 2 raters" in str(two.winning_rate.reason)
    # D rates 29 items: three are tested, D is told about.
    four = judged([([FAIL] * 4, FAIL)] * 29 + [SAME])
    assert four.winning_rate == Figure(1.0)
    assert [part.won for part in four.raters] == [True, True, True, None]


@pytest.mark.parametrize("stratum", [*PHASES, None])
def test_the_published_study_is_too_small(stratum: str | None, data: Path):
    items = study(data).of(stratum)
    one = alt_test(items.ratings, items.raters, items.judge, LABELS, items.keys, epsilon=0.1)
    assert one.winning_rate.value is None
    assert all(part.items <= 17 for part in one.raters)
    if stratum is None:
        assert (one.advantage.value, one.ties.value) == pytest.approx((0.834, 0.603), abs=5e-4)
        assert (len(one.raters), min(part.items for part in one.raters)) == (16, 9)


@law
@given(rows)
def test_ties_are_part_of_the_advantage_and_both_are_shares(table: Rows):
    one = judged(table)
    for part in one.raters:
        assert 0 <= part.ties <= part.advantage <= 1
    if one.advantage.value is not None:
        mean = sum(part.advantage for part in one.raters) / len(one.raters)
        assert one.advantage.value == pytest.approx(mean)


# Standings.


def test_one_person_by_hand():
    # Ann: F, F, P against (F), (F 1/2, P 1/2), (P): observed 3 * 1/2 of 1.5 * 1 + 1.5 * 2: 1 - 1.5 / 4.5 = 2/3.
    # Against the judge's F, P, P: table FF 1, FP 1, PP 1: 3 * 1 of 1 * 1 + 2 * 2 = 5: 2/5.
    ann, bob, cleo = standings(
        [[FAIL, FAIL], [FAIL, FAIL, PASS], [PASS, PASS], [PASS]],
        [["ann", "bob"], ["ann", "bob", "cleo"], ["ann", "bob"], ["cleo"]],
        [FAIL, PASS, PASS, FAIL],
        LABELS,
        [0, 1, 2, 3],
    )
    assert (ann.rater, ann.ratings, ann.shared) == ("ann", 3, 3)
    assert ann.against_others.value == pytest.approx(2 / 3)
    assert ann.against_judge.value == pytest.approx(2 / 5)
    assert (bob.against_others, bob.against_judge) == (ann.against_others, ann.against_judge)
    # Cleo: P, P against P, F of the judge: as far apart as chance. Of the others she saw two Fs: likewise.
    assert (cleo.ratings, cleo.shared) == (2, 1)
    assert cleo.against_others == Estimate(0, reason="depends on one group")
    assert cleo.against_judge.value == 0


def test_a_person_alone_with_equal_gradings_has_no_kappa():
    one = standings([[PASS]] * 6, [["ann"]] * 6, [PASS] * 6, LABELS, range(6))
    others = Estimate(None, reason="no item that others rated too")
    equal = Estimate(None, reason="all gradings equal")
    assert one == [Standing("ann", 6, 0, others, equal)]
    assert standings([], [], [], LABELS, []) == []
    assert standings([[]], [[]], [PASS], LABELS, [0]) == []
