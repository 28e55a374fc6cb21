"""The embedded model as those who check PROBE's tasks: an auditor, a solver told where to look, and an adversary.

They are rules that read what they are shown and nothing else; the bank that the tasks are made from is not known to
them. The auditor looks for the words of facets, values and resolutions. The solver takes whatever it is shown for the
evidence, describes it by all of its sentences, takes the action that has most words of it, and fills in what the names
of parameters ask for. The adversary takes the longest items.

Equal requests are answered alike. Nothing of it measures anything.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from typing import Any

from pydantic import TypeAdapter

from dspy_proact.benchmarks.probe.agents.tools import ToolRow
from dspy_proact.benchmarks.probe.embedded_generation import Fields, answered, drawn, named, spelled
from dspy_proact.benchmarks.probe.scoring import ESSENTIAL
from dspy_proact.benchmarks.probe.task import Item
from dspy_proact.programs.embedded.fields import request_fields, requested_json, value_of
from dspy_proact.programs.embedded.words import content_words, sentences

_SHOWN, _ALIKE, _RESOLVES = 0.5, 0.7, 0.9
"""Share of words from which a sentence states a facet, two texts are about one thing, an action is what is wanted."""
_SHORTEST = 8
"""Words of an item that somebody may have written."""
_ITEMS = TypeAdapter[list[Item]](list[Item])
_DAY = re.compile(r"\b(?:Mon|Tues|Wednes|Thurs|Fri)day \d{1,2} [A-Z][a-z]+\b")
_CODE = re.compile(r"\b[A-Z]{2,}-\d+\b|\b[A-Z][a-z]+(?: [A-Z][a-z]+)* \d+\b")
_NUMBER = re.compile(r"(?<![\w-])\d[\d,]*\b(?!-)")


def _share(meant: str, text: str) -> float:
    """Share of the words of one text that stand in another, in [0, 1]."""
    words = content_words(meant)
    return len(words & content_words(text)) / len(words) if words else 0.0


def _best(meant: str, item: Mapping[str, Any], enough: float) -> str | None:
    """The sentence of an item that says most of a text, where it says enough of it."""
    line = max(sentences(item["item"]["text"]), key=lambda line: _share(meant, line), default="")
    return line if _share(meant, line) >= enough else None


def _values(ledger: Sequence[Mapping[str, Any]], items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What sentences say that dates and amounts of the ledger are: those that hold a value, or its subject and another.

    The subject is there where its numbers and most of its words are.
    """
    values = list[dict[str, Any]]()
    lines = [(item["number"], line) for item in items for line in sentences(item["item"]["text"])]
    for entry in ledger:
        meant, unit = entry["value"], entry["value"].partition(" ")[2]
        if entry["kind"] == "date":
            meant = spelled(date.fromisoformat(entry["value"]))
        what, form = (
            content_words(entry["what"]),
            _DAY if entry["kind"] == "date" else re.compile(rf"\d[\d,]* {re.escape(unit)}"),
        )
        numbers = {word for word in what if word[0].isdigit()}
        for number, line in lines:
            words, stated = content_words(line), form.findall(line)
            if not stated or (meant not in stated and (not numbers <= words or len(what & words) < _ALIKE * len(what))):
                continue
            value = entry["value"] if meant in stated else _iso(stated[0], entry["value"])
            values.append({"entry": entry["id"], "item": number, "value": value, "quote": line})
    return values


def _iso(text: str, beside: str) -> str:
    """A day as the ledger has it, in the year of another one; an amount as it is."""
    with suppress(ValueError):
        return datetime.strptime(f"{text} {beside[:4]}", "%A %d %B %Y").date().isoformat()
    return text


def _audit_of_bottlenecks(fields: Fields) -> dict[str, Any]:
    world, bottlenecks = fields["world"], value_of(fields["bottlenecks"], list[dict[str, Any]]())
    unmet = [
        {"bottleneck": one["id"], "facet": facet, "why": "The description says nothing of it."}
        for one in bottlenecks
        for facet, text in one["facets"].items()
        if text and _share(text, one["description"]) < _SHOWN
    ]
    alike = [
        one["id"]
        for number, one in enumerate(bottlenecks)
        if any(_share(one["resolution"], other["resolution"]) >= _ALIKE for other in bottlenecks[:number])
    ]
    revealed = [one["id"] for one in bottlenecks if _share(one["facets"]["why_root_cause"], world) >= _ALIKE]
    return {"unmet": unmet, "revealed": revealed, "alike": alike, "unresolvable": [], "advice": ""}


def _audit_of_actions(fields: Fields) -> dict[str, Any]:
    """The actions whose words the resolution has, or else those of which it has most; without one, the description."""
    bottleneck = value_of(fields["bottleneck"], dict[str, Any]())
    resolution = bottleneck.get("resolution", bottleneck["description"])
    actions = value_of(fields["actions"], list[dict[str, Any]]())
    shares = {one["id"]: _share(one["description"], resolution) for one in actions}
    enough = min(_RESOLVES, max(shares.values()))
    resolving = [id_ for id_, share in shares.items() if share >= enough]
    return {"resolving": resolving, "reason": "Their words are those of what is to be done."}


