"""The tools of an agent over the items of one task: search, SQL and reading, each result bounded.

The SQL is a model's: nothing can be changed, and nothing else be seen.

    what a query might do                        what prevents it
    write, attach, pragma, schema, recursion     the authorizer allows reading the table `items`, and known functions
    load code, make huge values                  no function of that kind is known, and values have a length
    run for ever                                 instructions and seconds are counted
    return everything                            rows and characters are counted
"""

import json
import math
import re
import sqlite3
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import astuple, dataclass, fields
from typing import Any, Literal

from dspy_proact.benchmarks.probe.settings import Bounds
from dspy_proact.benchmarks.probe.task import Document, Email, Event, Item
from dspy_proact.errors import ContentError
from dspy_proact.plain_text import encodable
from dspy_proact.programs.fenced_json import fence

Embed = Callable[[Sequence[str]], Awaitable[Sequence[Sequence[float]]]]
"""Texts to vectors of one length, in their order; raises a `StageError` where there are none."""
_CUT = "... (cut)"
_BETWEEN = "\n\n"
_LEAST_SHOWN = 100
"""Characters of an item below which it is not shown at all."""
_LONGEST_EMBEDDED = 20_000
"""Characters of an item that are embedded: what embedders take at once."""
_FUNCTIONS = frozenset(
    """
    abs avg coalesce count date datetime glob group_concat ifnull iif instr julianday length like lower ltrim max min
    nullif replace round row_number rtrim strftime substr substring sum time total trim upper
    """.split()  # noqa: SIM905 - a list of words is read as words
)
_READING = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION)
_SECONDS = 2.0
_INSTRUCTIONS, _BETWEEN_LOOKS = 300_000, 1_000
"""Of SQLite's machine for one query, and after how many the clock is read."""
_LIMITS = {
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 10_000,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 20,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 200,
}


@dataclass(frozen=True)
class Observation:
    """What an agent is shown of a tool's result."""

    text: str
    ids: tuple[str, ...] = ()
    """Of the items in it, each once."""


def cut(text: str, longest: int) -> str:
    """The text, or as much of it as fits into so many characters together with a mark."""
    return text if len(text) <= longest else text[: max(0, longest - len(_CUT))] + _CUT


@dataclass(frozen=True)
class Record:
    """An item, whatever its kind; what its kind does not have is empty."""

    id: str
    kind: str
    title: str
    """Of an e-mail its subject."""
    people: str
    """Sender, receivers, attendees: names or addresses, with commas between them."""
    time: str
    """When it was sent or begins, ISO 8601."""
    ends: str
    place: str
    text: str
    stamps: str
    """What else the file says of it, as JSON."""

    @classmethod
    def of(cls, item: Item) -> "Record":
        """The record of an item."""
        people, time, ends, place = "", "", "", ""
        match item:
            case Email():
                title, text, time = item.subject, item.body, item.timestamp
                people = ", ".join((item.sender, *item.to, *item.cc))
            case Event():
                title, text, time, ends = item.title, item.description, item.start_time, item.end_time
                people, place = ", ".join(item.attendees), item.location
            case Document():
                title, text = item.title, item.content
        stamps = json.dumps(item.stamps, ensure_ascii=False) if item.stamps else ""
        return cls(item.id, item.kind, title, people, time, ends, place, text, stamps)

    @property
    def words(self) -> str:
        """What it is found by."""
        return "\n".join(filter(None, (self.title, self.people, self.place, self.text)))

    @property
    def shown(self) -> str:
        """The record line by line, its text last and marked, so that no line of it can pass for another record's."""
        named = {field.name: " ".join(getattr(self, field.name).split()) for field in fields(self)}
        lines = [f"{name}: {value}" for name, value in named.items() if value and name != "text"]
        return "\n".join([*lines, fence(self.text)])


COLUMNS = tuple(field.name for field in fields(Record) if field.name != "stamps")


