"""The embedded model in the roles that make PROBE's tasks: rules, so that `generate` runs on a machine without a key.

Planner and writer draw people and bottlenecks of an invented seed bank from a bundled bank, by a hash of their request.
What was drawn for a bottleneck is read out of its description later, so that each request says all that it needs. The
items are a few sentences that matter among others about nothing; those that are no evidence are composed alike. Now and
then a writer forgets to say where it states a facet, or leaves an item out, so that it is asked again.

They read the request only and answer equal requests alike. Nothing of it measures anything.
"""

import hashlib
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from datetime import date, timedelta
from functools import cache, lru_cache
from importlib.resources import files
from itertools import count, islice, pairwise
from typing import Any, get_args

from dspy_proact.benchmarks.probe.generation.values import FacetName
from dspy_proact.programs.embedded.fields import outputs_of, request_fields, requested_json, unfenced, value_of
from dspy_proact.programs.embedded.words import sentences

Fields = Mapping[str, str]
"""Those of a request, by name."""
_AGAIN = re.compile("cannot be used|has failed before")
"""Stands in a request that is asked once more."""
_SIBLINGS = 3
"""Actions of one pattern, about."""
_FORGETS = 7
"""Of so many items or groups of items one is first written with a fault."""
_LATER = "+4..60"
"""Days of things that are no bottleneck."""
_ENDS, _NEAR = 34, 8
"""Words that are left from which a sentence is chosen by its length, among so many."""
_USUAL = frozenset({"day", "by"})
_KINDS = {"email": "An e-mail", "event": "An event", "document": "A document"}
_SLOT = re.compile(r"(?P<prefix>.*?)(?P<low>\d+)\.\.(?P<high>\d+)")
_FIELD = re.compile(r"\\\{(\w+)\\\}")


@cache
def _bank() -> dict[str, Any]:
    file = files("dspy_proact.benchmarks.probe").joinpath("data/generation/stand_in.toml")
    return tomllib.loads(file.read_text("utf-8"))


def _number(*texts: object) -> int:
    """A number that the texts decide."""
    return int.from_bytes(hashlib.sha256("\n".join(map(str, texts)).encode("utf-8", "replace")).digest()[:8])


def drawn(values: Sequence[Any], *texts: object) -> Any:
    """One of the values, which the texts decide."""
    return values[_number(*texts) % len(values)]


def _mixed(values: Iterable[Any], *texts: object) -> list[Any]:
    """The values in an order that the texts decide."""
    return sorted(values, key=lambda value: _number(value, *texts))


def _filled(text: str, slots: Mapping[str, str], *seed: object) -> str:
    """A text with its slots, and with things that are drawn where it names these, as a sentence."""
    while match := re.search(r"\{(\w+)\}", text):
        value = slots.get(match[1]) or drawn(_bank()["draws"][match[1]], match[1], *seed)
        text = text.replace(match[0], value)
    return text[:1].upper() + text[1:]


def _again(fields: Fields) -> str:
    """Empty for a request that is asked for the first time."""
    return " ".join(_AGAIN.findall(" ".join(fields.values())))


def spelled(day: date) -> str:
    """A day as texts have it."""
    return f"{day:%A} {day.day} {day:%B}"


def _slot(spec: str, pattern: Mapping[str, Any], today: date, *seed: object) -> str:
    """What a slot of a pattern holds: a thing, a day after today that is no weekend's, or a text with a number."""
    if spec == "object":
        return drawn(pattern["objects"], *seed)
    if spec in _bank()["draws"]:
        return drawn(_bank()["draws"][spec], *seed)
    match = _SLOT.fullmatch(spec)
    assert match, spec
    number = int(match["low"]) + _number(*seed) % (int(match["high"]) - int(match["low"]) + 1)
    if match["prefix"] != "+":
        return f"{match['prefix']}{number}"
    day = today + timedelta(number)
    return spelled(day + timedelta(max(0, 7 - day.weekday()) if day.weekday() > 4 else 0))


