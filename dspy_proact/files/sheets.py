"""CSV sheets, read row by row and written: those that people fill in, and tables of others."""

import csv
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from itertools import chain, repeat
from typing import Self

from dspy_proact.files.rows import Line
from dspy_proact.plain_text import encodable

BLANKS = r"(?:[^\S\t\r\n]|[\u200b\ufeff])*"
"""Pattern of what spreadsheets pass over before a formula."""
RUN_SIGNS = r"=+\-@\uff1d\uff0b\uff0d\uff20"
"""With which a formula begins, within brackets of a pattern."""
_FORMULA = re.compile(rf"'*(?:{BLANKS}[{RUN_SIGNS}]|[\t\r\n])")
"""Start of a text that a spreadsheet would run, or that was guarded against that by an apostrophe."""
LONGEST_CELL = 32_767
"""Characters that a cell of a spreadsheet holds, as `_length` counts them."""
_SLACK = 767
"""Characters that a cut cell may have lost further, such as blanks at its ends."""
_CODE_PAGES = ("cp1252", "cp1250", "cp1251", "mac_roman")
"""In which spreadsheets read and save a CSV that has no byte order mark: those of Western and Eastern Europe."""
ENCODING = "utf-8-sig"
"""Of CSV files: without the byte order mark, spreadsheets take UTF-8 for a code page."""


def guarded(text: str) -> str:
    """A text as a cell: with one apostrophe more where a spreadsheet would run it, or it begins as a guarded one."""
    return f"'{text}" if _FORMULA.match(text) else text


def unguarded(cell: str) -> str:
    """The text of a cell that `guarded` made."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _length(cell: str) -> int:
    """Characters of a cell as spreadsheets count them, which are units of UTF-16: a picture is two."""
    return len(cell.encode("utf-16-le", "surrogatepass")) // 2


def damage(cell: str, text: str) -> str | None:
    """What has become of a text in a cell of a spreadsheet; empty where nothing was lost, None for another text.

    Blanks at the ends, how many there are between words, and ends of lines do not count.
    """
    kept, own = (re.sub(r"[ \t\r\n]+", " ", encodable(one).replace("\0", "\ufffd").strip()) for one in (cell, text))
    if kept == own:
        return ""
    if (length := _length(cell)) > LONGEST_CELL - _SLACK and own.startswith(kept):
        return f"is cut after {length:,} characters; a cell of a spreadsheet holds {LONGEST_CELL:,}"
    misread = {own.encode().decode(page, "replace") for page in _CODE_PAGES}
    lossy = {own.encode(page, "replace").decode(page) for page in _CODE_PAGES}
    if _comparable(kept) in map(_comparable, misread | lossy - {own}):
        return "has other letters, because a spreadsheet read or saved it in another encoding than UTF-8"
    return None


def _comparable(text: str) -> str:
    """Without what the code pages of Windows and of Python decode differently, and question marks for lost letters."""
    return " ".join(re.sub(r"[\x80-\x9f\ufffd?]+", "?", text).split())


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Rows as the text of a CSV file, None as an empty cell; cells are `guarded`, and NUL becomes U+FFFD."""
    out = StringIO()
    cells = (["" if cell is None else encodable(str(cell)).replace("\0", "\ufffd") for cell in row] for row in rows)
    csv.writer(out, lineterminator="\n").writerows(map(guarded, row) for row in cells)
    return out.getvalue()


def cut_rows(text: str) -> int:
    """How many lines of a CSV file have a cell that a spreadsheet would cut."""
    cells = (cells for _, cells in CsvSheet.of(StringIO(text), "").cells)
    return sum(any(_length(cell) > LONGEST_CELL for cell in row) for row in cells)


_SEPARATOR = re.compile(r'"?sep=([,;\t|])"?[,;\t]*', re.IGNORECASE)
"""A first line that tells a spreadsheet what stands between cells."""
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+\s*")
_BOM = "\ufeff".encode()
_NUL = "holds a NUL character; take it out"
_LONGEST_ROW = 64 * 2**20
"""Characters, more than any row has; after a quote that is never closed, a row has no end."""


