"""Texts of conversations and rubrics, as a compile shows, hides and compares them."""

from collections.abc import Iterable, Sequence

from dspy_proact.benchmarks.proactbench.types import Rubric, Turn
from dspy_proact.plain_text import tame


def tamed(conversation: Iterable[Turn]) -> list[Turn]:
    """The turns without markers that DSPy would obey in a prompt."""
    return [
        Turn(user=tame(turn.user), assistant=None if turn.assistant is None else tame(turn.assistant))
        for turn in conversation
    ]


def said_in(conversation: Iterable[Turn]) -> list[str]:
    """What was said in a conversation, empty where a response is still to be written."""
    return [text for turn in conversation for text in (turn.user, turn.assistant or "")]


def criteria_of(rubric: Rubric) -> Sequence[str]:
    """What earns each grade, from PASS to FAIL."""
    return rubric.pass_criteria, rubric.partial_criteria, rubric.fail_criteria
