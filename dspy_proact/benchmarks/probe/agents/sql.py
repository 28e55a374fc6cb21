"""One query over the items of a task, in a process of its own, so that it can be stopped.

The SQL is a model's: nothing can be changed, and nothing else be seen. `queried` starts this file as a script, which
therefore imports nothing of ours.

    what a query might do                        what prevents it
    write, attach, pragma, schema, recursion     the authorizer allows reading the table `items`, and known functions
    load code, make huge values                  no function of that kind is known; values and columns have limits
    run for ever                                 instructions are counted; the process has seconds and bytes
    return everything                            rows and characters are counted
"""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress

_CUT = "... (cut)"
_FUNCTIONS = frozenset(
    """
    abs avg coalesce count date datetime glob group_concat ifnull iif instr julianday length like lower ltrim max min
    nullif replace round row_number rtrim strftime substr substring sum time total trim upper
    """.split()  # noqa: SIM905 - a list of words is read as words
)
_READING = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION)
_SECONDS, _SECONDS_WAITED = 2, 30
"""Of the processor for one process, and by the clock where the system has no such limit or is busy."""
_BYTES = 2**29
"""Of memory for one process."""
_INSTRUCTIONS = 300_000
"""Of SQLite's machine for one query."""
_LIMITS = {
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 10_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 50,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 20,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 200,
}


def cut(text: str, longest: int) -> str:
    """The text, or as much of it as fits into so many characters together with a mark."""
    return text if len(text) <= longest else text[: max(0, longest - len(_CUT))] + _CUT


def queried(
    columns: Sequence[str], records: Sequence[Sequence[str]], statement: str, rows: int, longest: int
) -> tuple[str, tuple[str, ...]]:
    """The rows of a SELECT, one JSON list per line under a line of names, or why there are none; and the ids in them.

    The table `items` has a row for each of the `records`, texts without lone surrogates; the first column is the id. At
    most `rows` rows and `longest` characters are returned.
    """
    query = json.dumps([columns, records, statement, rows, longest]).encode()
    command = [sys.executable, "-I", "-S", __file__]
    with suppress(subprocess.TimeoutExpired):
        done = subprocess.run(command, input=query, capture_output=True, timeout=_SECONDS_WAITED, check=False)
        if done.returncode == 0:
            text, ids = json.loads(done.stdout)
            return text, tuple(ids)
    return "The query failed: it took too long or too much memory", ()


def answer(
    columns: Sequence[str], records: Sequence[Sequence[str]], statement: str, rows: int, longest: int
) -> tuple[str, Sequence[str]]:
    """What `queried` returns, in this process; raises where one of its limits is reached."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute(f"CREATE TABLE items ({', '.join(f'{name} TEXT' for name in columns)})")
    connection.executemany(f"INSERT INTO items VALUES ({', '.join('?' * len(columns))})", records)
    sizes = (sum(len(text.encode()) for text in record) for record in records)
    lengths = {sqlite3.SQLITE_LIMIT_LENGTH: 4 * max(sizes, default=0) + 10_000}
    for limit, value in {**_LIMITS, **lengths}.items():
        connection.setlimit(limit, value)
    connection.set_authorizer(_allowed)
    connection.set_progress_handler(lambda: True, _INSTRUCTIONS)
    known = {record[0] for record in records}
    try:
        cursor = connection.execute(statement)
        lines = [json.dumps([column[0] for column in cursor.description or ()], ensure_ascii=False)]
        # The last line may be cut, and its ids count where they can be read.
        room, ids = longest - len(lines[0]), dict[str, None]()
        while row := cursor.fetchone():
            if len(lines) > rows or room < 1:
                lines.append("... (further rows)")
                break
            line = cut(json.dumps(row, ensure_ascii=False, default=lambda value: f"{len(value)} bytes"), room - 1)
            room -= len(line) + 1
            lines.append(line)
            ids |= dict.fromkeys(id_ for id_ in row if id_ in known and json.dumps(id_, ensure_ascii=False) in line)
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        return cut(f"The query failed: {error}", longest), ()
    return (cut("\n".join(lines), longest), [*ids]) if len(lines) > 1 else ("No rows.", ())


def _allowed(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    """Whether a part of a statement may run: reading items, and functions that only compute."""
    reads = action != sqlite3.SQLITE_READ or first == "items"
    computes = action != sqlite3.SQLITE_FUNCTION or second in _FUNCTIONS
    return sqlite3.SQLITE_OK if action in _READING and reads and computes else sqlite3.SQLITE_DENY


if __name__ == "__main__":
    with suppress(ImportError, ValueError, OSError):  # not every system knows such limits
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS + 1))
        resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))
    sys.stdout.write(json.dumps(answer(*json.load(sys.stdin))))
