from pathlib import Path

import numpy as np
import pytest
from dspy_proact.stats.human_reference import attainable_kappa
from hypothesis import given, settings
from hypothesis import strategies as st
from study import LABELS, PHASES, study
from support.panels import PanelDesign, simulate_panel

from dspy_proact.stats import Estimate, HumanReference, Weight, human_reference, kappa

law = settings(deadline=None, max_examples=25)
WEIGHTS: list[Weight] = ["none", "linear", "quadratic"]
weights = st.sampled_from(WEIGHTS)
grades = st.sampled_from(LABELS)
# One row is (people's ratings, the judge's grade, scenario).
Rows = list[tuple[list[str], str, int]]
rows = st.lists(st.tuples(st.lists(grades, max_size=4), grades, st.integers(0, 13)), max_size=20)
THREE: Rows = [(["FAIL", "FAIL"], "FAIL", 0), (["FAIL", "PASS"], "PASS", 1), (["PASS", "PASS", "PARTIAL"], "PASS", 2)]
SHARES = (0.45, 0.32, 0.23)


def reference(table: Rows, weight: Weight = "quadratic") -> HumanReference:
    ratings, judge, groups = ([row[column] for row in table] for column in range(3))
    return human_reference(ratings, judge, LABELS, groups, weight)  # pyright: ignore[reportArgumentType]


def estimates(one: HumanReference) -> list[Estimate]:
    return [part for part in vars(one).values() if isinstance(part, Estimate)]


def numbers(one: Estimate) -> list[float | None]:
    return [one.value, one.low, one.high]


def test_three_items_by_hand():
    # FF: H_FF 1. FP: H_FP and H_PF 1/2. PP-Partial: H_PP, H_Pa,P and H_P,Pa 1/3. Rows and columns 3/2, 1/3, 7/6.
    # Observed 3 (1 + 1/6) = 63/18 of 2 (7/4 + 1/8 + 7/72) = 71/18: kappa 8/71.
    # J: J_FF 1; J_FP, J_PP 1/2; J_Pa,P 1/3, J_PP 2/3. Columns 1, 0, 2: 3 (1/2 + 1/12) = 21/12 of
    # 3 + 1/12 + 1/6 + 7/6 = 53/12: kappa 32/53.
    one = reference(THREE)
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
    assert (
        one.difference.reason
        == "too few groups: very wide; fewer than 30 items: the interval's lower end is optimistic"
    )


@pytest.mark.parametrize(
    ("weight", "human", "judge"),
    [
        # H: observed 3 (1 + 2/3) = 5 of 2 (1/2 + 7/4 + 7/18) = 95/18. J: 3 (1/2 + 1/3) = 5/2 of 3 + 1/3 + 2/3 + 7/6.
        ("none", 1 - 5 / (95 / 18), 1 - 2.5 / (31 / 6)),
        # H: 3 (1 + 1/3) = 4 of 2 (1/4 + 7/4 + 7/36) = 79/18. J: 3 (1/2 + 1/6) = 2 of 3 + 1/6 + 1/3 + 7/6.
        ("linear", 1 - 4 / (79 / 18), 1 - 2 / (14 / 3)),
    ],
)
def test_other_weights_by_hand(weight: Weight, human: float, judge: float):
    one = reference(THREE, weight)
    assert [one.one_human.value, one.judge.value] == pytest.approx([human, judge])
    assert one.best_attainable == Estimate(None, reason="known for quadratic weights and three labels only")


# Columns: items, one human, judge, difference with bounds, best attainable, exact.
PUBLISHED = {
    "EMERGENT": (17, 0.12, 0.32, (0.21, -0.12, 0.53), 0.31, (0.50, 0.58)),
    "CRITICAL": (14, 0.18, 0.41, (0.23, 0.03, 0.43), 0.38, (0.56, 0.54)),
    "RECOVERY": (19, 0.21, 0.57, (0.36, 0.17, 0.55), 0.42, (0.46, 0.56)),
    None: (50, 0.31, 0.46, (0.15, -0.01, 0.31), 0.52, (0.50, 0.56)),
}


@pytest.mark.parametrize("stratum", [*PHASES, None])
def test_the_published_study(stratum: str | None, data: Path):
    items = study(data).of(stratum)
    one = human_reference(items.ratings, items.judge, LABELS, items.keys)
    count, human, judge, difference, best, exact = PUBLISHED[stratum]
    assert one.items == count
    assert [one.one_human.value, one.judge.value, one.best_attainable.value] == pytest.approx(
        [human, judge, best], abs=0.005
    )
    assert numbers(one.difference) == pytest.approx(difference, abs=0.005)
    assert (one.exact_one_human.value, one.exact_judge.value) == pytest.approx(exact, abs=0.005)


def test_other_raters_move_no_value_and_widen_the_published_intervals(data: Path):
    items = study(data).of("CRITICAL")
    these = human_reference(items.ratings, items.judge, LABELS, items.groups)
    others = human_reference(items.ratings, items.judge, LABELS, items.groups, raters=items.raters)
    for one, other in zip(estimates(these), estimates(others), strict=True):
        assert other.value == one.value
        assert other.low is not None
        assert one.low is not None
        assert other.low <= one.low + 1e-12
    assert others.judge.low is not None
    assert others.judge.low < (these.judge.low or 0) - 0.01


