"""Results files that are refused, with file, line and field."""

import json
from pathlib import Path
from typing import Any

import pytest
from results_rows import (
    DIALOGUE,
    OFFICIAL_KEYS,
    read,
    refusal,
    result_point,
    result_record,
    result_row,
    used,
    verdict,
    written,
)
from rows import jsonl, row, rubric, without

from dspy_proact.benchmarks.proactbench.corpus import read_results, sample_path

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
