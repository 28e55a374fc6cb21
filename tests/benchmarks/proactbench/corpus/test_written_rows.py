"""Rows of the official layout, written: what the reader gives back, and what the official schema asks for."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from builders.dialogues import jsonl, record, refusal, row, rows
from hypothesis import given
from hypothesis import strategies as st

from dspy_proact import load_corpus
from dspy_proact.benchmarks.proactbench.corpus.dialogues import Row
from dspy_proact.benchmarks.proactbench.corpus.rows import TacticalOrder, row_of
from dspy_proact.benchmarks.proactbench.types import Dialogue, Turn
from dspy_proact.files.rows import Line

ORDER = TacticalOrder(intent="ask for the path", content_payload=["the ferry"], behavioral_directive="be brief")
SAMPLE_SHA256 = "b08a4afc47172ce2bebba6bf7de81906c4b2ffa88fb452def66454517444d21a"
SYSTEM = "You answer for the island's ferry office.\nToday is 3 May."


def read(raw: dict[str, Any]) -> Row:
    return Row.of(Line("corpus.jsonl", 1, json.dumps(raw)))


def written(dialogue: Dialogue, **further: Any) -> dict[str, Any]:
    return row_of(dialogue, [ORDER] * len(dialogue.turns), **further)


@given(rows(), st.sampled_from([None, SYSTEM]))
def test_the_reader_gives_back_the_dialogue_that_was_written(raw, system):
    dialogue = read(raw | ({} if system is None else {"system_text": system})).dialogue()
    assert dialogue.system == system
    again = read(written(dialogue, anchors=[{"id": "a1"}], proof={"a1": {"kept": True}}))
    assert again.dialogue() == dialogue
    assert again.unknown_fields() == {}


@given(rows())
def test_a_dialogue_without_a_system_text_is_written_and_hashed_as_before_there_were_any(raw):
    dialogue = read(raw).dialogue()
    assert "system" not in dialogue.model_dump()
    assert "system" not in json.loads(dialogue.model_dump_json())
    assert not {"system_text", "anchors", "proof", "control_turn"} & written(dialogue).keys()


def test_the_sample_has_the_hash_that_it_had():
    assert load_corpus("sample").sha256 == SAMPLE_SHA256


def test_a_system_text_is_part_of_the_hash():
    corpus = load_corpus("sample")
    first, *others = corpus.dialogues
    ruled = replace(corpus, dialogues=(first.model_copy(update={"system": SYSTEM}), *others))
    other = replace(corpus, dialogues=(first.model_copy(update={"system": f"{SYSTEM} "}), *others))
    assert len({corpus.sha256, ruled.sha256, other.sha256}) == 3


# The official schema, key by key

TEXT, NUMBER, TRUTH = str, int, bool
RUBRIC = {"type": TEXT, "pass_criteria": TEXT, "partial_criteria": TEXT, "fail_criteria": TEXT}
PLANNER = {
    "state_audit": {"current_turn": NUMBER, "previous_trigger_count": NUMBER, "is_max_reached": TRUTH},
    "is_trigger_point": TRUTH,
    "stop_conversation": TRUTH,
    "evaluation_rubric": RUBRIC,
    "tactical_order": {"intent": TEXT, "content_payload": [TEXT], "behavioral_directive": TEXT},
}
USAGE = {"prompt_tokens": NUMBER, "completion_tokens": NUMBER, "calls": NUMBER}
OFFICIAL = {
    "blueprint_id": TEXT,
    "scenario_id": TEXT,
    "unique_id_eval": TEXT,
    "uuid": TEXT,
    "category_key": TEXT,
    "style_combination_index": NUMBER,
    "evaluated_model": TEXT,
    "num_turns_completed": NUMBER,
    "trigger_points": [{"turn": NUMBER, "evaluation_rubric": RUBRIC}],
    "turn_records": [{"turn": NUMBER, "planner": PLANNER, "user_message": TEXT, "assistant_response": TEXT}],
    "token_usage": {"planner": USAGE, "user_agent": USAGE, "assistant": USAGE},
}
"""As facts on the published corpus give it; the rubric of a planner's block is null at a turn without a trigger."""


