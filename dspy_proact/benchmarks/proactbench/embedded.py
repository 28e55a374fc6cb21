"""The embedded model in both roles: rules, so that a machine without a key has an assistant and a judge.

The assistant repeats what was asked and, now and then, turns a disclosed detail into a step. It looks for details in
what the user said: clauses with numbers, names, days. Left to itself it acts on them in about half of the
conversations and seldom once the user is done. An instruction that speaks of initiative, or worked examples that show
it, make it act; one that says to wait until the user is done makes it act then and at no other time; one that asks to
join two facts, where it finds two; one that asks for restraint keeps it from it.

The judge looks for a sentence that moves things forward and hangs on what was disclosed. Each sentence of the response
has a strength in [0, 1]: does it suggest, warn, offer or ask; does it take up words of the user; does it share words
with the pass criteria that the fail criteria do not have. The strongest sentence decides, against two cuts. Demos move
the cuts to where they separate the grades shown; an instruction that asks to be strict or lenient moves both. Asked for
offers, it names the sentences that suggest or offer, as asked for where the user's last message asks for such, as
grounded where they take up two of the user's words.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from dspy_proact.programs.embedded.fields import value_of
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
_FORWARD = re.compile(
    r"\b(suggest|consider|recommend|worth|could|might want|would|want me to|shall i|before|in case|plan|prepare|ahead|"
    r"remember|keep|set aside|book|ask|check|since you|because you|given (that|your)|so that|also|next|instead)\b",
    re.IGNORECASE,
)
_OFFER = re.compile(
    r"\b(suggest|recommend|consider|you could|you might|might want|shall i|want me to|would you like|i can also|worth|"
    r"don't forget|remember to|make sure|next step|it may help)\b",
    re.IGNORECASE,
)
_INVITES = re.compile(
    r"\b(suggest|recommend|advice|advise|ideas?|options?|what else|anything else|should i|tips)\b", re.IGNORECASE
)
_CUTS = (0.45, 0.75)
_SHIFT = 0.2
_MARGIN = "    "
"""Before each line of a text in a request; as an adapter of the judge writes it."""
_SHAPE = "Answer with one JSON object: "
_NESTED = re.compile(r"\[\{.*?\}\]")


def assistant(system: str, messages: Sequence[tuple[str, str]]) -> str:
    """The response to the last message."""
    user_texts = [text for role, text in messages if role == "user"]
    last = user_texts[-1] if user_texts else ""
    opening = f"On your message: {_clip(sentences(last)[-1])}" if sentences(last) else "I am here."
    reply = f"{opening} That can be done, one thing at a time."
    if not _acts(system, user_texts):
        return f"{reply} Good luck with it."
    first, second = _details(user_texts)
    if not first:
        return f"{reply} Which part of it matters most to you?"
    if not second:
        return f'{reply} Since you mentioned "{first}", I suggest preparing for that now, before it gets in the way.'
    return (
        f'{reply} Since you mentioned "{first}" as well as "{second}", the two meet: '
        "I suggest planning them together now and keeping one step ready for the moment they do."
    )


def _acts(system: str, user_texts: list[str]) -> bool:
    instruction = _EXAMPLE.sub("", system)
    closing = bool(user_texts and len(user_texts) > 3 and _CLOSING.search(user_texts[-1]))
    if _WAITS.search(instruction):
        return closing
    if _RESTRAINT.search(system):
        return False
    if _JOINS.search(instruction):
        return bool(_details(user_texts)[1])
    if _INITIATIVE.search(instruction) or any(_takes_up(text) for text in _EXAMPLE.findall(system)):
        return True
    # A number in [0, 1) that the text decides.
    digest = hashlib.sha256("\n".join(user_texts).encode("utf-8", "replace")).digest()
    return int.from_bytes(digest[:4]) / 2**32 < (0.15 if closing else 0.5)


@lru_cache(maxsize=1000)
def _takes_up(text: str) -> bool:
    """Whether the response of a worked example takes up what its user disclosed."""
    try:
        example = json.loads(text)
    except (ValueError, RecursionError):
        return False
    heard = content_words(json.dumps(example.get("conversation", "")))
    steps = [text for text in sentences(str(example.get("response", ""))) if _STEP.search(text)]
    return any(content_words(step) & heard for step in steps)


def _details(user_texts: list[str]) -> tuple[str, str]:
    """The latest detail, and one of an earlier message."""
    details: list[str] = []
    for message in reversed(user_texts):
        clauses = [_clip(clause) for clause in re.split(r"[.!?;\n]|, ", message) if _DETAIL.search(clause)]
        details += sorted(clauses, key=lambda clause: -len(_DETAIL.findall(clause)))[:1]
    first, second, *_ = (*details, "", "")
    return first, second


def _clip(text: str) -> str:
    return " ".join(text.split()[:18]).strip(' ,"')


@dataclass(frozen=True)
class _Shown:
    user_texts: tuple[str, ...]
    """The user's messages."""
    passing: str
    failing: str
    """Criteria of the rubric."""
    response: str
    names: tuple[str, ...]
    """Of the fields that it asks for."""


