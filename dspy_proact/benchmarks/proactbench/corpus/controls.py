"""Control turns: where an assistant is wanted to answer and nothing more."""

import hashlib

from dspy_proact.benchmarks.proactbench.types import Dialogue, Phase

CONTROL_RULE = (
    "control turns: without a trigger and at least 2 turns from any, at most as many as the dialogue has triggers, and "
    "the last turn of a dialogue without a RECOVERY trigger"
)
"""In a sentence, for tables."""
_DISTANCE = 2


def control_turns(dialogue: Dialogue) -> tuple[int, ...]:
    """The control turns of a dialogue, counted from 1, in order.

    Where more turns lie far enough from every trigger than there are triggers, a hash of key and turn chooses. A last
    turn that is a trigger is no control.
    """
    triggers = [trigger.turn for trigger in dialogue.triggers]
    turns = range(1, len(dialogue.turns) + 1)
    far = [turn for turn in turns if triggers and all(abs(turn - trigger) >= _DISTANCE for trigger in triggers)]
    chosen = set(sorted(far, key=lambda turn: _place(dialogue, turn))[: len(triggers)])
    recovers = any(trigger.rubric.phase is Phase.RECOVERY for trigger in dialogue.triggers)
    closing = set[int]() if recovers else set(turns[-1:]) - set(triggers)
    return tuple(sorted(chosen | closing))


def _place(dialogue: Dialogue, turn: int) -> str:
    return hashlib.sha256(f"control {dialogue.origin.dialogue} {turn}".encode()).hexdigest()
