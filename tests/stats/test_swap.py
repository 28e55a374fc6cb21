from itertools import product

import numpy as np
import pytest
from dspy_proact.stats.swap import swap_p
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

law = settings(deadline=None, max_examples=25)
# One row is (before, after, scenario).
rows = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 30)), min_size=1, max_size=50)
Rows = list[tuple[int, int, int]]


def totals(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    return sums


def p(table: Rows, seed: int = 0) -> float:
    before, after, groups = (np.array(column, dtype=float) for column in zip(*table, strict=True))
    return swap_p(before, after, groups.tolist(), totals, seed)


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
def test_few_scenarios_by_hand(table: Rows, expected: float):
    assert p(table) == expected


def test_random_swaps_agree_with_all_of_them():
    shifts = [2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1]
    sums = np.array(list(product((1, -1), repeat=14))) @ np.array(shifts)
    exact = float(np.mean(np.abs(sums) >= abs(sum(shifts))))
    table = [(max(0, -shift), max(0, shift), place) for place, shift in enumerate(shifts)]
    assert p(table) == pytest.approx(exact, abs=4 * (exact / 9999) ** 0.5)
    assert p(table, seed=1) != p(table)


@law
@given(rows, st.randoms())
def test_neither_order_nor_names_nor_direction_matter(table: Rows, random):
    shuffled = [(after, before, 100 - group) for before, after, group in random.sample(table, len(table))]
    assert p(shuffled) == p(table)
