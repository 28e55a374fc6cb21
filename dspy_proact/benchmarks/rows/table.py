"""Rows of a person's own table as cases, and the labels in it as people's grades.

Which column is what is found by usual names, or as a person says. Labels are wide, a column for each rater, or long, a
line for each label with a column that names the rater; several lines with one key, or with the same input and response,
are then one row.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, Literal, cast
from unicodedata import normalize

from dspy_proact.benchmarks.rows.columns import RowColumns
from dspy_proact.benchmarks.rows.levels import Message, RowReply, RowSettings, RowView, Shown
from dspy_proact.benchmarks.rows.report import UNGROUPED
from dspy_proact.errors import CorpusError, UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.ratings import RatedItem, Ratings, RatingsSource
from dspy_proact.evaluation.responses import Responses
from dspy_proact.files.columns import USUAL, folded
from dspy_proact.files.labels import NEEDED, Label, LabelFile
from dspy_proact.files.rows import Line
from dspy_proact.files.tables import rows_in, tables_of
from dspy_proact.plain_text import shown
from dspy_proact.runs import Case, CaseSet, Settings

STRATUM = "all"
WANTED = "a table of rows with an input, a response and labels (CSV, JSONL or Parquet)"
SAMPLE = Path(__file__).with_name("data") / "sample.csv"
_MOST_SHOWN = 12


@dataclass(frozen=True)
class TableLabel:
    """One person's level of a row, as its cell has it."""

    rater: str
    level: str
    column: str
    line: Line


@dataclass
class TableRow:
    """A row of a table, or several that are labels of one response."""

    key: str
    group: str
    view: RowView
    response: str | None
    """None where the table has none, or its cell is blank."""
    line: Line
    labels: list[TableLabel] = field(default_factory=list[TableLabel])

    @property
    def case(self) -> Case:
        """The row as a case."""
        return Case(self.key, self.group, STRATUM, self.view)


@dataclass(frozen=True)
class RowTable:
    """The rows of a table, and what was counted in reading it."""

    rows: tuple[TableRow, ...]
    columns: RowColumns | None
    """None of a table without rows."""
    lines: int
    ungraded: int
    """Cells of labels that are empty."""

    @property
    def is_grouped(self) -> bool:
        """Whether a column says which rows belong together."""
        return bool(self.columns and self.columns.group)


def read_table(spec: str, settings: RowSettings, needed: Sequence[str]) -> RowTable:
    """The rows of `sample`, a file or a folder of files, which must have the `needed` columns.

    Raises a `CorpusError` that names row and column where the table is not valid, two rows have one key and are not of
    one response, or somebody labels a row twice.
    """
    path, mapped = (SAMPLE, ()) if spec == "sample" else (Path(spec), settings.columns)
    rows, columns, lines, ungraded = dict[str, TableRow](), None, 0, 0
    for line in rows_in(path, WANTED):
        lines += 1
        columns = columns or RowColumns.of(line, mapped, needed)
        fields = line.parse()
        line = replace(line, text="", fields=None)  # noqa: PLW2901 - what is kept of it is where it stands
        row = _row(line, fields, columns, lines)
        before = rows.setdefault(row.key, row)
        if before is not row:
            if not columns.rater:
                raise line.error(f"the key {shown(row.key)} stands {before.line.position} already", columns.key)
            if (row.view, row.response, row.group) != (before.view, before.response, before.group):
                problem = f"another input, response or group than {before.line.position}, which has the key"
                raise line.error(f"{problem} {shown(row.key)} too", columns.key or columns.response)
        labels = list(_labels(line, fields, columns))
        ungraded += max(1, len(columns.grades)) - len(labels) if columns.grades else 0
        raters = {label.rater: label for label in before.labels}
        for label in labels:
            if label.rater in raters:
                first = raters[label.rater].line.position
                raise line.error(f"{shown(label.rater)} labelled this row {first} already; keep one", label.column)
            before.labels.append(label)
    if not rows:
        raise CorpusError("there is no row in it", source=str(path))
    return RowTable(tuple(rows.values()), columns, lines, ungraded)


