import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from results_rows import (
    DIALOGUE,
    OFFICIAL_KEYS,
    read,
    refusal,
    result_point,
    result_record,
    result_row,
    result_trigger,
    stats,
    used,
    verdict,
    written,
)
from rows import jsonl, row, rubric, without

from dspy_proact.corpus import ResultTrigger, TokenUsage, read_results, sample_path
from dspy_proact.types import Grade, Origin, Phase, Rubric

MODEL = "vendor/model-1"


def only(folder: Path, point: dict[str, Any], **record: Any) -> ResultTrigger:
    """The trigger of a file that has no other; the point is at turn 2."""
    (trigger,) = read(folder, result_row(trigger_points=[point], turn_records=[result_record(2, **record)])).triggers
    return trigger


# Reading


def test_an_official_row_is_read_in_our_words(tmp_path: Path):
    results = read(tmp_path, result_row())
    first, second, third = results.triggers
    assert first == ResultTrigger(
        key="BP_TRAVEL_07_EVA__style3__0123456789abcdef0123456789abcdef__t2",
        origin=Origin(
            dialogue="BP_TRAVEL_07_EVA__style3__0123456789abcdef0123456789abcdef",
            persona="0123456789abcdef0123456789abcdef",
            scenario_id="TRAVEL_07",
            blueprint="BP_TRAVEL_07_EVA",
            life_domain="travel",
            style=3,
            source_model="curator-1",
        ),
        turn=2,
        rubric=Rubric(
            phase=Phase.EMERGENT,
            pass_criteria="Says that the last boat leaves early (EMERGENT).",
            partial_criteria="Mentions boats (EMERGENT).",
            fail_criteria="Says nothing of boats (EMERGENT).",
        ),
        user_message="Question 2: which path leads to the lighthouse?",
        response="New answer 2: the last boat leaves at four.",
        curated_response="Answer 2: the one along the cliff.",
        status="EVALUATED",
        label="PASS",
        reasoning="names the ferry",
        evidence=("the last boat leaves at four",),
    )
    assert [trigger.grade for trigger in (first, second, third)] == [Grade.PASS, Grade.PARTIAL, Grade.FAIL]
    assert [(each.turn, each.stray, each.unscored_reason) for each in (second, third)] == [
        (3, False, None),
        (5, False, None),
    ]


def test_a_file_says_what_it_is_and_what_it_states(tmp_path: Path):
    other = result_row(
        unique_id_eval="other",
        num_trigger_points=2,
        trigger_stats={"EMERGENT": stats("FAIL", "SKIPPED") | {"Pass": 1}, "LATE": {"PASS": 4}},
        token_usage={"assistant": used(100, 30, 1), "planner": used(1, 2, 3)},
    )
    file = written(tmp_path, jsonl(result_row(), other))
    results = read_results(str(file))
    assert results.name == str(file)
    assert results.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    assert results.model == MODEL
    assert results.dialogue_count == 2
    assert results.stated_triggers == 5
    assert results.stated == {
        "EMERGENT": {"PASS": 1, "PARTIAL": 0, "FAIL": 1, "SKIPPED": 1, "Pass": 1},
        "CRITICAL": {"PASS": 0, "PARTIAL": 1, "FAIL": 0, "SKIPPED": 0},
        "RECOVERY": {"PASS": 0, "PARTIAL": 0, "FAIL": 1, "SKIPPED": 0},
        "LATE": {"PASS": 4},
    }
    assert results.usage == {
        "assistant": TokenUsage(prompt_tokens=1000, completion_tokens=100, calls=4),
        "judge": TokenUsage(prompt_tokens=2100, completion_tokens=210, calls=3),
        "planner": TokenUsage(prompt_tokens=1, completion_tokens=2, calls=3),
    }
    assert results.orphans == ()
    assert results.ignored_fields == {}


def test_a_key_is_the_given_one_or_else_built_as_in_the_corpus(tmp_path: Path):
    built = read(tmp_path, result_row()).triggers[0]
    assert (built.key, built.origin.dialogue) == (f"{DIALOGUE}__t2", DIALOGUE)
    given = read(tmp_path, result_row(unique_id_eval="given")).triggers[0]
    assert (given.key, given.origin.dialogue) == ("given__t2", "given")


