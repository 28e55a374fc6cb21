"""What the embedded model answers to rows of one's own: rules, so that a machine without a key has both roles.

The assistant repeats what it was asked and goes on with a sentence that it would say of anything; with a system prompt
that says "next" it names a next step, and with one that says "brief" it leaves the repetition out.

The judge counts three things of a response: whether it shares a word with the last message, whether it names a next
step, and whether it asks a question or offers a choice. A row of none has the worst level of a scale, of all three the
best one; a level in between is the nearest. An instruction that asks to be strict takes one thing away, one that asks
to be lenient adds one. On a scale that has no order it takes the level whose word stands in the response, else the
first one for a response that shares a word with the message, and the last for another.
"""

import re
from collections.abc import Sequence

from dspy_proact.programs.embedded.fields import request_fields, requested_json, strictness, unfenced, value_of
from dspy_proact.programs.embedded.words import content_words, sentences

_SCALE = re.compile(r"^ *The grades, (which have no order|from worst to best): (.*)\.$", re.MULTILINE)
_NEXT = re.compile(r"\b(next|first|then|today|tomorrow|now|will)\b", re.IGNORECASE)
_CHOICE = re.compile(r"\?|\bor\b", re.IGNORECASE)
_THINGS = 3


def answer(system: str, messages: Sequence[tuple[str, str]]) -> str:
    """A response to the last message."""
    question = messages[-1][1].strip() if messages else ""
    first = (sentences(question) or [""])[0].rstrip(".!?")
    parts = [] if re.search(r"\bbrief\b", system, re.IGNORECASE) else [f"You say: {first}."]
    parts.append("We are looking into it.")
    if re.search(r"\bnext\b", system, re.IGNORECASE):
        parts.append("Next, we call you tomorrow. Does the morning suit you?")
    return " ".join(parts)


def judged(system: str, messages: Sequence[tuple[str, str]]) -> str:
    """The verdict as JSON."""
    shown, scale = request_fields(messages), _SCALE.search(system)
    chat = value_of(shown.get("conversation"), [])
    question = str(chat[-1].get("content", "")) if chat and isinstance(chat[-1], dict) else ""
    response = unfenced(shown.get("response", ""))
    shares = bool(content_words(question) & content_words(response))
    things = [shares, bool(_NEXT.search(response)), bool(_CHOICE.search(response))]
    levels = scale[2].split(", ") if scale else ["bad", "good"]
    if scale and scale[1] == "which have no order":
        words = content_words(response)
        grade = next((level for level in levels if content_words(level) & words), levels[0 if shares else -1])
    else:
        count = min(_THINGS, max(0, sum(things) - strictness(system)))
        grade = levels[round(count * (len(levels) - 1) / _THINGS)]
    verdict = {
        "reasoning": f"It shares a word: {things[0]}; names a step: {things[1]}; leaves a choice: {things[2]}.",
        "evidence": sentences(response)[:1],
        "grade": grade,
    }
    return requested_json(system, verdict)
