"""What is known of items and actions without reading them, as numbers that a classifier is given.

A trace has numbers, such as a length, and marks, such as a field that is filled. Of a number a classifier sees the rank
among all items that could have each other's part, among those of the same kind, and how far it is from the middle; of a
mark whether it is there.
"""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dspy_proact.benchmarks.probe.agents.tools import ToolRow
from dspy_proact.benchmarks.probe.task import Action, Item, ProbeView
from dspy_proact.stats.separation import Drawn, Pool

Aspect = Literal["ids", "order", "times", "lengths", "types", "fields"]
Marks = frozenset[tuple[Aspect, str]]
NUMBERS: Sequence[tuple[Aspect, str]] = (
    *(("ids", name) for name in ("length", "start", "end", "digits")),
    ("order", "place"),
    *(("times", name) for name in ("created", "updated after", "own", "own after", "clock", "created clock")),
    *(("lengths", name) for name in ("characters", "words", "title", "people", "parameters", "constraints")),
    ("fields", "count"),
)
_NUMBERS = [name for _, name in NUMBERS]
_MOST_MARKS = 30
"""Marks of an aspect that a classifier is given, of those that vary in most pools."""
_SEPARATORS = re.compile(r"(.*[^0-9A-Za-z])?(.*)", re.DOTALL)
_DIGITS = {char: number for number, char in enumerate("0123456789abcdefghijklmnopqrstuvwxyz")}
_LONGEST = 40
"""Characters of a value of metadata that may be a category."""


@dataclass(frozen=True)
class Traces:
    """What is known of a task's items, or of its actions, in their order."""

    person: str
    contents: tuple[str, ...]
    """What each says, shortened, by which two tasks are known to share it."""
    kinds: tuple[str, ...]
    """Of items their types, of actions nothing."""
    numbers: NDArray[np.float64]
    """Shape (items, numbers), nan where one has none."""
    marks: tuple[Marks, ...]
    picked: tuple[bool, ...]
    """Whether each is evidence, or the right action."""

    @classmethod
    def of_items(cls, person: str, view: ProbeView) -> "Traces":
        """Those of a task's items."""
        numbers, marks = list[list[float]](), list[Marks]()
        for index, item in enumerate(view.items):
            record = ToolRow.of(item)
            marks.append(frozenset(_item_marks(item, record, view.unread.get(item.id, ()))))
            fields = sum(aspect == "fields" for aspect, _ in marks[-1])
            known = _item_numbers(item, record) | {"place": _share(index, len(view.items)), "count": fields}
            numbers.append([known.get(name, np.nan) for name in _NUMBERS])
        contents = _numbered(item.model_dump_json(exclude={"id", "stamps"}) for item in view.items)
        picked = tuple(item.id in view.gold.evidence for item in view.items)
        kinds = tuple(item.kind for item in view.items)
        return cls(person, contents, kinds, np.array(numbers), tuple(marks), picked)

    @classmethod
    def of_actions(cls, person: str, view: ProbeView) -> "Traces":
        """Those of a task's actions; their texts are known by their length and by how far they share their words."""
        numbers, marks = list[list[float]](), list[Marks]()
        words = [set(re.findall(r"\w{3,}", f"{one.id} {one.type} {one.description}".lower())) for one in view.actions]
        common = Counter(word for one in words for word in one)
        for index, (action, own) in enumerate(zip(view.actions, words, strict=True)):
            marks.append(frozenset(_action_marks(action, view.unread.get(action.id, ()))))
            known = _id_numbers(action.id) | {
                "place": _share(index, len(view.actions)),
                "characters": len(action.description),
                "words": float(np.mean([common[word] for word in own])) if own else 0.0,
                "title": len(action.type),
                "parameters": len(action.required),
                "constraints": sum(map(len, action.constraints)),
            }
            numbers.append([known.get(name, np.nan) for name in _NUMBERS])
        picked = tuple(action.id == view.gold.action for action in view.actions)
        contents = _numbered(action.id for action in view.actions)
        return cls(person, contents, ("",) * len(picked), np.array(numbers), tuple(marks), picked)


def _numbered(texts: Iterable[str]) -> tuple[str, ...]:
    """Digests of texts, in which the second of two equal ones is another one."""
    seen, digests = Counter[str](), list[str]()
    for text in texts:
        digests.append(hashlib.sha256(f"{seen[text]} {text}".encode()).hexdigest()[:16])
        seen[text] += 1
    return tuple(digests)