def test_the_keys_of_a_corpus_and_of_its_results_are_the_same(tmp_path: Path):
    assert row()["unique_id_eval"] == read(tmp_path, result_row()).triggers[0].origin.dialogue


def test_triggers_stand_in_the_order_of_the_file(tmp_path: Path):
    points = [result_point(5, "RECOVERY"), result_point(2)]
    results = read(tmp_path, result_row(unique_id_eval="b", trigger_points=points), result_row(unique_id_eval="a"))
    assert [trigger.key for trigger in results.triggers] == ["b__t5", "b__t2", "a__t2", "a__t3", "a__t5"]


def test_a_row_may_be_without_a_trigger(tmp_path: Path):
    results = read(tmp_path, result_row(trigger_points=[], turn_records=[], trigger_stats={}, num_trigger_points=0))
    assert (results.dialogue_count, results.triggers, results.stated_triggers) == (1, (), 0)


def test_a_record_without_a_trigger_is_an_orphan(tmp_path: Path):
    results = read(tmp_path, result_row(trigger_points=[result_point(3)]))
    assert results.orphans == (f"{DIALOGUE}__t2", f"{DIALOGUE}__t5")
    assert [trigger.turn for trigger in results.triggers] == [3]


def test_a_trigger_without_a_record_is_kept_and_its_verdict_counts(tmp_path: Path):
    results = read(tmp_path, result_row(turn_records=[]))
    assert [(each.user_message, each.response, each.curated_response) for each in results.triggers] == [(None,) * 3] * 3
    assert [each.grade for each in results.triggers] == [Grade.PASS, Grade.PARTIAL, Grade.FAIL]


def test_what_the_format_does_not_know_is_counted_and_nulls_and_its_own_extras_are_not(tmp_path: Path):
    odd = result_row(
        mood="calm",
        nothing=None,
        source_results_path="secret/heron.jsonl",
        unique_id_eval="odd",
        trigger_points=[result_point(2, confidence=1) | {"weight": 1}, result_point(3, result=None)],
        turn_records=[result_record(2, pace="slow"), result_record(3, pace="fast")],
        token_usage={"judge": used(1, 1, 1) | {"cached": 1}},
    )
    odd["trigger_points"][0]["evaluation_rubric"] = rubric("CRITICAL", hint="x")
    results = read(tmp_path, odd, result_row(mood="cross"))
    assert results.ignored_fields == {
        "mood": 2,
        "token_usage.judge.cached": 1,
        "trigger_points.evaluation_result.confidence": 1,
        "trigger_points.evaluation_rubric.hint": 1,
        "trigger_points.weight": 1,
        "turn_records.pace": 2,
    }
    assert "heron" not in repr(results)


def test_usage_may_be_left_out(tmp_path: Path):
    assert read(tmp_path, without(result_row(), "token_usage")).usage == {}
    assert read(tmp_path, result_row(token_usage=None)).usage == {}


def test_blank_lines_a_byte_order_mark_and_other_line_ends_change_nothing(tmp_path: Path):
    lines = jsonl(result_row(unique_id_eval="a"), result_row(unique_id_eval="b")).splitlines()
    plain = read_results(written(tmp_path, "\n".join(lines)))
    odd = read_results(written(tmp_path, f"\ufeff\r\n{lines[0]}\r\n \t\r\n\n{lines[1]}"))
    old = read_results(written(tmp_path, f"{lines[0]}\r{lines[1]}\r"))
    assert (odd.triggers, odd.dialogue_count) == (old.triggers, old.dialogue_count) == (plain.triggers, 2)
    assert odd.sha256 != plain.sha256


def test_text_is_taken_over_to_the_last_character(tmp_path: Path):
    text = " \u2028 a\r\n\t\u00e9 e\u0301 \U0001f6a2 \x85 </s> {x} 2024-01-01 "
    trigger = only(tmp_path, result_point(2, rationale=text, evidence=text), assistant_response=text)
    assert (trigger.response, trigger.reasoning, trigger.evidence) == (text, text, (text,))


