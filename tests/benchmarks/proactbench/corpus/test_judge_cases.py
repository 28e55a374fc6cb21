"""The worked cases of the judge's rules."""

from collections import Counter

import pytest

from dspy_proact.benchmarks.proactbench.corpus import judge_cases, load_ratings
from dspy_proact.benchmarks.proactbench.types import Grade, Phase
from dspy_proact.evidence import words_of

CASES = judge_cases()
LONGEST = 60
"""Words of a response."""
RUN = 8
"""Words in a row that nobody writes twice by chance."""


def test_there_are_40_each_with_a_name_of_its_own():
    assert len({case.name for case in CASES}) == 40


def test_every_phase_and_every_grade_has_several():
    assert min(Counter(case.view.rubric.phase for case in CASES).values()) >= 6
    assert min(Counter(case.grade for case in CASES).values()) >= 6
    assert {case.view.rubric.phase for case in CASES} == set(Phase)


@pytest.mark.parametrize("rule", [*Phase, "Addressees", "Errors", "Lists", "Questions"])
def test_a_rule_has_neighbours_of_other_grades(rule):
    assert len({case.grade for case in CASES if case.rule == rule}) > 1


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_is_short_and_its_response_awaited(case):
    *before, last = case.view.conversation
    assert last.assistant is None
    assert all(turn.assistant for turn in before)
    assert case.view.turn == len(case.view.conversation)
    assert 0 < len(case.response.split()) <= LONGEST
    assert case.why.endswith(".")


def test_cases_that_share_conversation_and_rubric_differ_in_their_responses():
    shown = [(case.view.model_dump_json(), case.response) for case in CASES]
    assert len(set(shown)) == len(shown)


def test_no_case_is_of_the_sample():
    sample = {item.response for item in load_ratings("sample").items}
    runs = {
        tuple(words[at : at + RUN]) for text in sample if text for words in [words_of(text)] for at in range(len(words))
    }
    for case in CASES:
        words = words_of(case.response)
        assert not {tuple(words[at : at + RUN]) for at in range(len(words) - RUN + 1)} & runs


def test_the_grades_are_those_of_the_scale():
    assert {case.grade for case in CASES} == set(Grade)
