"""Results files of the official evaluator: read in our words, or refused with file, line and field."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from results_rows import (
    DIALOGUE,
    OFFICIAL_KEYS,
    only,
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

from dspy_proact.benchmarks.proactbench.corpus import (
    TokenUsage,
    read_results,
    sample_path,
)
from dspy_proact.benchmarks.proactbench.types import Grade, Origin

MODEL = "vendor/model-1"


# Reading


def test_an_official_row_is_read_in_our_words(tmp_path: Path):
    results = read(tmp_path, result_row())
    first, second, third = results.triggers
    assert first == result_trigger(
        2,
        user_message="Question 2: which path leads to the lighthouse?",
        response="New answer 2: the last boat leaves at four.",
        curated_response="Answer 2: the one along the cliff.",
        evidence=("the last boat leaves at four",),
    )
    assert first.origin == Origin(
        dialogue="BP_TRAVEL_07_EVA__style3__0123456789abcdef0123456789abcdef",
        persona="0123456789abcdef0123456789abcdef",
        scenario_id="TRAVEL_07",
        blueprint="BP_TRAVEL_07_EVA",
        life_domain="travel",
        style=3,
        source_model="curator-1",
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
    assert row()["unique_id_eval"] == DIALOGUE
    given = read(tmp_path, result_row(unique_id_eval="given")).triggers[0]
    assert (given.key, given.origin.dialogue) == ("given__t2", "given")


def test_triggers_stand_in_the_order_of_the_file(tmp_path: Path):
    points = [result_point(5, "RECOVERY"), result_point(2)]
    results = read(tmp_path, result_row(unique_id_eval="b", trigger_points=points), result_row(unique_id_eval="a"))
    assert [trigger.key for trigger in results.triggers] == ["b__t5", "b__t2", "a__t2", "a__t3", "a__t5"]


def test_rows_may_lack_triggers_records_and_usage(tmp_path: Path):
    bare = result_row(trigger_points=[], turn_records=[], trigger_stats={}, num_trigger_points=0, token_usage=None)
    results = read(tmp_path, bare)
    assert (results.dialogue_count, results.triggers, results.stated_triggers, results.usage) == (1, (), 0, {})
    orphaned = read(tmp_path, result_row(trigger_points=[result_point(3)]))
    assert orphaned.orphans == (f"{DIALOGUE}__t2", f"{DIALOGUE}__t5")
    assert [trigger.turn for trigger in orphaned.triggers] == [3]
    # A trigger without a record is kept, and its verdict counts.
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


def test_a_trigger_fits_together():
    with pytest.raises(ValidationError, match="the key must be 'a__t2', not 'a__t3'"):
        result_trigger(2, dialogue="a", key="a__t3")
    for changes in ({"response": None}, {"curated_response": None}):
        with pytest.raises(ValidationError, match="a response needs the user message that it answers"):
            result_trigger(user_message=None, **changes)


# Verdicts


GRADED = [
    *(("EVALUATED", grade.value, grade, False) for grade in Grade),
    ("EVALUATED", "Pass", Grade.PASS, True),
    ("EVALUATED", " partial\n", Grade.PARTIAL, True),
    ("Evaluated", "FAIL", Grade.FAIL, True),
    (" evaluated ", "fail ", Grade.FAIL, True),
]


@pytest.mark.parametrize(("status", "label", "grade", "stray"), GRADED)
def test_case_and_outer_blanks_are_read_over_and_marked(
    tmp_path: Path, status: str, label: str, grade: Grade, stray: bool
):
    trigger = only(tmp_path, result_point(2, status=status, score=label))
    assert (trigger.grade, trigger.stray, trigger.unscored_reason) == (grade, stray, None)
    assert (trigger.status, trigger.label) == (status, label)


UNREAD: list[tuple[dict[str, Any] | None, str | None, str, bool]] = [
    # Result, response, reason, stray.
    (None, None, "no_response", False),
    (verdict(status="SKIPPED", score=None), None, "no_response", False),
    (None, "", "empty_response", False),
    (None, "Hello.", "no_verdict", False),
    (verdict(score=None), "Hello.", "no_verdict", False),
    (verdict(status=None, score=None), "Hello.", "no_verdict", False),
    (verdict(status="SKIPPED", score=None), "Hello.", "not_evaluated", False),
    (verdict(status="SKIPPED", score="PASS"), "Hello.", "not_evaluated", False),
    (verdict(status="skipped", score=None), "Hello.", "not_evaluated", True),
    (verdict(status="DONE", score="PASS"), "Hello.", "not_evaluated", True),
    (verdict(status=None, score="PASS"), "Hello.", "not_evaluated", True),
    (verdict(score="GOOD"), "Hello.", "stray_label", True),
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


@pytest.mark.parametrize(("value", "expected"), EVIDENCE, ids=range(len(EVIDENCE)))
def test_evidence_is_a_text_or_a_list_or_a_list_in_a_text(tmp_path: Path, value: object, expected: tuple[str, ...]):
    assert only(tmp_path, result_point(2, evidence=value)).evidence == expected


# Refusals


def point(**changes: Any) -> dict[str, Any]:
    return result_row(trigger_points=[result_point(2) | changes])


def record(**changes: Any) -> dict[str, Any]:
    return result_row(turn_records=[result_record(2) | changes])


GONE = "the field is missing"
VERDICT = "trigger_points[0].evaluation_result"
WRONG: list[tuple[dict[str, Any], str, str]] = [
    *((without(result_row(), name), name, GONE) for name in OFFICIAL_KEYS[:-1]),
    (result_row(unique_id_eval=" "), "unique_id_eval", "input should not be blank, not ' '"),
    (result_row(evaluated_model=""), "evaluated_model", "input should not be blank, not ''"),
    (result_row(num_trigger_points=-1), "num_trigger_points", "input should be greater than or equal to 0, not -1"),
    (result_row(trigger_stats=[]), "trigger_stats", "input should be a valid dictionary, not a list"),
    (result_row(trigger_stats={"EMERGENT": {"PASS": True}}), "trigger_stats.EMERGENT.PASS", "not true"),
    (result_row(trigger_stats={"EMERGENT": {"PASS": -1}}), "trigger_stats.EMERGENT.PASS", "not -1"),
    (result_row(token_usage={"judge": 3}), "token_usage.judge", "input should be an object, not 3"),
    (result_row(trigger_points=[without(result_point(2), "evaluation_result")]), VERDICT, GONE),
    (point(turn=0), "trigger_points[0].turn", "input should be greater than or equal to 1, not 0"),
    (point(evaluation_result={}), f"{VERDICT}.status", GONE),
    (point(evaluation_result=without(verdict(), "score")), f"{VERDICT}.score", GONE),
    (point(evaluation_result=verdict(score=1)), f"{VERDICT}.score", "input should be a valid string, not 1"),
    (
        point(evaluation_result=verdict(evidence={"quote": "x"})),
        f"{VERDICT}.evidence",
        "list of texts, not an object",
    ),
    (point(evaluation_result=verdict(evidence=["x", 1])), f"{VERDICT}.evidence", "a list of texts, not a list"),
    (record(turn=0), "turn_records[0].turn", "input should be greater than or equal to 1, not 0"),
    (record(assistant_response=["x"]), "turn_records[0].assistant_response", "input should be a valid string, not a"),
    (
        result_row(turn_records=[without(result_record(2), "original_assistant_response")]),
        "turn_records[0].original_assistant_response",
        GONE,
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


@pytest.mark.parametrize(
    ("content", "line", "field", "problem"),
    [
        (b"", None, None, "empty: there is no dialogue in it"),
        (jsonl(result_row()).encode() + b'{"uuid": "caf\xe9"}\n', 2, None, "not UTF-8: invalid continuation"),
        (jsonl(result_row())[:-40], 1, None, "not JSON: "),
        (jsonl(record(assistant_response="a\0b")), 1, "turn_records[0].assistant_response", "holds a NUL character"),
        ("\n" + jsonl(result_row(), result_row()), 3, "unique_id_eval", "the same dialogue stands on line 2; keep one"),
        # Built, and given.
        (jsonl(result_row(), result_row(unique_id_eval=DIALOGUE)), 2, "unique_id_eval", "the same dialogue stands on"),
        (
            jsonl(result_row(), result_row(unique_id_eval="b", evaluated_model="model-2")),
            2,
            "evaluated_model",
            "'model-2' here and 'vendor/model-1' before: one model a file",
        ),
    ],
)
def test_a_bad_file_is_refused_with_file_line_and_field(
    tmp_path: Path, content: str | bytes, line: int | None, field: str | None, problem: str
):
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
    assert "missing, as in a corpus" in str(refusal(lambda: read_results(sample_path())))
    assert str(refusal(lambda: read_results(tmp_path / "none"))).endswith("; give the path of a results file")
