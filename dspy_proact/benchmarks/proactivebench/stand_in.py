"""What the embedded model answers in ProactiveBench: rules, so that a machine without a key has a model and a judge.

It sees nothing: it reads what drawings of the sample say of themselves. It chooses what is named there. Where nothing
is, it asks for the move that fits what is said to be in the way, or else guesses the last option; an instruction that
asks to be strict makes it ask for the first move rather than guess, one that asks to be lenient makes it always guess.
A hint in the question counts as strict.

The judge finds an entry of its list in an answer where all words of it stand there.
"""

import re
from collections.abc import Sequence

from dspy_proact.programs.embedded.fields import request_fields, requested_json, strictness, unfenced, value_of
from dspy_proact.programs.embedded.words import content_words

_IMAGE = re.compile(r"\[image: ([^\]]*)\]")
_OPTION = re.compile(r"^[A-Z]\. (.+)$", re.MULTILINE)
_MOVE = re.compile(r"\b(move|wait|rewind|show|add|raise|deblur)\b", re.IGNORECASE)
_THING = re.compile(r"\b(star|house|fish|boat|arrow|cross|triangle|tree|hexagon|circle)\b")
_HELPS = {"block": "block", "walks": "wait", "blurred": "deblur", "strokes": "details", "field": "camera"}
"""A word of what is in the way, and one of the move that helps."""


def agent_answer(system: str, messages: Sequence[tuple[str, str]]) -> str:
    """The fields that are asked for, as JSON."""
    shown = request_fields(messages)
    seen = next(iter(_IMAGE.findall(shown.get("image", ""))), "")
    options = _OPTION.findall(unfenced(shown.get("options", "")))
    moves = [option for option in options if _MOVE.search(option)]
    named = [option for option in options if option.casefold().strip(" .") in seen]
    helping = [move for word, fitting in _HELPS.items() if word in seen for move in moves if fitting in move.lower()]
    asks = strictness(system) or int("you may" in shown.get("question", ""))
    picked = [*named, *(helping if asks >= 0 else []), *(moves if asks > 0 else []), *options[-1:], ""]
    thing = _THING.search(seen)
    helps = "move the camera to see it" if asks > 0 else "it cannot be told"
    fields = {
        "reasoning": f"The image shows {seen or 'nothing'}.",
        "choice": picked[0],
        "answer": f"It is a {thing[0]}." if thing else f"There is {seen or 'nothing'}; {helps}.",
    }
    return requested_json(system, fields)


def judge_answer(system: str, messages: Sequence[tuple[str, str]]) -> str:
    """Which right answers are given, as JSON."""
    shown = request_fields(messages)
    words = content_words(unfenced(shown.get("answer", "")))
    listed = [str(answer) for answer in value_of(shown.get("right_answers"), [])]
    fields = {"given": [bool(content_words(answer)) and content_words(answer) <= words for answer in listed]}
    return requested_json(system, fields)