def _row(line: Line, fields: Mapping[str, object], columns: RowColumns, number: int) -> TableRow:
    conversation = _conversation(line, fields.get(columns.input), columns.input)
    context = tuple(Shown(name=name, text=text) for name in columns.context if (text := _text(fields.get(name))))
    view = RowView(conversation=conversation, context=context)
    response = _text(fields.get(columns.response)) if columns.response else ""
    key = _name(line, fields, columns.key) or (_content_key(view, response) if columns.rater else f"row-{number}")
    group = _name(line, fields, columns.group) if columns.group else key
    if columns.key and not _name(line, fields, columns.key):
        raise line.error("the key is missing", columns.key)
    if not group:
        raise line.error("the group is missing; give each row one, or take the column out", columns.group)
    return TableRow(key, group, view, response or None, line)


def _content_key(view: RowView, response: str) -> str:
    """Of rows that are one where input and response are the same."""
    return f"row-{sha256(f'{view.model_dump_json()}{response}'.encode('utf-8', 'surrogatepass')).hexdigest()[:10]}"


def _text(value: object) -> str:
    """A cell as text, blank where there is nothing."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return ""
    if isinstance(value, str):
        return value
    return f"{value:.15g}" if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def _name(line: Line, fields: Mapping[str, object], column: str) -> str:
    """A key, a group or a rater, which reports print."""
    text = normalize("NFC", _text(fields.get(column)).strip()) if column else ""
    if not text.isprintable() or len(text) > 200:
        raise line.error("a name has at most 200 characters, none of them a control character", column)
    return text


def _conversation(line: Line, value: object, column: str) -> tuple[Message, ...]:
    """A prompt, or chat messages as a list or as JSON of one."""
    text = value if isinstance(value, str) else ""
    listed = value if isinstance(value, list) else _messages_in(text) if text.lstrip().startswith("[") else None
    if listed is None:
        if not _text(value):
            raise line.error("the input is missing", column)
        return (Message(role="user", content=_text(value)),)
    messages = [_message(line, one, f"{column}[{index}]") for index, one in enumerate(cast("list[object]", listed))]
    spoken = [message.role for message in messages if message.role != "system"]
    rest = [message.role for message in messages]
    if spoken != ["user", "assistant"] * (len(spoken) // 2) + ["user"] or rest[len(rest) - len(spoken) :] != spoken:
        order = "messages of user and assistant by turns, system messages before them, the user's first and last"
        raise line.error(f"expected are {order}, not {', '.join(rest[:_MOST_SHOWN]) or 'none'}", column)
    return tuple(messages)


def _messages_in(text: str) -> list[object] | None:
    """The list that a cell holds as JSON; None where it is a prompt that begins like one."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("list[object]", value) if isinstance(value, list) and value and _is_message(value[0]) else None


def _is_message(value: object) -> bool:
    return isinstance(value, dict) and "role" in value and "content" in value


def _message(line: Line, value: object, where: str) -> Message:
    if not _is_message(value):
        raise line.error(f"a message has role and content; this is {shown(value)}", where)
    fields = cast("dict[str, Any]", value)
    role: Any = {"developer": "system", "human": "user"}.get(str(fields["role"]), fields["role"])
    if role not in ("system", "user", "assistant"):
        raise line.error(f"must be system, user or assistant, not {shown(role)}; leave tool calls out", f"{where}.role")
    content = fields["content"]
    if isinstance(content, list):
        parts = [part.get("text") if isinstance(part, dict) else None for part in cast("list[Any]", content)]
        texts = [part for part in parts if isinstance(part, str)]
        content = "\n".join(texts) if len(texts) == len(parts) else None
    if not isinstance(content, str) or not content.strip():
        raise line.error("must be a text that is not blank; leave images and files out", f"{where}.content")
    return Message(role=cast("Literal['system', 'user', 'assistant']", role), content=content)


def _labels(line: Line, fields: Mapping[str, object], columns: RowColumns) -> Iterator[TableLabel]:
    for column, name in columns.grades.items():
        level = _text(fields.get(column)).strip()
        if not level:
            continue
        rater = _name(line, fields, columns.rater) if columns.rater else name
        if not rater:
            raise line.error("the rater is missing", columns.rater)
        yield TableLabel(rater, level, column, line)


# Cases and ratings


def case_set_of(spec: str, settings: RowSettings) -> CaseSet:
    """Each row as a case; raises as `read_table` does, and where the levels of a person's own rows are not known."""
    table = read_table(spec, settings, ["input"])
    if spec != "sample":
        require_scale(table, settings, spec)
    return CaseSet.of(spec, [row.case for row in table.rows], rows=len(table.rows))


