"""What each role may see. A program is handed a view and nothing else.

    view            sees
    AssistantView   the turns before the trigger and the user's message at it
    JudgeView       the same conversation, the turn's number and the rubric
    ControlView     the same conversation at a turn without a trigger, and its number

None sees the curated response at that turn or anything later. None can hold persona, style,
scenario, ids or planner notes: there is no field for them.
"""

import hashlib
from collections.abc import Sequence

from dspy_proact.benchmarks.proactbench.types import Dialogue, Rubric, Trigger, Turn
from dspy_proact.types import Frozen


class AssistantView(Frozen):
    """What the assistant under test sees."""

    history: tuple[Turn, ...]
    """The curated turns before the trigger."""
    user_message: str
    """The user's message at the trigger."""

    @classmethod
    def of(cls, conversation: Sequence[Turn]) -> "AssistantView":
        """The view on a conversation whose last turn awaits its response."""
        *history, last = conversation
        assert last.assistant is None, "the last turn must await its response"
        return cls(history=tuple(history), user_message=last.user)


class JudgeView(Frozen):
    """What the judge sees beside the response."""

    conversation: tuple[Turn, ...]
    """Turns 1 to t; `assistant` is None at turn t only."""
    turn: int
    rubric: Rubric

    @classmethod
    def of(cls, dialogue: Dialogue, trigger: Trigger) -> "JudgeView":
        """The view on a trigger of a dialogue; the curated response at the trigger is left behind."""
        return cls(conversation=_awaiting(dialogue, trigger.turn), turn=trigger.turn, rubric=trigger.rubric)


class ControlView(Frozen):
    """What the detector of offers sees beside the response."""

    conversation: tuple[Turn, ...]
    """Turns 1 to t; `assistant` is None at turn t only."""
    turn: int

    @classmethod
    def of(cls, dialogue: Dialogue, turn: int) -> "ControlView":
        """The view on a turn of a dialogue, counted from 1; its curated response is left behind."""
        return cls(conversation=_awaiting(dialogue, turn), turn=turn)


def dialogue_mark(conversation: Sequence[Turn]) -> str:
    """A mark of the dialogue that a conversation is from: 16 hex digits of sha256 over how it begins."""
    return hashlib.sha256(conversation[0].user.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _awaiting(dialogue: Dialogue, turn: int) -> tuple[Turn, ...]:
    """The conversation up to a turn, whose response is still to be written."""
    return (*dialogue.turns[: turn - 1], Turn(user=dialogue.turns[turn - 1].user, assistant=None))
