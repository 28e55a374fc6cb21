"""Which cases a limit takes: a prefix of one order, spread over groups and strata."""

from collections import Counter

import pytest
from builders.riddles import case
from hypothesis import given
from hypothesis import strategies as st

from dspy_proact.runs import Case, select_cases

KINDS = ("RHYME", "NUMBER", "PUN")


@st.composite
def benchmarks(draw: st.DrawFn) -> list[Case]:
    """Cases with any keys, in groups and strata of any size."""
    keys = draw(st.lists(st.text(max_size=6), max_size=24, unique=True))
    return [case(key, draw(st.sampled_from("uvwxyz")), draw(st.sampled_from(KINDS))) for key in keys]


def keys(selected: list[Case]) -> list[str]:
    return [case.key for case in selected]


def added(cases: list[Case]) -> list[Case]:
    """The seeded order, seen from outside: what each next limit adds to the one before."""
    order: list[Case] = []
    for limit in range(1, len(cases) + 1):
        (new,) = [taken for taken in select_cases(cases, limit) if taken not in order]
        order.append(new)
    return order


@given(cases=benchmarks(), limit=st.integers(0, 30))
def test_a_limit_takes_that_many_cases_in_the_order_of_the_benchmark(cases: list[Case], limit: int):
    taken = keys(select_cases(cases, limit))
    assert len(taken) == min(limit, len(cases))
    assert taken == [key for key in keys(cases) if key in taken]


@given(cases=benchmarks(), limits=st.tuples(st.integers(0, 30), st.integers(0, 30)))
def test_a_smaller_limit_is_a_part_of_a_larger_one(cases: list[Case], limits: tuple[int, int]):
    small, large = (set(keys(select_cases(cases, limit))) for limit in sorted(limits))
    assert small <= large


@given(cases=benchmarks(), limit=st.integers(0, 30), data=st.data())
def test_what_is_taken_does_not_depend_on_the_order_of_the_cases(cases: list[Case], limit: int, data: st.DataObject):
    shuffled = data.draw(st.permutations(cases))
    assert set(keys(select_cases(shuffled, limit))) == set(keys(select_cases(cases, limit)))


@given(cases=benchmarks(), limit=st.integers(0, 30))
def test_no_group_is_ahead_by_two_of_one_that_could_still_give(cases: list[Case], limit: int):
    taken = Counter(case.group for case in select_cases(cases, limit))
    sizes = Counter(case.group for case in cases)
    waiting = [taken[group] for group, size in sizes.items() if taken[group] < size]
    assert not waiting or max(taken.values(), default=0) <= min(waiting) + 1


@given(cases=benchmarks())
def test_each_next_case_is_of_the_rarest_stratum_that_its_group_can_still_give(cases: list[Case]):
    order = added(cases)
    for index, new in enumerate(order):
        counts = Counter(earlier.stratum for earlier in order[:index])
        possible = {later.stratum for later in order[index:] if later.group == new.group}
        assert counts[new.stratum] == min(counts[stratum] for stratum in possible)


def test_the_order_is_seeded_and_not_that_of_the_keys():
    first = [keys(select_cases([case(f"{number:02}") for number in range(size)], 1)) for size in range(2, 40)]
    assert len({key for (key,) in first}) > 1
    assert any(key != "00" for (key,) in first)


@pytest.mark.parametrize(
    ("strata", "expected"),
    [((), "abcd"), (("RHYME",), "ac"), ({"PUN", "NUMBER"}, "bd"), (["RHYME", "PUN", "NUMBER"], "abcd")],
)
def test_strata_filter_and_keep_the_order(strata: list[str], expected: str):
    cases = [case("a"), case("b", stratum="NUMBER"), case("c"), case("d", stratum="PUN")]
    assert "".join(keys(select_cases(cases, strata=strata))) == expected