def responses_in(path: Path, corpus: str | None, settings: Settings) -> list[Responses]:
    """The responses in a table, whoever wrote them, with what they answer; its labels are not read."""
    wanted = RowSettings.of(settings)
    if corpus is not None:
        raise UsageError("`corpus`: a table of rows holds its own inputs; leave it out")
    table = read_table(str(path), wanted, ["input", "response"])
    require_scale(table, wanted, str(path))
    made = Responses.of_items(str(path), "rows", _items(table), wanted)
    return [replace(made, settings=made.settings | {"columns": [list(pair) for pair in wanted.columns]})]


def _items(table: RowTable) -> tuple[RatedItem, ...]:
    return tuple(
        RatedItem(row.key, row.group, STRATUM, row.response, row.view, RowReply(text=row.response or ""))
        for row in table.rows
    )


def known_ratings(declared: Benchmark[Any, Any], named: str, settings: Settings) -> Ratings | None:
    """The labels of the sample, or of a person's own table, as grades of its rows; None for a filled-in sheet.

    Raises a `CorpusError` where there is no label in it, or a level is not on the scale.
    """
    wanted, spec = RowSettings.of(settings), "sample" if named in ("sample", "published") else named
    if spec != "sample" and _is_sheet(Path(spec), wanted):
        return None
    table = read_table(spec, wanted, ["input", "response", "grade"])
    require_scale(table, wanted, spec)
    own = {level.casefold(): level for level in wanted.levels}
    labels = tuple(
        Label(label.line, label.rater, row.key, "", own[label.level.casefold()])
        for row in table.rows
        if row.response
        for label in row.labels
    )
    path = SAMPLE if spec == "sample" else Path(spec)
    source = RatingsSource(origin=spec, files={file.name: _hash_of(file) for file in tables_of(path, WANTED)})
    ratings = Ratings.of(spec, declared, _items(table), [LabelFile(labels, table.ungraded)], source=source)
    return ratings if table.is_grouped else replace(ratings, about=(*ratings.about, UNGROUPED))


def _is_sheet(path: Path, settings: RowSettings) -> bool:
    """Whether a file is a sheet or an export of ratings, which does not hold its inputs."""
    first = next(rows_in(path, WANTED), None)
    columns = {*first.parse()} if first else set[str]()
    names = set(map(folded, columns))
    mapped = any(role == "input" and column in columns for role, column in settings.columns)
    return names >= {*NEEDED} and not names & {*USUAL["input"]} and not mapped


def _hash_of(file: Path) -> str:
    with file.open("rb") as opened:
        return file_digest(opened, "sha256").hexdigest()


def require_scale(table: RowTable, settings: RowSettings, spec: str) -> None:
    """Raise a `CorpusError` where no scale is named for rows of a person's own, or a label is no level of it.

    It lists the levels that occur, or names the first label at fault by row and column.
    """
    counts = Counter(label.level for row in table.rows for label in row.labels)
    if not settings.scale and spec != "sample":
        levels = [*counts]
        if all(level.lstrip("-").replace(".", "", 1).isdigit() for level in levels):
            levels.sort(key=float)
        there = "" if not counts else f"; the labels are {', '.join(f'{one} ({counts[one]})' for one in levels[:20])}"
        example = ",".join(levels) if 2 <= len(levels) <= 10 else "bad,ok,good"
        order = "put them in order, from worst to best" if counts else "name its levels from worst to best"
        raise CorpusError(
            f"no scale is given{there}; {order}: `settings.scale={example}`, or add `settings.nominal` where they have "
            "no order",
            source=spec,
        )
    known = {level.casefold() for level in settings.levels}
    wrong = [label for row in table.rows for label in row.labels if label.level.casefold() not in known]
    if wrong:
        others = Counter(label.level for label in wrong[1:])
        also = ", ".join(f"{shown(level)} ({count})" for level, count in list(others.items())[:_MOST_SHOWN])
        raise wrong[0].line.error(
            f"the label {shown(wrong[0].level)} is not on the scale {','.join(settings.levels)}"
            f"{f'; nor are {also} in other cells' if also else ''}",
            wrong[0].column,
        )
