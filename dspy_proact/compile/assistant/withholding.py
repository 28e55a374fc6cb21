"""What of a judge's reasoning may be told on: nothing that speaks with the rubric's words.

A judge sees the rubric and may quote it. Whoever writes prompts must not see it, or a prompt would be written to the
rubrics. A sentence is told only where every word in it that means something stands in the conversation or the response,
or not in the rubric; and where it has no run of four words in common with the rubric that stands nowhere else.
"""

import re
from dataclasses import dataclass

from dspy_proact.programs import JUDGE_INSTRUCTION
from dspy_proact.types import Rubric

_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_WORD = re.compile(r"\w+")
_RUN = 4
_ENDINGS = ("ingly", "edly", "ing", "ies", "ed", "es", "ly", "s")


@dataclass
class Withheld:
    """How much was kept back."""

    sentences: int = 0
    of: int = 0


def tellable(reasoning: str, rubric: Rubric, seen: str, withheld: Withheld) -> str:
    """The sentences of a reasoning that may be told.

    Args:
        reasoning: Of a judge who saw the rubric.
        rubric: What must not be told.
        seen: What may be: conversation and response.
        withheld: Is added to.
    """
    criteria = f"{rubric.pass_criteria}\n{rubric.partial_criteria}\n{rubric.fail_criteria}"
    secret = _stems(criteria) - _stems(seen) - _PUBLIC
    runs = _runs(criteria) - _runs(seen)
    told: list[str] = []
    for match in _SENTENCE.finditer(reasoning):
        sentence = match.group().strip()
        if not sentence:
            continue
        withheld.of += 1
        if _stems(sentence) & secret or _runs(sentence) & runs:
            withheld.sentences += 1
        else:
            told.append(sentence)
    return " ".join(told)


def _stems(text: str) -> set[str]:
    """Words that mean something, without their endings: of four letters or more, and every number."""
    words = (word.casefold() for word in _WORD.findall(text))
    return {_stem(word) for word in words if len(word) > 3 or not word.isalpha()}


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word.removesuffix(ending)
    return word


def _runs(text: str) -> set[tuple[str, ...]]:
    words = _WORD.findall(text.casefold())
    return {tuple(words[place : place + _RUN]) for place in range(len(words) - _RUN + 1)}


_PUBLIC = _stems(JUDGE_INSTRUCTION)
"""Words that every judge is told anyhow, whatever the rubric."""
