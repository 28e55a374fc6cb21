"""SQL over the items of one task, for queries that a model writes: nothing can be changed, and nothing else be seen.

what a query might do                        what holds it
write, attach, pragma, schema, recursion     the authorizer allows reading the table `items`, and known functions
load code, make huge values                  no function of that kind is known, and values have a length
run for ever                                 instructions and seconds are counted
return everything                            rows and characters are
"""

import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, fields
from typing import Any

from dspy_proact.benchmarks.probe.tools.observation import Observation, cut
from dspy_proact.benchmarks.probe.tools.record import Record
from dspy_proact.plain_text import encodable

COLUMNS = tuple(field.name for field in fields(Record) if field.name != "stamps")
_FUNCTIONS = frozenset(
    """
    abs avg coalesce count date datetime glob group_concat ifnull iif instr julianday length like lower ltrim max min
    nullif replace round row_number rtrim strftime substr substring sum time total trim upper
    """.split()  # noqa: SIM905 - a list of words is read as words
)
_READING = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION)
_SECONDS = 2.0
_INSTRUCTIONS, _BETWEEN = 300_000, 1_000
"""Of SQLite's machine for one query, and after how many the clock is looked at."""
_LIMITS = {
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 10_000,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 20,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 200,
}
_SPARE = 4
"""Lengths of the longest item that a value may have."""


class Database:
    """The items as one table, in memory.

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
        longest_row = max(
            (sum(len(text.encode("utf-8", "replace")) for text in astuple(each)) for each in records), default=0
        )
        for limit, value in {**_LIMITS, sqlite3.SQLITE_LIMIT_LENGTH: _SPARE * longest_row + 10_000}.items():
            self._connection.setlimit(limit, value)
        self._connection.set_authorizer(_allowed)

    def query(self, statement: str) -> Observation:
        """The rows of a SELECT, one JSON list a line under a line of names; or why there are none."""
        try:
            with self._timed():
                cursor = self._connection.execute(statement)
                names = [column[0] for column in cursor.description or ()]
                found = cursor.fetchmany(self._rows + 1)
                cursor.close()
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            return Observation(cut(f"The query failed: {error}", self._longest))
        return self._observed(names, found)

    def close(self) -> None:
        """Forget the items."""
        self._connection.close()

    def _observed(self, names: Sequence[str], found: Sequence[tuple[Any, ...]]) -> Observation:
        """As many rows as there is room for; the last may be cut, and its ids count where they can be read."""
        lines = [json.dumps(names, ensure_ascii=False)]
        room, ids = self._longest - len(lines[0]), dict[str, None]()
        for row in found[: self._rows]:
            line = cut(
                json.dumps(row, ensure_ascii=False, default=lambda value: f"{len(value)} bytes"), max(0, room - 1)
            )
            room -= len(line) + 1
            if room < 0:
                break
            lines.append(line)
            ids |= dict.fromkeys(
                each for each in row if each in self._ids and json.dumps(each, ensure_ascii=False) in line
            )
        shown = len(lines) - 1
        if shown < len(found):
            lines.append("... (further rows)")
        return Observation(cut("\n".join(lines), self._longest) if found else "No rows.", tuple(ids))

    @contextmanager
    def _timed(self) -> Iterator[None]:
        end, left = time.monotonic() + _SECONDS, _INSTRUCTIONS // _BETWEEN

        def enough() -> bool:
            nonlocal left
            left -= 1
            return left < 0 or time.monotonic() > end

        self._connection.set_progress_handler(enough, _BETWEEN)
        try:
            yield
        finally:
            self._connection.set_progress_handler(None, 0)


def _allowed(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    """Whether a part of a statement may be: reading items, and functions that only compute."""
    reads = action != sqlite3.SQLITE_READ or first == "items"
    computes = action != sqlite3.SQLITE_FUNCTION or second in _FUNCTIONS
    return sqlite3.SQLITE_OK if action in _READING and reads and computes else sqlite3.SQLITE_DENY
