"""What of a judge's reasoning may be told on: nothing that speaks with the rubric's words.

A judge sees the rubric and may quote it. Whoever writes prompts must not see it, or a prompt would be written to the
rubrics. A sentence is told only where it has no word that means something and begins like one of the rubric's, unless
that word, but for its ending, stands in the conversation, in the response, or in what every judge is told; and where
it has no run of four words in common with the rubric that was not seen either. A paraphrase can pass.
"""

import re
from dataclasses import dataclass

from dspy_proact.evidence import words_of
from dspy_proact.programs import JUDGE_INSTRUCTION
from dspy_proact.types import Rubric

_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_RUN = 4
_BEGINNING = 4
"""Letters by which words are compared with the rubric's, so that no ending hides one; and what an ending leaves."""
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
    secret = {_beginning(word) for word in _words(criteria)}
    open_words = {_stem(word) for word in _words(seen)} | _PUBLIC
    runs = _runs(criteria) - _runs(seen)
    told: list[str] = []
    for match in _SENTENCE.finditer(reasoning):
        sentence = match.group().strip()
        if not sentence:
            continue
        withheld.of += 1
        said = {_beginning(word) for word in _words(sentence) if _stem(word) not in open_words}
        if said & secret or _runs(sentence) & runs:
            withheld.sentences += 1
        else:
            told.append(sentence)
    return " ".join(told)


def _words(text: str) -> set[str]:
    """Words that mean something: of four letters or more, and every number."""
    return {word for word in words_of(text) if len(word) > 3 or not word.isalpha()}


def _stem(word: str) -> str:
    """A word without its ending."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _BEGINNING:
            return word.removesuffix(ending)
    return word


def _beginning(word: str) -> str:
    """The first letters of a word; a number whole."""
    return word[:_BEGINNING] if word.isalpha() else word


def _runs(text: str) -> set[tuple[str, ...]]:
    words = words_of(text)
    return {tuple(words[place : place + _RUN]) for place in range(len(words) - _RUN + 1)}


_PUBLIC = {_stem(word) for word in _words(JUDGE_INSTRUCTION) if word.isalpha()}
"""Words that every judge is told anyhow, whatever the rubric."""
