"""Rows of the official layout, written: the other side of `dialogues`.

A row has every key of the official schema, so that the official evaluator, `datasets` and the reader here take it.
What the schema does not know (`system_text`, `scenario`, `anchors`, `proof`, `control_turn`) comes after its keys, and
only where there is something to say.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from dspy_proact.benchmarks.proactbench.types import Dialogue, Rubric
from dspy_proact.types import Frozen

_ROLES = ("planner", "user_agent", "assistant")
_COUNTS = ("prompt_tokens", "completion_tokens", "calls")


class TacticalOrder(Frozen):
    """What the user was to say at a turn, `tactical_order` of the planner's block; no program sees it."""

    intent: str
    content_payload: list[str]
    behavioral_directive: str


def row_of(
    dialogue: Dialogue,
    orders: Sequence[TacticalOrder],
    used: Mapping[str, Mapping[str, int]] | None = None,
    *,
    scenario: Any = None,
    anchors: Any = None,
    proof: Any = None,
    control_turn: int | None = None,
) -> dict[str, Any]:
    """A row of `final_dialogues.jsonl`, or of `controls.jsonl` where a control turn is named, as JSON.

    Args:
        dialogue: Its `origin.persona` has 32 hexadecimal digits. A missing response of its last turn becomes an empty
            one.
        orders: Aligned with the turns.
        used: `token_usage`: `prompt_tokens`, `completion_tokens` and `calls` of `planner`, `user_agent` and
            `assistant`; zeros where it does not say.
        scenario: What the dialogue is about, as JSON; None to leave it out, and likewise `anchors` and `proof`.
        anchors: What was planted.
        proof: What was tested.
        control_turn: Counted from 1.
    """
    origin, used = dialogue.origin, used or {}
    assert re.fullmatch("[0-9a-f]{32}", origin.persona), "a persona's key is 32 hexadecimal digits"
    rubrics = {trigger.turn: _criteria(trigger.rubric) for trigger in dialogue.triggers}
    last = len(dialogue.turns)
    further = {"system_text": dialogue.system, "scenario": scenario, "anchors": anchors, "proof": proof}
    further |= {"control_turn": control_turn}
    return {
        "blueprint_id": origin.blueprint,
        "scenario_id": origin.scenario_id,
        "unique_id_eval": origin.dialogue,
        "uuid": origin.persona,
        "category_key": f"{origin.life_domain}_persona",
        "style_combination_index": origin.style,
        "evaluated_model": origin.source_model,
        "num_turns_completed": last,
        "trigger_points": [{"turn": turn, "evaluation_rubric": criteria} for turn, criteria in rubrics.items()],
        "turn_records": [
            {
                "turn": number,
                "planner": {
                    "state_audit": {
                        "current_turn": number,
                        "previous_trigger_count": (before := sum(turn < number for turn in rubrics)),
                        # Of the triggers that the dialogue has.
                        "is_max_reached": before == len(rubrics),
                    },
                    "is_trigger_point": number in rubrics,
                    "stop_conversation": number == last,
                    "evaluation_rubric": rubrics.get(number),
                    "tactical_order": order.model_dump(),
                },
                "user_message": turn.user,
                "assistant_response": turn.assistant or "",
            }
            for number, (turn, order) in enumerate(zip(dialogue.turns, orders, strict=True), start=1)
        ],
        "token_usage": {role: {name: used.get(role, {}).get(name, 0) for name in _COUNTS} for role in _ROLES},
        **{name: value for name, value in further.items() if value is not None},
    }


def _criteria(rubric: Rubric) -> dict[str, str]:
    return {"type": str(rubric.phase), **rubric.model_dump(mode="json", exclude={"phase"})}
