"""Tables that others wrote, read row by row: CSV, TSV, a JSON object a line, a JSON list, Parquet, or a folder of them.

A table of any length takes the memory of a few rows; of a JSON list at most 256 MiB are read. Names of columns stay as
they are, without blanks around them. A cell of CSV is its text, an empty one "", without the apostrophe that keeps a
spreadsheet from running it; what JSON and Parquet hold comes as values of Python, with None for null and, in Parquet,
NaN.
"""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, time
from importlib import import_module
from io import BufferedReader
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from dspy_proact.errors import CorpusError
from dspy_proact.files.rows import Line, decoded_lines, elements, first_flaw, lines_in, opened
from dspy_proact.files.sheets import CsvSheet
from dspy_proact.kept import Kind, content_of

ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet")
"""Of the files of a folder that are read."""
_PARQUET = b"PAR1"
_BATCH = 256
"""Rows of Parquet that are in memory at once."""
_BUFFER = 1 << 20
"""Bytes that Parquet reads at once of a column, in place of all of it."""
_LONGEST_LIST = 256 << 20
"""Characters of a JSON list."""


@dataclass(frozen=True)
class NumberedRow(Line):
    """A row of a file that has no lines; `number` counts from 1."""

    def error(self, problem: str, field: str | None = None) -> CorpusError:
        """The error to raise for a problem with this row."""
        return CorpusError(problem, source=f"{self.source}, row {self.number}", field=field)

    @property
    def position(self) -> str:
        """Where it stands, by its number."""
        return f"in row {self.number}"


def rows_in(path: Path, what: str) -> Iterator[Line]:
    """The rows of a table, or of every table of a folder by name, with their fields by column; they are read lazily.

    `what` a table is expected says the message where there is none. Raises a `CorpusError`, which names file, row and
    column as far as there are such, where the path is no table, or a row is none: text that is not UTF-8 nor UTF-16
    with its mark, another number of cells than of columns, a column twice, a NUL character, what `strict_json` refuses.
    """
    for file in tables_of(path, what):
        yield from _rows_of(file, what)


def tables_of(path: Path, what: str) -> list[Path]:
    """The file, or the tables of the folder that the path names; raises a `CorpusError` where it is none of these."""
    content = content_of(path)
    if content.kind in (Kind.TABLE, Kind.FILE):
        return [path]
    if content.kind is not Kind.FOLDER:
        raise CorpusError(content.problem(what), source=str(path))
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in ENDINGS and file.name[0] not in "._")
    if not files:
        raise CorpusError(
            f"a folder without a table; give {what} whose name ends in {', '.join(ENDINGS)}", source=str(path)
        )
    return files


def _rows_of(path: Path, what: str) -> Iterator[Line]:
    source, suffix = str(path), path.suffix.lower()
    with opened(source, what) as file:
        buffered = BufferedReader(file)  # type: ignore[arg-type] - any file that reads into a buffer will do
        start = buffered.peek(4)[:4]
        if start.startswith(_PARQUET):
            yield from _rows_of_parquet(path)
            return
        texts, blank = decoded_lines(buffered, start, source, ends=""), 0
        for text in texts:
            if first := text.lstrip("\ufeff").lstrip():
                break
            blank += 1
        else:
            return
        lines = chain(repeat("\n", blank), [text.lstrip("\ufeff")], texts)
        if first[0] == "[" and suffix not in (".csv", ".tsv"):
            yield from elements(_joined(lines, source), source)
        elif first[0] == "{" and suffix not in (".csv", ".tsv"):
            for line in lines_in(lines, source):
                yield replace(line, text="", fields=line.parse())
        else:
            sheet = CsvSheet.of(lines, source, lower=False)
            if sheet.head is not None and not any(sheet.columns):
                raise sheet.head.error("the first line must name the columns")
            yield from sheet.rows(full=True)


def _joined(texts: Iterator[str], source: str) -> str:
    parts, size = list[str](), 0
    for text in texts:
        parts.append(text)
        if (size := size + len(text)) > _LONGEST_LIST:
            problem = f"a JSON list of more than {_LONGEST_LIST >> 20} Mi characters; write an object a line instead"
            raise CorpusError(problem, source=source)
    return "".join(parts)


def _rows_of_parquet(path: Path) -> Iterator[Line]:
    source = str(path)
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")  # slow, and without types
    number = 0
    try:
        with parquet.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False) as table:
            names = [name.strip() for name in table.schema_arrow.names]
            if twice := next((name for name, count in Counter(names).items() if count > 1), None):
                raise CorpusError("the column is given twice", source=source, field=twice)
            for batch in table.iter_batches(batch_size=_BATCH):
                columns = [column.to_pylist() for column in batch.columns]
                for cells in zip(*columns, strict=True):
                    number += 1
                    line = NumberedRow(source, number, "")
                    values = {name: _plain(line, name, cell) for name, cell in zip(names, cells, strict=True) if name}
                    yield replace(line, fields=values)
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
        problem = f"damaged Parquet, after row {number}: {' '.join(str(error).split())[:200]}"
        raise CorpusError(problem, source=source) from None


def _plain(line: Line, name: str, cell: Any) -> object:
    """A cell of Parquet as JSON has it; raises a `CorpusError` where it holds what JSON cannot."""
    value = as_json(cell)
    if flaw := first_flaw({name: value}):
        raise line.error(*flaw)
    return value


def as_json(value: Any) -> Any:
    """A value of Python as the nearest one of JSON; times as ISO has them, and texts that Parquet calls binary."""
    if isinstance(value, float) and math.isnan(value):
        return None
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, dict):
        return {str(key): as_json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(inner) for inner in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")  # whose lone surrogates are refused
    return value.isoformat() if isinstance(value, date | time) else str(value)
