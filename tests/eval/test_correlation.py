import math

import pytest
from builders.studies import numbers
from hypothesis import given, settings
from hypothesis import strategies as st
from support.correlation import correlation_p, pearson, spearman

from dspy_proact.stats import Estimate

law = settings(deadline=None, max_examples=25)
pairs = st.lists(st.tuples(st.integers(-20, 20), st.integers(-20, 20)), min_size=1, max_size=16)
# The textbook example of ten people's IQ and hours of television: d^2 sums to 194, rho = 1 - 6 * 194 / 990 = -29/165.
IQ = [106, 100, 86, 101, 99, 103, 97, 113, 112, 110]
HOURS = [7, 27, 2, 50, 28, 29, 20, 12, 6, 17]


# Worked by hand.


def test_spearman_by_hand():
    # atanh(-.175758) = -.177604; SE = sqrt((1 + .030891 / 2) / 7) = .380872, times 1.959964 = .746496.
    # tanh(-.924100) = -.727897, tanh(.568892) = .514486.
    assert numbers(spearman(IQ, HOURS)) == pytest.approx([-29 / 165, math.tanh(-0.9241), math.tanh(0.568892)], abs=1e-5)


def test_ties_have_their_mean_rank():
    # Ranks 1, 2.5, 2.5, 4 and 1, 2, 3, 4: products 4.5, lengths sqrt(4.5) and sqrt(5).
    tied = spearman([1, 2, 2, 3], [10, 20, 30, 40])
    assert numbers(tied) == [pytest.approx(4.5 / math.sqrt(22.5)), None, None]
    assert tied.reason == "fewer than 5 pairs"


def test_pearson_by_hand():
    # Products 8, lengths sqrt(10) each: .8; atanh = 1.098612; SE = 1 / sqrt(2), times 1.959964 = 1.385904.
    # tanh(-.287292) = -.279645, tanh(2.484516) = .986189.
    expected = [0.8, math.tanh(-0.287292), math.tanh(2.484516)]
    assert numbers(pearson([1, 2, 3, 4, 5], [2, 1, 4, 3, 5])) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("x", "y", "p"),
    [
        # Of 6 orders the same and the reverse are perfect.
        ([1, 2, 3], [1, 2, 3], 2 / 6),
        # rho = .8 with one swap of neighbours: 3 orders, and 1 perfect; mirrored again: 8 of 24.
        ([1, 2, 3, 4], [1, 2, 4, 3], 8 / 24),
        # rho = 0: all.
        ([1, 2, 3, 4], [2, 4, 1, 3], 1),
    ],
)
def test_all_permutations_of_few_pairs_by_hand(x: list[float], y: list[float], p: float):
    assert correlation_p(x, y, rank=True) == pytest.approx(p)
    assert correlation_p(x, y, rank=False) == pytest.approx(p)


# Silence and ties.


def test_a_side_that_is_all_equal_has_no_correlation():
    for correlation in (pearson, spearman):
        for pair in (([0.1] * 6, range(6)), (range(6), [0.1] * 6)):
            assert correlation(*pair) == Estimate(None, reason="all equal")
            assert correlation_p(*pair, rank=correlation is spearman) is None


def test_a_perfect_correlation_has_no_interval():
    assert spearman([1, 2, 3, 4, 50], [5, 4, 3, 2, -9]) == Estimate(-1, reason="perfect correlation")
    assert pearson([1, 2, 3, 4, 5], [10, 20, 30, 40, 50]) == Estimate(1, reason="perfect correlation")
    # The ranks agree, the numbers do not lie on a line.
    assert pearson([1, 2, 3, 4, 50], [1, 2, 3, 4, 5]).low is not None


# Laws.


@law
@given(pairs, st.integers(1, 9), st.integers(-50, 50))
def test_scale_and_shift_do_not_matter_and_a_mirror_turns_the_sign(
    table: list[tuple[int, int]], scale: int, shift: int
):
    x, y = zip(*table, strict=True)
    for correlation in (pearson, spearman):
        one = correlation(x, y)
        moved = correlation([scale * number + shift for number in x], y)
        assert numbers(moved) == pytest.approx(numbers(one), abs=1e-9)
        value, low, high = (None if number is None else -number for number in numbers(one))
        mirrored = correlation(x, [-number for number in y])
        assert numbers(mirrored) == pytest.approx([value, high, low], abs=1e-9)
        assert mirrored.reason == moved.reason == one.reason
