"""Texts of conversations and rubrics, as a compile shows, hides and compares them."""

import re
from collections.abc import Iterable, Sequence

from dspy_proact.plain_text import tame
from dspy_proact.types import Rubric, Turn

_RUN = 8
"""Words in a row that make an overlap."""


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


def overlap(text: str, others: Iterable[str]) -> float:
    """Share in [0, 1] of a text's runs of eight words that stand in one of the others; 0 where it has none."""
    own = _runs(text)
    seen = {run for other in others for run in _runs(other)} if own else set[tuple[str, ...]]()
    return sum(run in seen for run in own) / len(own) if own else 0.0


def _runs(text: str) -> list[tuple[str, ...]]:
    words = re.findall(r"\w+", text.casefold())
    return [tuple(words[place : place + _RUN]) for place in range(len(words) - _RUN + 1)]
