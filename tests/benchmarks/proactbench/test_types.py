"""ProactBench's values, and the views that are cut from them: nobody sees what lies ahead or is hidden."""

import json

import pytest
from builders.dialogues import row, rows
from hypothesis import given

from dspy_proact.benchmarks.proactbench.corpus.dialogues import Row
from dspy_proact.benchmarks.proactbench.types import AssistantView, Grade, JudgeView, Verdict
from dspy_proact.files.rows import Line
from dspy_proact.types import Quote

LOCATED, INVENTED = Quote(text="the boxes", start=6, end=15), Quote(text="zebra")


def test_grades_are_ordered_from_best_to_worst():
    assert [(grade, grade.score) for grade in Grade] == [("PASS", 1.0), ("PARTIAL", 0.5), ("FAIL", 0.0)]


VERIFIED = [
    ("PASS", [INVENTED, LOCATED], True),
    ("PASS", [INVENTED], False),
    ("PARTIAL", [], False),
    ("FAIL", [LOCATED], True),
    ("FAIL", [INVENTED], False),
    ("FAIL", [], None),
]


@pytest.mark.parametrize(("grade", "evidence", "verified"), VERIFIED)
def test_a_verdict_is_verified_when_one_of_its_quotes_stands_in_the_response(grade, evidence, verified):
    assert Verdict(reasoning="", evidence=tuple(evidence), grade=Grade(grade)).verified is verified


# Views


def dialogue_of(raw):
    return Row.of(Line("corpus.jsonl", 1, json.dumps(raw))).dialogue()


def views_of(dialogue):
    """Trigger, assistant's and judge's view of every trigger."""
    for trigger in dialogue.triggers:
        view = JudgeView.of(dialogue, trigger)
        yield trigger, AssistantView.of(view.conversation), view


def test_a_conversation_that_awaits_no_response_has_no_assistants_view():
    with pytest.raises(AssertionError, match="await its response"):
        AssistantView.of(dialogue_of(row()).turns)


@given(rows())
def test_what_a_view_holds_is_the_curated_text_unchanged(raw):
    dialogue = dialogue_of(raw)
    for trigger, assistant, judge in views_of(dialogue):
        assert assistant.history == judge.conversation[:-1] == dialogue.turns[: trigger.turn - 1]
        assert assistant.user_message == judge.conversation[-1].user == dialogue.turns[trigger.turn - 1].user
        assert judge.conversation[-1].assistant is None
        assert (judge.turn, judge.rubric) == (trigger.turn, trigger.rubric)
