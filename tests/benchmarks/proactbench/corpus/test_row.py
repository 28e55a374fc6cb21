import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from rows import HIDDEN_FIELDS, plant_canaries, record, row, rows, rubric, trigger_point, without

from dspy_proact.benchmarks.proactbench.corpus.row import Row
from dspy_proact.benchmarks.proactbench.types import Dialogue, Origin, Phase, Rubric, Turn
from dspy_proact.errors import CorpusError
from dspy_proact.files.line import Line


def read(text: str) -> Row:
    return Row.of(Line("corpus.jsonl", 7, text))


def parsed(raw: dict[str, Any]) -> Row:
    return read(json.dumps(raw))


def refusal(text: str) -> CorpusError:
    with pytest.raises(CorpusError) as caught:
        read(text)
    assert caught.value.source == "corpus.jsonl"
    assert caught.value.line == 7
    return caught.value


def test_a_row_becomes_a_dialogue_in_our_words():
    dialogue = parsed(row()).dialogue()
    assert dialogue.origin == Origin(
        dialogue="BP_TRAVEL_07_EVA__style3__0123456789abcdef0123456789abcdef",
        persona="0123456789abcdef0123456789abcdef",
        scenario_id="TRAVEL_07",
        blueprint="BP_TRAVEL_07_EVA",
        life_domain="travel",
        style=3,
        source_model="curator-1",
    )
    assert len(dialogue.turns) == 5
    assert dialogue.turns[1] == Turn(
        user="Question 2: which path leads to the lighthouse?", assistant="Answer 2: the one along the cliff."
    )
    assert [trigger.turn for trigger in dialogue.triggers] == [2, 3, 5]
    assert dialogue.triggers[2].rubric == Rubric(
        phase=Phase.RECOVERY,
        pass_criteria="Says that the last boat leaves early (RECOVERY).",
        partial_criteria="Mentions boats (RECOVERY).",
        fail_criteria="Says nothing of boats (RECOVERY).",
    )


def test_triggers_are_put_in_turn_order():
    raw = row(trigger_points=[trigger_point(5, "RECOVERY"), trigger_point(1), trigger_point(4, "CRITICAL")])
    dialogue = parsed(raw).dialogue()
    assert [(trigger.turn, trigger.rubric.phase.value) for trigger in dialogue.triggers] == [
        (1, "EMERGENT"),
        (4, "CRITICAL"),
        (5, "RECOVERY"),
    ]


def test_a_dialogue_may_be_without_a_trigger():
    assert parsed(row(trigger_points=[])).dialogue().triggers == ()


def test_text_is_taken_over_to_the_last_character():
    text = " \u2028 a\r\n\t\u00e9 e\u0301 \U0001f6a2 \x85 </s> {x} 2024-01-01 "
    dialogue = parsed(row(turn_records=[record(1, user_message=text)], trigger_points=[])).dialogue()
    assert dialogue.turns[0].user == text


def test_hidden_fields_may_be_left_out():
    lean = row()
    for name in (*HIDDEN_FIELDS, "num_turns_completed"):
        del lean[name]
    lean["turn_records"] = [without(turn, "planner") for turn in lean["turn_records"]]
    lean["trigger_points"] = [without(point, "evaluation_result") for point in lean["trigger_points"]]
    assert parsed(lean).dialogue() == parsed(row()).dialogue()


def test_hidden_fields_are_not_unknown():
    assert parsed(row()).unknown_fields() == {}


def test_unknown_fields_are_counted_by_dotted_name_and_nulls_are_not():
    raw = row(
        mood="calm",
        model_extra=1,
        nothing=None,
        turn_records=[record(1, pace="slow"), record(2, pace={"deep": 1}), record(3, pace=None)],
        trigger_points=[trigger_point(1, weight=1, evaluation_rubric=rubric("CRITICAL", hint="x"))],
    )
    # `pace` is given on two of three turns and null on the third; what is inside it is not looked at.
    assert parsed(raw).unknown_fields() == {
        "mood": 1,
        "model_extra": 1,
        "turn_records.pace": 2,
        "trigger_points.weight": 1,
        "trigger_points.evaluation_rubric.hint": 1,
    }