def test_a_line_of_a_million_characters_is_read(tmp_path: Path):
    assert only(tmp_path, result_point(2), assistant_response="x" * 1_000_000).response == "x" * 1_000_000


def test_results_cannot_be_changed(tmp_path: Path):
    results = read(tmp_path, result_row())
    with pytest.raises(AttributeError):
        results.model = "other"  # pyright: ignore[reportAttributeAccessIssue]
    assert hash(results) == hash(read_results(results.name))


# What a verdict says

EXACT = [(status, label) for status in ("EVALUATED",) for label in ("PASS", "PARTIAL", "FAIL")]
STRAY = [
    ("EVALUATED", "Pass", Grade.PASS),
    ("EVALUATED", " partial\n", Grade.PARTIAL),
    ("Evaluated", "FAIL", Grade.FAIL),
    (" evaluated ", "fail ", Grade.FAIL),
]


@pytest.mark.parametrize(("status", "label"), EXACT)
def test_the_formats_own_words_are_the_grade(tmp_path: Path, status: str, label: str):
    trigger = only(tmp_path, result_point(2, status=status, score=label))
    assert (trigger.grade, trigger.stray, trigger.unscored_reason) == (Grade(label), False, None)


@pytest.mark.parametrize(("status", "label", "grade"), STRAY)
def test_case_and_outer_blanks_are_read_over_and_marked(tmp_path: Path, status: str, label: str, grade: Grade):
    trigger = only(tmp_path, result_point(2, status=status, score=label))
    assert (trigger.grade, trigger.stray, trigger.unscored_reason) == (grade, True, None)
    assert (trigger.status, trigger.label) == (status, label)


UNREAD: list[tuple[dict[str, Any] | None, str | None, str, bool]] = [
    # Result, response, reason, stray.
    (None, None, "no_response", False),
    (verdict(status="SKIPPED", score=None), None, "no_response", False),
    (None, "", "empty_response", False),
    (None, " \n", "empty_response", False),
    (None, "Hello.", "no_verdict", False),
    (verdict(score=None), "Hello.", "no_verdict", False),
    (verdict(status=None, score=None), "Hello.", "no_verdict", False),
    (verdict(status="SKIPPED", score=None), "Hello.", "not_evaluated", False),
    (verdict(status="SKIPPED", score="N/A"), "", "not_evaluated", False),
    (verdict(status="SKIPPED", score="PASS"), "Hello.", "not_evaluated", False),
    (verdict(status="skipped", score=None), "Hello.", "not_evaluated", True),
    (verdict(status="DONE", score="PASS"), "Hello.", "not_evaluated", True),
    (verdict(status="", score="PASS"), "Hello.", "not_evaluated", True),
    (verdict(status=None, score="PASS"), "Hello.", "not_evaluated", True),
    (verdict(score="GOOD"), "Hello.", "stray_label", True),
    (verdict(score="PASS."), "Hello.", "stray_label", True),
    (verdict(score=""), "Hello.", "stray_label", True),
    (verdict(score="SKIPPED"), "Hello.", "stray_label", True),
    (verdict(status="Evaluated", score="GOOD"), "Hello.", "stray_label", True),
]


@pytest.mark.parametrize(("result", "response", "reason", "stray"), UNREAD)
def test_what_cannot_be_read_is_kept_unscored_with_its_reason(
    tmp_path: Path, result: dict[str, Any] | None, response: str | None, reason: str, stray: bool
):
    trigger = only(tmp_path, result_point(2, result=result), assistant_response=response)
    assert (trigger.grade, trigger.unscored_reason, trigger.stray) == (None, reason, stray)
    assert trigger.response == response


@pytest.mark.parametrize("response", ["", None])
def test_a_verdict_on_an_empty_or_missing_response_counts(tmp_path: Path, response: str | None):
    trigger = only(tmp_path, result_point(2, score="FAIL"), assistant_response=response)
    assert (trigger.grade, trigger.response, trigger.unscored_reason) == (Grade.FAIL, response, None)


