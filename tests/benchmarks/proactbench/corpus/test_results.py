"""Results files of the official evaluator: read in our words, refused with file, line and field, and written."""

import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from builders.dialogues import jsonl, refusal, row, rubric, without
from builders.results import (
    DIALOGUE,
    OFFICIAL_KEYS,
    TEXTS,
    UNSCORED,
    only,
    read,
    result_point,
    result_record,
    result_row,
    result_trigger,
    result_triggers,
    stats,
    used,
    verdict,
    written,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from dspy_proact.benchmarks.proactbench.corpus.dialogues import sample_path
from dspy_proact.benchmarks.proactbench.corpus.results import (
    ResultTrigger,
    evidence_text,
    quotes,
    read_results,
    write_results,
)
from dspy_proact.benchmarks.proactbench.types import Grade

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
    assert [trigger.grade for trigger in (first, second, third)] == [Grade.PASS, Grade.PARTIAL, Grade.FAIL]
    assert not [trigger for trigger in results.triggers if trigger.stray or trigger.unscored_reason]


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
    assert (results.orphans, results.ignored_fields) == ((), {})


def test_a_key_is_the_given_one_or_else_built_as_in_the_corpus(tmp_path: Path):
    built = read(tmp_path, result_row()).triggers[0]
    assert (built.key, built.origin.dialogue) == (f"{DIALOGUE}__t2", DIALOGUE)
    assert row()["unique_id_eval"] == DIALOGUE
    inputs = read(tmp_path, result_row(unique_id_eval="given")).triggers[0]
    assert (inputs.key, inputs.origin.dialogue) == ("given__t2", "given")


def test_rows_may_lack_triggers_records_and_usage(tmp_path: Path):
    bare = result_row(trigger_points=[], turn_records=[], trigger_stats={}, num_trigger_points=0, token_usage=None)
    results = read(tmp_path, bare)
    assert (results.dialogue_count, results.triggers, results.stated_triggers) == (1, (), 0)
    orphaned = read(tmp_path, result_row(trigger_points=[result_point(3)]))
    assert orphaned.orphans == (f"{DIALOGUE}__t2", f"{DIALOGUE}__t5")
    assert [trigger.turn for trigger in orphaned.triggers] == [3]
    # A trigger without a record is kept, and its verdict counts.
    results = read(tmp_path, result_row(turn_records=[]))
    assert [(trigger.user_message, trigger.response, trigger.curated_response) for trigger in results.triggers] == [
        (None,) * 3
    ] * 3
    assert [trigger.grade for trigger in results.triggers] == [Grade.PASS, Grade.PARTIAL, Grade.FAIL]


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
    (None, None, "response: no_response", False),
    (verdict(status="SKIPPED", score=None), None, "response: no_response", False),
    (None, "", "response: empty", False),
    (verdict(score="FAIL"), "", "response: empty", False),
    (verdict(status="Evaluated", score="PASS"), " \n", "response: empty", True),
    (None, "Hello.", "verdict: no_verdict", False),
    (verdict(score=None), "Hello.", "verdict: no_verdict", False),
    (verdict(status="SKIPPED", score=None), "Hello.", "verdict: not_evaluated", False),
    (verdict(status="skipped", score=None), "Hello.", "verdict: not_evaluated", True),
    (verdict(status=None, score="PASS"), "Hello.", "verdict: not_evaluated", True),
    (verdict(score="GOOD"), "Hello.", "verdict: stray_label", True),
    (verdict(score=""), "Hello.", "verdict: stray_label", True),
]


@pytest.mark.parametrize(("result", "response", "reason", "stray"), UNREAD)
def test_what_cannot_be_read_is_kept_unscored_with_its_reason(
    tmp_path: Path, result: dict[str, Any] | None, response: str | None, reason: str, stray: bool
):
    trigger = only(tmp_path, result_point(2, result=result), assistant_response=response)
    assert (trigger.grade, trigger.unscored_reason, trigger.stray) == (None, reason, stray)
    assert trigger.response == response


def test_a_verdict_without_a_record_of_its_response_counts(tmp_path: Path):
    trigger = only(tmp_path, result_point(2, score="FAIL"), assistant_response=None)
    assert (trigger.grade, trigger.response, trigger.unscored_reason) == (Grade.FAIL, None, None)