@cache
def _shape(name: str, template: str) -> "re.Pattern[str]":
    """What a description of a pattern looks like, with a group for each slot."""
    pattern = next(pattern for pattern in _bank()["patterns"] if pattern["name"] == name)
    seen = set[str]()

    def group(match: "re.Match[str]") -> str:
        slot, spec = match[1], pattern["slots"].get(match[1], match[1])
        if slot in seen:
            return f"(?P={slot})"
        seen.add(slot)
        if texts := pattern["objects"] if spec == "object" else _bank()["draws"].get(spec):
            return f"(?P<{slot}>{'|'.join(map(re.escape, texts))})"
        return f"(?P<{slot}>.+?)"

    return re.compile(_FIELD.sub(group, re.escape(template)) + ".*")


def _known(bottleneck: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Pattern and slots of a bottleneck; raises `StopIteration` where it is none of the bank's."""
    for pattern in _bank()["patterns"]:
        for template in pattern["descriptions"]:
            if match := _shape(pattern["name"], template).fullmatch(bottleneck["description"]):
                return pattern, {name: match[name] for name in pattern["slots"]}
    raise StopIteration


def _ledger_days(bottleneck: Mapping[str, Any]) -> dict[str, str]:
    """Ledger values of days, by how a text spells them."""
    days = dict[str, str]()
    for entry in bottleneck["ledger"]:
        with suppress(ValueError):
            days[spelled(date.fromisoformat(entry["value"]))] = entry["value"]
    return days


# The planner


def _world(fields: Fields) -> dict[str, Any]:
    persona, initials, bank = unfenced(fields["persona"]), fields.get("initials", ""), _bank()
    seed = (persona, initials, fields.get("today"), _again(fields))
    low, high = value_of(fields["relationships"], [5, 8])
    count = low + _number("count", *seed) % (high - low + 1)
    first = [name for name in bank["people"]["given"] if name[0] in initials] or bank["people"]["given"]
    pairs = zip(_mixed(first, *seed), _mixed(bank["people"]["family"], *seed), strict=False)
    names = [f"{one} {other}" for one, other in pairs]
    role = value_of(fields.get("work_roles"), ["coordinator"])[0]
    least, most = value_of(fields["team"], [4, 9])
    kinds = [*bank["relationships"][:3], *_mixed(bank["relationships"][3:], *seed)][:count]
    relationships = [
        {
            "name": name,
            "type": kind["type"],
            "department": None if kind["department"] == "none" else kind["department"],
            "relationship_context": drawn(kind["context"], name),
        }
        for kind, name in zip(kinds, names[1:], strict=False)
    ]
    listed = {name: _mixed(texts, name, *seed) for name, texts in bank["world"].items()}
    systems = _mixed(value_of(fields.get("systems"), list[str]()), *seed)[:5]
    world = {
        "full_name": names[0],
        "occupation": f"{role[:1].upper()}{role[1:]} at a seed bank",
        "about": " ".join([persona, *listed["about"][:3]]),
        "relationships": relationships,
        "company_name": listed["company"][0],
        "department": listed["department"][0],
        "team_size": least + _number("team", *seed) % (most - least + 1),
        "reporting_to": relationships[0]["name"],
        "key_meetings": listed["key_meetings"][:3],
        "work_style": listed["work_style"][0],
        "communication_preferences": listed["communication_preferences"][:2],
        "current_priorities": listed["current_priorities"][:3],
        "pain_points": listed["pain_points"][:2],
        "systems": systems if len(systems) > 1 else ["the shared calendar", "the list of collections"],
    }
    return {"world": world}


def _bottlenecks(fields: Fields) -> dict[str, Any]:
    world, count = value_of(fields["world"], dict[str, Any]()), value_of(fields["count"], 3)
    today = date.fromisoformat(value_of(fields["window"], [""])[-1][:10])
    seed = (world["full_name"], world["about"], _again(fields))
    inside = [one["name"] for one in world["relationships"] if one["department"]]
    people = _mixed(inside or [one["name"] for one in world["relationships"]], *seed)
    bottlenecks, entries = list[dict[str, Any]](), 0
    for pattern in _mixed(_bank()["patterns"], *seed)[:count]:
        slots, own = dict[str, str](), (pattern["name"], *seed)
        for name, spec in pattern["slots"].items():
            slots[name] = people[0] if spec == "person" else _slot(spec, pattern, today, name, *own)
            people = [*people[1:], people[0]] if spec == "person" else people
        ledger = list[dict[str, str]]()
        for slot, what, *unit in pattern["ledger"]:
            entries += 1
            kind, value = "amount", " ".join([slots[slot], *unit])
            if not unit:
                days = (today + timedelta(number) for number in range(60))
                kind, value = "date", next(day.isoformat() for day in days if spelled(day) == slots[slot])
            ledger.append({"id": f"f{entries}", "what": _filled(what, slots), "kind": kind, "value": value})
        facets = {name: pattern["facets"].get(name) for name in get_args(FacetName)}
        aim = drawn(world["current_priorities"], "aim", *own)
        aim = _filled(drawn(_bank()["world"]["aims"], *own), {"aim": aim[:1].lower() + aim[1:]})
        bottlenecks.append(
            {
                "id": f"b{len(bottlenecks) + 1}",
                "description": f"{_filled(drawn(pattern['descriptions'], *own), slots, *own)} {aim}",
                "facets": {name: text and _filled(text, slots) for name, text in facets.items()},
                "ledger": ledger,
                "resolution": _filled(pattern["resolution"], slots),
            }
        )
    return {"bottlenecks": bottlenecks}


def _actions(fields: Fields) -> dict[str, Any]:
    """Actions of a few patterns, each about several objects, whether one of them resolves something or none does."""
    world, wanted = value_of(fields["world"], dict[str, Any]()), value_of(fields["count"], 12)
    seed, resolved = world["full_name"], dict[str, tuple[str, str]]()
    for one in value_of(fields["bottlenecks"], list[Any]()):
        pattern, slots = _known(one)
        resolved[pattern["name"]] = (slots["object"], one["id"])
    patterns = _mixed(_bank()["patterns"], seed)
    own = [pattern for pattern in patterns if pattern["name"] in resolved]
    others = [pattern for pattern in patterns if pattern["name"] not in resolved]
    used = _mixed([*own, *others[: max(len(own), round(wanted / _SIBLINGS)) - len(own)]], seed, "sizes")
    actions = list[dict[str, Any]]()
    for number, pattern in enumerate(used):
        right, id_ = resolved.get(pattern["name"], ("", None))
        objects = sorted(_mixed(pattern["objects"], seed), key=lambda one, right=right: one != right)
        for one in objects[: (wanted + number) // len(used)]:
            actions.append(
                {
                    "id": pattern["action"]["id"].format(object=re.sub(r"\W", "_", one.lower())),
                    "type": pattern["action"]["type"],
                    "description": _filled(pattern["action"]["description"], {"object": one}),
                    "constraints": [],
                    "parameters": [
                        dict(zip(("name", "kind", "description"), parameter, strict=False))
                        for parameter in pattern["action"]["parameters"]
                    ],
                    "resolves": id_ if one == right else None,
                }
            )
    return {"actions": _mixed(actions, seed)}


def _plan(fields: Fields) -> dict[str, Any]:
    bottleneck, kinds = value_of(fields["bottleneck"], dict[str, Any]()), value_of(fields["kinds"], list[str]())
    world, (pattern, slots) = value_of(fields["world"], dict[str, Any]()), _known(bottleneck)
    statements, items = pattern["statements"], list[dict[str, Any]]()
    ends = [number * len(statements) // len(kinds) for number in range(len(kinds) + 1)]
    for number, (kind, (begin, end)) in enumerate(zip(kinds, _mixed(pairwise(ends), slots), strict=True), 1):
        own = statements[begin:end]
        author, occasion = _author(world, own, slots, number), drawn(_bank()["titles"]["occasion"], slots, number)
        items.append(
            {
                "number": number,
                "kind": kind,
                "role": f"{_KINDS[kind]} by {author} {occasion}.",
                "states": " ".join(_filled(one["texts"][0], slots) for one in own),
                "facets": [facet for one in own for facet in one.get("facets", [])],
                "parameters": [name for one in own for name in one.get("parameters", [])],
            }
        )
    return {"items": items}


# The writer


def _author(
    world: Mapping[str, Any], statements: Sequence[Mapping[str, Any]], slots: Mapping[str, str], *seed: object
) -> str:
    """Who writes an item: nobody who stands in what it states, and nobody of the bottleneck where there are others."""
    names = [one["name"] for one in world["relationships"]]
    free = [name for name in names if name not in slots.values()]
    return drawn(free or [world["full_name"]], "author", str(statements), slots, *seed)


def _item(
    kind: str, passages: Sequence[str], words: int, author: str, world: Mapping[str, Any], *seed: object
) -> dict[str, Any]:
    """An item of so many words, in which a few sentences stand among others."""
    titles, me = _bank()["titles"], world["full_name"]
    names = _mixed([me, *(one["name"] for one in world["relationships"])], "people", *seed)
    others = [name for name in names if name not in (author, me)]
    count = _number("count", *seed) % 3
    people = {
        "email": [me, *others[:count]] if author != me else others[: count + 1],
        "event": [me, *others[: count + 1]],
    }
    greeting, sign = (f"Hello {me.split(maxsplit=1)[0]},", author.split(maxsplit=1)[0]) if kind == "email" else ("", "")
    room = words - len(f"{greeting} {sign} {' '.join(passages)}".split())
    body, chatter = list[str](), _chatter(*seed)
    while room > 0:
        near = [*islice(chatter, _NEAR if room < _ENDS else 1)]
        text = min(near, key=lambda text: abs(room - len(text.split())))
        if len(text.split()) > 2 * room:
            break
        body, room = [*body, text], room - len(text.split())
    at = -1
    for index, text in enumerate(passages):  # in their order, each somewhere in its own part of the text
        share = (index + _number("at", index, *seed) % 100 / 100) / len(passages)
        at = max(at + 1, round(share * len(body)))
        body.insert(at, text)
    step = 3 + _number("paragraph", *seed) % 3
    paragraphs = [" ".join(body[begin : begin + step]) for begin in range(0, len(body), step)]
    title, about = drawn(titles[kind], "title", *seed), drawn(titles["about"], "about", *seed)
    return {
        "title": _filled(f"{title}: {about}", {}, "title", *seed),
        "author": author,
        "people": people.get(kind, []),
        "location": drawn(titles["location"], "location", *seed) if kind == "event" else "",
        "text": "\n\n".join(filter(None, [greeting, *paragraphs, sign])),
    }


def _chatter(*seed: object) -> Iterator[str]:
    """Sentences about nothing that matters, without end."""
    draws = {name: _mixed(texts, *seed) for name, texts in _bank()["draws"].items()}
    sayings = _mixed(_bank()["filler"]["sentences"], *seed)
    for number in count():
        one = {name: texts[number % len(texts)] for name, texts in draws.items()}
        news = (
            "{outsider} {deed} {when}, {tail}." if _number("tail", number, *seed) % 2 else "{outsider} {deed} {when}."
        )
        yield _filled(sayings[number // 3 % len(sayings)] if number % 3 == 2 else news, one)


def _evidence(fields: Fields) -> dict[str, Any]:
    world, planned = value_of(fields["world"], dict[str, Any]()), value_of(fields["planned"], dict[str, Any]())
    bottleneck = value_of(fields["bottleneck"], dict[str, Any]())
    (pattern, slots), words = _known(bottleneck), value_of(fields["words"], 120)
    wanted = {*planned["facets"], *planned["parameters"]}
    names = [([*one.get("facets", []), *one.get("parameters", [])], one) for one in pattern["statements"]]
    own = [(states, one) for states, one in names if wanted & {*states}]
    seed = (slots, planned["number"], _again(fields))
    passages = [_filled(drawn(one["texts"], one, *seed), slots) for _, one in own]
    days, stated = {value: spelled for spelled, value in _ledger_days(bottleneck).items()}, list[dict[str, str]]()
    for (states, _), quote in zip(own, passages, strict=True):
        stated += [{"what": what, "quote": quote} for what in states if what in wanted]
        entries = [one for one in bottleneck["ledger"] if f" {days.get(one['value'], one['value'])}" in f" {quote}"]
        stated += [{"what": one["id"], "quote": quote} for one in entries]
    if _number("forgets", *seed) % _FORGETS == 0 and not _again(fields):
        stated = stated[1:]
    author = _author(world, [one for _, one in own], slots, planned["number"])
    return {"written": {"item": _item(planned["kind"], passages, words, author, world, *seed), "stated": stated}}


def _distractors(fields: Fields) -> dict[str, Any]:
    world, window = value_of(fields["world"], dict[str, Any]()), value_of(fields["window"], [""])
    known = {one["id"]: _known(one) for one in value_of(fields["bottlenecks"], list[Any]())}
    taken = {value for _, slots in known.values() for value in slots.values()}
    today = date.fromisoformat(window[-1][:10])
    orders, bank, drafts = value_of(fields["orders"], list[dict[str, Any]]()), _bank(), list[dict[str, Any]]()
    for order in orders:
        seed = (world["full_name"], order["number"], order["strategy"], _again(fields))
        way = bank["strategies"][order["strategy"].partition(":")[0]]
        names = [one["name"] for one in world["relationships"]]
        free = _mixed([name for name in names if name not in taken] or names, *seed)
        people, passages = dict(zip("cd", [*free, *free], strict=False)), list[str]()
        matter = _filled(drawn(bank["titles"]["matters"], *seed), {}, *seed)
        if pattern := known.get(order["near"], (None, {}))[0]:
            slots = {name: free[-1] for name, spec in pattern["slots"].items() if spec == "person"}
            for name, spec in pattern["slots"].items():
                wide = _LATER if spec.startswith("+") else spec
                values = (_slot(wide, pattern, today, name, number, *seed) for number in range(99))
                slots[name] = slots.get(name) or next(value for value in values if value not in taken)
            matter = _filled(drawn(pattern["matters"], *seed), slots)
            if order["template"] is not None:
                things = [slots[name] for name, spec in pattern["slots"].items() if spec != "person"]
                passages = [_filled(drawn(one["texts"], *seed), slots) for one in pattern["statements"][1:3]]
                passages = [text for text in passages if any(thing in text for thing in things)]
        matter = matter[:1].lower() + matter[1:]
        lead, close = (_filled(drawn(way[part], *seed), {"m": matter, **people}, *seed) for part in ("leads", "closes"))
        author = drawn(free, "author", *seed)
        item = _item(order["kind"], [lead, *passages, close], order["words"], author, world, *seed)
        drafts.append({"number": order["number"], "item": item, "why_not": close})
    if _number("leaves out", world["full_name"], orders[0]["number"]) % _FORGETS == 0 and not _again(fields):
        drafts = drafts[:-1]
    return {"distractors": drafts}


def _parameters(fields: Fields) -> dict[str, Any]:
    bottleneck, action = (value_of(fields[name], dict[str, Any]()) for name in ("bottleneck", "action"))
    items, (pattern, slots) = value_of(fields["items"], list[Any]()), _known(bottleneck)
    texts = {one[0]: _filled(one[3], slots) for one in pattern["action"]["parameters"]}
    days, parameters = _ledger_days(bottleneck), list[dict[str, Any]]()
    for parameter in action["parameters"]:
        name, text = parameter["name"], texts[parameter["name"]]
        lines = [(item["number"], line) for item in items for line in sentences(item["item"]["text"]) if text in line]
        if lines:
            number, quote = max(lines, key=lambda line: named(name, line[1]))
            value = float(text) if parameter["kind"] == "number" else days.get(text, text)
            parameters.append({"name": name, "value": value, "item": number, "quote": quote})
    return {"parameters": parameters}


def named(name: str, text: str) -> int:
    """How many words of a parameter's name stand in a text, those apart that many names have."""
    return len(({*name.split("_")} - _USUAL) & _small_words(text))


@lru_cache(maxsize=1024)
def _small_words(text: str) -> Set[str]:
    return frozenset(re.findall(r"[a-z]+", text.lower()))


_STAGES: Mapping[str, Callable[[Fields], dict[str, Any]]] = {
    "world": _world,
    "bottlenecks": _bottlenecks,
    "actions": _actions,
    "items": _plan,
    "written": _evidence,
    "parameters": _parameters,
    "distractors": _distractors,
}
"""What is written, by a field that is requested."""


def answered(
    stages: Mapping[str, Callable[[Fields], dict[str, Any]]], system: str, messages: Sequence[tuple[str, str]]
) -> str:
    """What a stage answers, by a field that is requested; nothing where it does not know what it is shown."""
    stage = next((stage for name, stage in stages.items() if name in outputs_of(system)), None)
    try:
        return requested_json(system, stage(request_fields(messages)) if stage else {})
    except (LookupError, StopIteration, TypeError, ValueError):  # of another hand than its own
        return ""


def writer(system: str, messages: Sequence[tuple[str, str]]) -> str:
    """The answer of planner or writer; nothing where the bank has nothing."""
    return answered(_STAGES, system, messages)
