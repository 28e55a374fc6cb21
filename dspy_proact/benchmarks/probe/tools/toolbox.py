"""The tools of an agent over the items of one task: search, SQL and reading, each result bounded."""

import re
from collections.abc import Sequence
from typing import Literal

from dspy_proact.benchmarks.probe.corpus import Item
from dspy_proact.benchmarks.probe.settings import Bounds
from dspy_proact.benchmarks.probe.tools.database import Database
from dspy_proact.benchmarks.probe.tools.observation import Observation, cut
from dspy_proact.benchmarks.probe.tools.ranking import Embed, MeaningRanking, Ranking, WordRanking, ranked
from dspy_proact.benchmarks.probe.tools.record import Record
from dspy_proact.errors import ContentError

Tool = Literal["search", "sql", "read"]
_BETWEEN = "\n\n"


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
        self._records = [Record.of(item) for item in items]
        self._bounds, self._embed = bounds, embed
        self._ranking: Ranking | None = None
        self._database: Database | None = None
        self.touched: tuple[str, ...] = ()

    async def use(self, tool: Tool, argument: str) -> Observation:
        """What a tool returns; raises a `ProviderError` where a search needs an embedder that cannot be reached."""
        match tool:
            case "search":
                observation = await self._search(argument)
            case "sql":
                observation = self._query(argument)
            case "read":
                observation = self._read(argument)
        self.touched = tuple(dict.fromkeys((*self.touched, *observation.ids)))
        return observation

    def title_of(self, id_: str) -> str:
        """The title of an item of these; empty where there is none."""
        return next((record.title for record in self._records if record.id == id_), "")

    def touch_all(self) -> None:
        """Note that every item was shown, without a tool."""
        self.touched = tuple(record.id for record in self._records)

    def close(self) -> None:
        """Forget the items."""
        if self._database:
            self._database.close()

    async def _search(self, query: str) -> Observation:
        """The items that answer a query best, each with the beginning of what it holds."""
        if self._ranking is None:
            records = self._records
            self._ranking = MeaningRanking(records, self._embed) if self._embed else WordRanking(records)
        try:
            best = ranked(await self._ranking.scores(query))[: self._bounds.hits]
        except ContentError as error:
            return Observation(cut(f"The search failed: {error}", self._bounds.observation))
        return self._shown([self._records[place] for place in best], "No item has any of these words.")

    def _query(self, statement: str) -> Observation:
        if self._database is None:
            self._database = Database(self._records, self._bounds.rows, self._bounds.observation)
        return self._database.query(statement)

    def _read(self, named: str) -> Observation:
        """The items of one id, or of several with blanks or commas between them, as far as there is room."""
        whole = named.strip()
        known = {record.id: record for record in self._records}
        ids = [whole] if whole in known else list(dict.fromkeys(re.findall(r"[^\s,]+", whole)))
        missing = [each for each in ids if each not in known]
        observation = self._shown([known[each] for each in ids if each in known], "No such item.")
        if not missing or not observation.ids:
            return observation
        said = f"{observation.text}{_BETWEEN}No such item: {', '.join(missing)}"
        return Observation(cut(said, self._bounds.observation), observation.ids)

    def _shown(self, records: Sequence[Record], otherwise: str) -> Observation:
        """Records, which share the room evenly; those for which not even a line is left are not shown."""
        least, longest = 100, self._bounds.observation
        shown = records[: max(1, longest // least)]
        each = (longest - len(_BETWEEN) * (len(shown) - 1)) // max(1, len(shown))
        text = _BETWEEN.join(cut(record.shown, each) for record in shown)
        return Observation(text or otherwise, tuple(record.id for record in shown))
