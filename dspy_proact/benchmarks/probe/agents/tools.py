"""The tools of an agent over the items of one task: search, SQL and reading, each result bounded."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import astuple, dataclass, fields
from typing import Literal

from dspy_proact.benchmarks.probe.agents.sql import cut, queried
from dspy_proact.benchmarks.probe.settings import ProbeSettings
from dspy_proact.benchmarks.probe.task import Document, Email, Event, Item
from dspy_proact.errors import ContentError
from dspy_proact.evaluation.text_ranking import WordRanking, cosine, ranked
from dspy_proact.plain_text import encodable
from dspy_proact.programs.fenced_json import fence

Embed = Callable[[Sequence[str]], Awaitable[Sequence[Sequence[float]]]]
"""Texts to vectors of one length, in their order; raises a `StageError` where there are none."""
_BETWEEN = "\n\n"
_LEAST_SHOWN = 100
"""Characters of an item below which it is not shown at all."""
_LONGEST_EMBEDDED = 20_000
"""Characters of an item that are embedded: what embedders take at once."""


@dataclass(frozen=True)
class Observation:
    """What an agent is shown of a tool's result."""

    text: str
    ids: tuple[str, ...] = ()
    """Of the items in it, each once."""


@dataclass(frozen=True)
class ToolRow:
    """An item, whatever its kind; what its kind does not have is empty."""

    id: str
    kind: str = ""
    title: str = ""
    """Of an e-mail its subject."""
    people: str = ""
    """Sender, receivers, attendees: names or addresses, with commas between them."""
    time: str = ""
    """When it was sent or begins, ISO 8601."""
    ends: str = ""
    place: str = ""
    text: str = ""
    stamps: str = ""
    """What else the file says of it, as JSON."""

    @classmethod
    def of(cls, item: Item) -> "ToolRow":
        """The record of an item."""
        people, time, ends, location = "", "", "", ""
        match item:
            case Email():
                title, text, time = item.subject, item.body, item.timestamp
                people = ", ".join((item.sender, *item.to, *item.cc))
            case Event():
                title, text, time, ends = item.title, item.description, item.start_time, item.end_time
                people, location = ", ".join(item.attendees), item.location
            case Document():
                title, text = item.title, item.content
        stamps = json.dumps(item.stamps, ensure_ascii=False) if item.stamps else ""
        return cls(item.id, item.kind, title, people, time, ends, location, text, stamps)

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


COLUMNS = tuple(field.name for field in fields(ToolRow) if field.name != "stamps")


class Toolbox:
    """Tools over the items of one task; `touched` has ids of the items that they returned, each once, as they came.

    Texts are searched by what `embed` makes of them, and by words without it; `now` says that there is no loop to wait
    in.
    """

    def __init__(self, items: Sequence[Item], bounds: ProbeSettings, embed: Embed | None = None, now: bool = False):
        self._records = {item.id: ToolRow.of(item) for item in items}
        self._bounds, self._embed, self._now = bounds, embed, now
        self._ranking: WordRanking | None = None
        self._vectors: Sequence[Sequence[float]] | None = None
        self.touched: tuple[str, ...] = ()

    async def use(self, tool: Literal["search", "sql", "read"], argument: str) -> Observation:
        """What a tool returns; raises a `ProviderError` where a search needs an embedder that cannot be reached."""
        match tool:
            case "search":
                observation = await self._search(argument)
            case "sql":
                rows = [[encodable(text) for text in astuple(record)[:-1]] for record in self._records.values()]
                query = (COLUMNS, rows, argument, self._bounds.rows, self._bounds.observation)
                observation = Observation(*(queried(*query) if self._now else await asyncio.to_thread(queried, *query)))
            case "read":
                observation = self._read(argument)
        self.touched = tuple(dict.fromkeys((*self.touched, *observation.ids)))
        return observation

    def named(self, tool: str, ids: Sequence[str]) -> str:
        """What stands for items in the argument of a tool: texts in SQL, the title of the first in a search, or ids."""
        if tool == "search":
            return self._records[ids[0]].title if ids else ""
        return ", ".join("'" + id_.replace("'", "''") + "'" for id_ in ids) if tool == "sql" else " ".join(ids)

    def touch_all(self) -> None:
        """Note that every item was shown, without a tool."""
        self.touched = tuple(self._records)

    async def _search(self, query: str) -> Observation:
        """The items that answer a query best, each with the beginning of its content."""
        records = [*self._records.values()]
        try:
            scores = await self._scores(records, query)
        except ContentError as error:
            return Observation(cut(f"The search failed: {error}", self._bounds.observation))
        best = ranked(scores)[: self._bounds.hits]
        return self._shown([records[index] for index in best], "No item has any of these words.")

    async def _scores(self, records: Sequence[ToolRow], query: str) -> Sequence[float]:
        """One number per record, higher is better: BM25, or the cosine of embeddings where there is an embedder."""
        if self._embed is None:
            self._ranking = self._ranking or WordRanking([record.words for record in records])
            return self._ranking.scores(query)
        if not query.strip():
            return []
        if self._vectors is None:
            texts = [record.words[:_LONGEST_EMBEDDED] or record.id for record in records]
            self._vectors = await self._embed(texts)
        (wanted,) = await self._embed([query[:_LONGEST_EMBEDDED]])
        return [cosine(wanted, vector) for vector in self._vectors]

    def _read(self, named: str) -> Observation:
        """The items of one id, or of several with blanks or commas between them, as far as there is room."""
        argument, known = named.strip(), self._records
        ids = [argument] if argument in known else list(dict.fromkeys(re.findall(r"[^\s,]+", argument)))
        missing = [id_ for id_ in ids if id_ not in known]
        observation = self._shown([known[id_] for id_ in ids if id_ in known], "No such item.")
        if not missing or not observation.ids:
            return observation
        text = f"{observation.text}{_BETWEEN}No such item: {', '.join(missing)}"
        return Observation(cut(text, self._bounds.observation), observation.ids)

    def _shown(self, records: Sequence[ToolRow], otherwise: str) -> Observation:
        """Records, which share the room evenly; those for which not even a line is left are not shown."""
        longest = self._bounds.observation
        shown = records[: max(1, longest // _LEAST_SHOWN)]
        room = (longest - len(_BETWEEN) * (len(shown) - 1)) // max(1, len(shown))
        text = _BETWEEN.join(cut(record.shown, room) for record in shown)
        return Observation(text or otherwise, tuple(record.id for record in shown))
