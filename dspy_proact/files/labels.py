"""People's grades as sheets and labelling tools hold them: one reader for sheets and the JSON exports of two tools.

A sheet is CSV, or JSONL with the same fields: item, annotator and grade, and where they are given part, confidence,
reason, seconds, response and draw. It is JSONL where it begins with a brace. Outer blanks do not count.

From Label Studio we read what it exports as JSON, a list of tasks: the key of the item is `data.item`, a control of the
kind Choices that is called `grade`, or as a part of the grading, holds the grade; `confidence` (Rating or Choices) and
`reason` (TextArea) are of all parts. From Argilla we read what `records.to_json` writes, a list of records: the key is
the id of the record, and the names are those of its questions. Cancelled annotations, drafts and what was discarded are
no labels, and are counted.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from io import StringIO
from typing import Annotated, Any
from unicodedata import normalize

from pydantic import BeforeValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from dspy_proact.errors import CorpusError
from dspy_proact.files.rows import Id, Line, RawPart, elements, lines_in
from dspy_proact.files.sheets import CsvSheet, damage

GRADE_FIELD = "grade"
"""The column, control or question that holds the grade where a grading has one part."""
NEEDED = ("item", "annotator", GRADE_FIELD)
"""Columns of a sheet that people fill in."""
_SIDES = ("confidence", "reason")
_MOST = 200_000
"""Lines of a sheet, hundreds of times the largest study: a million take a minute and gigabytes."""


def _confidence_of(value: Any) -> int:
    """1 to 5, from a number or its text; raises a `ValueError` of pydantic's otherwise."""
    try:
        number = None if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = None
    if number not in {1, 2, 3, 4, 5}:
        raise PydanticCustomError("confidence", "Confidence is 1, 2, 3, 4 or 5")
    return int(number)


BLANK = BeforeValidator(lambda value: None if isinstance(value, str) and not value.strip() else value)
"""Blanks are None."""
Confidence = Annotated[Annotated[int, BeforeValidator(_confidence_of)] | None, BLANK]
"""1 to 5, a number or its text."""
Seconds = Annotated[Annotated[float, Field(ge=0, allow_inf_nan=False, strict=False)] | None, BLANK]
"""0 or more, a number or its text."""


@dataclass(frozen=True)
class Label:
    """One person's grade of one part of one item."""

    line: Line
    rater: str
    """As the file calls them, in NFC; never an e-mail address."""
    item: str
    part: str
    """Empty for the grading as a whole."""
    grade: str
    confidence: int | None = None
    """From 1 to 5."""
    reason: str = ""
    seconds: float | None = None
    """How long it took."""
    response: str | None = None
    """The text that was graded, where the file holds it."""
    draw: str = ""
    """How the item was chosen, as a sheet has it."""
    within: str = ""
    """The part of the line in which it stands, with a stop at its end."""

    def error(self, problem: str, field: str) -> CorpusError:
        """The error to raise for a problem with one of its fields."""
        return self.line.error(problem, f"{self.within}{field}")

    def require_response(self, rated: str) -> None:
        """Raise a `CorpusError` where the file holds another response than was rated, or a spreadsheet changed it."""
        if not self.response or not self.response.strip() or (change := damage(self.response, rated)) == "":
            return
        problem = f"{change}; give the sheet as it was written"
        if change is None:
            problem = "not the response of this item, so the rating is of another; give the run that was rated"
        raise self.error(f"{problem}, or take the column out", "response")


@dataclass(frozen=True)
class LabelFile:
    """The grades in a file, and what was left out."""

    labels: tuple[Label, ...]
    """In its order."""
    ungraded: int = 0
    """Lines whose grade is empty."""
    ignored: Mapping[str, int] = field(default_factory=dict[str, int])
    """How often each field occurred that the format does not know."""
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])
    """What a labelling tool does not count, by its word for it, such as draft: answers of one person to one item."""


_Word = Annotated[
    Annotated[str, StringConstraints(strip_whitespace=True)],
    BeforeValidator(lambda value: "" if value is None else value),
]


_Key = Annotated[Id, BeforeValidator(lambda value: json.dumps(value) if type(value) in (int, float) else value)]
"""A name or a key; a number is its text, as in CSV."""