class WordRanking:
    """BM25 (Lucene's formula, k1 1.5, b 0.75) over words of two letters or more, common English ones left out."""

    def __init__(self, records: Sequence[Record]):
        import bm25s

        self._count, self._index = len(records), None
        if any(words := _words([record.words for record in records])):
            self._index = bm25s.BM25()
            self._index.index(words, show_progress=False)

    def scores(self, query: str) -> Sequence[float]:
        """One number per record, in their order, higher is better; 0 where it has no word of the query."""
        words = _words([query])[0]
        if self._index is None or not words:
            return [0.0] * self._count
        return [float(score) for score in self._index.get_scores(words)]


def _words(texts: Sequence[str]) -> Any:
    import bm25s

    return bm25s.tokenize(list(texts), stopwords="en", return_ids=False, show_progress=False)


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    lengths = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / lengths if lengths else 0.0


def ranked(scores: Sequence[float]) -> list[int]:
    """Places of the scores above 0, the best first; of equal ones the first."""
    return sorted((place for place, score in enumerate(scores) if score > 0), key=lambda place: -scores[place])


class Database:
    """Records as one table, in memory.

    Args:
        records: Its rows.
        rows: The most that a query may return.
        longest: Characters of what it may return.
    """

    def __init__(self, records: Sequence[Record], rows: int, longest: int):
        self._rows, self._longest = rows, longest
        self._ids = {encodable(record.id) for record in records}
        self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._connection.execute(f"CREATE TABLE items ({', '.join(f'{name} TEXT' for name in COLUMNS)})")
        row = f"INSERT INTO items VALUES ({', '.join('?' * len(COLUMNS))})"
        self._connection.executemany(row, [tuple(map(encodable, astuple(record)[:-1])) for record in records])
        sizes = (sum(len(text.encode("utf-8", "replace")) for text in astuple(record)) for record in records)
        lengths = {sqlite3.SQLITE_LIMIT_LENGTH: 4 * max(sizes, default=0) + 10_000}
        for limit, value in {**_LIMITS, **lengths}.items():
            self._connection.setlimit(limit, value)
        self._connection.set_authorizer(_allowed)

    def query(self, statement: str) -> Observation:
        """The rows of a SELECT, one JSON list per line under a line of names; or why there are none."""
        end, left = time.monotonic() + _SECONDS, _INSTRUCTIONS // _BETWEEN_LOOKS

        def enough() -> bool:
            nonlocal left
            left -= 1
            return left < 0 or time.monotonic() > end

        self._connection.set_progress_handler(enough, _BETWEEN_LOOKS)
        try:
            cursor = self._connection.execute(statement)
            names = [column[0] for column in cursor.description or ()]
            fetched = cursor.fetchmany(self._rows + 1)
            cursor.close()
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            return Observation(cut(f"The query failed: {error}", self._longest))
        finally:
            self._connection.set_progress_handler(None, 0)
        return self._observation(names, fetched) if fetched else Observation("No rows.")

    def close(self) -> None:
        """Forget the records."""
        self._connection.close()

    def _observation(self, names: Sequence[str], fetched: Sequence[tuple[Any, ...]]) -> Observation:
        """As many rows as there is room for; the last may be cut, and its ids count where they can be read."""
        lines = [json.dumps(names, ensure_ascii=False)]
        room, ids = self._longest - len(lines[0]), dict[str, None]()
        for row in fetched[: self._rows]:
            whole = json.dumps(row, ensure_ascii=False, default=lambda value: f"{len(value)} bytes")
            line = cut(whole, max(0, room - 1))
            room -= len(line) + 1
            if room < 0:
                break
            lines.append(line)
            readable = (id_ for id_ in row if id_ in self._ids and json.dumps(id_, ensure_ascii=False) in line)
            ids |= dict.fromkeys(readable)
        if len(lines) - 1 < len(fetched):
            lines.append("... (further rows)")
        return Observation(cut("\n".join(lines), self._longest), tuple(ids))


