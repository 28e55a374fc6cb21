"""What of a judge's reasoning may be told on: nothing that speaks with the rubric's words.

A judge sees the rubric and may quote it, on purpose or not. Whoever writes prompts must not see it, or a prompt would
be written to the rubrics. So a sentence is told only where every word of it stands, but for its ending, in the
conversation, in the response, in what every judge is told, or, where the rubric has not got it, in a vocabulary of
plain words (`vocabulary.txt`); and where it has no run of four words in common with the rubric that was not seen
either. What is spelt, coded or translated stands in none of them.

Of such a sentence its words are told and nothing else: in small letters, with one blank between them and a full stop.
Capitals, blanks, punctuation, emoji and what is invisible could say anything, and say nothing here.
"""

import re
import threading
from dataclasses import dataclass, field
from importlib.resources import files

from dspy_proact.benchmarks.proactbench.programs import JUDGE_INSTRUCTION
from dspy_proact.benchmarks.proactbench.types import Rubric
from dspy_proact.evidence import words_of

_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_RUN = 4
_LEAST = 4
"""Letters that an ending leaves."""
_ENDINGS = ("ingly", "edly", "ing", "ies", "ed", "es", "ly", "s")
_VOCABULARY = files("dspy_proact.benchmarks.proactbench").joinpath("vocabulary.txt").read_text("utf-8")


@dataclass
class Withheld:
    """How much was kept back; threads may share it."""

    sentences: int = 0
    of: int = 0
    _turn: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def add(self, sentences: int, of: int) -> None:
        """So many sentences more, of so many."""
        with self._turn:
            self.sentences, self.of = self.sentences + sentences, self.of + of


def tellable(reasoning: str, rubric: Rubric, seen: str, withheld: Withheld) -> str:
    """The words of those sentences of a reasoning that may be told.

    Args:
        reasoning: Of a judge who saw the rubric.
        rubric: What must not be told.
        seen: What may be: conversation and response.
        withheld: Is added to.
    """
    criteria = "\n".join((rubric.pass_criteria, rubric.partial_criteria, rubric.fail_criteria))
    runs = _runs(criteria) - _runs(seen)
    known = _stems(seen) | _PUBLIC | (_PLAIN - _stems(criteria))
    sentences = [sentence for match in _SENTENCE.finditer(reasoning) if (sentence := match.group().strip())]
    told = [
        f"{' '.join(words)}."
        for sentence in sentences
        if (words := words_of(sentence)) and _stems(sentence) <= known and not _runs(sentence) & runs
    ]
    withheld.add(len(sentences) - len(told), len(sentences))
    return " ".join(told)


def _stems(text: str) -> set[str]:
    return {_stem(word) for word in words_of(text)}


def _stem(word: str) -> str:
    """A word without its ending."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST:
            return word.removesuffix(ending)
    return word


def _runs(text: str) -> set[tuple[str, ...]]:
    words = words_of(text)
    return {tuple(words[place : place + _RUN]) for place in range(len(words) - _RUN + 1)}


_PUBLIC = {stem for stem in _stems(JUDGE_INSTRUCTION) if stem.isalpha()}
"""What every judge is told, whatever the rubric; its numbers are those of its rules."""
_PLAIN = _stems(_VOCABULARY)
