"""Results files of the official evaluator, in our words."""

import hashlib
from pathlib import Path

import pytest
from pydantic import ValidationError
from results_rows import (
    DIALOGUE,
    only,
    read,
    result_point,
    result_record,
    result_row,
    result_trigger,
    stats,
    used,
    written,
)
from rows import jsonl, row, rubric, without

from dspy_proact.benchmarks.proactbench.corpus import ResultTrigger, TokenUsage, read_results
from dspy_proact.benchmarks.proactbench.types import Grade, Origin, Phase, Rubric

MODEL = "vendor/model-1"


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


# A trigger


def test_a_trigger_has_the_key_of_its_dialogue_and_turn():
    with pytest.raises(ValidationError, match="the key must be 'a__t2', not 'a__t3'"):
        result_trigger(2, dialogue="a", key="a__t3")


@pytest.mark.parametrize("changes", [{"response": None}, {"curated_response": None}])
def test_a_response_needs_its_user_message(changes: dict[str, None]):
    with pytest.raises(ValidationError, match="a response needs the user message that it answers"):
        result_trigger(user_message=None, **changes)