@given(rows())
def test_nothing_hidden_or_unknown_reaches_a_dialogue(raw: dict[str, Any]):
    planted, tokens = plant_canaries(raw)
    text = json.dumps(planted)
    assert all(token in text for token in tokens)
    dialogue = parsed(planted).dialogue()
    assert not [token for token in tokens if token in dialogue.model_dump_json()]
    assert dialogue == parsed(raw).dialogue()


@given(rows())
def test_ids_stand_in_the_origin_alone(raw: dict[str, Any]):
    ids = ("unique_id_eval", "uuid", "scenario_id", "blueprint_id", "category_key", "evaluated_model")
    marked = raw | {name: f"heron-{name}" for name in ids}
    seen = parsed(marked).dialogue().model_dump_json(exclude={"origin"})
    assert "heron" not in seen


def test_a_real_dialogue_is_read_without_its_planner():
    folder = os.environ.get("DSPY_PROACT_DATA")
    if folder is None:
        pytest.skip("DSPY_PROACT_DATA does not name a folder with the real dialogue")
    text = (Path(folder) / "proactbench_dialogue.jsonl").read_text(encoding="utf-8")
    raw = json.loads(text)
    real = read(text)
    dialogue = real.dialogue()
    assert real.unknown_fields() == {}
    assert raw["category_key"] == f"{dialogue.origin.life_domain}_persona"
    assert [trigger.turn for trigger in dialogue.triggers] == [1, 4, 8]
    seen = dialogue.model_dump_json()
    assert len(dialogue.turns) == len(raw["turn_records"]) == 9
    for turn in raw["turn_records"]:
        order = turn["planner"]["tactical_order"]
        assert json.dumps(order["intent"])[1:-1] not in seen
        assert json.dumps(order["behavioral_directive"])[1:-1] not in seen


REQUIRED = (
    "unique_id_eval",
    "uuid",
    "scenario_id",
    "blueprint_id",
    "category_key",
    "style_combination_index",
    "evaluated_model",
    "trigger_points",
    "turn_records",
)


@pytest.mark.parametrize("name", REQUIRED)
def test_a_required_field_that_is_missing_is_named(name: str):
    error = refusal(json.dumps(without(row(), name)))
    assert str(error) == f"corpus.jsonl, line 7, field '{name}': the field is missing"


@pytest.mark.parametrize("name", ["type", "pass_criteria", "partial_criteria", "fail_criteria"])
def test_a_rubric_that_lacks_a_criterion_is_refused(name: str):
    points = [trigger_point(1), trigger_point(2, evaluation_rubric=without(rubric("CRITICAL"), name))]
    error = refusal(json.dumps(row(trigger_points=points)))
    assert error.field == f"trigger_points[1].evaluation_rubric.{name}"
    assert str(error).endswith("the field is missing")


def point(**changes: Any) -> dict[str, Any]:
    return row(trigger_points=[trigger_point(1) | changes])


def turn(**changes: Any) -> dict[str, Any]:
    return row(turn_records=[record(1) | changes], trigger_points=[])