def varied(items: int) -> Rows:
    """Every other item divides its raters; the judge fails every third."""
    given = [["FAIL", "PASS"], ["PASS", "PASS"], ["FAIL", "PASS"], ["FAIL", "FAIL"]]
    return [(given[place % 4], "PASS" if place % 3 else "FAIL", place) for place in range(items)]


def test_the_best_judge_has_the_interval_that_peoples_kappa_lets_it_reach():
    given = [["FAIL", "FAIL"], ["PASS", "PASS"], ["PARTIAL", "PARTIAL"], ["FAIL", "PARTIAL"], ["PASS", "FAIL"]]
    one = reference([(given[place % 5], "FAIL", place // 3) for place in range(60)])
    shares = (24 / 60, 18 / 60, 18 / 60)  # of 120 ratings, 2 + 1 + 1, 2 + 1 and 2 + 1 of every ten
    ends = [end and attainable_kappa(end, shares) for end in numbers(one.one_human)]
    assert numbers(one.best_attainable) == pytest.approx(ends)
    assert None not in ends


@pytest.mark.parametrize(
    ("items", "reason"), [(29, "fewer than 30 items: the interval's lower end is optimistic"), (30, None)]
)
def test_of_few_items_the_difference_bears_a_mark(items: int, reason: str | None):
    one = reference(varied(items))
    assert one.difference.reason == reason


@pytest.mark.parametrize(("raters", "told"), [("abcd", None), ("abc", "for these 3 raters only")])
def test_from_four_raters_on_an_interval_speaks_of_others(raters: str, told: str | None):
    ratings = [["FAIL", "PASS"], ["PASS", "PASS"], ["FAIL", "FAIL"]] * 10
    people = [[raters[place % len(raters)], raters[(place + 1) % len(raters)]] for place in range(30)]
    one = human_reference(ratings, ["PASS", "FAIL"] * 15, LABELS, range(30), raters=people)
    assert [one.one_human.reason, one.judge.reason, one.exact_judge.reason] == [told] * 3


# Silence and ties.


@pytest.mark.parametrize("table", [[], [(["PASS"], "PASS", 0), ([], "FAIL", 1)]])
def test_nobody_beside_another_leaves_no_value(table: Rows):
    one = reference(table)
    assert (one.items, one.ratings) == (0, 0)
    assert estimates(one) == [Estimate(None, reason="no item with two ratings")] * 6


def test_equal_gradings_leave_no_kappa():
    one = reference([(["PASS"] * 3, "PASS", place) for place in range(12)])
    silent = Estimate(None, reason="all gradings equal")
    assert [one.one_human, one.judge, one.difference, one.best_attainable] == [silent] * 4
    assert (one.exact_one_human.value, one.exact_judge.value) == (1, 1)


# Laws.


@law
@given(st.lists(st.tuples(grades, grades), min_size=1, max_size=20), weights)
def test_a_judge_who_repeats_one_of_two_people_agrees_halfway_to_perfectly(
    pairs: list[tuple[str, str]], weight: Weight
):
    """Each pair twice, so that the judge repeats either: half of what J counts is agreement with oneself."""
    one = reference([([a, b], judge, 0) for a, b in pairs for judge in (a, b)], weight)
    if one.one_human.value is not None:
        assert one.judge.value == pytest.approx((1 + one.one_human.value) / 2)


# The best attainable.


@pytest.mark.parametrize(("agreement", "best"), [(0.15, 0.36), (0.28, 0.49), (0.36, 0.55), (0.68, 0.80)])
def test_the_best_judge_with_three_grades_of_the_facts(agreement: float, best: float):
    # Below the root of the agreement: .39, .53, .60, .82.
    assert attainable_kappa(agreement, SHARES) == pytest.approx(best, abs=0.02)
    assert attainable_kappa(agreement, SHARES) < agreement**0.5


def test_it_is_what_the_best_cuts_of_the_true_levels_reach():
    study = simulate_panel(np.random.default_rng(3), PanelDesign(1, 20_000, 2, 0.5), fresh=True)
    person = human_reference(study.ratings, [0] * 20_000, [0, 1, 2], [place % 2 for place in range(20_000)]).one_human
    ratings = np.array([given[0] for given in study.ratings])
    cuts = np.linspace(-1.5, 1.5, 31)
    reached = max(
        kappa(
            np.histogram2d(ratings, np.digitize(study.levels, pair), bins=[[-0.5, 0.5, 1.5, 2.5]] * 2)[0], "quadratic"
        )
        or 0
        for pair in ((low, high) for low in cuts for high in cuts if low < high)
    )
    assert person.value is not None
    shares = np.bincount(ratings) / len(ratings)
    assert attainable_kappa(round(person.value, 3), (shares[0], shares[1], shares[2])) == pytest.approx(
        reached, abs=0.02
    )


def test_a_grade_that_nobody_gives_is_no_hindrance():
    assert 0.3 < attainable_kappa(0.3, (0, 0.5, 0.5)) < 0.3**0.5