EVIDENCE: list[tuple[object, tuple[str, ...]]] = [
    ("", ()),
    (None, ()),
    ([], ()),
    ("[]", ()),
    ("the last boat", ("the last boat",)),
    ('"the last" ... "boat"', ('"the last" ... "boat"',)),
    ('["the last", "boat"]', ("the last", "boat")),
    (' \n["boat"] ', ("boat",)),
    (["the last", "boat"], ("the last", "boat")),
    ([""], ("",)),
    (" ", (" ",)),
    # Lists of something else, no lists, and lists that hide what a line may not hold are texts.
    ('["the last", 4]', ('["the last", 4]',)),
    ("[the last] boat", ("[the last] boat",)),
    ('"boat"', ('"boat"',)),
    ('["\\ud83d"]', ('["\\ud83d"]',)),
    ('["\\u0000"]', ('["\\u0000"]',)),
    ("[" * 100_000, ("[" * 100_000,)),
    (f"[{'9' * 5000}]", (f"[{'9' * 5000}]",)),
]


@pytest.mark.parametrize(("given_evidence", "expected"), EVIDENCE, ids=range(len(EVIDENCE)))
def test_evidence_is_a_text_or_a_list_or_a_list_in_a_text(
    tmp_path: Path, given_evidence: object, expected: tuple[str, ...]
):
    assert only(tmp_path, result_point(2, evidence=given_evidence)).evidence == expected


def test_a_verdict_may_be_without_rationale_and_evidence(tmp_path: Path):
    bare = only(tmp_path, result_point(2, result={"status": "EVALUATED", "score": "PASS"}))
    assert (bare.grade, bare.reasoning, bare.evidence) == (Grade.PASS, "", ())
    assert only(tmp_path, result_point(2, rationale=None, evidence=None)) == bare


# Files that are refused

REQUIRED = [name for name in OFFICIAL_KEYS if name != "token_usage"]


@pytest.mark.parametrize("name", REQUIRED)
def test_a_required_field_that_is_missing_is_named(tmp_path: Path, name: str):
    error = refusal(lambda: read(tmp_path, without(result_row(), name)))
    assert str(error) == f"{tmp_path / 'results.jsonl'}, line 1, field '{name}': the field is missing"


def point(**changes: Any) -> dict[str, Any]:
    return result_row(trigger_points=[result_point(2) | changes])


def record(**changes: Any) -> dict[str, Any]:
    return result_row(turn_records=[result_record(2) | changes])


