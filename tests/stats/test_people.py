"""One person beside the others and the judge: the human reference, standings, the alternative annotator test."""

import random
from collections.abc import Sequence

import pytest
from builders.studies import LABELS, PHASES, numbers

from dspy_proact.report.ratings import load_ratings
from dspy_proact.stats import (
    AltTest,
    Estimate,
    Figure,
    HumanReference,
    Judged,
    Panel,
    alt_test,
    human_reference,
    standings,
)
from dspy_proact.stats.people import attainable_kappa

FAIL, PARTIAL, PASS = LABELS
# One row is (ratings by the first so many people, the judge's grade).
Rows = Sequence[tuple[Sequence[str], str]]
THREE: Rows = [([FAIL, FAIL], FAIL), ([FAIL, PASS], PASS), ([PASS, PASS, PARTIAL], PASS)]
SHARES = (0.45, 0.32, 0.23)
UNPAIRED = Estimate(None, reason="no item with two ratings")


def beside(table: Rows, groups: Sequence[int] | None = None, people: Sequence[Sequence[str]] | None = None) -> Judged:
    ratings, judge = [list(ratings) for ratings, _ in table], [grade for _, grade in table]
    return Judged.of(Panel.of(ratings, LABELS, people), judge, LABELS, groups or range(len(table)))


def rated_by_all(table: Rows) -> Judged:
    return beside(table, people=["ABCD"[: len(ratings)] for ratings, _ in table])


def published(stratum: str | None, *, known: bool = True) -> Judged:
    of = load_ratings("published")
    items = [item for item in of.items if stratum in {None, item.stratum} and of.by_item.get(item.key)]
    ratings = [of.by_item[item.key] for item in items]
    raters = [[rating.rater for rating in row] for row in ratings] if known else None
    panel = Panel.of([[rating.grade for rating in row] for row in ratings], LABELS, raters)
    return Judged.of(panel, [item.judged[""] for item in items], LABELS, [item.key for item in items])


def estimates(one: HumanReference) -> list[Estimate]:
    return [part for part in vars(one).values() if isinstance(part, Estimate)]


# The human reference.


def test_three_items_by_hand():
    # FF: H_FF 1. FP: H_FP and H_PF 1/2. PP-Partial: H_PP, H_Pa,P and H_P,Pa 1/3. Rows and columns 3/2, 1/3, 7/6.
    # Observed 3 (1 + 1/6) = 63/18 of 2 (7/4 + 1/8 + 7/72) = 71/18: kappa 8/71.
    # J: J_FF 1; J_FP, J_PP 1/2; J_Pa,P 1/3, J_PP 2/3. Columns 1, 0, 2: 3 (1/2 + 1/12) = 21/12 of
    # 3 + 1/12 + 1/6 + 7/6 = 53/12: kappa 32/53.
    one = human_reference(beside(THREE))
    assert (one.items, one.ratings) == (3, 7)
    assert one.one_human.value == pytest.approx(8 / 71)
    assert one.judge.value == pytest.approx(32 / 53)
    assert one.best_attainable.value == attainable_kappa(8 / 71, (3 / 7, 1 / 7, 3 / 7))
    assert one.exact_one_human.value == pytest.approx((1 + 0 + 1 / 3) / 3)
    assert one.exact_judge.value == pytest.approx((1 + 1 / 2 + 2 / 3) / 3)
    # Without FF: H 1 - (7/3) / (13/9) = -8/13, J 1 - (7/6) / (7/6) = 0: 8/13. Without FP: H 1 - (1/3) / (29/18) =
    # 23/29, J 1 - (1/6) / (11/6) = 10/11: .115988. Without the third: H 1 - 2 / 1.5 = -1/3, J 1 - 1/2: 5/6.
    # SE^2 = 2/3 ((.615385 - .491098)^2 + (.115988 - .491098)^2 + (.833333 - .491098)^2) = .182187; t(2) = 4.302653.
    difference = 32 / 53 - 8 / 71
    assert numbers(one.difference) == pytest.approx([difference, difference - 1.836524, 2], abs=2e-5)
    assert one.one_human.low == -1
    assert numbers(one.best_attainable)[1:] == [0, 1]
    few = "fewer than 5 groups; fewer than 30 items: the interval's lower end is optimistic"
    assert one.difference.reason == few


