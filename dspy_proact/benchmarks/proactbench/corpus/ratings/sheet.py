"""Ratings in a flat file of ours, CSV or JSONL: a rating a line, with the key of the item that it is of.

A template is such a file with the grades left empty. Beside what is to be filled in it holds what a rater reads; of
that the response alone is checked in reading, because a rating is of one response and of no other.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from io import StringIO

from pydantic import ConfigDict

from dspy_proact.benchmarks.proactbench.corpus.ratings.draw import Draw
from dspy_proact.benchmarks.proactbench.corpus.ratings.rated_item import RatedItem
from dspy_proact.benchmarks.proactbench.corpus.ratings.rating import (
    ConfidenceWord,
    DrawWord,
    GivenRating,
    GradeWord,
    is_blank,
)
from dspy_proact.benchmarks.proactbench.types import Turn
from dspy_proact.errors import CorpusError
from dspy_proact.files.line import Line, lines_in
from dspy_proact.files.part import Id, Part
from dspy_proact.files.text_file import lines_of
from dspy_proact.plain_text import encodable

FILLED = ("item", "annotator", "grade", "confidence", "reason")
"""What a rater fills in, after the key of the item."""
READ = ("conversation", "pass_criteria", "partial_criteria", "fail_criteria", "response")
"""What a rater reads; empty in a template whose items are known by their labels only."""
DRAW = "draw"
"""How the items of the sheet were chosen, the same in every line; only where they were drawn."""
_REQUIRED = FILLED[:3]
_DELIMITERS = ",;\t"
"""Spreadsheets write a semicolon or a tab where a comma divides the digits of a number."""
_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
"""Start of a text that a spreadsheet would run, or that was guarded against that by an apostrophe."""
_LARGEST_CELL = 2**31 - 1


class SheetRow(Part):
    """A line with a grade."""

    model_config = ConfigDict(extra="ignore")

    item: Id
    annotator: Id
    grade: GradeWord
    confidence: ConfidenceWord = None
    reason: str | None = None
    response: str | None = None
    draw: DrawWord = None


def read_sheet(data: bytes, source: str, items: Sequence[RatedItem]) -> tuple[list[GivenRating], int]:
    """The ratings of a flat file, and how many of its lines have an empty grade and so are left out.

    JSONL where the file begins with a brace, else CSV, with commas, semicolons or tabs. Outer blanks of the short
    columns do not count.

    Raises:
        CorpusError: The file is not UTF-8 or not of this form, or a response is not that of its item.
    """
    text = "".join(lines_of(data, source)).removeprefix("\ufeff")
    if text.lstrip()[:1] == "[":
        problem = "a JSON list; give one rating a line, or the folder that holds sample_items.json and results"
        raise CorpusError(problem, source=source)
    lines = _json_lines(text, source) if text.lstrip()[:1] == "{" else _csv_lines(text, source)
    by_key = {item.key.strip(): item for item in items}
    given: list[GivenRating] = []
    ungraded = 0
    for line in lines:
        if is_blank(line.parse().get("grade")):
            ungraded += 1
        else:
            given.append(_given(line, by_key))
    return given, ungraded


def rating_template(items: Iterable[RatedItem], annotator: str = "", draw: Draw | None = None) -> str:
    """A CSV to fill in: a header, and a line an item with what there is to read.

    An item with everything but a response, such as an unscored case of a run, is left out: it cannot be rated.
    Text that a spreadsheet would run gets an apostrophe before it, which reading takes away again. Ends of lines
    become line feeds, NUL becomes U+FFFD. Phase, model and judge's grade are left out, so that they sway nobody.
    """
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow((*FILLED, *READ, *([DRAW] if draw else [])))
    for item in filter(_ratable, items):
        cells = (item.key, annotator, "", "", "", *_reading(item), *([str(draw)] if draw else []))
        writer.writerow(map(_guarded, cells))
    return out.getvalue()


def _given(line: Line, by_key: Mapping[str, RatedItem]) -> GivenRating:
    row = SheetRow.of(line)
    item = by_key.get(row.item.strip())
    if item is not None:
        _require_response(line, row, item)
    whose = {"item": item.key if item else row.item, "annotator": row.annotator.strip()}
    return GivenRating.of(line, row.model_copy(update=whose))


def _require_response(line: Line, row: SheetRow, item: RatedItem) -> None:
    if not _ratable(item):
        raise line.error("there is no response to this item, so nothing that could be rated", "item")
    if row.response and row.response.strip() and _folded(row.response) != _folded(item.response or ""):
        problem = "not the response of this item, so the rating is of another; give the run that was rated"
        raise line.error(f"{problem}, or take the column out", "response")


def _json_lines(text: str, source: str) -> Iterator[Line]:
    for line in lines_in(StringIO(text), source, "rating"):
        fields = line.parse()
        _require_columns(line, fields)
        yield replace(line, fields=fields)


def _csv_lines(text: str, source: str) -> Iterator[Line]:
    """Lines of a CSV by column; a cell that is not there is an empty one, and lines of empty cells are passed over."""
    first = text.lstrip("\n").partition("\n")[0]
    delimiter = max(_DELIMITERS, key=first.count)
    header: list[str] | None = None
    for line, cells in _cells(text, source, delimiter):
        if header is None:
            header = _header(cells)
            _require_columns(line, header)
        elif len(cells) > len(header) and any(cell.strip() for cell in cells[len(header) :]):
            raise line.error(f"{len(cells)} cells under {len(header)} columns; put quotes around text with a comma")
        elif any(cell.strip() for cell in cells):
            yield replace(line, fields=dict(zip(header, map(_unguarded, cells), strict=False)))
    if header is None:
        raise CorpusError(f"empty: the first line must name the columns {', '.join(FILLED)}", source=source)


def _header(cells: Sequence[str]) -> list[str]:
    """The names of the columns; spreadsheets may write nameless ones after the last."""
    names = [cell.strip().lower() for cell in cells]
    while names and not names[-1]:
        names.pop()
    return names


def _cells(text: str, source: str, delimiter: str) -> list[tuple[Line, list[str]]]:
    """The cells of each line that has any, with the number of its first line."""
    found: list[tuple[Line, list[str]]] = []
    reader = csv.reader(StringIO(text), delimiter=delimiter, strict=True)
    line = Line(source, 1, "")
    # The csv module refuses cells over 128 KiB, and a long response has more.
    limit = csv.field_size_limit(_LARGEST_CELL)
    try:
        for cells in reader:
            if any("\0" in cell for cell in cells):
                raise line.error("holds a NUL character; take it out")
            if cells:
                found.append((line, cells))
            line = Line(source, reader.line_num + 1, "")
    except csv.Error as error:
        raise line.error(f"not CSV: {error}") from None
    finally:
        csv.field_size_limit(limit)
    return found


def _require_columns(line: Line, columns: Iterable[str]) -> None:
    """Raise unless the columns are known, once each, and those of a rating are among them."""
    known = (*FILLED, *READ, DRAW)
    seen: set[str] = set()
    for column in columns:
        if column not in known:
            raise line.error(f"no column of ours; the columns are {', '.join(known)}", column or "(no name)")
        if column in seen:
            raise line.error("the column is given twice", column)
        seen.add(column)
    if missing := [column for column in _REQUIRED if column not in seen]:
        raise line.error(f"missing; a rating needs {', '.join(_REQUIRED)}", missing[0])


def _ratable(item: RatedItem) -> bool:
    """Whether there is a response, or may be one where only labels are known."""
    return item.view is None or item.response is not None


def _reading(item: RatedItem) -> tuple[str, ...]:
    if item.view is None:
        return ("",) * (len(READ) - 1) + (item.response or "",)
    rubric = item.view.rubric
    criteria = (rubric.pass_criteria, rubric.partial_criteria, rubric.fail_criteria)
    return (_told(item.view.conversation), *criteria, item.response or "")


def _told(conversation: Iterable[Turn]) -> str:
    parts = [
        part
        for turn in conversation
        for part in (f"User: {turn.user}", turn.assistant and f"Assistant: {turn.assistant}")
        if part
    ]
    return "\n\n".join(parts)


def _guarded(text: str) -> str:
    """The text with one apostrophe more where a spreadsheet would run it, or where it begins as a guarded one does."""
    text = _folded(text)
    return f"'{text}" if _FORMULA.match(text) else text


def _unguarded(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _folded(text: str) -> str:
    """The text as it comes back from a spreadsheet, which changes the ends of lines."""
    return encodable(text).replace("\0", "\ufffd").replace("\r\n", "\n").replace("\r", "\n")