def pools_of(lists: Sequence[Traces], shared: bool) -> tuple[list[Pool], list[Aspect]]:
    """The pools of these lists, and the aspect of each column of their features.

    If what tasks of a person share is `shared` by the draws of one pool, it is known as in the first of them: its id,
    its length and its times are the same in each, and its place is much the same. So it is for evidence, which is drawn
    anew for each task and put among items that are there; not for the right actions, which are drawn from those that
    are there.
    """
    drawn = [one for one in lists if any(one.picked) and not all(one.picked)]
    indices = _components(drawn) if shared else [[index] for index in range(len(drawn))]
    joined = [_Joined.of([drawn[index] for index in of_pool]) for of_pool in indices]
    used = [index for index in range(len(NUMBERS)) if any(np.isfinite(one.numbers[:, index]).any() for one in joined)]
    kinds = sorted({kind for one in joined for kind in one.kinds})
    varying = Counter(mark for one in joined for mark in set().union(*one.marks) - frozenset.intersection(*one.marks))
    chosen = list[tuple[Aspect, str]]()
    for aspect in get_args(Aspect):
        of_aspect = sorted((-count, mark) for mark, count in varying.items() if mark[0] == aspect)
        least = min(3, len(joined))
        chosen += [mark for count, mark in of_aspect[:_MOST_MARKS] if -count >= least]
    aspects = list[Aspect]()
    for index in used:
        for _ in range(3 if len(kinds) < 2 else 4 + len(kinds)):  # the columns of `_Joined.features`
            aspects.append(NUMBERS[index][0])
    aspects.extend(aspect for aspect, _ in chosen)
    return [Pool(one.person, one.features(used, kinds, chosen), one.draws) for one in joined], aspects


@dataclass(frozen=True)
class _Joined:
    """Items of tasks that share some, each once."""

    person: str
    kinds: list[str]
    numbers: NDArray[np.float64]
    marks: list[Marks]
    draws: tuple[Drawn, ...]

    @classmethod
    def of(cls, lists: Sequence[Traces]) -> "_Joined":
        index, rows, kinds, marks = dict[str, int](), list[NDArray[np.float64]](), list[str](), list[Marks]()
        for one in lists:
            for number, content in enumerate(one.contents):
                if content not in index:
                    index[content] = len(index)
                    rows.append(one.numbers[number])
                    kinds.append(one.kinds[number])
                    marks.append(one.marks[number])
        draws = list[Drawn]()
        for one in lists:
            numbers, picked = np.array([index[content] for content in one.contents]), np.array(one.picked)
            draws.append(Drawn(numbers[picked], numbers[~picked]))
        return cls(lists[0].person, kinds, np.array(rows), marks, tuple(draws))

    def features(
        self, used: Sequence[int], kinds: Sequence[str], chosen: Sequence[tuple[Aspect, str]]
    ) -> NDArray[np.float64]:
        """Shape (items, columns).

        What differs between kinds must not stand for them, or all aspects would tell that evidence is of one kind: but
        for types, a column has the same mean in each kind.
        """
        of_kind = [np.array([own == kind for own in self.kinds]) for kind in kinds]

        def beside_kind(values: NDArray[np.float64]) -> NDArray[np.float64]:
            less = np.zeros(len(values))
            for own in of_kind:
                less[own] = values[own] - values[own].mean() if own.any() else 0
            return less

        columns = list[NDArray[np.float64]]()
        for index in used:
            values = self.numbers[:, index]
            overall, absent = _ranks(values), beside_kind(np.isnan(values).astype(float))
            if len(kinds) > 1:
                within = np.zeros(len(values))
                for own in of_kind:
                    within[own] = _ranks(values[own])
                columns += [beside_kind(within**2), *(within * own for own in of_kind)]
                if NUMBERS[index][0] in ("lengths", "fields"):
                    overall = np.zeros(len(values))
            columns += [overall, beside_kind(overall**2), absent]
        for mark in chosen:
            there = np.array([mark in marks for marks in self.marks], dtype=float)
            columns.append(there if mark[0] == "types" else beside_kind(there))
        return np.stack(columns, axis=1) if columns else np.zeros((len(self.kinds), 0))