def test_another_weight_by_hand():
    # H: observed 3 (1 + 2/3) = 5 of 2 (1/2 + 7/4 + 7/18) = 95/18. J: 3 (1/2 + 1/3) = 5/2 of 3 + 1/3 + 2/3 + 7/6.
    one = human_reference(beside(THREE), "none")
    assert [one.one_human.value, one.judge.value] == pytest.approx([1 - 5 / (95 / 18), 1 - 2.5 / (31 / 6)])
    assert one.best_attainable == Estimate(None, reason="known for quadratic weights and three labels only")


# Columns: items, one human, judge, difference with bounds, best attainable, exact.
PUBLISHED = {
    "EMERGENT": (17, 0.12, 0.32, (0.21, -0.12, 0.53), 0.31, (0.50, 0.58)),
    "CRITICAL": (14, 0.18, 0.41, (0.23, 0.03, 0.43), 0.38, (0.56, 0.54)),
    "RECOVERY": (19, 0.21, 0.57, (0.36, 0.17, 0.55), 0.42, (0.46, 0.56)),
    None: (50, 0.31, 0.46, (0.15, -0.01, 0.31), 0.52, (0.50, 0.56)),
}


@pytest.mark.parametrize("stratum", [*PHASES, None])
def test_the_published_study(stratum: str | None):
    one = human_reference(published(stratum, known=False))
    count, human, judge, difference, best, exact = PUBLISHED[stratum]
    assert one.items == count
    values = [one.one_human.value, one.judge.value, one.best_attainable.value]
    assert values == pytest.approx([human, judge, best], abs=0.005)
    assert numbers(one.difference) == pytest.approx(difference, abs=0.005)
    assert (one.exact_one_human.value, one.exact_judge.value) == pytest.approx(exact, abs=0.005)


@pytest.mark.parametrize(
    ("items", "reason"), [(29, "fewer than 30 items: the interval's lower end is optimistic"), (30, None)]
)
def test_of_few_items_the_difference_bears_a_mark(items: int, reason: str | None):
    # Every other item divides its raters; the judge fails every third.
    ratings = [[FAIL, PASS], [PASS, PASS], [FAIL, PASS], [FAIL, FAIL]]
    table = [(ratings[index % 4], PASS if index % 3 else FAIL) for index in range(items)]
    assert human_reference(beside(table)).difference.reason == reason


@pytest.mark.parametrize("table", [[], [([PASS], PASS)]])
def test_nobody_beside_another_leaves_no_value(table: Rows):
    one = human_reference(beside(table))
    assert (one.items, one.ratings) == (0, 0)
    assert estimates(one) == [UNPAIRED] * 6


@pytest.mark.parametrize(("agreement", "best"), [(0.15, 0.36), (0.28, 0.49), (0.36, 0.55), (0.68, 0.80)])
def test_the_best_judge_with_three_grades_of_the_facts(agreement: float, best: float):
    # Below the root of the agreement: .39, .53, .60, .82.
    assert attainable_kappa(agreement, SHARES) == pytest.approx(best, abs=0.02)
    assert attainable_kappa(agreement, SHARES) < agreement**0.5


def test_a_grade_that_nobody_gives_is_no_hindrance():
    assert 0.3 < attainable_kappa(0.3, (0, 0.5, 0.5)) < 0.3**0.5


# The alternative annotator test.

# All agree: a tie for everybody.
SAME = ([FAIL, FAIL, FAIL], FAIL)
# A is alone. For A the judge is nearer to the others: 0 < 4. B's others are 0 and 2 steps away, from B and the judge.
ALONE = ([FAIL, PASS, PASS], PASS)
# The judge is alone: everybody is nearer than the judge.
WRONG = ([PASS, PASS, PASS], PARTIAL)


def judged(table: Rows, epsilon: float = 0.1) -> AltTest:
    return alt_test(rated_by_all(table), epsilon=epsilon)


