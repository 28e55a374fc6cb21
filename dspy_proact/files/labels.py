"""People's grades as sheets and labelling tools hold them: one reader for CSV and the JSON exports of two tools.

A sheet is a CSV with the columns item, annotator and grade, and where they are given part, confidence and reason. From
Label Studio we read what it exports as JSON, a list of tasks: the key of the item is `data.item`, a control of the kind
Choices that is called `grade`, or as a part of the grading, holds the grade; `confidence` (Rating or Choices) and
`reason` (TextArea) are of all parts. From Argilla we read what `records.to_json` writes, a list of records: the key is
the id of the record, and the names are those of its questions. Cancelled annotations are no labels.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Annotated, Any
from unicodedata import normalize

from pydantic import BeforeValidator, ConfigDict, Field

from dspy_proact.errors import CorpusError
from dspy_proact.files.rows import Id, Line, Part, RawPart, elements
from dspy_proact.files.sheets import CsvSheet

WHOLE = "grade"
"""The column, control or question that holds the grade where a grading has one part."""
_blank = BeforeValidator(lambda value: None if isinstance(value, str) and not value.strip() else value)
_SIDES = ("confidence", "reason")


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
    confidence: str
    """Empty where none is given."""
    reason: str
    seconds: float
    """0 where it is not known."""
    response: str | None = None
    """The text that was graded, where the file holds it."""
    within: str = ""
    """The part of the line in which it stands, with a stop at its end."""

    def error(self, problem: str, field: str) -> CorpusError:
        """The error to raise for a problem with one of its fields."""
        return self.line.error(problem, f"{self.within}{field}")


class _SheetRow(Part):
    model_config = ConfigDict(extra="ignore")

    item: Id
    annotator: Id
    grade: str
    part: str = ""
    confidence: str = ""
    reason: str = ""
    seconds: Annotated[Annotated[float, Field(ge=0, allow_inf_nan=False, strict=False)] | None, _blank] = None
    response: str | None = None
    answer: str | None = None


class _User(RawPart):
    id: int


class _Region(RawPart):
    from_name: str
    value: dict[str, Any]


class _Annotation(RawPart):
    completed_by: int | _User
    result: list[_Region]
    was_cancelled: bool = False
    lead_time: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None


class _Task(RawPart):
    data: dict[str, Any]
    annotations: list[_Annotation]


class _Answer(RawPart):
    value: Any
    user_id: Id


class _Record(RawPart):
    id: Id
    fields: dict[str, Any]
    responses: dict[str, list[_Answer]]


def labels_in(text: str, source: str, parts: Collection[str]) -> list[Label]:
    """The grades in a file, in its order; those that are empty are left out.

    Args:
        text: Of the file.
        source: Its path.
        parts: Names of the parts of a grading; the empty one is of the grading as a whole.

    Raises:
        CorpusError: The file is none of these, or has no grade.
    """
    if text.lstrip()[:1] != "[":
        found = list(_of_sheet(text, source))
    else:
        rows = list(elements(text, source))
        tool = next((each for each in (_Task, _Record) if rows and {*each.model_fields} <= {*rows[0].parse()}), None)
        if tool is None:
            problem = "neither tasks of Label Studio (data, annotations) nor records of Argilla (id, fields, responses)"
            raise CorpusError(problem, source=source)
        read, names = _of_task if tool is _Task else _of_record, {WHOLE, *parts, *_SIDES}
        found = [label for row in rows for answers in read(row, names) for label in answers.labels(parts)]
    if not found:
        names = ", ".join(name or WHOLE for name in parts)
        raise CorpusError(f"there is no grade in it; what holds one is called {names}", source=source)
    return found


def _of_sheet(text: str, source: str) -> Iterator[Label]:
    sheet = CsvSheet.of(text, source)
    if lacking := {"item", "annotator", WHOLE} - {*sheet.columns}:
        raise CorpusError(f"lacks the columns {', '.join(sorted(lacking))}", source=source, line=1)
    for line in sheet.rows():
        if str(line.parse().get(WHOLE, "")).strip():
            row = _SheetRow.of(line)
            rater, response = normalize("NFC", row.annotator.strip()), row.response or row.answer
            item, part, grade = row.item.strip(), row.part.strip(), row.grade.strip()
            yield Label(
                line, rater, item, part, grade, row.confidence.strip(), row.reason.strip(), row.seconds or 0.0, response
            )


@dataclass(frozen=True)
class _Answers:
    """What one person answered of one item in a labelling tool."""

    line: Line
    rater: str
    item: object
    response: object
    within: str
    said: dict[str, str]
    """By control or question."""
    seconds: float = 0.0

    def labels(self, parts: Collection[str]) -> Iterator[Label]:
        """A label for each part that has a grade."""
        if not isinstance(self.item, str | int) or not str(self.item).strip():
            raise self.line.error("missing: the key of the item, as the sheet has it", "data.item")
        confidence, reason = (self.said.get(name, "") for name in _SIDES)
        response = self.response if isinstance(self.response, str) else None
        for part in parts:
            if grade := self.said.get(part or WHOLE, ""):
                item = str(self.item).strip()
                yield Label(
                    self.line, self.rater, item, part, grade, confidence, reason, self.seconds, response, self.within
                )


def _of_task(line: Line, names: Collection[str]) -> Iterator[_Answers]:
    """What each annotation of a task of Label Studio says; one that was cancelled says nothing."""
    task = _Task.of(line)
    response = task.data.get("response") or task.data.get("answer")
    for place, annotation in enumerate(task.annotations):
        said, within, user = dict[str, str](), f"annotations[{place}].", annotation.completed_by
        for number, region in enumerate(annotation.result):
            if region.from_name in names:
                kind = next((kind for kind in ("choices", "rating", "text") if kind in region.value), "")
                said[region.from_name] = _only(line, f"{within}result[{number}].value", region.value.get(kind))
        if not annotation.was_cancelled:
            rater = f"label-studio {user if isinstance(user, int) else user.id}"
            yield _Answers(line, rater, task.data.get("item"), response, within, said, annotation.lead_time or 0.0)


def _of_record(line: Line, names: Collection[str]) -> Iterator[_Answers]:
    """What each person says of a record of Argilla."""
    record, by_rater = _Record.of(line), dict[str, dict[str, str]]()
    response = record.fields.get("response") or record.fields.get("answer")
    for name, answers in record.responses.items():
        for number, answer in enumerate(answers if name in names else ()):
            said = _only(line, f"responses.{name}[{number}].value", answer.value)
            by_rater.setdefault(answer.user_id, {})[name] = said
    for user, said in by_rater.items():
        yield _Answers(line, f"argilla {user}", record.id, response, "responses.", said)


def _only(line: Line, field: str, value: object) -> str:
    """The only one of the values of a control, as text; raises a `CorpusError` where there are several, or none."""
    values = value if isinstance(value, list) else [value]
    if len(values) != 1 or not isinstance(values[0], str | int) or isinstance(values[0], bool):
        raise line.error("one text or number is expected", field)
    return str(values[0]).strip()