EVIDENCE: list[tuple[object, tuple[str, ...]]] = [
    ("", ()),
    (None, ()),
    ("the last boat", ("the last boat",)),
    ('"the last" ... "boat"', ('"the last" ... "boat"',)),
    ('["the last", "boat"]', ("the last", "boat")),
    (["the last", "boat"], ("the last", "boat")),
    # Lists of something else, no lists, and lists that hide what a line may not hold are texts.
    ('["the last", 4]', ('["the last", 4]',)),
    ('["\\ud83d"]', ('["\\ud83d"]',)),
    ('["\\u0000"]', ('["\\u0000"]',)),
    ("[" * 100_000, ("[" * 100_000,)),
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
    (result_row(num_trigger_points=-1), "num_trigger_points", "input should be greater than or equal to 0, not -1"),
    (result_row(trigger_stats={"EMERGENT": {"PASS": True}}), "trigger_stats.EMERGENT.PASS", "not true"),
    (result_row(trigger_points=[without(result_point(2), "evaluation_result")]), VERDICT, GONE),
    (point(evaluation_result={}), f"{VERDICT}.status", GONE),
    (point(evaluation_result=without(verdict(), "score")), f"{VERDICT}.score", GONE),
    (point(evaluation_result=verdict(score=1)), f"{VERDICT}.score", "input should be a valid string, not 1"),
    (point(evaluation_result=verdict(evidence={"quote": "x"})), f"{VERDICT}.evidence", "list of texts, not an object"),
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
        (jsonl(result_row())[:-40], 1, None, "not JSON: "),
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


def test_a_corpus_in_place_of_results_is_refused_as_such(tmp_path: Path):
    points = [without(item, "evaluation_result") for item in row()["trigger_points"]]
    bare = {**without(row(), "trigger_stats"), "trigger_points": points, "turn_records": []}
    for raw in (row(), bare):
        assert str(refusal(lambda raw=raw: read(tmp_path, raw))) == (
            f"{tmp_path / 'results.jsonl'}, line 1, field 'source_evaluated_model': "
            "missing, as in a corpus: this is no results file; give the file that the evaluator wrote"
        )
    assert "missing, as in a corpus" in str(refusal(lambda: read_results(sample_path())))
    assert str(refusal(lambda: read_results(tmp_path / "none"))).endswith("; give the path of a results file")


# Writing


def test_a_row_is_written_with_the_official_keys_in_their_order_and_the_unique_id_last(tmp_path: Path):
    triggers = read(tmp_path, result_row()).triggers
    file = tmp_path / "out.jsonl"
    usage = {DIALOGUE: {"judge": used(2100, 210, 3), "assistant": used(900, 70, 3)}}
    assert write_results(file, MODEL, triggers, usage) == 0
    (text,) = file.read_text(encoding="utf-8").splitlines()
    assert list(json.loads(text)) == [*OFFICIAL_KEYS, "unique_id_eval"]
    assert text == json.dumps({**result_row(), "unique_id_eval": DIALOGUE})


def test_unscored_triggers_are_written_without_a_result_and_counted_as_skipped(tmp_path: Path):
    triggers = [
        result_trigger(1, response=None, **UNSCORED),
        result_trigger(2, label="GOOD"),
        result_trigger(3, user_message=None, response=None, curated_response=None, **UNSCORED),
        result_trigger(4, phase="RECOVERY"),
    ]
    write_results(tmp_path / "out.jsonl", MODEL, triggers)
    raw = json.loads((tmp_path / "out.jsonl").read_text(encoding="utf-8"))
    assert [item["evaluation_result"] is None for item in raw["trigger_points"]] == [True, True, True, False]
    responses = [(item["turn"], item["assistant_response"]) for item in raw["turn_records"]]
    assert responses == [(1, None), (2, "New answer 2."), (4, "New answer 4.")]
    assert raw["num_trigger_points"] == 4
    assert raw["trigger_stats"] == {"EMERGENT": stats(*["SKIPPED"] * 3), "RECOVERY": stats("PASS")}
    assert raw["token_usage"] == {"assistant": used(0, 0, 0), "judge": used(0, 0, 0)}
    reasons = [trigger.unscored_reason for trigger in read_results(tmp_path / "out.jsonl").triggers]
    assert reasons == ["response: no_response", "verdict: no_verdict", "response: no_response", None]


def test_a_stray_verdict_is_written_as_what_it_says(tmp_path: Path):
    stray = result_trigger(status="evaluated", label=" Pass ")
    write_results(tmp_path / "out.jsonl", MODEL, [stray])
    results = read_results(tmp_path / "out.jsonl")
    assert results.triggers == (result_trigger(status="EVALUATED", label="PASS"),)
    assert results.stated == {"EMERGENT": stats("PASS")}


def test_triggers_of_a_dialogue_go_into_one_row_where_the_first_stands(tmp_path: Path):
    triggers = [result_trigger(5, dialogue="b"), result_trigger(1, dialogue="a"), result_trigger(2, dialogue="b")]
    write_results(tmp_path / "out.jsonl", MODEL, triggers, {"a": {"judge": {"calls": 2}}})
    results = read_results(tmp_path / "out.jsonl")
    assert [trigger.key for trigger in results.triggers] == ["b__t5", "b__t2", "a__t1"]
    usage = [json.loads(line)["token_usage"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert usage == [{"assistant": used(0, 0, 0), "judge": used(0, 0, calls)} for calls in (0, 2)]


@settings(max_examples=30, deadline=None)
@given(result_triggers())
def test_what_is_written_is_read_back(triggers: list[ResultTrigger]):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "out.jsonl"
        assert write_results(file, MODEL, triggers) == 0
        results = read_results(file)
    assert list(results.triggers) == triggers
    assert (results.model, results.stated_triggers) == (MODEL, len(triggers))
    scored = sum(count for counts in results.stated.values() for label, count in counts.items() if label != "SKIPPED")
    assert scored == sum(trigger.grade is not None for trigger in triggers)
    assert (results.orphans, results.ignored_fields) == ((), {})


@given(st.lists(TEXTS, max_size=3))
def test_evidence_is_read_back_from_one_string(evidence: list[str]):
    assert quotes(evidence_text(evidence)) == tuple(evidence)


def test_one_quote_is_written_as_it_is_and_several_as_a_list():
    for one in ("the last boat", '"the last" ... "boat"', "[1] of two"):
        assert evidence_text([one]) == one
    texts = [evidence_text(evidence) for evidence in ((), ("",), ("[]",), ("the last", "caf\u00e9"))]
    assert texts == ["", '[""]', '["[]"]', '["the last", "caf\u00e9"]']


def test_characters_that_no_file_can_hold_are_replaced_and_counted(tmp_path: Path):
    trigger = result_trigger(
        response="a\0b\ud83d\ude00c\ud83d \ufffd", reasoning="\udc00", evidence=("x\0", "y"), user_message="\0"
    )
    # A NUL and a lone surrogate in the response, one in the reasoning, one in a quote, one in the message; the pair is
    # joined, and the U+FFFD that was there is no replacement.
    assert write_results(tmp_path / "out.jsonl", MODEL, [trigger]) == 5
    assert read_results(tmp_path / "out.jsonl").triggers == (
        result_trigger(
            response="a\ufffdb\U0001f600c\ufffd \ufffd",
            reasoning="\ufffd",
            evidence=("x\ufffd", "y"),
            user_message="\ufffd",
        ),
    )


UNWRITABLE: list[tuple[str, list[ResultTrigger], str]] = [
    (MODEL, [], "not written: there is no trigger to write"),
    ("", [result_trigger()], "line 1, field 'evaluated_model': input should not be blank, not ''"),
    ("a\0", [result_trigger()], "line 1, field 'evaluated_model': holds a NUL character"),
    (MODEL, [result_trigger(2), result_trigger(2)], "field 'trigger_points[1].turn': turn 2 has a trigger already"),
    (MODEL, [result_trigger(2), result_trigger(3, dialogue="a\nb")], "line 2, field 'unique_id_eval': input should ha"),
    (
        MODEL,
        [result_trigger(2), result_trigger(3, origin=result_trigger().origin.model_copy(update={"style": 4}))],
        "line 2, field 'unique_id_eval': the same dialogue stands on line 1",
    ),
]


@pytest.mark.parametrize(("model", "triggers", "problem"), UNWRITABLE)
def test_what_could_not_be_read_back_is_refused_and_the_file_stays_as_it_was(
    tmp_path: Path, model: str, triggers: list[ResultTrigger], problem: str
):
    file = written(tmp_path, "as it was")
    error = refusal(lambda: write_results(file, model, triggers))
    assert error.source == str(file)
    assert problem in str(error)
    assert file.read_text(encoding="utf-8") == "as it was"
    assert list(tmp_path.iterdir()) == [file]
    write_results(str(file), MODEL, [result_trigger()])
    assert read_results(file).triggers == (result_trigger(),)
    assert list(tmp_path.iterdir()) == [file]
