"""On which side of a split a case is."""

import pytest

from dspy_proact import Benchmark, ProactBench, load_corpus
from dspy_proact.benchmarks.proactbench.cases import case_set_of
from dspy_proact.evaluation.registry import benchmarks
from dspy_proact.evaluation.split import split_of, splits_of

pytestmark = pytest.mark.usefixtures("proactbench")


def test_a_unit_is_of_the_test_where_its_hash_is_in_the_lowest_third():
    # sha256("a") begins with ca97, sha256("b") with 3e23 and sha256("e") with 3f79: of ffff a third is 5555.
    assert [split_of(unit) for unit in "abe"] == ["train", "test", "test"]


def test_nobody_is_on_both_sides_and_a_corpus_that_grows_moves_nothing():
    cases = case_set_of(load_corpus("sample")).cases
    sides = splits_of(ProactBench(), cases)
    persons = {(case.meta["persona"], sides[case.key]) for case in cases}
    assert len(persons) == 12 == len({person for person, _ in persons})
    assert {side for _, side in persons} == {"train", "test"}
    for size in (1, 9, 30):
        assert splits_of(ProactBench(), cases[:size]) == {case.key: sides[case.key] for case in cases[:size]}


@pytest.mark.parametrize("name", list(benchmarks()))
def test_the_cases_of_a_group_are_on_one_side_in_every_benchmark(name):
    declared: Benchmark = benchmarks()[name]
    cases = declared.read("sample", declared.settings_type()).cases
    sides = splits_of(declared, cases)
    assert len({(case.group, sides[case.key]) for case in cases}) == len({case.group for case in cases})
