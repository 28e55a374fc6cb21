"""The embedded judge: looks for a sentence that moves things forward and hangs on what was disclosed.

Its rules. Each sentence of the response has a strength in [0, 1]: does it suggest, warn, offer or ask; does it take
up words of the user; does it share words with the pass criteria that the fail criteria do not have. The strongest
sentence decides, against two cuts. Demos move the cuts to where they separate the grades shown; an instruction that
asks to be strict or lenient moves both. Asked for offers, it names the sentences that suggest or offer, as asked for
where the user's last message asks for such, as grounded where they take up two of the user's words.
"""

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

from dspy_proact.benchmarks.proactbench.embedded.read import Shown, read
from dspy_proact.programs.embedded.asked import value_of
from dspy_proact.programs.embedded.words import content_words, sentences

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
_STEP = 0.2


def answer(system: str, messages: Sequence[tuple[str, str]]) -> str:
    """The verdict as JSON, with the fields that were asked for."""
    shown = read(messages[-1][1] if messages else "")
    if "offers" in shown.names:
        return json.dumps(_offers(shown), ensure_ascii=False)
    strength, quote = _strongest(shown)
    low, high = cuts = _cuts(system, messages[:-1])
    verdict = {
        "reasoning": f"The strongest step has strength {strength:.2f}; the cuts are {low:.2f} and {high:.2f}.",
        "evidence": [quote] if quote else [],
        "grade": _grade(strength, cuts),
    }
    return json.dumps({name: verdict.get(name, "") for name in shown.names or verdict}, ensure_ascii=False)


def _offers(shown: Shown) -> dict[str, Any]:
    heard = content_words(" ".join(shown.said))
    invited = bool(shown.said and _INVITES.search(shown.said[-1]))
    found = [text for text in sentences(shown.response) if _OFFER.search(text)]
    offers = [{"quote": text, "grounded": len(content_words(text) & heard) > 1, "asked_for": invited} for text in found]
    return {"reasoning": f"{len(found)} sentences suggest or offer something.", "offers": offers}


@lru_cache(maxsize=4096)  # a compile asks again and again about the same responses
def _strongest(shown: Shown) -> tuple[float, str]:
    heard = content_words(" ".join(shown.said))
    passing = content_words(shown.passing) - content_words(shown.failing)
    rated = [(_strength(text, heard, passing), text) for text in sentences(shown.response)]
    return max(rated, key=lambda pair: pair[0], default=(0.0, ""))


def _strength(sentence: str, heard: Any, passing: Any) -> float:
    words = content_words(sentence)
    forward = 1.0 if _FORWARD.search(sentence) else 0.6 if "?" in sentence else 0.2
    taken_up, meant = min(3, len(words & heard)) / 3, min(3, len(words & passing)) / 3
    return forward * (0.2 + 0.35 * taken_up + 0.45 * meant)


def _cuts(system: str, demos: Sequence[tuple[str, str]]) -> tuple[float, float]:
    strict, lenient = (bool(re.search(rf"\bbe {word}\b", system, re.IGNORECASE)) for word in ("strict", "lenient"))
    shift = _STEP * (strict - lenient)
    low, high = _taught(tuple(demos))
    return low + shift, high + shift


@lru_cache(maxsize=64)  # a program's demos are the same in each of its requests
def _taught(demos: tuple[tuple[str, str], ...]) -> tuple[float, float]:
    """The cuts under which most demos have the grade that they show; ties go to the cuts nearest to the usual ones."""
    graded: list[tuple[float, str]] = []
    for (_, asked), (_, answered) in zip(demos[::2], demos[1::2], strict=False):
        strength, _ = _strongest(read(asked))
        graded.append((strength, str(value_of(answered, {}).get("grade", ""))))
    values = sorted({strength for strength, _ in graded})
    places = sorted({(a + b) / 2 for a, b in pairwise([0.0, *values, 1.0])} | set(_CUTS))

    def right(cuts: tuple[float, float]) -> tuple[int, float]:
        hits = sum(_grade(strength, cuts) == grade for strength, grade in graded)
        return hits, -abs(cuts[0] - _CUTS[0]) - abs(cuts[1] - _CUTS[1])

    return max(((low, high) for low in places for high in places if low <= high), key=right)


def _grade(strength: float, cuts: tuple[float, float]) -> str:
    low, high = cuts
    return "PASS" if strength >= high else "PARTIAL" if strength >= low else "FAIL"