WRONG_VALUES: list[tuple[dict[str, Any], str, str]] = [
    (row(uuid=17), "uuid", "input should be a valid string, not 17"),
    (row(uuid=None), "uuid", "input should be a valid string, not null"),
    (row(uuid=["a"]), "uuid", "input should be a valid string, not a list"),
    (row(style_combination_index="3"), "style_combination_index", "input should be a valid integer, not '3'"),
    (row(style_combination_index=3.0), "style_combination_index", "input should be a valid integer, not 3.0"),
    (row(style_combination_index=True), "style_combination_index", "input should be a valid integer, not true"),
    (row(num_turns_completed="5"), "num_turns_completed", "input should be a valid integer, not '5'"),
    (row(trigger_points={}), "trigger_points", "input should be a valid list, not an object"),
    (row(turn_records=None), "turn_records", "input should be a valid list, not null"),
    (row(turn_records=[]), "turn_records", "the list should not be empty"),
    (row(turn_records=["hello"]), "turn_records[0]", "input should be an object, not 'hello'"),
    (point(evaluation_rubric=None), "trigger_points[0].evaluation_rubric", "input should be an object, not null"),
    (
        point(evaluation_rubric=rubric("LATE")),
        "trigger_points[0].evaluation_rubric.type",
        "input should be 'EMERGENT', 'CRITICAL' or 'RECOVERY', not 'LATE'",
    ),
    (
        point(evaluation_rubric=rubric("emergent")),
        "trigger_points[0].evaluation_rubric.type",
        "input should be 'EMERGENT', 'CRITICAL' or 'RECOVERY', not 'emergent'",
    ),
    (
        point(evaluation_rubric=rubric("EMERGENT", fail_criteria=" \n")),
        "trigger_points[0].evaluation_rubric.fail_criteria",
        "input should not be blank, not ' \\n'",
    ),
    (point(turn="1"), "trigger_points[0].turn", "input should be a valid integer, not '1'"),
    (turn(user_message=""), "turn_records[0].user_message", "input should not be blank, not ''"),
    (turn(user_message=" \t"), "turn_records[0].user_message", "input should not be blank, not ' \\t'"),
    (turn(assistant_response=None), "turn_records[0].assistant_response", "input should be a valid string, not null"),
    (row(unique_id_eval=" "), "unique_id_eval", "input should not be blank, not ' '"),
    (
        row(scenario_id="a\x1b[2Jb"),
        "scenario_id",
        "input should have no control characters, not 'a\\x1b[2Jb'",
    ),
]


@pytest.mark.parametrize(("raw", "field", "problem"), WRONG_VALUES)
def test_a_field_of_the_wrong_type_or_value_is_refused_without_coercion(raw: dict[str, Any], field: str, problem: str):
    assert str(refusal(json.dumps(raw))) == f"corpus.jsonl, line 7, field '{field}': {problem}"


MISFITS: list[tuple[dict[str, Any], str, str]] = [
    (row(trigger_points=[trigger_point(6)]), "trigger_points[0].turn", "there is no turn 6: the last one is 5"),
    (row(trigger_points=[trigger_point(0)]), "trigger_points[0].turn", "there is no turn 0: the last one is 5"),
    (row(trigger_points=[trigger_point(-1)]), "trigger_points[0].turn", "there is no turn -1: the last one is 5"),
    (
        row(trigger_points=[trigger_point(2), trigger_point(4), trigger_point(2, "CRITICAL")]),
        "trigger_points[2].turn",
        "turn 2 has a trigger already: one a turn",
    ),
    (
        row(turn_records=[record(1), record(3), record(2)]),
        "turn_records[1].turn",
        "turns must be in order: 2 expected, not 3",
    ),
    (
        row(turn_records=[record(0), record(1)]),
        "turn_records[0].turn",
        "turns must be in order: 1 expected, not 0",
    ),
    (
        row(turn_records=[record(1), record(1)]),
        "turn_records[1].turn",
        "turns must be in order: 2 expected, not 1",
    ),
    (row(num_turns_completed=4), "num_turns_completed", "4 disagrees with turn_records, which has 5"),
]


@pytest.mark.parametrize(("raw", "field", "problem"), MISFITS)
def test_turns_and_triggers_that_do_not_fit_together_are_refused(raw: dict[str, Any], field: str, problem: str):
    assert str(refusal(json.dumps(raw))) == f"corpus.jsonl, line 7, field '{field}': {problem}"