def misfit(value: Any, schema: Any, path: str = "") -> str | None:
    """The path of the first value that is not of its type, or of an object with other keys; None where all fit."""
    if isinstance(schema, dict):
        if path.endswith(".planner.evaluation_rubric") and value is None:
            return None
        if not isinstance(value, dict) or value.keys() != schema.keys():
            return f"{path}: keys"
        wrong = (misfit(value[key], inner, f"{path}.{key}") for key, inner in schema.items())
        return next(filter(None, wrong), None)
    if isinstance(schema, list):
        wrong = (misfit(item, schema[0], f"{path}[{index}]") for index, item in enumerate(value))
        return next(filter(None, wrong), None)
    return None if type(value) is schema else f"{path}: {type(value).__name__}"


def test_a_row_has_every_key_of_the_official_schema_with_its_type(data: Path):
    real = json.loads((data / "proactbench_dialogue.jsonl").read_text(encoding="utf-8"))
    assert misfit(real, OFFICIAL) is None, "the schema is that of a published row"
    assert misfit(written(read(row()).dialogue()), OFFICIAL) is None
    assert misfit(written(read(row(trigger_points=[])).dialogue()), OFFICIAL) is None


def test_the_planners_block_counts_triggers_and_keeps_the_rubric_and_the_order():
    spent = {"prompt_tokens": 9, "completion_tokens": 4, "calls": 5}
    made = written(read(row()).dialogue(), used={"user_agent": spent})
    blocks = [entry["planner"] for entry in made["turn_records"]]
    # Triggers at turns 2, 3 and 5 of 5.
    assert [block["state_audit"]["previous_trigger_count"] for block in blocks] == [0, 0, 1, 2, 2]
    assert [block["is_trigger_point"] for block in blocks] == [False, True, True, False, True]
    assert [block["stop_conversation"] for block in blocks] == [False] * 4 + [True]
    assert [block["evaluation_rubric"] and block["evaluation_rubric"]["type"] for block in blocks] == [
        None,
        "EMERGENT",
        "CRITICAL",
        None,
        "RECOVERY",
    ]
    assert blocks[1]["evaluation_rubric"] == made["trigger_points"][0]["evaluation_rubric"]
    assert blocks[0]["tactical_order"] == ORDER.model_dump()
    assert made["token_usage"]["user_agent"] == spent
    assert made["token_usage"]["assistant"] == {"prompt_tokens": 0, "completion_tokens": 0, "calls": 0}


def test_what_the_schema_does_not_know_comes_last_and_only_where_there_is_any():
    dialogue = read(row(system_text=SYSTEM)).dialogue()
    made = written(dialogue, anchors=[{"id": "a1"}], proof={"t2": {"kept": True}}, control_turn=3)
    assert [*made][len(OFFICIAL) :] == ["system_text", "anchors", "proof", "control_turn"]


def test_a_response_that_is_still_to_be_written_is_an_empty_one():
    dialogue = read(row()).dialogue()
    *before, last = dialogue.turns
    open_ended = dialogue.model_copy(update={"turns": (*before, Turn(user=last.user, assistant=None))})
    assert read(written(open_ended)).dialogue().turns[-1].assistant == ""


def test_a_blank_system_text_is_refused():
    error = refusal(lambda: read(row(system_text=" \n")))
    assert error.field == "system_text"


def test_datasets_reads_written_rows(tmp_path: Path):
    datasets = pytest.importorskip("datasets")
    turns = [record(turn, user_message=f"Another question {turn}?") for turn in range(1, 4)]
    other = row(unique_id_eval="other", turn_records=turns, trigger_points=[], system_text=SYSTEM)
    made = [written(read(raw).dialogue(), anchors=[{"id": "a1"}]) for raw in (row(), other)]
    (tmp_path / "final_dialogues.jsonl").write_text(jsonl(*made), encoding="utf-8")
    files = str(tmp_path / "final_dialogues.jsonl")
    table = datasets.load_dataset("json", data_files=files, split="train", cache_dir=str(tmp_path / "cache"))
    assert table["system_text"][:] == [None, SYSTEM]
    assert [len(turns) for turns in table["turn_records"]] == [5, 3]
    assert table[0]["turn_records"][1]["planner"]["evaluation_rubric"]["type"] == "EMERGENT"
