"""Results files are written as the official evaluator writes them, and read back as they were."""

import errno
import json
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from results_rows import (
    DIALOGUE,
    OFFICIAL_KEYS,
    TEXTS,
    UNSCORED,
    read,
    refusal,
    result_row,
    result_trigger,
    result_triggers,
    stats,
    used,
    written,
)

from dspy_proact.benchmarks.proactbench.corpus import ResultTrigger, TokenUsage, read_results, write_results
from dspy_proact.benchmarks.proactbench.corpus.results import evidence_text, quotes
from dspy_proact.errors import UsageError

MODEL = "vendor/model-1"


def test_a_row_is_written_with_the_official_keys_in_their_order_and_the_unique_id_last(tmp_path: Path):
    triggers = read(tmp_path, result_row()).triggers
    file = tmp_path / "out.jsonl"
    usage = {DIALOGUE: {"judge": TokenUsage(**used(2100, 210, 3)), "assistant": TokenUsage(**used(900, 70, 3))}}
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
    assert [each["evaluation_result"] and each["evaluation_result"]["score"] for each in raw["trigger_points"]] == [
        None,
        None,
        None,
        "PASS",
    ]
    assert [(each["turn"], each["assistant_response"]) for each in raw["turn_records"]] == [
        (1, None),
        (2, "New answer 2."),
        (4, "New answer 4."),
    ]
    assert raw["num_trigger_points"] == 4
    assert raw["trigger_stats"] == {"EMERGENT": stats(*["SKIPPED"] * 3), "RECOVERY": stats("PASS")}
    assert raw["token_usage"] == {"assistant": used(0, 0, 0), "judge": used(0, 0, 0)}
    reasons = [trigger.unscored_reason for trigger in read_results(tmp_path / "out.jsonl").triggers]
    assert reasons == ["no_response", "no_verdict", "no_response", None]


def test_a_stray_verdict_is_written_as_what_it_says(tmp_path: Path):
    stray = result_trigger(status="evaluated", label=" Pass ")
    write_results(tmp_path / "out.jsonl", MODEL, [stray])
    results = read_results(tmp_path / "out.jsonl")
    assert results.triggers == (result_trigger(status="EVALUATED", label="PASS"),)
    assert results.stated == {"EMERGENT": stats("PASS")}


def test_triggers_of_a_dialogue_go_into_one_row_where_the_first_stands(tmp_path: Path):
    triggers = [result_trigger(5, dialogue="b"), result_trigger(1, dialogue="a"), result_trigger(2, dialogue="b")]
    write_results(tmp_path / "out.jsonl", MODEL, triggers, {"a": {"judge": TokenUsage(calls=2)}})
    results = read_results(tmp_path / "out.jsonl")
    assert [trigger.key for trigger in results.triggers] == ["b__t5", "b__t2", "a__t1"]
    assert results.usage == {"assistant": TokenUsage(), "judge": TokenUsage(calls=2)}


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


@pytest.mark.parametrize(
    ("evidence", "text"),
    [
        ((), ""),
        (("the last boat",), "the last boat"),
        (('"the last" ... "boat"',), '"the last" ... "boat"'),
        (("the last", "caf\u00e9"), '["the last", "caf\u00e9"]'),
        (("",), '[""]'),
        (("[]",), '["[]"]'),
        (("[1] of two",), "[1] of two"),
    ],
)
def test_one_quote_is_written_as_it_is_and_several_as_a_list(evidence: tuple[str, ...], text: str):
    assert evidence_text(evidence) == text


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


def test_a_file_that_cannot_be_written_stays_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def problem(path: Path) -> str:
        with pytest.raises(UsageError) as caught:
            write_results(path, MODEL, [result_trigger()])
        return str(caught.value)

    none = tmp_path / "none"
    assert problem(none / "x").endswith(f"there is no folder {str(none)!r}; create it first")
    file = written(tmp_path, "as it was")
    monkeypatch.setattr(os, "fsync", full)
    full_disk = "No space left on device; free some disk space and repeat the command"
    assert problem(file) == f"{file}: cannot be written: {full_disk}"
    assert file.read_text(encoding="utf-8") == "as it was"
    assert list(tmp_path.iterdir()) == [file]