def spliced(old: str, new: str) -> Callable[[], str]:
    def text() -> str:
        whole = json.dumps(row())
        assert old in whole
        return whole.replace(old, new, 1)

    return text


NOT_ROWS: list[tuple[Callable[[], str], str | None, str]] = [
    (lambda: "{oops}", None, "not JSON: Expecting property name enclosed in double quotes, at column 2"),
    (lambda: json.dumps(row())[:-1], None, "not JSON: "),
    (lambda: json.dumps(row()) + json.dumps(row()), None, "not JSON: Extra data, at column "),
    (lambda: json.dumps([row()]), None, "a line must hold one dialogue as a JSON object, not a list"),
    (lambda: '"text"', None, "a line must hold one dialogue as a JSON object, not 'text'"),
    (lambda: "null", None, "a line must hold one dialogue as a JSON object, not null"),
    (spliced('"uuid":', '"uuid": "x", "uuid":'), "uuid", "the key is given twice in one object"),
    (
        spliced('"user_message":', '"assistant_response": "x", "user_message":'),
        "turn_records[0].assistant_response",
        "the key is given twice in one object",
    ),
    (spliced('"calls": 5', '"calls": 5, "calls": 5'), "token_usage.planner.calls", "the key is given twice"),
    (spliced('"calls": 5', '"calls": NaN'), "token_usage.planner.calls", "NaN is not JSON"),
    (spliced('"calls": 5', '"calls": -Infinity'), "token_usage.planner.calls", "-Infinity is not JSON"),
    (
        spliced('"style_combination_index": 3', '"style_combination_index": ' + "9" * 5000),
        "style_combination_index",
        "an integer may have at most 18 digits, not 5000",
    ),
    (
        spliced("Question 1", "Question \\ud83d 1"),
        "turn_records[0].user_message",
        "holds the lone surrogate '\\ud83d', at character 10",
    ),
    (spliced('"calls": 5', '"\\udc00": 5'), "token_usage.planner", "a key in it holds the lone surrogate '\\udc00'"),
    (spliced("Answer 2", "Answer\\u00002"), "turn_records[1].assistant_response", "holds a NUL character, at char"),
    (spliced('"calls": 5', f'"calls": {"[" * 200}{"]" * 200}'), "token_usage.planner.calls[0]", "nested more than 64"),
    (spliced('"calls": 5', f'"calls": {"[" * 200_000}{"]" * 200_000}'), None, "nested more than 64 levels deep"),
]


@pytest.mark.parametrize(("text", "field", "problem"), NOT_ROWS)
def test_a_line_that_is_no_well_formed_object_is_refused(text: Callable[[], str], field: str | None, problem: str):
    error = refusal(text())
    assert (error.field or "").startswith(field or "")
    assert (error.field is None) == (field is None)
    assert problem in str(error)


def test_surrogates_in_pairs_are_a_character():
    dialogue = read(spliced("Question 1", "Question \\ud83d\\udea2")()).dialogue()
    assert dialogue.turns[0].user.startswith("Question \U0001f6a2")


HOSTILE = "\x1b]0;owned\x07\u202e\n" + "A" * 100_000


@pytest.mark.parametrize(
    "raw",
    [
        row(style_combination_index=HOSTILE),
        row(scenario_id=HOSTILE),
        row(trigger_points=[trigger_point(1, HOSTILE)]),
        row(turn_records=[HOSTILE]),
        row(unknown={HOSTILE: "\0"}),
    ],
)
def test_a_message_shows_hostile_text_short_and_escaped(raw: dict[str, Any]):
    message = str(refusal(json.dumps(raw)))
    assert message.isprintable()
    assert len(message) < 500
    assert "\\x1b]0;owned\\x07\\u202e\\n" in message


@given(rows())
def test_a_dialogue_survives_its_own_json(raw: dict[str, Any]):
    dialogue = parsed(raw).dialogue()
    assert Dialogue.model_validate_json(dialogue.model_dump_json()) == dialogue