WRONG: list[tuple[dict[str, Any], str, str]] = [
    (result_row(uuid=17), "uuid", "input should be a valid string, not 17"),
    (result_row(unique_id_eval=" "), "unique_id_eval", "input should not be blank, not ' '"),
    (result_row(evaluated_model=""), "evaluated_model", "input should not be blank, not ''"),
    (
        result_row(evaluated_model="a\x1b[2Jb"),
        "evaluated_model",
        "input should have no control characters, not 'a\\x1b[2Jb'",
    ),
    (result_row(style_combination_index="3"), "style_combination_index", "input should be a valid integer, not '3'"),
    (result_row(num_trigger_points=-1), "num_trigger_points", "input should be greater than or equal to 0, not -1"),
    (result_row(trigger_stats=[]), "trigger_stats", "input should be a valid dictionary, not a list"),
    (result_row(trigger_stats={"EMERGENT": {"PASS": True}}), "trigger_stats.EMERGENT.PASS", "not true"),
    (result_row(trigger_stats={"EMERGENT": {"PASS": -1}}), "trigger_stats.EMERGENT.PASS", "not -1"),
    (result_row(trigger_points=None), "trigger_points", "input should be a valid list, not null"),
    (result_row(turn_records=["hello"]), "turn_records[0]", "input should be an object, not 'hello'"),
    (result_row(token_usage={"judge": 3}), "token_usage.judge", "input should be an object, not 3"),
    (
        result_row(token_usage={"judge": used(1, 1, 1) | {"calls": 1.5}}),
        "token_usage.judge.calls",
        "input should be a valid integer, not 1.5",
    ),
    (point(turn="2"), "trigger_points[0].turn", "input should be a valid integer, not '2'"),
    (point(turn=0), "trigger_points[0].turn", "input should be greater than or equal to 1, not 0"),
    (
        point(evaluation_rubric=rubric("LATE")),
        "trigger_points[0].evaluation_rubric.type",
        "input should be 'EMERGENT', 'CRITICAL' or 'RECOVERY', not 'LATE'",
    ),
    (
        point(evaluation_rubric=without(rubric("EMERGENT"), "fail_criteria")),
        "trigger_points[0].evaluation_rubric.fail_criteria",
        "the field is missing",
    ),
    (point(evaluation_result="PASS"), "trigger_points[0].evaluation_result", "input should be an object, not 'PASS'"),
    (point(evaluation_result={}), "trigger_points[0].evaluation_result.status", "the field is missing"),
    (
        point(evaluation_result=without(verdict(), "score")),
        "trigger_points[0].evaluation_result.score",
        "the field is missing",
    ),
    (
        point(evaluation_result=verdict(score=1)),
        "trigger_points[0].evaluation_result.score",
        "input should be a valid string, not 1",
    ),
    (
        point(evaluation_result=verdict(evidence={"quote": "x"})),
        "trigger_points[0].evaluation_result.evidence",
        "input should be a text or a list of texts, not an object",
    ),
    (
        point(evaluation_result=verdict(evidence=["x", 1])),
        "trigger_points[0].evaluation_result.evidence",
        "input should be a text or a list of texts, not a list",
    ),
    (
        result_row(trigger_points=[without(result_point(2), "evaluation_result")]),
        "trigger_points[0].evaluation_result",
        "the field is missing",
    ),
    (record(turn=0), "turn_records[0].turn", "input should be greater than or equal to 1, not 0"),
    (record(user_message=None), "turn_records[0].user_message", "input should be a valid string, not null"),
    (record(assistant_response=["x"]), "turn_records[0].assistant_response", "input should be a valid string, not a"),
    (
        result_row(turn_records=[without(result_record(2), "original_assistant_response")]),
        "turn_records[0].original_assistant_response",
        "the field is missing",
    ),
    (
        result_row(trigger_points=[result_point(2), result_point(3), result_point(2)]),
        "trigger_points[2].turn",
        "turn 2 has a trigger already: one a turn",
    ),
    (
        result_row(turn_records=[result_record(2), result_record(2)]),
        "turn_records[1].turn",
        "turn 2 has a record already: one a turn",
    ),
]


@pytest.mark.parametrize(("raw", "field", "problem"), WRONG)
def test_a_field_of_the_wrong_type_or_value_is_refused_with_file_line_and_field(
    tmp_path: Path, raw: dict[str, Any], field: str, problem: str
):
    error = refusal(lambda: read(tmp_path, result_row(unique_id_eval="a"), raw))
    assert str(error).startswith(f"{tmp_path / 'results.jsonl'}, line 2, field '{field}': ")
    assert problem in str(error)


BadFile = tuple[str | bytes, int | None, str | None, str]
"""Content, line, field and problem."""
BAD_FILES: list[BadFile] = [
    (b"", None, None, "empty: there is no dialogue in it"),
    ("\ufeff\n \n", None, None, "empty: there is no dialogue in it"),
    (jsonl(result_row()).encode() + b'{"uuid": "caf\xe9"}\n', 2, None, "not UTF-8: invalid continuation byte; save"),
    (jsonl(result_row()).encode("utf-16"), 1, None, "not UTF-8: invalid start byte; save the file as UTF-8"),
    (jsonl(result_row()) + "{oops\n", 2, None, "not JSON: "),
    (jsonl(result_row())[:-40], 1, None, "not JSON: "),
    (json.dumps(result_row(), indent=1), 1, None, "not JSON: "),
    (json.dumps([result_row()]), 1, None, "a line must hold one dialogue as a JSON object, not a list"),
    (b"\0" * 100, 1, None, "not JSON: "),
    (jsonl(record(assistant_response="a\0b")), 1, "turn_records[0].assistant_response", "holds a NUL character"),
    (
        jsonl(result_row()).replace("New answer 2", "\\ud83d"),
        1,
        "turn_records[0].assistant_response",
        "holds the lone surrogate '\\ud83d'",
    ),
    (
        jsonl(result_row()).replace('"turn": 2', '"turn": 2, "turn": 3', 1),
        1,
        "trigger_points[0].turn",
        "the key is given twice in one object",
    ),
    (
        "\n" + jsonl(result_row(), result_row()),
        3,
        "unique_id_eval",
        "the same dialogue stands on line 2; keep one of the two rows",
    ),
    (
        # Built, and given.
        jsonl(result_row(), result_row(unique_id_eval=DIALOGUE)),
        2,
        "unique_id_eval",
        "the same dialogue stands on line 1",
    ),
    (
        jsonl(result_row(), result_row(unique_id_eval="b", evaluated_model="model-2")),
        2,
        "evaluated_model",
        "'model-2' here and 'vendor/model-1' before: one model a file",
    ),
]