def _read(content: str) -> _Shown:
    """What a request shows: a line without a margin is a heading, and what is indented below it its text."""
    heading, texts = "", dict[str, list[str]]()
    for line in content.split("\n"):
        if line and not line.startswith(_MARGIN):
            heading = line
        else:
            texts.setdefault(heading, []).append(line.removeprefix(_MARGIN))

    def text(begins: str) -> str:
        return next(("\n".join(lines) for heading, lines in texts.items() if heading.startswith(begins)), "")

    shape = next((line for line in content.split("\n") if line.startswith(_SHAPE)), "")
    return _Shown(
        user_texts=tuple("\n".join(lines) for heading, lines in texts.items() if heading.endswith(", user:")),
        passing=text("PASS:"),
        failing=text("FAIL:"),
        response=text("Response "),
        names=tuple(re.findall(r'"(\w+)": ', _NESTED.sub("[]", shape.removeprefix(_SHAPE)))),
    )


def judge(system: str, messages: Sequence[tuple[str, str]]) -> str:
    """The verdict as JSON, with the fields that were asked for."""
    shown = _read(messages[-1][1] if messages else "")
    if "offers" in shown.names:
        heard = content_words(" ".join(shown.user_texts))
        invited = bool(shown.user_texts and _INVITES.search(shown.user_texts[-1]))
        offering = [text for text in sentences(shown.response) if _OFFER.search(text)]
        offers = [
            {"quote": text, "grounded": len(content_words(text) & heard) > 1, "asked_for": invited} for text in offering
        ]
        counted = f"{len(offering)} sentences suggest or offer something."
        return json.dumps({"reasoning": counted, "offers": offers}, ensure_ascii=False)
    strength, quote = _strongest(shown)
    strict, lenient = (bool(re.search(rf"\bbe {word}\b", system, re.IGNORECASE)) for word in ("strict", "lenient"))
    shift = _SHIFT * (strict - lenient)
    low, high = (cut + shift for cut in _taught(tuple(messages[:-1])))
    verdict = {
        "reasoning": f"The strongest step has strength {strength:.2f}; the cuts are {low:.2f} and {high:.2f}.",
        "evidence": [quote] if quote else [],
        "grade": _grade(strength, (low, high)),
    }
    return json.dumps({name: verdict.get(name, "") for name in shown.names or verdict}, ensure_ascii=False)


@lru_cache(maxsize=4096)  # a compile asks again and again about the same responses
def _strongest(shown: _Shown) -> tuple[float, str]:
    """The strongest sentence of the response, after its strength."""
    heard = content_words(" ".join(shown.user_texts))
    passing = content_words(shown.passing) - content_words(shown.failing)
    strongest = (0.0, "")
    for text in sentences(shown.response):
        words = content_words(text)
        forward = 1.0 if _FORWARD.search(text) else 0.6 if "?" in text else 0.2
        taken_up, meant = min(3, len(words & heard)) / 3, min(3, len(words & passing)) / 3
        strength = forward * (0.2 + 0.35 * taken_up + 0.45 * meant)
        if strength > strongest[0]:  # of equals the first
            strongest = (strength, text)
    return strongest


@lru_cache(maxsize=64)  # a program's demos are the same in each of its requests
def _taught(demos: tuple[tuple[str, str], ...]) -> tuple[float, float]:
    """The cuts under which most demos have the grade that they show; ties go to the cuts nearest to the usual ones."""
    graded: list[tuple[float, str]] = []
    for (_, request), (_, answer) in zip(demos[::2], demos[1::2], strict=False):
        strength, _ = _strongest(_read(request))
        graded.append((strength, str(value_of(answer, {}).get("grade", ""))))
    values = sorted({strength for strength, _ in graded})
    thresholds = sorted({(a + b) / 2 for a, b in pairwise([0.0, *values, 1.0])} | set(_CUTS))

    def right(cuts: tuple[float, float]) -> tuple[int, float]:
        hits = sum(_grade(strength, cuts) == grade for strength, grade in graded)
        return hits, -abs(cuts[0] - _CUTS[0]) - abs(cuts[1] - _CUTS[1])

    return max(((low, high) for low in thresholds for high in thresholds if low <= high), key=right)


def _grade(strength: float, cuts: tuple[float, float]) -> str:
    low, high = cuts
    return "PASS" if strength >= high else "PARTIAL" if strength >= low else "FAIL"
