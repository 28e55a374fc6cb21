"""Rows of the official format for tests: one by hand, and a strategy for random ones."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from dspy_proact.errors import CorpusError

Row = dict[str, Any]

PHASES = ("EMERGENT", "CRITICAL", "RECOVERY")
HIDDEN_FIELDS = ("token_usage", "trigger_stats", "anchors", "proof")
"""Fields of a row that nobody may see and nothing checks; `planner` and `evaluation_result` hide deeper."""


def row(**changes: Any) -> Row:
    """A valid row of five turns with triggers at turns 2, 3 and 5 and every hidden field filled; changes are on top."""
    records = [record(number) for number in range(1, 6)]
    points = [trigger_point(turn, phase) for turn, phase in zip((2, 3, 5), PHASES, strict=True)]
    return {
        "blueprint_id": "BP_TRAVEL_07_EVA",
        "scenario_id": "TRAVEL_07",
        "unique_id_eval": "BP_TRAVEL_07_EVA__style3__0123456789abcdef0123456789abcdef",
        "uuid": "0123456789abcdef0123456789abcdef",
        "category_key": "travel_persona",
        "style_combination_index": 3,
        "evaluated_model": "curator-1",
        "num_turns_completed": len(changes.get("turn_records", records) or []),
        "trigger_points": points,
        "turn_records": records,
        "trigger_stats": {"EMERGENT": {"PASS": 1, "PARTIAL": 0, "FAIL": 0, "SKIPPED": 0}},
        "token_usage": {"planner": {"prompt_tokens": 11, "completion_tokens": 7, "calls": 5}},
        "anchors": [{"id": "a1", "fact": "the ferry stops on Sunday", "keys": ["ferry"]}],
        "proof": {"2": {"kept": True}},
        **changes,
    }


def record(turn: int, **changes: Any) -> Row:
    """One of `turn_records`, with its planner block."""
    return {
        "turn": turn,
        "planner": {
            "state_audit": {"current_turn": turn, "previous_trigger_count": 0, "is_max_reached": False},
            "is_trigger_point": True,
            "stop_conversation": False,
            "evaluation_rubric": rubric("EMERGENT"),
            "tactical_order": {
                "intent": "let the closing day of the ferry slip",
                "content_payload": ["ferry stops on Sunday"],
                "behavioral_directive": "sound hurried",
            },
        },
        "user_message": f"Question {turn}: which path leads to the lighthouse?",
        "assistant_response": f"Answer {turn}: the one along the cliff.",
        **changes,
    }


def trigger_point(turn: int, phase: str = "EMERGENT", **changes: Any) -> Row:
    """One of `trigger_points`, with the judgement that older versions carry."""
    result = {"status": "EVALUATED", "score": "PASS", "rationale": "names the ferry", "evidence": "the ferry"}
    return {"turn": turn, "evaluation_rubric": rubric(phase), "evaluation_result": result, **changes}


def rubric(phase: str, **changes: Any) -> Row:
    """An `evaluation_rubric`."""
    return {
        "type": phase,
        "pass_criteria": f"Says that the last boat leaves early ({phase}).",
        "partial_criteria": f"Mentions boats ({phase}).",
        "fail_criteria": f"Says nothing of boats ({phase}).",
        **changes,
    }


def without(value: Row, name: str) -> Row:
    """A copy that lacks a field."""
    return {key: item for key, item in value.items() if key != name}


def jsonl(*rows: Row) -> str:
    """The text of a file with these rows."""
    return "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in rows)


def refusal(act: Callable[[], object]) -> CorpusError:
    """What is said of a file that cannot be read."""
    with pytest.raises(CorpusError) as caught:
        act()
    return caught.value


def corpus(folder: Path, *rows: Row, name: str = "corpus.jsonl") -> Any:
    """The rows as a file, read; without rows two dialogues of two scenarios, each with a trigger a phase."""
    # Imported here: benchmarks whose folder was removed have no rows, and tests without them read this file.
    from dspy_proact.benchmarks.proactbench.corpus.dialogues import read_jsonl

    turns = [record(turn, user_message=f"Second question {turn}?") for turn in range(1, 6)]
    two = (row(), row(unique_id_eval="second", scenario_id="TRAVEL_08", turn_records=turns))
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(jsonl(*(rows or two)), encoding="utf-8")
    return read_jsonl(folder / name)


def plant_canaries(planted: Row) -> tuple[Row, tuple[str, ...]]:
    """A copy with a token of its own in every string of a hidden field and in unknown fields at every level.

    Returns:
        The row and the tokens, none of which anything but the row may hold.
    """
    planted = copy.deepcopy(planted)
    tokens: list[str] = []

    def token() -> str:
        tokens.append(f"canary-{len(tokens):04d}-wren")
        return tokens[-1]

    def replaced(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: replaced(item) for key, item in value.items()} | {token(): token()}
        if isinstance(value, list):
            return [*map(replaced, value), token()]
        return token()

    for name in HIDDEN_FIELDS:
        planted[name] = replaced(planted.get(name))
    for entry in planted["turn_records"]:
        entry["planner"] = replaced(entry.get("planner"))
    for point in planted["trigger_points"]:
        point["evaluation_result"] = replaced(point.get("evaluation_result"))
        point["evaluation_rubric"]["rationale"] = token()
    for part in (planted, *planted["turn_records"], *planted["trigger_points"]):
        part.update(persona=token(), style=[token()], blueprint={"overview": token()})
    return planted, tuple(tokens)


_LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
_TEXTS = st.one_of(
    st.text(_LETTERS, min_size=1, max_size=40).filter(str.strip),
    st.dates().map(str),
    st.datetimes().map(str),
    st.integers(0, 99).map(str),
    st.sampled_from(["null", "true", "NaN", '{"a": 1}', "[]", "\u2028x", "a\r\nb", "\ufeffx"]),
)
_NAMES = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=12)


@st.composite
def rows(draw: st.DrawFn) -> Row:
    """Valid rows: random texts, 1 to 10 turns, at least one trigger, in any order, keys practically unique."""
    length = draw(st.integers(1, 10))
    turns = draw(st.permutations(range(1, length + 1)))[: draw(st.integers(1, length))]
    records = [
        record(number, user_message=draw(_TEXTS), assistant_response=draw(_TEXTS)) for number in range(1, length + 1)
    ]
    criteria = ("pass_criteria", "partial_criteria", "fail_criteria")
    points = [
        trigger_point(
            turn, evaluation_rubric=rubric(draw(st.sampled_from(PHASES)), **{name: draw(_TEXTS) for name in criteria})
        )
        for turn in turns
    ]
    persona = draw(st.uuids(version=4)).hex
    scenario = f"{draw(_NAMES)}_{draw(st.integers(1, 99)):02d}"
    style = draw(st.integers(1, 24))
    return row(
        blueprint_id=f"BP_{scenario}_NONE",
        scenario_id=scenario,
        unique_id_eval=f"BP_{scenario}_NONE__style{style}__{persona}",
        uuid=persona,
        category_key=f"{draw(_NAMES)}_persona",
        style_combination_index=style,
        evaluated_model=draw(_NAMES),
        trigger_points=points,
        turn_records=records,
    )
