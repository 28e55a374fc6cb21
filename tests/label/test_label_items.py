"""What is rated of a run: its responses part by part, with the criteria apart and nothing of who answered or graded."""

from dataclasses import replace

import pytest
from drivers.labelling import item as riddle

from dspy_proact.errors import UsageError
from dspy_proact.evaluation.people import Part
from dspy_proact.label.study import PREFERENCE, items_of, pairs_of, practice_of, run_key


def test_the_rubric_is_the_criteria_and_stands_in_no_section(run, declared):
    items = items_of(declared, [run])
    assert len(items) == len({item.key for item in items}) == len(run.outcomes) == 49
    for item in items:
        assert [level for level, _ in item.criteria] == ["PASS", "PARTIAL", "FAIL"] == list(item.levels)
        assert [section.title for section in item.sections] == ["conversation"]


def test_nothing_of_an_item_names_model_judge_stratum_or_grade(run, declared):
    item = items_of(declared, [run])[0]
    assert set(item.__dataclass_fields__) == {"key", "run", "case", "part", "sections", "criteria", "responses"}
    assert "embedded" not in repr(item)


def test_each_part_that_people_grade_is_an_item_with_criteria_of_its_own(run, declared, monkeypatch):
    parts = (Part("tone", ("rude", "kind"), criteria={"kind": "As a friend would."}), Part("length", ("long", "short")))
    monkeypatch.setattr(type(declared), "people", replace(declared.people, parts=parts))
    one, other, *rest = items_of(declared, [run])
    assert (one.unit == other.unit, len(rest)) == (True, 96)
    assert (one.criteria, other.criteria) == ((("kind", "As a friend would."),), ())
    assert [section.title for section in one.sections] == ["conversation", "rubric"], "levels of no part"


def test_the_mark_is_of_everything_that_is_read(run, declared):
    item = items_of(declared, [run])[0]
    others = replace(item, responses=("Other.",)), replace(item, criteria=()), replace(item, sections=())
    assert len({item.mark, *(one.mark for one in others)}) == 4
    assert replace(item, key="another").mark == item.mark


def test_a_run_is_named_once_and_of_the_benchmark(run, declared):
    with pytest.raises(UsageError, match="the same run"):
        items_of(declared, [run, run])
    with pytest.raises(UsageError, match="a run of toy"):
        items_of(declared, [replace(run, benchmark="toy")])
    with pytest.raises(UsageError, match="no conversations"):
        run_key(replace(run, manifest=None))


def test_a_pair_is_of_two_responses_that_differ(run, other, declared):
    pairs = pairs_of(declared, run, other)
    assert len(pairs) == 48, "the first responses are equal"
    assert pairs[0].responses[1] == f"{pairs[0].responses[0]} More."
    assert pairs[0].run == f"{run_key(run)}+{run_key(other)}"
    assert pairs[0].levels == ("first", "tie", "second")


def test_practice_has_each_grade_by_turns_and_why(declared):
    practice = practice_of(declared, seed=1)
    assert len({one.item.key for one in practice}) == 6
    assert sorted(one.grade for one in practice[:3]) == ["FAIL", "PARTIAL", "PASS"]
    assert all(one.why and one.item.criteria and one.item.responses[0] for one in practice)
    assert practice_of(declared, seed=1) == practice != practice_of(declared, seed=2)


def test_a_benchmark_without_worked_cases_has_no_practice(probe):
    from dspy_proact.evaluation.registry import benchmark_named

    assert practice_of(benchmark_named("probe"), seed=0) == ()


def test_what_is_asked_and_the_criteria_are_those_of_the_part():
    assert (riddle(1).question, riddle(1).levels) == (
        "Which grade does the response earn?",
        ("SOLVED", "CLOSE", "LOST"),
    )
    assert riddle(1, part=Part("good_tone", ("bad", "good"))).question == "How is “good tone” graded?"
    assert riddle(1, part=PREFERENCE).question == "Which response is better?"