def _components(lists: Sequence[Traces]) -> list[list[int]]:
    """Indices of lists of one person that share an item, directly or by others."""
    root = list(range(len(lists)))

    def top(index: int) -> int:
        while root[index] != index:
            index = root[index]
        return index

    first = dict[tuple[str, str], int]()
    for index, one in enumerate(lists):
        for content in one.contents:
            root[top(index)] = top(first.setdefault((one.person, content), index))
    parts = defaultdict[int, list[int]](list)
    for index in range(len(lists)):
        parts[top(index)].append(index)
    return list(parts.values())


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks from -1 to 1, equal for equal values; 0 for what is missing or alone."""
    ranks, known = np.zeros(len(values)), ~np.isnan(values)
    if np.count_nonzero(known) > 1:
        _, inverse, counts = np.unique(values[known], return_inverse=True, return_counts=True)
        middles = np.cumsum(counts) - (counts + 1) / 2
        ranks[known] = 2 * middles[inverse] / (np.count_nonzero(known) - 1) - 1
    return ranks


def _share(index: int, count: int) -> float:
    return index / max(count - 1, 1)


def id_parts(id_: str) -> tuple[str, str]:
    """The head of an id, with the last separator, and its tail; without one its first letters, if digits follow."""
    head, tail = _SEPARATORS.fullmatch(id_).groups()  # pyright: ignore[reportOptionalMemberAccess] - fits any text
    if head is None and (counted := re.fullmatch(r"([A-Za-z]+)(\d+)", tail)):
        return counted[1], counted[2]
    return head or "", tail


def _id_numbers(id_: str) -> dict[str, float]:
    """Its length, where the beginning and the end of its tail come in the order of such texts, and its digits."""
    tail = id_parts(id_)[1].lower()
    # Ten digits of base 36 are exact in a float; beginnings tell the order of ids that begin with a time.
    start, end = (
        sum(_DIGITS.get(char, 35) * 36.0 ** (9 - number) for number, char in enumerate(text))
        for text in (tail[:10].ljust(10, "0"), tail[-10:].rjust(10, "0"))
    )
    return {"length": len(id_), "start": start, "end": end, "digits": sum(map(str.isdecimal, tail))}


def _item_numbers(item: Item, record: ToolRow) -> dict[str, float]:
    stamps = item.stamps or {}
    created, updated, own = map(moment, (stamps.get("created_at"), stamps.get("updated_at"), record.time))
    known = _id_numbers(item.id) | {
        "characters": len(record.text),
        "words": len(record.text.split()),
        "title": len(record.title),
        "people": record.people.count(",") + bool(record.people),
    }
    times = {
        "created": created and created.timestamp(),
        "updated after": updated and created and (updated - created).total_seconds(),
        "own": own and own.timestamp(),
        "own after": own and created and (own - created).total_seconds(),
        "clock": own and _clock(own),
        "created clock": created and _clock(created),
    }
    return known | {name: float(value) for name, value in times.items() if value is not None}


def moment(text: Any) -> datetime | None:
    """The moment that a text in ISO 8601 names, in UTC where it names no zone; None for anything else."""
    with suppress(ValueError, TypeError, OverflowError):
        read = datetime.fromisoformat(text)
        return read if read.tzinfo else read.replace(tzinfo=UTC)
    return None


def _clock(time: datetime) -> float:
    return (time.hour * 60 + time.minute) * 60 + time.second


def _item_marks(item: Item, record: ToolRow, unread: Iterable[str]) -> Iterator[tuple[Aspect, str]]:
    head, _ = id_parts(item.id)
    yield "ids", f"{head} of {item.kind}"
    yield "types", item.kind
    if item.kind == "document":
        yield "types", item.mime
    for name, value in filled({**(item.stamps or {}), "": list(unread)}):
        yield "fields", f"{name}={value}" if value else name
    for name in type(item).model_fields:
        if getattr(item, name) in ("", ()):
            yield "fields", f"no {name}"
    for name, time in (("created", moment((item.stamps or {}).get("created_at"))), ("own", moment(record.time))):
        if time:
            for mark in _time_marks(time):
                yield "times", f"{name}: {mark}"


def _time_marks(time: datetime) -> Iterator[str]:
    if time.microsecond:
        yield "microseconds"
    if time.second:
        yield "seconds"
    if time.minute % 5:
        yield "odd minutes"
    if time.weekday() > 4:
        yield "weekend"


def filled(fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is filled of the fields, and of those in them: a name, and a value that may be a category."""
    for name, value in fields.items():
        if value in (None, "", [], {}):
            continue
        if name not in ("created_at", "updated_at"):
            for inner in value if isinstance(value, list) else [value]:
                if isinstance(inner, Mapping):
                    yield from ((f"{name}.{key}", text) for key, text in filled(inner))
                elif len(text := str(inner)) <= _LONGEST:
                    yield name, text
        yield name, ""


def _action_marks(action: Action, unread: Iterable[str]) -> Iterator[tuple[Aspect, str]]:
    yield "types", action.type
    yield "ids", action.id.partition("_")[0]
    for name in (*unread, *(f"requires {name}" for name in action.required)):
        yield "fields", name
    if not action.description:
        yield "fields", "no description"