@dataclass(frozen=True)
class CsvSheet:
    """A CSV file with commas, semicolons or tabs between its cells, read row by row.

    Spreadsheets write a semicolon or a tab where a comma divides the digits of a number.
    """

    head: Line | None
    """The line of the columns; None where the file is empty."""
    columns: Sequence[str]
    """Their names; empty for one without a name."""
    cells: Iterator[tuple[Line, Sequence[str]]]
    """Every further line that is not blank; they are read once."""
    delimiter: str = ","

    @classmethod
    def of(cls, lines: Iterable[str], source: str, lower: bool = True) -> Self:
        """The sheet in the lines of a file, in their order; names of columns in lower case where that is asked for.

        Raises a `CorpusError` where the first line is not CSV or names a column twice; reading `cells` raises it for a
        further line that is not CSV or has more than 64 Mi characters.
        """
        lines, blank, text = iter(lines), 0, ""
        while not (first := text.rstrip("\r\n")):
            if (text := next(lines, None)) is None:
                return cls(None, (), iter(()))
            blank += not text.rstrip("\r\n")
        declared = _SEPARATOR.fullmatch(first)
        delimiter = declared[1] if declared else max(",;\t", key=first.count)
        # The lines before the columns count.
        cells = _rows(chain(repeat("\n", blank), ["\n" if declared else text], lines), source, delimiter)
        if (row := next(cells, None)) is None:
            return cls(None, (), iter(()))
        head, names = row
        if any(names[0].startswith(_BOM.decode(page)) for page in _CODE_PAGES):
            problem = "a spreadsheet read this file in another encoding than UTF-8, and saved other letters"
            raise head.error(f"{problem}; open the sheet as it was written as UTF-8, and copy the grades into it")
        if any("\0" in name for name in names):
            raise head.error(_NUL)
        columns = [name.strip().lower() if lower else name.strip() for name in names]
        while columns and not columns[-1]:  # spreadsheets may write nameless columns after the last
            columns.pop()
        if twice := next((column for column, count in Counter(columns).items() if column and count > 1), None):
            raise head.error("the column is given twice", twice)
        return cls(head, columns, cells, delimiter)

    def rows(self, numbers: Collection[str] = (), full: bool = False) -> Iterator[Line]:
        """The lines by column, without lines of empty cells; columns without a name are left out.

        A cell that is not there is an empty one, or a `CorpusError` where rows must be `full`. In columns of `numbers`
        a decimal comma becomes a point, where commas do not divide cells.
        """
        count = len(self.columns)
        for line, cells in self.cells:
            if not any(cell.strip() for cell in cells):
                continue
            if any(cell.strip() for cell in cells[count:]) or (full and len(cells) < count):
                mend = "put quotes around text with a comma" if len(cells) > count else "is the line cut?"
                raise line.error(f"{len(cells)} cells under {count} columns; {mend}")
            fields = {name: unguarded(cell) for name, cell in zip(self.columns, cells, strict=False) if name}
            if name := next((name for name, cell in fields.items() if "\0" in cell), None):
                raise line.error(_NUL, name)
            for name in numbers if self.delimiter != "," else ():
                if _DECIMAL_COMMA.fullmatch(cell := fields.get(name, "")):
                    fields[name] = cell.replace(",", ".")
            yield replace(line, fields=fields)


def _rows(lines: Iterable[str], source: str, delimiter: str) -> Iterator[tuple[Line, list[str]]]:
    """The rows of a file that are not blank; raises as `CsvSheet.of` says."""
    line, size = Line(source, 1, ""), 0

    def bounded() -> Iterator[str]:
        nonlocal size
        for text in lines:
            size += len(text)
            if size > _LONGEST_ROW:
                raise line.error(f"a row of more than {_LONGEST_ROW // 2**20} Mi characters; is a quote not closed?")
            yield text

    reader = csv.reader(bounded(), delimiter=delimiter, strict=True)
    while True:
        # The csv module refuses cells over 128 KiB, and a long response has more; its limit is one for all readers.
        limit = csv.field_size_limit(2**31 - 1)
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise line.error(f"not CSV: {error}") from None
        finally:
            csv.field_size_limit(limit)
        if cells is None:
            return
        if cells:
            yield line, cells
        line, size = Line(source, reader.line_num + 1, ""), 0
