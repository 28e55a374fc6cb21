"""CSV sheets that people fill in, read and written."""

import csv
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from io import StringIO
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
    return sum(any(_length(cell) > LONGEST_CELL for cell in cells) for _, cells in CsvSheet.of(text, "").cells)


_MOST = 200_000
"""Lines of a sheet, hundreds of times the largest study: a million take a minute and gigabytes."""


def require_few(line: Line, count: int) -> None:
    """Raise a `CorpusError` at a line of a sheet that is the one too many."""
    if count > _MOST:
        raise line.error(f"more than {_MOST:,} ratings, which no study has; give the ratings of one study, or a part")


_SEPARATOR = re.compile(r'"?sep=([,;\t|])"?[,;\t]*', re.IGNORECASE)
"""A first line that tells a spreadsheet what stands between cells."""
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+\s*")
_BOM = "\ufeff".encode()


@dataclass(frozen=True)
class CsvSheet:
    """A CSV file that a person filled in, with commas, semicolons or tabs between its cells.

    Spreadsheets write a semicolon or a tab where a comma divides the digits of a number.
    """

    head: Line | None
    """The line of the columns; None where the file is empty."""
    columns: Sequence[str]
    """Their names, in lower case."""
    cells: Sequence[tuple[Line, Sequence[str]]]
    """Every further line."""
    delimiter: str = ","

    @classmethod
    def of(cls, text: str, source: str) -> Self:
        """What is in a file; raises a `CorpusError` where that is not CSV or has more than 200,000 lines."""
        first, *_ = text.lstrip("\n").partition("\n")
        declared = _SEPARATOR.fullmatch(first)
        delimiter = declared[1] if declared else max(",;\t", key=first.count)
        text = text.replace(first, "", 1) if declared else text  # its line counts
        reader = csv.reader(StringIO(text), delimiter=delimiter, strict=True)
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
        if any(rows[0][1][0].startswith(_BOM.decode(page)) for page in _CODE_PAGES):
            problem = "a spreadsheet read this file in another encoding than UTF-8, and saved other letters"
            raise rows[0][0].error(f"{problem}; open the sheet as it was written as UTF-8, and copy the grades into it")
        columns = [cell.strip().lower() for cell in rows[0][1]]
        while columns and not columns[-1]:  # spreadsheets may write nameless columns after the last
            columns.pop()
        return cls(rows[0][0], columns, rows[1:], delimiter)

    def rows(self, numbers: Collection[str] = ()) -> Iterator[Line]:
        """The lines by column, without lines of empty cells; a cell that is not there is an empty one.

        In columns of `numbers` a decimal comma becomes a point, where commas do not divide cells.
        """
        for line, cells in self.cells:
            if any(cell.strip() for cell in cells[len(self.columns) :]):
                problem = f"{len(cells)} cells under {len(self.columns)} columns; put quotes around text with a comma"
                raise line.error(problem)
            if any(cell.strip() for cell in cells):
                fields = dict(zip(self.columns, map(unguarded, cells), strict=False))
                for name in numbers if self.delimiter != "," else ():
                    if _DECIMAL_COMMA.fullmatch(cell := fields.get(name, "")):
                        fields[name] = cell.replace(",", ".")
                yield replace(line, fields=fields)
