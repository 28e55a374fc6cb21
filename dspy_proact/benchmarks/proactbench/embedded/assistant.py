"""The embedded assistant: repeats what was asked and, now and then, turns a disclosed detail into a step.

Its rules. It looks for details in what the user said: clauses with numbers, names, days. Left to itself it acts on
them in about half of the conversations and seldom once the user is done. An instruction that speaks of initiative,
or worked examples that show it, make it act; one that says to wait until the user is done makes it act then and at no
other time; one that asks to join two facts, where it finds two; one that asks for restraint keeps it from it.
"""

import hashlib
import json
import re
from collections.abc import Sequence

from dspy_proact.programs.embedded.words import content_words, sentences

_INITIATIVE = re.compile(
    r"anticipat|proactiv|initiative|look ahead|unasked|not asked|mentioned|disclosed|next step", re.IGNORECASE
)
_RESTRAINT = re.compile(
    r"hold back|only what (is|was) asked|no suggestions|do not (offer|suggest)|never (offer|suggest)", re.IGNORECASE
)
_WAITS = re.compile(r"(only|wait until|not before) .{0,40}\b(done|finished|wraps? up)", re.IGNORECASE)
_JOINS = re.compile(r"\b(two|both) (of them|facts)\b|taken together", re.IGNORECASE)
_CLOSING = re.compile(
    r"\b(thanks|thank you|cheers|sorted|all set|that'?s it|that'?s everything|bye|done)\b", re.IGNORECASE
)
_DETAIL = re.compile(
    r"\d|\b(mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(my|our|his|her) \w+|(?<!^)(?<![.!?] )\b[A-Z][a-z]+"
)
_STEP = re.compile(r"suggest|since you", re.IGNORECASE)
_EXAMPLE = re.compile(r"^A worked example:\n(\{.*?^\})", re.DOTALL | re.MULTILINE)


def answer(system: str, messages: Sequence[tuple[str, str]]) -> str:
    """The response to the last message."""
    said = [text for role, text in messages if role == "user"]
    last = said[-1] if said else ""
    opening = f"On your message: {_clip(sentences(last)[-1])}" if sentences(last) else "I am here."
    reply = f"{opening} That can be done, one thing at a time."
    if not _acts(system, said):
        return f"{reply} Good luck with it."
    first, second = _details(said)
    if not first:
        return f"{reply} Which part of it matters most to you?"
    if not second:
        return f'{reply} Since you mentioned "{first}", I suggest preparing for that now, before it gets in the way.'
    return (
        f'{reply} Since you mentioned "{first}" as well as "{second}", the two meet: '
        "I suggest planning them together now and keeping one step ready for the moment they do."
    )


def _acts(system: str, said: list[str]) -> bool:
    instruction = _EXAMPLE.sub("", system)
    closing = bool(said and len(said) > 3 and _CLOSING.search(said[-1]))
    if _WAITS.search(instruction):
        return closing
    if _RESTRAINT.search(system):
        return False
    if _JOINS.search(instruction):
        return bool(_details(said)[1])
    if _INITIATIVE.search(instruction) or _shown(system):
        return True
    return _chance("\n".join(said)) < (0.15 if closing else 0.5)


def _shown(system: str) -> bool:
    """Whether a worked example takes up what its user disclosed."""
    return any(_takes_up(text) for text in _EXAMPLE.findall(system))


def _takes_up(text: str) -> bool:
    try:
        example = json.loads(text)
    except (ValueError, RecursionError):
        return False
    heard = content_words(json.dumps(example.get("conversation", "")))
    steps = [text for text in sentences(str(example.get("response", ""))) if _STEP.search(text)]
    return any(content_words(step) & heard for step in steps)


def _details(said: list[str]) -> tuple[str, str]:
    """The latest detail, and one of an earlier message."""
    found: list[str] = []
    for message in reversed(said):
        clauses = [_clip(clause) for clause in re.split(r"[.!?;\n]|, ", message) if _DETAIL.search(clause)]
        found += sorted(clauses, key=lambda clause: -len(_DETAIL.findall(clause)))[:1]
    return (found[0], found[1]) if len(found) > 1 else (found[0] if found else "", "")


def _clip(text: str) -> str:
    return " ".join(text.split()[:18]).strip(' ,"')


def _chance(text: str) -> float:
    """A number in [0, 1) that the text decides."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:4]) / 2**32