def _allowed(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    """Whether a part of a statement may run: reading items, and functions that only compute."""
    reads = action != sqlite3.SQLITE_READ or first == "items"
    computes = action != sqlite3.SQLITE_FUNCTION or second in _FUNCTIONS
    return sqlite3.SQLITE_OK if action in _READING and reads and computes else sqlite3.SQLITE_DENY


class Toolbox:
    """Tools over the items of one task, and which items they returned.

    Args:
        items: Of the task.
        bounds: Of results.
        embed: How texts are embedded; None searches by words.

    Attributes:
        touched: Ids of the items that were returned, each once, in the order in which they came.
    """

    def __init__(self, items: Sequence[Item], bounds: Bounds, embed: Embed | None = None):
        self._records = {item.id: Record.of(item) for item in items}
        self._bounds, self._embed = bounds, embed
        self._ranking: WordRanking | None = None
        self._vectors: Sequence[Sequence[float]] | None = None
        self._database: Database | None = None
        self.touched: tuple[str, ...] = ()

    async def use(self, tool: Literal["search", "sql", "read"], argument: str) -> Observation:
        """What a tool returns; raises a `ProviderError` where a search needs an embedder that cannot be reached."""
        match tool:
            case "search":
                observation = await self._search(argument)
            case "sql":
                records, bounds = [*self._records.values()], self._bounds
                self._database = self._database or Database(records, bounds.rows, bounds.observation)
                observation = self._database.query(argument)
            case "read":
                observation = self._read(argument)
        self.touched = tuple(dict.fromkeys((*self.touched, *observation.ids)))
        return observation

    def title_of(self, id_: str) -> str:
        """The title of an item; empty where there is none of this id."""
        return self._records[id_].title if id_ in self._records else ""

    def touch_all(self) -> None:
        """Note that every item was shown, without a tool."""
        self.touched = tuple(self._records)

    def close(self) -> None:
        """Forget the items."""
        if self._database:
            self._database.close()

    async def _search(self, query: str) -> Observation:
        """The items that answer a query best, each with the beginning of its content."""
        records = [*self._records.values()]
        try:
            scores = await self._scores(records, query)
        except ContentError as error:
            return Observation(cut(f"The search failed: {error}", self._bounds.observation))
        best = ranked(scores)[: self._bounds.hits]
        return self._shown([records[place] for place in best], "No item has any of these words.")

    async def _scores(self, records: Sequence[Record], query: str) -> Sequence[float]:
        """One number per record, higher is better: BM25, or the cosine of embeddings where there is an embedder."""
        if self._embed is None:
            self._ranking = self._ranking or WordRanking(records)
            return self._ranking.scores(query)
        if not query.strip():
            return []
        if self._vectors is None:
            texts = [record.words[:_LONGEST_EMBEDDED] or record.id for record in records]
            self._vectors = await self._embed(texts)
        (wanted,) = await self._embed([query[:_LONGEST_EMBEDDED]])
        return [_cosine(wanted, vector) for vector in self._vectors]

    def _read(self, named: str) -> Observation:
        """The items of one id, or of several with blanks or commas between them, as far as there is room."""
        whole, known = named.strip(), self._records
        ids = [whole] if whole in known else list(dict.fromkeys(re.findall(r"[^\s,]+", whole)))
        missing = [id_ for id_ in ids if id_ not in known]
        observation = self._shown([known[id_] for id_ in ids if id_ in known], "No such item.")
        if not missing or not observation.ids:
            return observation
        text = f"{observation.text}{_BETWEEN}No such item: {', '.join(missing)}"
        return Observation(cut(text, self._bounds.observation), observation.ids)

    def _shown(self, records: Sequence[Record], otherwise: str) -> Observation:
        """Records, which share the room evenly; those for which not even a line is left are not shown."""
        longest = self._bounds.observation
        shown = records[: max(1, longest // _LEAST_SHOWN)]
        room = (longest - len(_BETWEEN) * (len(shown) - 1)) // max(1, len(shown))
        text = _BETWEEN.join(cut(record.shown, room) for record in shown)
        return Observation(text or otherwise, tuple(record.id for record in shown))
