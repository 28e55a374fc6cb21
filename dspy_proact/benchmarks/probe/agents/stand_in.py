"""What the embedded model answers to an agent's questions: rules, so that a machine without a key has agents.

Its rules. Left to itself it takes the items that are loudest and speak of something open. An instruction that speaks
of waiting, or a worked example whose evidence waits more than its other items, makes it take items in which something
waits that is not on the person's list; one that asks to cross-check, those of the best that have most names in common,
and what shares these; one that asks for few items halves their number. The bottleneck is a sentence of each item taken,
the action the one whose words are nearest to them, a parameter the first date, person or title among them, by its name.
With tools it searches by the person's list, or for what waits, reads what it found, and finishes; as its own judge it
asks for one further trial.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

from dspy_proact.models import Role
from dspy_proact.programs.embedded.asked import fields_of, outputs_of, value_of
from dspy_proact.programs.embedded.words import content_words, sentences

_MOST, _FEW = 4, 2
"""Items that it takes."""
_BEST = 8
"""Items among which two are looked for that belong together."""
_RARE = 4
"""Items that a name may be in to tell that they do."""
_LOUD = re.compile(r"\b(urgent\w*|asap|immediately|at once|important|priority|critical)\b|!", re.IGNORECASE)
_OPEN = re.compile(
    r"\b(waiting|waits?|pending|blocked|stuck|overdue|until|not yet|cannot|can't|still|without|missing|hold|unanswered|"
    r"sign-?off|depends?)\b",
    re.IGNORECASE,
)
_WAITS = re.compile(r"\b(waits?|waiting|pending|blocked)\b", re.IGNORECASE)
_CROSS = re.compile(r"cross-?check|in common", re.IGNORECASE)
_SPARING = re.compile(r"\btake few\b|\bbe strict\b", re.IGNORECASE)
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}\b|\b[A-Z]+-?\d+\b")
"""Of people and things, and numbers of papers; what begins a sentence is none."""
_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2})?)?\b")
_RECORD = re.compile(r"^id: (.*)$", re.MULTILINE)
_WAITING = ("waiting pending blocked stuck overdue", "missing still hold unanswered signed")
"""What it searches for."""
_WHEN = re.compile(r"date|time|when|day|deadline|start|due|until", re.IGNORECASE)
_WHO = re.compile(
    r"\bto\b|who|recipient|person|attendee|owner|assignee|approver|name|participants?|contact", re.IGNORECASE
)


@dataclass(frozen=True)
class _Found:
    """An item as far as it was shown."""

    id: str
    title: str
    people: str
    text: str

    @property
    def words(self) -> str:
        return f"{self.title}\n{self.people}\n{self.text}"


def answer(system: str, messages: Sequence[tuple[str, str]]) -> str:
    """The fields that are asked for, as JSON."""
    shown = fields_of(messages[-1][1]) if messages else {}
    instruction = system.partition("your objective is:")[2]
    world: dict[str, Any] = value_of(shown.get("world"), {})
    items, steps = _items(shown), value_of(shown.get("steps"), [])
    names = outputs_of(system)
    said: dict[str, Any]
    if "tool" in names:
        said = _chosen(world, steps, instruction)
    elif "plan" in names:
        said = {"plan": [{"var": f"E{number}", **step} for number, step in enumerate(_planned(world), start=1)]}
    elif "score" in names:
        again = any(step.get("tool") == "reflect" for step in steps)
        said = {"lacking": "Look for what is waiting.", "score": 0.9 if again else 0.5}
    else:
        said = _concluded(shown, world, items, _rules(instruction, messages[:-1]))
    said.setdefault("reasoning", f"{len(items)} items were shown.")
    said.setdefault("thought", f"{len(steps)} steps are done.")
    return json.dumps({name: said.get(name, "") for name in names or said}, ensure_ascii=False)


AGENT = Role("assistant", "--model", "response", answer)
"""An agent under test."""


@dataclass(frozen=True)
class _Rules:
    waits: bool
    cross: bool
    most: int


def _rules(instruction: str, demos: Sequence[tuple[str, str]]) -> _Rules:
    waits = bool(_WAITS.search(instruction)) or any(_waits(*pair) for pair in _pairs(demos))
    return _Rules(waits, bool(_CROSS.search(instruction)), _FEW if _SPARING.search(instruction) else _MOST)


def _pairs(demos: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(asked, said) for (asker, asked), (_, said) in pairwise(demos) if asker == "user"]


def _waits(asked: str, said: str) -> bool:
    """Whether the evidence of a worked example waits more than its other items do."""
    items, evidence = _items(fields_of(asked)), value_of(said, {}).get("evidence", [])
    named = [_count(_OPEN, item) for item in items if item.id in evidence]
    others = [_count(_OPEN, item) for item in items if item.id not in evidence]
    return bool(named and others) and sum(named) * len(others) > sum(others) * len(named)


def _concluded(
    shown: Mapping[str, str], world: Mapping[str, Any], items: Sequence[_Found], rules: _Rules
) -> dict[str, Any]:
    taken = items if "bottleneck" in shown else _taken(world, items, rules)
    told = [max(sentences(item.text) or [item.title], key=lambda each: len(_OPEN.findall(each))) for item in taken]
    bottleneck = " ".join([f"{world.get('person', 'The person')} is held up.", *told])
    words = content_words(" ".join([shown.get("bottleneck", ""), bottleneck, *(item.title for item in taken)]))
    actions = [each for each in value_of(shown.get("actions"), []) if isinstance(each, dict)]
    best = max(actions, key=lambda each: len(content_words(_said(each)) & words), default={})
    return {
        "evidence": [item.id for item in taken],
        "bottleneck": bottleneck,
        "action": best.get("id", ""),
        "parameters": {name: _value(name, taken) for name in best.get("required", [])},
    }


def _taken(world: Mapping[str, Any], items: Sequence[_Found], rules: _Rules) -> list[_Found]:
    """The items that score best, in their order of score; of equal ones the first."""
    cares = content_words(" ".join(_cares(world)))

    def score(item: _Found) -> float:
        cared = len(content_words(item.words) & cares) / 2
        return _count(_OPEN, item) - (cared if rules.waits else -2 * _count(_LOUD, item))

    best = sorted(items, key=lambda item: -score(item))
    if rules.cross and len(best) > 1:
        names = _rare_names(items)
        pair = max(combinations(best[:_BEST], 2), key=lambda two: len(names[two[0].id] & names[two[1].id]))
        shared = names[pair[0].id] | names[pair[1].id]
        best = [
            *pair,
            *sorted((each for each in best if each not in pair), key=lambda each: -len(names[each.id] & shared)),
        ]
    return best[: rules.most]


def _rare_names(items: Sequence[_Found]) -> dict[str, set[str]]:
    """Of each item the names and numbers that stand in few others."""
    named = {item.id: set(_NAME.findall(item.words)) for item in items}
    counts = Counter(name for names in named.values() for name in names)
    return {id_: {name for name in names if 1 < counts[name] <= _RARE} for id_, names in named.items()}


def _value(name: str, items: Sequence[_Found]) -> str:
    """What a parameter of this name might be."""
    text = "\n".join(item.words for item in items)
    if _WHEN.search(name) and (date := _DATE.search(text)):
        return date.group()
    people = [person.strip() for item in items for person in item.people.split(",") if person.strip()]
    if _WHO.search(name.replace("_", " ")) and people:
        return people[0]
    return items[0].title if items else ""


def _chosen(world: Mapping[str, Any], steps: Sequence[Mapping[str, Any]], instruction: str) -> dict[str, Any]:
    """The next use of a tool: what is planned, one after another."""
    lessons = [step["observation"] for step in steps if step.get("tool") == "reflect"]
    planned = _planned(world)
    if lessons or _WAITS.search(instruction):
        planned[0]["argument"], planned[1]["argument"] = _WAITING
    done = len(steps) - len(lessons)
    if done >= len(planned):
        return {"tool": "finish", "argument": ""}
    if planned[done]["tool"] != "read":
        return dict(planned[done])
    seen = dict.fromkeys(id_ for step in steps for id_ in _RECORD.findall(str(step.get("observation", ""))))
    return {"tool": "read", "argument": " ".join(seen)}


def _planned(world: Mapping[str, Any]) -> list[dict[str, str]]:
    hurts = " ".join(map(str, world.get("pain_points", []))) or str(world.get("occupation", ""))
    return [
        {"tool": "search", "argument": " ".join(_cares(world)[:3])},
        {"tool": "search", "argument": hurts},
        {"tool": "read", "argument": "$E1 $E2"},
    ]


def _cares(world: Mapping[str, Any]) -> list[str]:
    """What the person cares about, as texts."""
    told = [*world.get("current_priorities", []), *world.get("pain_points", [])]
    return [str(each) for each in told or [world.get("about", "")]]


def _items(shown: Mapping[str, str]) -> list[_Found]:
    """What was shown whole, and what tools returned; of an item that came twice the longer."""
    found = [_of_document(each) for each in value_of(shown.get("documents"), []) if isinstance(each, dict)]
    for step in value_of(shown.get("steps"), []):
        found += _records(str(step.get("observation", "")))
    longest = sorted(found, key=lambda item: len(item.text))
    kept = {item.id: item for item in longest}
    return [kept[id_] for id_ in dict.fromkeys(item.id for item in found)]


def _of_document(item: Mapping[str, Any]) -> _Found:
    first: Callable[..., str] = lambda *names: next((str(item[name]) for name in names if item.get(name)), "")  # noqa: E731
    people = [item.get("sender") or "", *item.get("to", []), *item.get("attendees", [])]
    text = first("body", "description", "content")
    return _Found(first("id"), first("subject", "title"), ", ".join(filter(None, map(str, people))), text)


def _records(observation: str) -> list[_Found]:
    """The items in what a tool returned, as `Record.shown` writes them."""
    parts = _RECORD.split(observation)
    return [_record(id_, rest) for id_, rest in zip(parts[1::2], parts[2::2], strict=True)]


def _record(id_: str, rest: str) -> _Found:
    named = dict(re.findall(r"^(title|people): (.*)$", rest, re.MULTILINE))
    text = "\n".join(line.removeprefix("| ") for line in rest.split("\n") if line.startswith("|"))
    return _Found(id_, named.get("title", ""), named.get("people", ""), text)


def _count(mark: re.Pattern[str], item: _Found) -> int:
    return len(mark.findall(item.words))


def _said(action: Mapping[str, Any]) -> str:
    return f"{str(action.get('type', '')).replace('_', ' ')} {action.get('description', '')}"