def test_a_judge_like_everybody_wins_over_everybody_and_one_alone_over_nobody():
    one, other = judged([SAME] * 30), judged([WRONG] * 30)
    assert (one.winning_rate, one.passed) == (Figure(1.0), True)
    assert [one.advantage.value, one.ties.value] == [1, 1]
    # Without any worth in not asking a person, who is as good: no win.
    assert judged([SAME] * 30, epsilon=0).winning_rate == Figure(0.0)
    assert (other.winning_rate, other.passed) == (Figure(0.0), False)
    assert [other.advantage.value, other.ties.value] == [0, 0]


def test_a_winning_rate_by_hand():
    # A: at 28 items the judge is nearer, at 4 A is: lead -24/32 = -.75, s^2 = (32 - 32 * .5625) / 31 = .451613,
    # t = -.85 / (.672022 / 5.656854) = -7.2. B and C: lead 4/32 = .125: above epsilon = .1.
    one = judged([ALONE] * 28 + [WRONG] * 4)
    assert (one.winning_rate, one.passed) == (Figure(1 / 3), False)
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
    # C rates 29 items only: two people are too few.
    assert " 2 raters" in str(judged([SAME] * 29 + [([FAIL, FAIL], FAIL)]).winning_rate.reason)
    # D rates 29 items: three are tested.
    assert judged([([FAIL] * 4, FAIL)] * 29 + [SAME]).winning_rate == Figure(1.0)


@pytest.mark.parametrize("stratum", [*PHASES, None])
def test_the_published_study_is_too_small(stratum: str | None):
    one = alt_test(published(stratum), epsilon=0.1)
    assert one.winning_rate.value is None
    if stratum is None:
        assert (one.advantage.value, one.ties.value) == pytest.approx((0.834, 0.603), abs=5e-4)


# Standings.


def test_one_person_by_hand():
    # Ann: F, F, P against (F), (F 1/2, P 1/2), (P): observed 3 * 1/2 of 1.5 * 1 + 1.5 * 2: 1 - 1.5 / 4.5 = 2/3.
    # Against the judge's F, P, P: table FF 1, FP 1, PP 1: 3 * 1 of 1 * 1 + 2 * 2 = 5: 2/5.
    table = [([FAIL, FAIL], FAIL), ([FAIL, FAIL, PASS], PASS), ([PASS, PASS], PASS), ([PASS], FAIL)]
    people = [["ann", "bob"], ["ann", "bob", "cleo"], ["ann", "bob"], ["cleo"]]
    ann, bob, cleo = standings(beside(table, people=people))
    assert (ann.rater, ann.ratings, ann.shared) == ("ann", 3, 3)
    assert ann.against_others.value == pytest.approx(2 / 3)
    assert ann.against_judge.value == pytest.approx(2 / 5)
    assert (bob.against_others, bob.against_judge) == (ann.against_others, ann.against_judge)
    # Cleo: P, P against P, F of the judge: as far apart as chance. Of the others she saw two Fs: likewise.
    assert (cleo.ratings, cleo.shared) == (2, 1)
    assert cleo.against_others == Estimate(0, reason="depends on one group")
    assert cleo.against_judge.value == 0


def test_within_strata_a_judge_that_only_knows_each_stratums_level_agrees_with_nobody():
    """Three strata, each graded mostly alike: pooled, a constant for each seems to agree better than people do."""
    draw = random.Random(5)
    strata = [stratum for stratum in range(3) for _ in range(60)]
    usual = {0: 2, 1: 1, 2: 0}
    ratings = [[usual[s] if draw.random() < 0.6 else draw.randrange(3) for _ in range(3)] for s in strata]
    raters = [[f"r{(number + k) % 8}" for k in range(3)] for number in range(180)]
    groups = [number // 6 for number in range(180)]
    judged = Judged.of(Panel.of(ratings, [0, 1, 2], raters), [usual[s] for s in strata], [0, 1, 2], groups)
    pooled, within = human_reference(judged), human_reference(judged, strata=strata)
    assert pooled.judge.value > 0.5
    assert pooled.low98 > 0  # a claim, of a judge that reads nothing
    assert within.judge.value == pytest.approx(0, abs=1e-9)
    assert within.low98 <= 0
    one = human_reference(judged, strata=[0] * 180)
    assert (one.one_human, one.judge, one.difference) == (pooled.one_human, pooled.judge, pooled.difference)
