"""The embedded proposer: writes instructions for the optimizers that ask a model for them.

Its rules. It answers whatever fields it is asked for. To a field that is an instruction it gives the instruction that
it was shown with one rule more: to be strict where the judge was shown as more lenient than people, to be lenient where
it was stricter, and where nothing tells, one or the other by the request's own hash. An assistant's instruction it
gives a rule of initiative: to look ahead, to do so only when the user is done, or to hold back, whichever the tip
speaks of, or else one of them by the hash. The instruction of an agent that looks for a bottleneck is given a rule of
what to look for, likewise.
"""

import hashlib
import json
import re
from collections.abc import Sequence

from dspy_proact.programs.embedded.fields import fields_of, outputs_of

_FENCED = re.compile(r"```\n(.*?)\n```", re.DOTALL)
_ERROR = re.compile(r"too (strict|lenient) by (\d+\.\d)")
_GRADE = "Grade one response by its rubric."
_ASSISTANT = re.compile(r"system prompt|user_message|`history`")
_BARE = "(none: nothing is told)"
_TIPS = ("only when the user is done", "hold back", "next step")
_INITIATIVE = (
    "Look ahead, but only when the user is done: then take up one thing that they mentioned.",
    "Hold back: answer only what is asked.",
    "Look ahead: take up what the user mentioned and propose one next step.",
)
_SEARCH = (
    "Look for what is waiting: pending, blocked, not yet there.",
    "Cross-check: take items that have names in common.",
    "Take few items.",
)
_RULES = ("Be strict: when in doubt between two grades give the lower.", "Be lenient: when in doubt give the higher.")


def answer(system: str, messages: Sequence[tuple[str, str]]) -> str:
    """The fields that were asked for: as JSON where JSON is asked for, else under their headers."""
    request = messages[-1][1] if messages else ""
    names = outputs_of(system)
    text = _improved(request)
    answers = {name: text if "instruction" in name else "A judge grades responses by a rubric." for name in names}
    if not names:
        return f"```\n{text}\n```"
    if "json object" in f"{system}\n{request}".lower():
        return json.dumps(answers, ensure_ascii=False)
    fields = "\n\n".join(f"[[ ## {name} ## ]]\n{value}" for name, value in answers.items())
    return f"{fields}\n\n[[ ## completed ## ]]"


def _improved(request: str) -> str:
    """The instruction that is shown, without rules added before, and one rule."""
    shown = {name: text.strip() for name, text in fields_of(request).items()}
    named = [text for name, text in shown.items() if "instruction" in name and text]
    fenced = _FENCED.search(request)
    assistant = bool(_ASSISTANT.search(request))
    current = named[0] if named else fenced.group(1) if fenced else "" if assistant else _GRADE
    for rule in (*_RULES, *_INITIATIVE, *_SEARCH, _BARE):
        current = current.replace(rule, "").strip()
    if "exactly one bottleneck" in request:
        rule = _SEARCH[_digest(request) % len(_SEARCH)]
    elif assistant:
        named = [rule for words, rule in zip(_TIPS, _INITIATIVE, strict=True) if words in shown.get("tip", "")]
        rule = [*named, _INITIATIVE[_digest(request) % len(_INITIATIVE)]][0]
    else:
        rule = _rule(request)
    return f"{current}\n\n{rule}".strip()


def _rule(request: str) -> str:
    lead = sum(float(size) * (1 if error == "lenient" else -1) for error, size in _ERROR.findall(request))
    if lead:
        return _RULES[lead < 0]
    return _RULES[_digest(request) % 2]


def _digest(request: str) -> int:
    return hashlib.sha256(request.encode()).digest()[0]
