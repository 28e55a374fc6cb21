import json

import pytest
from hypothesis import given, settings
from pydantic import ValidationError
from rows import plant_canaries, row, rows

from dspy_proact.benchmarks.proactbench.corpus.dialogues import Row
from dspy_proact.benchmarks.proactbench.types import AssistantView, JudgeView, Turn
from dspy_proact.files.rows import Line

NO_DEADLINE = settings(deadline=None)  # a slow machine is no failure


def dialogue_of(raw):
    return Row.of(Line("corpus.jsonl", 1, json.dumps(raw))).dialogue()


def views_of(dialogue):
    """Trigger, assistant's and judge's view of every trigger."""
    for trigger in dialogue.triggers:
        view = JudgeView.of(dialogue, trigger)
        yield trigger, AssistantView.of(view.conversation), view


def test_the_assistant_sees_the_turns_before_and_the_message():
    _, (_, view, _), _ = views_of(dialogue_of(row()))
    assert view == AssistantView(
        history=(
            Turn(
                user="Question 1: which path leads to the lighthouse?", assistant="Answer 1: the one along the cliff."
            ),
            Turn(
                user="Question 2: which path leads to the lighthouse?", assistant="Answer 2: the one along the cliff."
            ),
        ),
        user_message="Question 3: which path leads to the lighthouse?",
    )


def test_the_judge_sees_the_same_conversation_the_turn_and_the_rubric():
    dialogue = dialogue_of(row())
    _, (trigger, assistant, view), _ = views_of(dialogue)
    assert view.conversation == (*assistant.history, Turn(user=assistant.user_message, assistant=None))
    assert (view.turn, view.rubric) == (3, trigger.rubric)


def test_a_trigger_at_the_first_turn_has_no_history():
    dialogue = dialogue_of(row())
    first = dialogue.triggers[0].model_copy(update={"turn": 1})
    view = JudgeView.of(dialogue, first)
    assert view.conversation == (Turn(user="Question 1: which path leads to the lighthouse?", assistant=None),)
    assert AssistantView.of(view.conversation).history == ()


def test_a_conversation_that_awaits_no_response_has_no_assistants_view():
    with pytest.raises(AssertionError, match="await its response"):
        AssistantView.of(dialogue_of(row()).turns)


@pytest.mark.parametrize("name", ["persona", "style", "scenario", "origin", "planner"])
def test_there_is_no_field_for_what_is_hidden(name):
    _, assistant, judge = next(iter(views_of(dialogue_of(row()))))
    for view in (assistant, judge):
        with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
            type(view).model_validate({**view.model_dump(), name: "x"})


def marked(raw):
    """A row with a token of its own in every text, hidden ones included, and the tokens of the hidden ones."""
    planted, hidden = plant_canaries(raw)
    for record in planted["turn_records"]:
        record["user_message"] += f" asked-{record['turn']}-end"
        record["assistant_response"] += f" curated-{record['turn']}-end"
    for point in planted["trigger_points"]:
        point["evaluation_rubric"]["pass_criteria"] += f" rubric-{point['turn']}-end"
    for name in ("uuid", "unique_id_eval", "scenario_id", "blueprint_id", "category_key", "evaluated_model"):
        planted[name] = f"hidden-{name}"
    return planted, [*hidden, "hidden-"]


@NO_DEADLINE
@given(rows())
def test_no_view_holds_the_curated_response_at_the_trigger_or_anything_later(raw):
    planted, hidden = marked(raw)
    dialogue = dialogue_of(planted)
    numbers = range(1, len(dialogue.turns) + 1)
    for trigger, assistant, judge in views_of(dialogue):
        for view, rubrics in ((assistant, []), (judge, [trigger.turn])):
            text = view.model_dump_json()
            assert [turn for turn in numbers if f"asked-{turn}-end" in text] == list(range(1, trigger.turn + 1))
            assert [turn for turn in numbers if f"curated-{turn}-end" in text] == list(range(1, trigger.turn))
            assert [turn for turn in numbers if f"rubric-{turn}-end" in text] == rubrics
            assert not [token for token in hidden if token in text]


@NO_DEADLINE
@given(rows())
def test_what_a_view_holds_is_the_curated_text_unchanged(raw):
    dialogue = dialogue_of(raw)
    for trigger, assistant, judge in views_of(dialogue):
        assert assistant.history == judge.conversation[:-1] == dialogue.turns[: trigger.turn - 1]
        assert assistant.user_message == judge.conversation[-1].user == dialogue.turns[trigger.turn - 1].user
        assert judge.conversation[-1].assistant is None