class _SheetRow(RawPart):
    item: _Key
    annotator: _Key
    grade: _Word
    part: _Word = ""
    confidence: Confidence = None
    reason: str | None = None
    seconds: Seconds = None
    response: str | None = None
    answer: str | None = None
    draw: _Word = ""
    # What a rater reads.
    grades: object = None
    case: object = None

    def label(self, line: Line) -> Label:
        """The label of a line."""
        rater = normalize("NFC", self.annotator.strip())
        fields = (self.grade, self.confidence, self.reason or "", self.seconds, self.response or self.answer, self.draw)
        return Label(line, rater, self.item.strip(), self.part, *fields)


class _User(RawPart):
    id: int


class _Region(RawPart):
    from_name: str = ""
    """Empty for what is no answer, such as a relation between two."""
    value: Any = None


class _Annotation(RawPart):
    completed_by: int | _User
    result: list[_Region]
    lead_time: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None


_NotCancelled = BeforeValidator(lambda value: None if isinstance(value, dict) and value.get("was_cancelled") else value)


class _Task(RawPart):
    data: dict[str, Any]
    annotations: list[Annotated[_Annotation | None, _NotCancelled]] = Field(default_factory=list)
    """None for one that was cancelled, whatever stands in it."""


class _Answer(RawPart):
    value: Any
    user_id: _Key
    status: str | None = None


class _Record(RawPart):
    id: _Key
    fields: dict[str, Any]
    responses: dict[str, list[_Answer]] | None


def counted_words(counts: Mapping[str, int]) -> str:
    """Words with how often each occurred, for a sentence, such as `draft (2), discarded (1)`."""
    return ", ".join(f"{word} ({count})" for word, count in counts.items())


def labels_in(text: str, source: str, parts: Collection[str]) -> LabelFile:
    """The grades in a file, of `parts` by name, the empty one the whole; a `CorpusError` where it holds none."""
    file = _of_sheet(text, source) if text.lstrip()[:1] != "[" else _of_tool(text, source, parts)
    if not file.labels and file.left_out:
        raise CorpusError(
            f"there is no grade in it that counts; left out: {counted_words(file.left_out)}", source=source
        )
    if not file.labels and not file.ungraded:
        names = ", ".join(name or GRADE_FIELD for name in parts)
        raise CorpusError(f"there is no grade in it; what holds one is called {names}", source=source)
    return file


def _of_tool(text: str, source: str, parts: Collection[str]) -> LabelFile:
    rows, left_out = list(elements(text, source)), Counter[str]()
    names, tools = {GRADE_FIELD, *parts, *_SIDES}, ((_of_task, "data annotations"), (_of_record, "id fields responses"))
    read = next((read for read, needed in tools if any({*needed.split()} <= {*row.parse()} for row in rows)), None)
    if read is None:
        problem = "neither tasks of Label Studio (data, annotations) nor records of Argilla (id, fields, responses)"
        raise CorpusError(f"{problem}; give other ratings as CSV, or as JSON with one a line", source=source)
    labels = tuple(label for row in rows for answers in read(row, names, left_out) for label in answers.labels(parts))
    return LabelFile(labels, left_out=dict(sorted(left_out.items())))


def _of_sheet(text: str, source: str) -> LabelFile:
    lines, labels, ungraded, ignored = 0, list[Label](), 0, Counter[str]()
    for line in _lines_of_sheet(text, source):
        lines += 1
        if lines > _MOST:
            raise line.error(
                f"more than {_MOST:,} ratings, which no study has; give the ratings of one study, or a part"
            )
        grade = line.parse().get(GRADE_FIELD)
        if grade is None or (isinstance(grade, str) and not grade.strip()):
            ungraded += 1
            continue
        row = _SheetRow.of(line)
        ignored.update(row.unknown_fields())
        labels.append(row.label(line))
    return LabelFile(tuple(labels), ungraded, dict(ignored))


