"""The share of choices between two things: its interval over items and raters, and the exact binomial one."""

import math

import pytest

from dspy_proact.stats import Estimate, exact_binomial, preferred_share
from dspy_proact.stats.estimate import Spread, logit_bounds
from dspy_proact.stats.preference import WIDELY
from dspy_proact.stats.raters import FEW_RATERS


def crossed(*rows: str):
    """Every rater, a row, chose on every item, a column: choices, items and raters."""
    chosen = [mark == "1" for row in rows for mark in row]
    return chosen, [item for row in rows for item in range(len(row))], [r for r, row in enumerate(rows) for _ in row]


def test_the_interval_counts_items_and_raters():
    """Worked by hand: 8 of 12 choices; u = (y - 2/3) / 12.

    Items have 3, 3 and 2: sums of u 1/36, 1/36, -2/36, by CR2 6/1296 / (2/3) = 1/144, with 2 degrees of freedom.
    Raters have 3, 3, 2 and 0: sums 1/12, 1/12, 0, -2/12, by CR3 6/144 / (3/4)^2 = 2/27. A rater's choice of an item
    is in both: (8/9 + 16/9) / 144 / (3/4) = 2/81. The raters add 6/81 - 2/81 = 4/81.
    Satterthwaite: (1/144 + 4/81)^2 / ((1/144)^2 / 2 + (4/81)^2 / 3) = 3.7906; with 2, the least: 2 / (1/3.7906 + 1/2).
    """
    result = preferred_share(*crossed("111", "111", "110", "000"))
    spread = Spread(1 / 144 + 4 / 81, 2 / (1 / 3.7906 + 1 / 2))
    assert result.value == pytest.approx(2 / 3)
    assert (result.low, result.high) == pytest.approx(logit_bounds(2 / 3, spread), abs=1e-5)
    assert result.reason == f"fewer than 5 groups; {FEW_RATERS}; {WIDELY}"


@pytest.mark.parametrize(
    ("raters", "items", "low"),
    [(4, 20, 0.025 ** (1 / 4)), (12, 5, 0.025 ** (1 / 5)), (3, 20, 0.025 ** (1 / 20))],
    ids=["raters", "items", "these raters alone"],
)
def test_equal_choices_are_as_many_trials_as_raters_or_items_whichever_are_fewer(raters, items, low):
    result = preferred_share(*crossed(*["1" * items] * raters))
    assert (result.value, result.low, result.high) == (1, pytest.approx(low), 1)
    none = preferred_share(*crossed(*["0" * items] * raters))
    assert (none.value, none.low, none.high) == (0, 0, pytest.approx(1 - low))


def test_raters_of_fixed_mind_have_an_interval_though_items_do_not_differ():
    # u = (y - 3/4) / 80: sums by rater 1/16 thrice and -3/16, by CR3 (12/256) / (9/16) = 1/12; of a rater's choice of
    # an item 1/320 and -3/320, which is in both.
    result = preferred_share(*crossed(*["1" * 20] * 3, "0" * 20))
    term = 1 / 12 - 20 * (3 * (0.25 / 80) ** 2 + (0.75 / 80) ** 2) / 0.75
    assert (result.low, result.high) == pytest.approx(logit_bounds(0.75, Spread(term, 3)))
    assert result.reason == f"{FEW_RATERS}; {WIDELY}"


def test_few_raters_who_make_most_of_the_variance_are_marked_wherever_the_share_lies():
    # Two of four raters always choose it: at one half nobody of another mind is missing, and yet there are few.
    assert WIDELY in (preferred_share(*crossed(*["1" * 20] * 2, *["0" * 20] * 2)).reason or "")
    eight = preferred_share(*crossed(*["1" * 20] * 4, *["0" * 20] * 4))
    assert eight.reason is None


def test_raters_of_one_mind_are_not_marked_as_differing():
    rows = ["1101111111", "1111110111", "0111111111", "1110111111", "1111111011"]
    result = preferred_share(*crossed(*rows))
    assert result.reason == FEW_RATERS


def test_few_raters_speak_of_themselves_alone():
    three = preferred_share(*crossed("11011", "01111", "11101"))
    assert three.reason == "for these 3 raters only"
    assert preferred_share([], [], []) == Estimate(None, reason="no scores")


@pytest.mark.parametrize(
    ("hits", "count", "low", "high", "p"),
    [
        # All of five: p^5 = .025, and twice 1/32.
        (5, 5, 0.025 ** (1 / 5), 1.0, 2 / 32),
        (0, 5, 0.0, 1 - 0.025 ** (1 / 5), 2 / 32),
        # One of two: 1 - (1 - p)^2 = .025 below, its mirror above.
        (1, 2, 1 - math.sqrt(0.975), math.sqrt(0.975), 1.0),
        # Three of four: 4 p^3 (1 - p) + p^4 = .025 at .1941, and 1 - p^4 = .025 above; twice 5/16.
        (3, 4, 0.1941, 0.975 ** (1 / 4), 10 / 16),
    ],
)
def test_the_exact_interval_and_its_test(hits, count, low, high, p):
    result = exact_binomial(hits, count)
    assert result.share.value == hits / count
    assert (result.share.low, result.share.high) == pytest.approx((low, high), abs=1e-4)
    assert result.p == pytest.approx(p)


def test_the_exact_interval_of_many_trials_neither_overflows_nor_loses_its_tail():
    # 2 sum_{k >= 115} C(144, k) / 2^144, in whole numbers.
    p = 2 * sum(math.comb(144, k) for k in range(115, 145)) / 2**144
    assert exact_binomial(115, 144).p == pytest.approx(p, rel=1e-9)
    many = exact_binomial(50_000, 100_000).share
    # Normal to four digits: .5 +- 1.96 x .00158.
    assert (many.low, many.high) == pytest.approx((0.4969, 0.5031), abs=1e-4)
