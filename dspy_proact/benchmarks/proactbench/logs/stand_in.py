"""The embedded model in the roles that read logs: rules, so that the bundled logs are read on a machine without a key.

It knows the facts of the bundled bank of a lending library alone, by their words, and finds nothing elsewhere. What it
finds measures nothing.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from dspy_proact.benchmarks.proactbench.embedded_generation import CLOSES, Fields, bank, has, writer
from dspy_proact.programs.embedded.fields import outputs_of, request_fields, requested_json, unfenced, value_of
from dspy_proact.programs.embedded.words import sentences

_ORDERS = re.compile(r"\b(ignore|forget) (all |your |these |previous )+\w*|\bmark (this|it) as\b", re.IGNORECASE)
_RAISES = re.compile(r"\?|should have|nobody (said|told)|could have told|wish", re.IGNORECASE)
_SETTLED = re.compile(r"\b(no need|already|never mind)\b", re.IGNORECASE)
_LATE = "hobbies"
"""Part of life whose facts it sees once the user is done."""
_EMPLOYER = re.compile(r"\bI work (?:at|for) ((?:[A-Z][\w&]*\s?)+)")


def reader(system: str, messages: Sequence[tuple[str, str]]) -> str:
    """The answer of redactor, finder or auditor; what other corpora have too is answered as there."""
    fields = request_fields(messages)
    stage = next((stage for name, stage in _STAGES.items() if name in outputs_of(system)), None)
    return requested_json(system, stage(fields)) if stage else writer(system, messages)


def _reading(fields: Fields) -> dict[str, Any]:
    text = unfenced(fields.get("conversation", ""))
    private = [{"text": name, "kind": "NAME"} for name in bank()["names"] if has(text, [name])]
    private += [{"text": match.strip(), "kind": "NAME"} for match in _EMPLOYER.findall(text)]
    orders = [sentence for sentence in sentences(text) if _ORDERS.search(sentence)]
    return {"reading": {"private": private, "language": "English", "orders": orders}}


def _statements(turn: Mapping[str, Any]) -> Iterator[str]:
    """What the user states at a turn, without what is asked."""
    yield from (text for text in sentences(str(turn.get("user", ""))) if not text.endswith("?"))


def _needs(fields: Fields) -> dict[str, Any]:
    """The facts of the bank that the last message states, hobbies only once the user is done; of two, both together."""
    turns, known = value_of(fields.get("conversation"), list[Any]()), fields.get("known", "")
    message = str(turns[-1].get("user", "")) if turns else ""
    closes = bool(CLOSES.search(message)) and "?" not in message
    stated = [
        (anchor, text.rstrip("."), turn.get("turn"))
        for turn in (turns if closes else turns[-1:])
        for text in _statements(turn)
        for anchor in bank()["anchors"]
        if has(text, anchor["keys"])
        and anchor["resolved"] not in known
        and (anchor["domain"] == _LATE if closes and turn is not turns[-1] else closes or anchor["domain"] != _LATE)
    ]
    facts = [
        {
            **{name: anchor[name] for name in ("fact", "keys", "consequence", "neutral")},
            "quote": text,
            "turn": turn,
        }
        for anchor, text, turn in stated[:2]
    ]
    needs = list[dict[str, Any]]()
    if stated:
        first = stated[0][0]
        needs.append(
            {
                "facts": facts,
                "need": " ".join(anchor["resolved"] for anchor, *_ in stated[:2]),
                "act": first["act"],
                "requested": "no",
                "served": False,
                "basis": "product",
                "basis_quote": first["quote"],
                "certainty": 0.5 + 0.1 * len(facts),
            }
        )
    return {"findings": {"needs": needs, "closes": closes}}


def _aftermath(fields: Fields) -> dict[str, Any]:
    """Confirmed where a later message asks about a word of the fact, refuted where it calls it settled."""
    anchor = next((one for one in bank()["anchors"] if one["resolved"] in fields.get("need", "")), None)
    words = [*anchor["keys"], *anchor["words"]] if anchor else []
    for turn in value_of(fields.get("after"), list[Any]())[1:]:
        for text in sentences(str(turn.get("user", ""))):
            if not has(text, words):
                continue
            for outcome, pattern in (("refuted", _SETTLED), ("confirmed", _RAISES)):
                if pattern.search(text):
                    shown = {"outcome": outcome, "quote": text, "turn": turn["turn"]}
                    return {"aftermath": {**shown, "reason": "The user comes back to it.", "certainty": 0.8}}
    open_outcome = {"outcome": "open", "quote": None, "turn": None}
    return {"aftermath": {**open_outcome, "reason": "The user does not come back to it.", "certainty": 0.5}}


_STAGES: Mapping[str, Callable[[Fields], dict[str, Any]]] = {
    "reading": _reading,
    "findings": _needs,
    "aftermath": _aftermath,
}
"""What is written, by a field that is asked for."""
