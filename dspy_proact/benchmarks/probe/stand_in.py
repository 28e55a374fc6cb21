"""What the embedded model answers in PROBE: rules, so that a machine without a key has an agent and judges.

The agent takes the loudest items that speak of something open. An instruction about waiting makes it prefer items in
which something waits that is not on the person's list; `cross-check` those that share rare names with the best one;
`take few` half as many. The bottleneck is a sentence of each item, the action the one nearest in words, a parameter the
first date or a title. With tools it searches, reads what it found, and finishes.

The judges count words: a facet is correct where enough of its words stand in the description (more where the
instruction asks to be strict, fewer where lenient), incorrect where some do, missing where none does, and `n/a` where
it is null. Parameters are compared as texts, sets of values, days, or by their words.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date
from typing import Any

from pydantic import TypeAdapter

from dspy_proact.benchmarks.probe.agents.tools import ToolRow
from dspy_proact.benchmarks.probe.scoring import ESSENTIAL, FURTHER, JUDGMENTS
from dspy_proact.benchmarks.probe.task import Item
from dspy_proact.programs.embedded.fields import (
    outputs_of,
    request_fields,
    requested_json,
    strictness,
    unfenced,
    value_of,
)
from dspy_proact.programs.embedded.words import content_words, sentences

_MOST, _FEW = 4, 2
"""Items that it takes."""
_RARE = 4
"""Items that a name may be in to show that they belong together."""
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
"""Of people and things, and numbers of papers; a word that begins a sentence is none."""
_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_ITEMS = TypeAdapter[list[Item]](list[Item])
_RECORD = re.compile(r"^id: (.*)$", re.MULTILINE)
_WAITING = ("waiting pending blocked stuck overdue", "missing still hold unanswered signed")
"""What it searches for."""
_WHEN = re.compile(r"date|time|when|day|deadline|start|due|until", re.IGNORECASE)
_ENOUGH, _STEP = 0.4, 0.2
_RESOLVING = 0.6
"""Share of right parameters from which an action resolves a part."""


# The agent


def agent_answer(system: str, messages: Sequence[tuple[str, str]]) -> str:
    """The fields that are asked for, as JSON."""
    shown = request_fields(messages)
    instruction, names = system.partition("your objective is:")[2], outputs_of(system)
    world: dict[str, Any] = value_of(shown.get("world"), {})
    items, steps = _items(shown), value_of(shown.get("steps"), [])
    fields: dict[str, Any] = {
        "reasoning": f"{len(items)} items were shown.",
        "thought": f"{len(steps)} steps are done.",
    }
    if "tool" in names:
        fields |= _next_step(world, steps, instruction)
    elif "plan" in names:
        fields["plan"] = [{"var": f"E{number}", **step} for number, step in enumerate(_plan(world), start=1)]
    elif "score" in names:
        again = any(step.get("tool") == "reflect" for step in steps)
        fields |= {"lacking": "Look for what is waiting.", "score": 0.9 if again else 0.5}
    else:
        fields |= _concluded(shown, world, items if "bottleneck" in shown else _taken(world, items, instruction))
    return requested_json(system, fields)


def _words(item: ToolRow) -> str:
    """What it reads of an item, which is not where it takes place."""
    return f"{item.title}\n{item.people}\n{item.text}"


def _taken(world: Mapping[str, Any], items: Sequence[ToolRow], instruction: str) -> Sequence[ToolRow]:
    """The items that score best, in their order of score; of equal ones the first."""
    cares = content_words(" ".join(_cares(world)))

    def score(item: ToolRow) -> float:
        opened = len(_OPEN.findall(_words(item)))
        if _WAITS.search(instruction):
            return opened - len(content_words(_words(item)) & cares) / 2
        return opened + 2 * len(_LOUD.findall(_words(item)))

    best = sorted(items, key=lambda item: -score(item))
    if _CROSS.search(instruction) and best:
        named = {item.id: set(_NAME.findall(_words(item))) for item in items}
        counts = Counter(name for names in named.values() for name in names)
        rare = {name for name in named[best[0].id] if counts[name] <= _RARE}
        best = [best[0], *sorted(best[1:], key=lambda item: -len(named[item.id] & rare))]
    return best[: _FEW if _SPARING.search(instruction) else _MOST]


def _concluded(shown: Mapping[str, str], world: Mapping[str, Any], taken: Sequence[ToolRow]) -> dict[str, Any]:
    lines = [max(sentences(item.text) or [item.title], key=lambda line: len(_OPEN.findall(line))) for item in taken]
    bottleneck = " ".join([f"{world.get('person', 'The person')} is held up.", *lines])
    words = content_words(" ".join([shown.get("bottleneck", ""), bottleneck, *(item.title for item in taken)]))

    def nearness(action: Mapping[str, Any]) -> int:
        kind = str(action.get("type", "")).replace("_", " ")
        return len(content_words(f"{kind} {action.get('description', '')}") & words)

    day_match, title = _DATE.search("\n".join(_words(item) for item in taken)), taken[0].title if taken else ""
    day = day_match.group() if day_match else title
    actions = [action for action in value_of(shown.get("actions"), []) if isinstance(action, dict)]
    best = max(actions, key=nearness, default={})
    return {
        "evidence": [item.id for item in taken],
        "bottleneck": bottleneck,
        "action": best.get("id", ""),
        "parameters": {name: day if _WHEN.search(name) else title for name in best.get("required", [])},
    }


def _next_step(world: Mapping[str, Any], steps: Sequence[Mapping[str, Any]], instruction: str) -> dict[str, Any]:
    lessons, plan = sum(step.get("tool") == "reflect" for step in steps), _plan(world)
    if lessons or _WAITS.search(instruction):
        plan[0]["argument"], plan[1]["argument"] = _WAITING
    done = len(steps) - lessons
    if done >= len(plan):
        return {"tool": "finish", "argument": ""}
    if plan[done]["tool"] == "read":
        seen = dict.fromkeys(id_ for step in steps for id_ in _RECORD.findall(str(step.get("observation", ""))))
        plan[done]["argument"] = " ".join(seen)
    return dict(plan[done])


def _plan(world: Mapping[str, Any]) -> list[dict[str, str]]:
    pains = " ".join(map(str, world.get("pain_points", []))) or str(world.get("occupation", ""))
    return [
        {"tool": "search", "argument": " ".join(_cares(world)[:3])},
        {"tool": "search", "argument": pains},
        {"tool": "read", "argument": "$E1 $E2"},
    ]


def _cares(world: Mapping[str, Any]) -> list[str]:
    listed = [*world.get("current_priorities", []), *world.get("pain_points", [])]
    return [str(care) for care in listed or [world.get("about", "")]]


def _items(shown: Mapping[str, str]) -> list[ToolRow]:
    """What was shown whole, and what tools returned; of an item that came twice the longer."""
    items = [ToolRow.of(item) for item in _ITEMS.validate_python(value_of(shown.get("documents"), []))]
    for step in value_of(shown.get("steps"), []):
        # As `ToolRow.shown` writes them.
        parts = _RECORD.split(str(step.get("observation", "")))
        for id_, rest in zip(parts[1::2], parts[2::2], strict=True):
            named = dict(re.findall(r"^(title|people): (.*)$", rest, re.MULTILINE))
            items.append(ToolRow(id_, **named, text=unfenced(rest)))
    kept = {item.id: item for item in sorted(items, key=lambda item: len(item.text))}
    return [kept[id_] for id_ in dict.fromkeys(item.id for item in items)]


# The judges


def judge_answer(system: str, messages: Sequence[tuple[str, str]]) -> str:
    """The verdict as JSON, with the fields that were asked for."""
    shown = request_fields(messages)
    enough = _ENOUGH + _STEP * strictness(system)
    judge = _of_parameters if "would_resolve" in outputs_of(system) else _of_description
    return requested_json(system, judge(shown, enough))


def _of_description(shown: Mapping[str, str], enough: float) -> dict[str, Any]:
    expected = value_of(shown.get("expected"), {})
    shown_words = content_words(unfenced(shown.get("description", "")))
    all_facets: dict[str, Any] = dict.fromkeys(ESSENTIAL, expected.get("description"))
    facets = expected.get("facets") if isinstance(expected.get("facets"), dict) else all_facets
    words: dict[str, str] = {}
    for name in (*ESSENTIAL, *FURTHER):
        if not isinstance(facet := facets.get(name), str):
            words[name] = "n/a"
            continue
        meant = content_words(facet)
        share = len(meant & shown_words) / len(meant) if meant else 0.0
        words[name] = "correct" if share >= enough else "incorrect" if share else "missing"
    wrong = [name for name, word in words.items() if word not in {"correct", "n/a"}]
    judgment = "CORRECT" if not wrong else "INCORRECT" if {*wrong} & {*ESSENTIAL} else "PARTIALLY_CORRECT"
    reasoning = f"Not there or otherwise: {', '.join(wrong)}." if wrong else "Every facet is there."
    return {"reasoning": reasoning, **words, "judgment": judgment}


def _of_parameters(shown: Mapping[str, str], enough: float) -> dict[str, Any]:
    expected, actual = value_of(shown.get("expected"), {}), value_of(unfenced(shown.get("given", "")), {})
    missing = [name for name in expected if actual.get(name) in (None, "", [], {})]
    there = [name for name in expected if name not in missing]
    same = [name for name in there if _plain(actual[name]) == _plain(expected[name])]
    alike = [name for name in there if name not in same and _alike(expected[name], actual[name], enough)]
    share = (len(same) + len(alike)) / len(expected) if expected else 1.0
    level = 2 if share == 1 else 1 if share >= _RESOLVING else 0
    return {
        "reasoning": f"{len(same)} of {len(expected)} parameters are the same, {len(alike)} alike.",
        "missing": missing,
        "incorrect": [name for name in there if name not in same and name not in alike],
        "semantic_matches": alike,
        "would_resolve": ("no", "partially", "yes")[level],
        "judgment": JUDGMENTS[level],
    }


def _plain(value: Any) -> Any:
    """A value without what its form adds: lists as sets, texts without case and further blanks."""
    if isinstance(value, list):
        return frozenset(str(_plain(part)) for part in value)
    return " ".join(str(value).split()).casefold()


def _alike(expected: Any, actual: Any, enough: float) -> bool:
    """Whether a day is named, or enough words are there; a number must be equal."""
    if isinstance(expected, int | float):
        return False
    with suppress(ValueError, TypeError):
        day = date.fromisoformat(expected[:10])
        return expected[:10] in str(actual) or f"{day.day} {day:%b}" in str(actual)
    words, shown_words = (content_words(json.dumps(value, ensure_ascii=False)) for value in (expected, actual))
    return bool(words) and len(words & shown_words) / len(words) >= enough
