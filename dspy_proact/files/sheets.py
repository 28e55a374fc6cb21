"""CSV sheets that people fill in, read and written."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from typing import Self

from dspy_proact.files.rows import Line
from dspy_proact.plain_text import encodable

_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
"""Start of a text that a spreadsheet would run, or that was guarded against that by an apostrophe."""


def guarded(text: str) -> str:
    """A text as a cell: with one apostrophe more where a spreadsheet would run it, or it begins as a guarded one."""
    return f"'{text}" if _FORMULA.match(text) else text


def unguarded(cell: str) -> str:
    """The text of a cell that `guarded` made."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Rows as the text of a CSV file, None as an empty cell; cells are `guarded`, and NUL becomes U+FFFD."""
    out = StringIO()
    cells = (["" if cell is None else encodable(str(cell)).replace("\0", "\ufffd") for cell in row] for row in rows)
    csv.writer(out, lineterminator="\n").writerows(map(guarded, row) for row in cells)
    return out.getvalue()


_MOST = 200_000
"""Lines of a sheet, hundreds of times the largest study: a million take a minute and gigabytes."""


def require_few(line: Line, count: int) -> None:
    """Raise a `CorpusError` at a line of a sheet that is the one too many."""
    if count > _MOST:
        raise line.error(f"more than {_MOST:,} ratings, which no study has; give the ratings of one study, or a part")


@dataclass(frozen=True)
class CsvSheet:
    """A CSV file that a person filled in, with commas, semicolons or tabs between its cells."""

    head: Line | None
    """The line of the columns; None where the file is empty."""
    columns: Sequence[str]
    """Their names, in lower case."""
    cells: Sequence[tuple[Line, Sequence[str]]]
    """Every further line."""

    @classmethod
    def of(cls, text: str, source: str) -> Self:
        """What is in a file; raises a `CorpusError` where that is not CSV or has more than 200,000 lines."""
        first = text.lstrip("\n").partition("\n")[0]
        # Spreadsheets write a semicolon or a tab where a comma divides the digits of a number.
        reader = csv.reader(StringIO(text), delimiter=max(",;\t", key=first.count), strict=True)
        line, rows = Line(source, 1, ""), list[tuple[Line, list[str]]]()
        # The csv module refuses cells over 128 KiB, and a long response has more.
        limit = csv.field_size_limit(2**31 - 1)
        try:
            for cells in reader:
                rows += [(line, cells)] if cells else []
                require_few(line, len(rows) - 1)
                line = Line(source, reader.line_num + 1, "")
        except csv.Error as error:
            raise line.error(f"not CSV: {error}") from None
        finally:
            csv.field_size_limit(limit)
        for line, cells in rows:
            if any("\0" in cell for cell in cells):
                raise line.error("holds a NUL character; take it out")
        if not rows:
            return cls(None, (), ())
        columns = [cell.strip().lower() for cell in rows[0][1]]
        while columns and not columns[-1]:  # spreadsheets may write nameless columns after the last
            columns.pop()
        return cls(rows[0][0], columns, rows[1:])

    def rows(self) -> Iterator[Line]:
        """The lines by column, without lines of empty cells; a cell that is not there is an empty one."""
        for line, cells in self.cells:
            if any(cell.strip() for cell in cells[len(self.columns) :]):
                problem = f"{len(cells)} cells under {len(self.columns)} columns; put quotes around text with a comma"
                raise line.error(problem)
            if any(cell.strip() for cell in cells):
                yield replace(line, fields=dict(zip(self.columns, map(unguarded, cells), strict=False)))
