import pytest
from hypothesis import given
from hypothesis import strategies as st

from dspy_proact.stats import holm

chances = st.lists(st.none() | st.floats(0, 1), max_size=8)


def test_four_tests_by_hand():
    # The worked example of Holm's procedure: .005 * 4, .01 * 3, then .03 * 2, and .04 * 1 is raised to it.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_a_test_without_p_counts_as_none():
    assert holm([0.02, None, 0.04]) == [pytest.approx(0.04), None, pytest.approx(0.04)]
    assert holm([None, None]) == [None, None]
    assert holm([]) == []


def test_adjusted_values_stay_at_most_one():
    assert holm([0.6, 0.9]) == [1, 1]


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan")])
def test_what_is_no_p_value_is_refused(p: float):
    with pytest.raises(ValueError, match=r"p values must be in \[0, 1\]"):
        holm([0.5, p])


@given(chances)
def test_adjusting_keeps_the_order_and_lies_between_p_and_bonferroni(p_values: list[float | None]):
    adjusted = holm(p_values)
    pairs = [(p, q) for p, q in zip(p_values, adjusted, strict=True) if p is not None and q is not None]
    assert [q is None for q in adjusted] == [p is None for p in p_values]
    assert all(p <= q <= min(1, p * len(pairs)) + 1e-12 for p, q in pairs)
    assert [q for _, q in sorted(pairs)] == sorted(q for _, q in pairs)


@given(chances, st.randoms())
def test_the_order_of_the_tests_does_not_matter(p_values: list[float | None], random):
    places = list(range(len(p_values)))
    random.shuffle(places)
    adjusted = holm(p_values)
    assert holm([p_values[place] for place in places]) == [adjusted[place] for place in places]
