"""Files of ratings of ours, files of the items that they are of, and the ratings that a person asks for by name.

A sheet is CSV or JSONL, a rating a line, with the key of the item that it is of; a template is one with the grades left
empty, and with what a rater reads. Of that the response alone is checked in reading, because a rating is of one
response and of no other. A file of items is JSONL, a rated response a line, for what no run and no study holds.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Annotated
from unicodedata import normalize

from pydantic import ConfigDict, Field

from dspy_proact.benchmarks.proactbench.corpus.bundled import (
    ITEMS,
    SAMPLE,
    fetched_study,
    published_ratings,
    read_folder,
    sample_study,
)
from dspy_proact.benchmarks.proactbench.corpus.dialogues import rubric_of
from dspy_proact.benchmarks.proactbench.corpus.ratings import (
    ConfidenceWord,
    Draw,
    DrawWord,
    GivenRating,
    GradeWord,
    PhaseWord,
    RatedItem,
    Ratings,
    RatingsSource,
    SecondsWord,
    is_blank,
)
from dspy_proact.benchmarks.proactbench.types import JudgeView, Turn
from dspy_proact.errors import CorpusError
from dspy_proact.files.rows import FileReader, Id, Line, Name, Part, Text, lines_in, lines_of, read_bytes, text_of
from dspy_proact.files.sheets import CsvSheet, csv_text, require_few
from dspy_proact.plain_text import encodable

_WANTED = "published, sample, proactbench, a folder in the official layout, or a CSV or JSONL file or a folder of them"
_WANTED_ITEMS = (
    "a JSONL file of items: item, rubric, conversation and response, with turn, judge, scenario and persona if known"
)
_FILLED = ("item", "annotator", "grade", "confidence", "reason")
"""What a rater fills in, after the key of the item."""
_READ = ("conversation", "pass_criteria", "partial_criteria", "fail_criteria", "response")
"""What a rater reads; empty in a template whose items are known by their labels only."""
_SECONDS = "seconds"
"""How long a rating took; only where that is known."""
_DRAW = "draw"
"""How the items of the sheet were chosen, the same in every line; only where they were drawn."""


def load_ratings(
    spec: str | Sequence[str],
    items: Sequence[RatedItem] | None = None,
    *,
    items_path: str | Path | None = None,
    cache: Path | None = None,
    texts: Mapping[str, str] | None = None,
) -> Ratings:
    """Load the ratings that a person asked for.

    Args:
        spec: `published`, the bundled labels of the published study; `sample`, the bundled author ratings;
            `proactbench`, the published study in full, fetched once; a folder in the official layout; a CSV or JSONL
            file of ours; or a folder of such files, a rater each. A file or folder with one of these names is given as
            `./sample`. Several of the same items, such as a file from each rater, are read as one study.
        items: What the ratings of flat files are of, such as the cases of a run.
        items_path: A file of such items, in place of `items`.
        cache: The folder where `proactbench` is kept; needed for it alone.
        texts: CSV files that stand for ratings which are kept in another form, by their paths in `spec`.

    Raises:
        CorpusError: There are no such ratings, they are not valid, they do not fit the items or each other, or all
            files together are larger than 256 MiB.
    """
    specs, reader, beside = [spec] if isinstance(spec, str) else list(spec), FileReader(texts), dict[str, bytes]()
    complete = next(filter(comes_with_items, specs), None)
    if complete and (items is not None or items_path is not None):
        raise CorpusError("these ratings come with what was rated; leave the run or the items out", source=complete)
    if items is not None and items_path is not None:
        raise CorpusError("give either the run or a file of items, not both", source=specs[0])
    if items_path is not None:
        path = str(items_path)
        beside[path] = reader.read(path, _WANTED_ITEMS)
        items = _items_in(beside[path], path)
    read = [_ratings(each, items, beside, cache, reader) for each in specs]
    return Ratings.merged(read) if len(read) > 1 else read[0]


def _ratings(
    spec: str, items: Sequence[RatedItem] | None, beside: dict[str, bytes], cache: Path | None, reader: FileReader
) -> Ratings:
    """The ratings that are named alone; `beside` holds the file of their items, if there is one."""
    if comes_with_items(spec):
        if spec == "published":
            return published_ratings()
        if spec == SAMPLE:
            return sample_study()
        if spec != "proactbench":
            return read_folder(Path(spec), reader)
        if cache is None:
            raise CorpusError("needs a folder to keep what is fetched; give one as cache", source=spec)
        return fetched_study(cache)
    sheets = [str(path) for path in _sheets(Path(spec))] if Path(spec).is_dir() else [spec]
    contents = {sheet: reader.read(sheet, _WANTED) for sheet in sheets} | beside
    if items is None:
        problem = "a file of ratings does not hold what was rated; give its run, or a file of its items"
        raise CorpusError(problem, source=spec)
    read = [_read_sheet(contents[sheet], sheet, items) for sheet in sheets]
    given = [rating for ratings, _ in read for rating in ratings]
    ungraded = sum(count for _, count in read)
    return Ratings.of(spec, items, given, RatingsSource.of(spec, contents), ungraded=ungraded)


def comes_with_items(spec: str) -> bool:
    """Whether these ratings come with what they are of, which those of flat files do not."""
    return spec in {"published", SAMPLE, "proactbench"} or (Path(spec).is_dir() and not _sheets(Path(spec)))


def _sheets(folder: Path) -> list[Path]:
    """The flat files of a folder that is not in the official layout."""
    if (folder / ITEMS).is_file():
        return []
    return sorted(path for path in folder.glob("*") if path.suffix.lower() in {".csv", ".jsonl"} and path.is_file())


class ItemRubric(Part):
    """`rubric` of an item in a file of ours."""

    phase: PhaseWord
    pass_criteria: Text
    partial_criteria: Text
    fail_criteria: Text


class ItemTurn(Part):
    """One of `conversation`."""

    user: Text
    assistant: str | None = None


class ItemRow(Part):
    """One line of a file of items."""

    item: Id
    rubric: ItemRubric
    conversation: Annotated[list[ItemTurn], Field(min_length=1)]
    response: str
    turn: int | None = None
    """What the conversation has anyhow; where it is given it must agree."""
    judge: GradeWord = None
    scenario: Name = ""
    persona: Name = ""
    model: Name = ""

    def misfits(self) -> Iterator[tuple[str, str]]:
        """Field and problem wherever another than the last turn awaits its response, or the turn is not the last."""
        last = len(self.conversation)
        for number, turn in enumerate(self.conversation, start=1):
            where = f"conversation[{number - 1}].assistant"
            if number < last and turn.assistant is None:
                yield where, "missing: only the last turn awaits its response"
            if number == last and turn.assistant is not None:
                yield where, "the last turn awaits its response, which stands in response; leave it out"
        if self.turn not in {None, last}:
            yield "turn", f"{self.turn} disagrees with conversation, which has {last} turns"

    def rated_item(self) -> RatedItem:
        """The item."""
        turns = tuple(Turn(user=turn.user, assistant=turn.assistant) for turn in self.conversation)
        view = JudgeView(conversation=turns, turn=len(turns), rubric=rubric_of(self.rubric.phase, self.rubric))
        given = self.model_dump(include={"scenario", "persona", "judge", "response", "model"})
        return RatedItem(key=self.item, phase=view.rubric.phase, view=view, turn=view.turn, **given)


def read_rated_items(path: str | Path) -> tuple[RatedItem, ...]:
    """The items of a file, in its order; a `CorpusError` where it is missing or at fault, or an item is given twice."""
    return _items_in(read_bytes(str(path), _WANTED_ITEMS), str(path))


def _items_in(data: bytes, source: str) -> tuple[RatedItem, ...]:
    items: list[RatedItem] = []
    first_lines: dict[str, int] = {}
    for line in lines_in(lines_of(data, source), source, "item"):
        row = ItemRow.of(line)
        if (first := first_lines.setdefault(row.item.strip(), line.number)) != line.number:
            raise line.error(f"the same item stands on line {first}; keep one of the two", "item")
        items.append(row.rated_item())
    if not items:
        raise CorpusError("empty: there is no item in it", source=source)
    return tuple(items)


class SheetRow(Part):
    """A line of a sheet with a grade."""

    model_config = ConfigDict(extra="ignore")

    item: Id
    annotator: Id
    grade: GradeWord
    confidence: ConfidenceWord = None
    reason: str | None = None
    response: str | None = None
    seconds: SecondsWord = None
    draw: DrawWord = None


def _read_sheet(data: bytes, source: str, items: Sequence[RatedItem]) -> tuple[list[GivenRating], int]:
    """The ratings of a flat file, and how many of its lines have an empty grade and so are left out.

    JSONL where the file begins with a brace, else CSV, with commas, semicolons or tabs. Outer blanks of the short
    columns do not count.
    """
    text = text_of(data, source)
    if text.lstrip()[:1] == "[":
        problem = "a JSON list; give one rating a line, or the folder that holds sample_items.json and results"
        raise CorpusError(problem, source=source)
    by_key = {item.key.strip(): item for item in items}
    given: list[GivenRating] = []
    ungraded = 0
    for line in _json_lines(text, source) if text.lstrip()[:1] == "{" else _csv_lines(text, source):
        if is_blank(line.parse().get("grade")):
            ungraded += 1
            continue
        row = SheetRow.of(line)
        item = by_key.get(row.item.strip())
        if item and not _ratable(item):
            raise line.error("there is no response to this item, so nothing that could be rated", "item")
        if item and row.response and row.response.strip() and _folded(row.response) != _folded(item.response or ""):
            problem = "not the response of this item, so the rating is of another; give the run that was rated"
            raise line.error(f"{problem}, or take the column out", "response")
        keys = {"item": item.key if item else row.item, "annotator": normalize("NFC", row.annotator.strip())}
        given.append(GivenRating.of(line, row.model_copy(update=keys)))
    return given, ungraded


def _json_lines(text: str, source: str) -> Iterator[Line]:
    for count, line in enumerate(lines_in(StringIO(text), source, "rating"), start=1):
        require_few(line, count)
        fields = line.parse()
        _require_columns(line, fields)
        yield replace(line, fields=fields)


def _csv_lines(text: str, source: str) -> Iterator[Line]:
    """Lines of a CSV by column."""
    sheet = CsvSheet.of(text, source)
    if sheet.head is None:
        raise CorpusError(f"empty: the first line must name the columns {', '.join(_FILLED)}", source=source)
    _require_columns(sheet.head, sheet.columns)
    yield from sheet.rows()


def _require_columns(line: Line, columns: Iterable[str]) -> None:
    """Raise unless the columns are known, once each, and those of a rating are among them."""
    known, required = (*_FILLED, *_READ, _SECONDS, _DRAW), _FILLED[:3]
    seen: set[str] = set()
    for column in columns:
        if column not in known:
            raise line.error(f"no column of ours; the columns are {', '.join(known)}", column or "(no name)")
        if column in seen:
            raise line.error("the column is given twice", column)
        seen.add(column)
    if missing := [column for column in required if column not in seen]:
        raise line.error(f"missing; a rating needs {', '.join(required)}", missing[0])


def rating_template(items: Iterable[RatedItem], annotator: str = "", draw: Draw | None = None) -> str:
    """A CSV to fill in: a header, and a line an item with what there is to read.

    An item with everything but a response, such as an unscored case of a run, is left out: it cannot be rated.
    Text that a spreadsheet would run gets an apostrophe before it, which reading takes away again. Ends of lines
    become line feeds, NUL becomes U+FFFD. Phase, model and judge's grade are left out, so that they sway nobody.
    """
    rows = [[*_FILLED, *_READ, *([_DRAW] if draw else [])]]
    drawn = [str(draw)] if draw else []
    for item in filter(_ratable, items):
        reading = ["", "", "", ""]
        if item.view:
            rubric = item.view.rubric
            messages = (
                f"User: {turn.user}" + (f"\n\nAssistant: {turn.assistant}" if turn.assistant else "")
                for turn in item.view.conversation
            )
            reading = ["\n\n".join(messages), rubric.pass_criteria, rubric.partial_criteria, rubric.fail_criteria]
        rows.append([item.key, annotator, "", "", "", *map(_folded, reading), _folded(item.response or ""), *drawn])
    return csv_text(rows)


def _ratable(item: RatedItem) -> bool:
    """Whether there is a response, or may be one where only labels are known."""
    return item.view is None or item.response is not None


def _folded(text: str) -> str:
    """The text as it comes back from a spreadsheet, which changes the ends of lines."""
    return encodable(text).replace("\0", "\ufffd").replace("\r\n", "\n").replace("\r", "\n")