def _audit(fields: Fields) -> dict[str, Any]:
    return {"audit": _audit_of_actions(fields) if "actions" in fields else _audit_of_bottlenecks(fields)}


def _review(fields: Fields) -> dict[str, Any]:
    items = value_of(fields["items"], list[dict[str, Any]]())
    unnatural = [item["number"] for item in items if len(item["item"]["text"].split()) < _SHORTEST]
    if "bottlenecks" in fields:
        bottlenecks = value_of(fields["bottlenecks"], list[dict[str, Any]]())
        faults = [
            {"item": item["number"], "bottleneck": one["id"], "kind": "shows", "quote": quote}
            for one in bottlenecks
            for item in items
            if (quote := _shows(one["facets"], item))
        ]
        values = _values([entry for one in bottlenecks for entry in one["ledger"]], items)
        return {"review": {"faults": faults, "values": values, "unnatural": unnatural}}
    bottleneck = value_of(fields["bottleneck"], dict[str, Any]())
    shown = [
        {"facet": facet, "item": item["number"], "quote": quote}
        for facet, text in bottleneck["facets"].items()
        for item in items
        if text and (quote := _best(text, item, _SHOWN))
    ]
    review = {"shown": shown, "other_problems": [], "unnatural": unnatural, "advice": ""}
    alone = [item["number"] for item in items if _shows(bottleneck["facets"], item)]
    return {"review": {**review, "sufficient_alone": alone, "values": _values(bottleneck["ledger"], items)}}


def _shows(facets: Mapping[str, str | None], item: Mapping[str, Any]) -> str | None:
    """The last of the sentences in which an item states all essential facets; None where it does not."""
    quotes = [_best(text, item, _ALIKE) for name in ESSENTIAL if (text := facets[name])]
    return quotes[-1] if all(quotes) else None


def _shortcut(fields: Fields) -> dict[str, Any]:
    items = sorted(value_of(fields["items"], list[dict[str, Any]]()), key=lambda item: -item["words"])
    actions, cares = value_of(fields["actions"], list[dict[str, Any]]()), value_of(fields["world"], dict[str, Any]())
    shortcut = {"evidence": [item["id"] for item in items[:3]], "action": drawn(actions, items)["id"]}
    matter = f"Something holds up this: {[*cares['current_priorities'], 'the work'][0]}."
    return {"shortcut": {**shortcut, "bottleneck": matter, "reason": "They are the longest."}}


_STAGES: Mapping[str, Callable[[Fields], dict[str, Any]]] = {"audit": _audit, "review": _review, "shortcut": _shortcut}
"""What is said, by a field that is requested."""


def auditor(system: str, messages: Sequence[tuple[str, str]]) -> str:
    """The answer of an auditor, or of the adversary."""
    return answered(_STAGES, system, messages)


def solver(system: str, messages: Sequence[tuple[str, str]]) -> str:
    """The answer of somebody who takes every item for evidence and fills in what the names of parameters ask for."""
    shown = request_fields(messages)
    items = [ToolRow.of(item) for item in _ITEMS.validate_python(value_of(shown.get("documents"), []))]
    lines = [line for item in items for line in sentences(item.text)]
    text, people = (
        " ".join(lines),
        [one["name"] for one in value_of(shown["world"], {"relationships": []})["relationships"]],
    )
    actions = value_of(shown.get("actions"), list[dict[str, Any]]())
    known = {name: _read(name, lines, people) for one in actions for name in one["required"]}

    def fit(action: Mapping[str, Any]) -> float:
        there = [name for name in action["required"] if known[name] is not None]
        return _share(action["description"], text) + 2 * len(there) / max(1, len(action["required"]))

    best = max(actions, key=fit, default={"id": "", "required": []})
    parameters = {name: known[name] for name in best["required"] if known[name] is not None}
    fields = {"reasoning": f"{len(items)} items were shown.", "evidence": [item.id for item in items]}
    return requested_json(system, {**fields, "bottleneck": text, "action": best["id"], "parameters": parameters})


def _read(name: str, lines: Sequence[str], people: Sequence[str]) -> str | float | None:
    """The value in the sentence that has most words of a parameter's name: a day, somebody, a thing or a number."""
    if not lines or not named(name, line := max(lines, key=lambda line: named(name, line))):
        return None
    if re.search(r"day|date|needed", name):
        return next(iter(_DAY.findall(line)), None)
    if somebody := next((one for one in people if one in line), None):
        return somebody
    rest = _DAY.sub("", line)
    codes, numbers = _CODE.findall(rest), _NUMBER.findall(rest)
    return codes[0] if codes else float(numbers[0].replace(",", "")) if numbers else None