@pytest.mark.parametrize("bad", BAD_FILES)
def test_a_bad_file_is_refused_with_file_line_and_field(tmp_path: Path, bad: BadFile):
    content, line, field, problem = bad
    file = written(tmp_path, content)
    error = refusal(lambda: read_results(file))
    assert (error.source, error.line, error.field) == (str(file), line, field)
    assert problem in str(error)


def lean(raw: dict[str, Any]) -> dict[str, Any]:
    """A row of the public corpus, which carries no judgements."""
    points = [without(each, "evaluation_result") for each in raw["trigger_points"]]
    return {**without(raw, "trigger_stats"), "trigger_points": points}


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        (row(), "turn_records[0].original_assistant_response"),
        (lean(row()), "turn_records[0].original_assistant_response"),
        (lean(row()) | {"turn_records": []}, "trigger_points[0].evaluation_result"),
    ],
)
def test_a_corpus_in_place_of_results_is_told(tmp_path: Path, raw: dict[str, Any], field: str):
    assert str(refusal(lambda: read(tmp_path, raw))) == (
        f"{tmp_path / 'results.jsonl'}, line 1, field '{field}': "
        "missing, as in a corpus: this is no results file; give the file that the evaluator wrote"
    )


def test_the_sample_is_no_results_file():
    assert "missing, as in a corpus" in str(refusal(lambda: read_results(sample_path())))


def test_a_missing_file_a_folder_and_what_is_no_path_are_refused(tmp_path: Path):
    missing = tmp_path / "none.jsonl"
    file = written(tmp_path, jsonl(result_row()))
    assert str(refusal(lambda: read_results(missing))) == (
        f"{missing}: there is no such file; give the path of a results file"
    )
    assert str(refusal(lambda: read_results(tmp_path))) == (
        f"{tmp_path}: a folder, not a file; give the path of the file in it"
    )
    assert "cannot be read: Not a directory" in str(refusal(lambda: read_results(file / "x")))
    assert "not a path: embedded null byte" in str(refusal(lambda: read_results("a\0b")))


HOSTILE = "\x1b]0;owned\x07\u202e\n" + "A" * 100_000


@pytest.mark.parametrize(
    "raw",
    [
        result_row(scenario_id=HOSTILE),
        result_row(trigger_points=[result_point(2, HOSTILE)]),
        result_row(turn_records=[HOSTILE]),
        result_row(trigger_stats={HOSTILE: HOSTILE}),
        result_row(evaluated_model="b" + "A" * 100_000, unknown={HOSTILE: "\0"}),
    ],
)
def test_a_message_shows_hostile_text_short(tmp_path: Path, raw: dict[str, Any]):
    message = str(refusal(lambda: read(tmp_path, raw)))
    assert message.isprintable()
    assert len(message) < 500 + len(str(tmp_path))


# A trigger


def test_a_trigger_has_the_key_of_its_dialogue_and_turn():
    with pytest.raises(ValidationError, match="the key must be 'a__t2', not 'a__t3'"):
        result_trigger(2, dialogue="a", key="a__t3")


@pytest.mark.parametrize("changes", [{"response": None}, {"curated_response": None}])
def test_a_response_needs_its_user_message(changes: dict[str, None]):
    with pytest.raises(ValidationError, match="a response needs the user message that it answers"):
        result_trigger(user_message=None, **changes)