def _lines_of_sheet(text: str, source: str) -> Iterator[Line]:
    if text.lstrip()[:1] == "{":
        for line in lines_in(StringIO(text), source, "rating"):
            fields = line.parse()
            _require_columns(line, [*fields])
            yield replace(line, fields=fields)
        return
    sheet = CsvSheet.of(StringIO(text), source)
    if sheet.head is None:
        named = ", ".join((*NEEDED, *_SIDES))
        raise CorpusError(f"empty: the first line must name the columns {named}", source=source)
    _require_columns(sheet.head, sheet.columns)
    yield from sheet.rows(numbers=("confidence", "seconds"))


def _require_columns(line: Line, columns: Collection[str]) -> None:
    if missing := next((column for column in NEEDED if column not in columns), None):
        raise line.error(f"missing; a rating needs {', '.join(NEEDED)}", missing)


@dataclass(frozen=True)
class _Answers:
    """What one person answered of one item in a labelling tool."""

    line: Line
    rater: str
    item: object
    response: object
    within: str
    values: dict[str, str]
    """By control or question."""
    seconds: float | None = None

    def labels(self, parts: Collection[str]) -> Iterator[Label]:
        """A label for each part that has a grade."""
        if not isinstance(self.item, str | int) or not str(self.item).strip():
            raise self.line.error("missing: the key of the item, as the sheet has it", "data.item")
        confidence_text, reason = (self.values.get(name, "") for name in _SIDES)
        try:
            confidence = _confidence_of(confidence_text) if confidence_text else None
        except PydanticCustomError as error:
            raise self.line.error(f"{error.message()}, not {confidence_text!r}", f"{self.within}confidence") from None
        response = self.response if isinstance(self.response, str) else None
        for part in parts:
            if grade := self.values.get(part or GRADE_FIELD, ""):
                fields = (confidence, reason, self.seconds, response)
                yield Label(self.line, self.rater, str(self.item).strip(), part, grade, *fields, within=self.within)


def _of_task(line: Line, names: Collection[str], left_out: Counter[str]) -> Iterator[_Answers]:
    """What each annotation of a task of Label Studio says; one that was cancelled says nothing."""
    task = _Task.of(line)
    response = task.data.get("response") or task.data.get("answer")
    for index, annotation in enumerate(task.annotations):
        if annotation is None:
            left_out["cancelled"] += 1
            continue
        values, within, user = dict[str, str](), f"annotations[{index}].", annotation.completed_by
        for number, region in enumerate(annotation.result):
            if region.from_name in names and isinstance(region.value, dict):
                kind = next((kind for kind in ("choices", "rating", "text") if kind in region.value), "")
                at = f"{within}result[{number}].value"
                values[region.from_name] = _answer(line, at, region.from_name, region.value.get(kind))
        rater = f"label-studio {user if isinstance(user, int) else user.id}"
        yield _Answers(line, rater, task.data.get("item"), response, within, values, annotation.lead_time)


def _of_record(line: Line, names: Collection[str], left_out: Counter[str]) -> Iterator[_Answers]:
    """What each person says of a record of Argilla, but for drafts and what was discarded."""
    record, by_rater, unsubmitted = _Record.of(line), dict[str, dict[str, str]](), dict[str, str]()
    response = record.fields.get("response") or record.fields.get("answer")
    for name, answers in (record.responses or {}).items():
        for number, answer in enumerate(answers if name in names else ()):
            if answer.status in ("draft", "discarded"):
                unsubmitted[answer.user_id] = answer.status
                continue
            text = _answer(line, f"responses.{name}[{number}].value", name, answer.value)
            by_rater.setdefault(answer.user_id, {})[name] = text
    left_out.update(unsubmitted.values())
    for user, values in by_rater.items():
        if user not in unsubmitted:
            yield _Answers(line, f"argilla {user}", record.id, response, "responses.", values)


def _answer(line: Line, field: str, name: str, value: object) -> str:
    """The answer to a control or question as text, several entries of a reason a line each; empty where there is none.

    Raises a `CorpusError` where another control has several, or something else than text or a number.
    """
    values = [one for one in (value if isinstance(value, list) else [value]) if one is not None]
    texts = [str(one).strip() for one in values if isinstance(one, str | int | float) and not isinstance(one, bool)]
    if name == "reason":
        return "\n".join(filter(None, texts))
    if len(values) > 1 or len(texts) < len(values):
        raise line.error("one text or number is expected", field)
    return "".join(texts)
