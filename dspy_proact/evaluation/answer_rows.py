"""Rows of answers that exist: which column is what, of which case a row is, and the answer on it."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import chain
from typing import Any

from pydantic import BaseModel, ValidationError

from dspy_proact.calls import Failure
from dspy_proact.errors import CorpusError, UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.files.columns import USUAL, columns_called, columns_listed
from dspy_proact.files.rows import Line, misfit, strict_json
from dspy_proact.plain_text import shown
from dspy_proact.runs import CONTROL, MOST_EPOCHS, CaseSet

Columns = Mapping[str, str]
"""The column of a role: `key`, `response`, `epoch`, a field of the answer, or an entry of the `meta` of cases."""
_TEXTS = ("text", "content")
"""What a column of answers is called too, where a table holds no inputs."""
_EMPTY = Failure(kind="content", reason="empty", detail="the answer is blank")
_LONGEST_KEY = 200
"""Characters of a key that a message shows: keys of one corpus often differ at their ends."""
_LONGEST = 1_000_000
"""Characters of an answer, beyond any token limit."""
_Finder = Callable[[Line], str | CorpusError]
"""The key of the case that a row answers, or that there is no such case."""


@dataclass(frozen=True)
class AnswerRow:
    """The answer to a case in an epoch, or why there is none that can be graded."""

    line: Line
    """Where it stands; without its fields."""
    case: str
    """Key."""
    epoch: int
    answer: BaseModel | None
    failure: Failure | None


@dataclass(frozen=True)
class _Layout:
    """Which column of a table is what."""

    key: str | None
    """None where `parts` identify the case."""
    parts: Mapping[str, str]
    """The column of each entry of the `meta` of cases by which a row names its case."""
    response: str | None
    """None where the answer stands in columns of its own, by field."""
    fields: Mapping[str, str]
    """The column of each field of the answer that has one."""
    epoch: str | None


def plain_field(form: type[BaseModel]) -> str | None:
    """The field of an answer that a plain text is; None where an answer is more than a text."""
    texts = [name for name, field in form.model_fields.items() if field.annotation is str]
    needed = [name for name, field in form.model_fields.items() if field.is_required()]
    return texts[0] if len(texts) == 1 and needed in ([], texts) else None


class AnswerRows:
    """Reads rows of answers to the cases of a corpus.

    Args:
        declared: The benchmark.
        case_set: Its cases.
        columns: The columns that do not have one of the usual names.

    Raises:
        UsageError: A column is named for what is no role.
    """

    def __init__(self, declared: Benchmark[Any, Any], case_set: CaseSet, columns: Columns):
        self._cases, self._columns, self._nouns = case_set.cases, columns, declared.nouns
        self._corpus, self._form = case_set.corpus.name, declared.answer_type
        controls = sum(case.stratum == CONTROL for case in case_set.cases)
        counts = f"{len(case_set.cases) - controls:,} {self._nouns.cases}"
        self._counted = f"{counts} and {controls:,} {self._nouns.controls}" if controls else counts
        self._meta = tuple(dict.fromkeys(name for case in case_set.cases for name in case.meta))
        roles = dict.fromkeys(("key", "response", "epoch", *self._form.model_fields, *self._meta))
        for role, column in columns.items():
            if role not in roles:
                raise UsageError(f"`columns={role}={column}`: {role!r} is none of {', '.join(roles)}")
        self._text = plain_field(self._form)

    def read(self, rows: Iterable[Line]) -> Iterator[AnswerRow]:
        """The answers in the order of the rows; an answer that stands twice comes once.

        Raises a `CorpusError` where there is no row, a column is not there, or a row has no key, an answer that is
        none, or another answer to a case than a row before it has; and, once all rows were read, where keys are none of
        the corpus.
        """
        rows = iter(rows)
        first = next(rows, None)
        if first is None:
            return
        layout = self._layout(first)
        find = self._by_key(layout.key) if layout.key else self._by_parts(first, layout.parts)
        before, unknown, strangers = dict[tuple[str, int], tuple[Line, int]](), None, 0
        for line in chain([first], rows):
            key = find(line)
            if isinstance(key, CorpusError):
                unknown, strangers = unknown or key, strangers + 1
                continue
            epoch, (answer, failure) = self._epoch(line, layout.epoch), self._answer(line, line.parse(), layout)
            bare, content = replace(line, text="", fields=None), hash(answer.model_dump_json()) if answer else 0
            earlier, same = before.setdefault((key, epoch), (bare, content))
            if earlier is bare:
                yield AnswerRow(bare, key, epoch, answer, failure)
            elif same != content:
                elsewhere = f" of {earlier.source}" if earlier.source != line.source else ""
                mend = "keep one of the two" if layout.epoch else "keep one, or number them in a column `epoch`"
                problem = f"another answer to {key!r} stands {earlier.position}{elsewhere} already; {mend}"
                raise line.error(problem, layout.key)
        if unknown:
            more = f"; nor are {strangers - 1:,} further rows" if strangers > 1 else ""
            raise CorpusError(f"{unknown.problem}{more}", source=unknown.source, line=unknown.line, field=unknown.field)

    # Columns

    def _layout(self, first: Line) -> _Layout:
        """By the columns of the first row, and by what a person named."""
        columns, form = [*first.parse()], self._form.model_fields
        for role, column in self._columns.items():
            if column not in columns:
                raise first.error(f"`columns={role}={column}`: there is no such column; {columns_listed(columns)}")
        nouns = tuple(f"{self._nouns.case}{end}" for end in ("", " id", " key"))
        key = self._column("key", columns, nouns)
        response = None if any(role in form for role in self._columns) else self._column("response", columns, _TEXTS)
        fields = {name: self._columns.get(name, name) for name in form if name in {*columns, *self._columns}}
        taken = {response, *(self._columns.get(name) for name in form)}
        parts = {
            name: self._columns.get(name, name)
            for name in self._meta
            if name in self._columns or (name in columns and name not in taken)
        }
        named = f"{columns_listed(columns)}; name it"
        if key is None and not parts:
            case = self._nouns.case
            raise first.error(f"no column is known to hold the key of a {case}; {named}: `columns=key=COLUMN`")
        missing = [name for name, field in form.items() if field.is_required() and name not in fields]
        if response is None and (missing or not fields):
            needs = "" if self._text else f", or a column for each of {', '.join(form)}"
            raise first.error(f"no column is known to hold the answers; {named}: `columns=response=COLUMN`{needs}")
        chosen = {name: column for name, column in fields.items() if response is None or name in self._columns}
        return _Layout(key, parts, response, chosen, self._column("epoch", columns))

    def _column(self, role: str, columns: list[str], further: tuple[str, ...] = ()) -> str | None:
        """The column of a role: the one that is named, that is called like it, or the only one of a usual name."""
        if role in self._columns:
            return self._columns[role]
        for names in ((role,), (*USUAL[role], *further)):
            called = columns_called(names, columns)
            if len(called) > 1:
                named = " or ".join(f"`columns={role}={column}`" for column in called)
                raise UsageError(f"{len(called)} columns may hold what is called {role} here; say which: {named}")
            if called:
                return called[0]
        return None

    # Rows

    def _by_key(self, column: str) -> _Finder:
        """Finds the case of a row by its key."""
        known = {case.key.strip(): case.key for case in self._cases}
        if len(known) < len(self._cases):
            known = {case.key: case.key for case in self._cases}

        def find(line: Line) -> str | CorpusError:
            text = _text(line.parse().get(column))
            if not text:
                raise line.error(f"the key of a {self._nouns.case} is missing", column)
            if text in known:
                return known[text]
            near = get_close_matches(text, known, n=1) if len(known) < 10_000 else []
            hint = f"; did you mean {near[0]!r}?" if near else ""
            of = f"{self._counted} of the corpus {self._corpus!r}"
            problem = f"{text[:_LONGEST_KEY]!r} is the key of none of the {of}{hint}"
            return line.error(problem, column)

        return find

    def _by_parts(self, first: Line, parts: Mapping[str, str]) -> _Finder:
        """Finds the case of a row by entries of its `meta`; a `CorpusError` where several cases have the same ones."""
        known = {tuple(_text(case.meta.get(name)) for name in parts): case.key for case in self._cases}
        named = " and ".join(parts.values())
        if len(known) < len(self._cases):
            problem = f"{named} do not tell one {self._nouns.case} from another"
            raise first.error(
                f"{problem}; {columns_listed([*first.parse()])}; name the column of keys: `columns=key=COLUMN`"
            )

        def find(line: Line) -> str | CorpusError:
            values = tuple(_text(line.parse().get(column)) for column in parts.values())
            has = f"has the {named} {', '.join(map(shown, values))}"
            problem = f"no {self._nouns.case} of the corpus {self._corpus!r} {has}"
            return known.get(values) or line.error(problem)

        return find

    def _epoch(self, line: Line, column: str | None) -> int:
        if column is None:
            return 1
        text = _text(line.parse().get(column))
        if not text.isdecimal() or not 1 <= int(text) <= MOST_EPOCHS:
            raise line.error(f"an epoch is a number from 1 to {MOST_EPOCHS:,}, not {shown(text)}", column)
        return int(text)

    def _answer(
        self, line: Line, fields: Mapping[str, object], layout: _Layout
    ) -> tuple[BaseModel, None] | tuple[None, Failure]:
        """The answer on a row, or why it cannot be graded; raises a `CorpusError` where it is of another form.

        A row that is known to have none has a `Failure` among its values.
        """
        if failure := next((value for value in fields.values() if isinstance(value, Failure)), None):
            return None, failure
        of_fields = {name: self._value(name, fields.get(column)) for name, column in layout.fields.items()}
        of_fields = {name: value for name, value in of_fields.items() if not _blank(value)}
        column, values = layout.response, dict[str, Any]()
        if column is not None:
            if column not in fields:
                raise line.error("the field is missing", column)
            if _blank(fields[column]):
                return None, _EMPTY
            values = self._object(line, column, fields[column])
        values |= of_fields
        if not values:
            return None, _EMPTY
        if (length := sum(len(value) for value in values.values() if isinstance(value, str))) > _LONGEST:
            detail = f"{length:,} characters, beyond any token limit"
            return None, Failure(kind="content", reason="oversized", detail=detail)
        try:
            return self._form.model_validate(values), None
        except ValidationError as error:
            field, problem = misfit(error)
            first = field.partition(".")[0].partition("[")[0]
            where = layout.fields.get(first) or ".".join(filter(None, (column, field)))
            raise line.error(problem, where) from None

    def _object(self, line: Line, column: str, value: object) -> dict[str, Any]:
        """The fields of an answer, from what one column holds of it."""
        if isinstance(value, dict):
            return value
        if self._text is not None:
            if isinstance(value, list):
                raise line.error("a text is expected, not a list", column)
            return {self._text: value if isinstance(value, str) else json.dumps(value)}
        names = ", ".join(self._form.model_fields)
        try:
            parsed = strict_json(value, line.error) if isinstance(value, str) else value
        except json.JSONDecodeError:
            parsed = value
        if not isinstance(parsed, dict):
            raise line.error(f"an answer is a JSON object with {names} here, not {shown(value)}", column)
        return parsed

    def _value(self, name: str, value: object) -> object:
        """A field of an answer; JSON in a text where the field is no text, such as a list in a cell of CSV."""
        if not isinstance(value, str) or self._form.model_fields[name].annotation is str:
            return value
        try:
            return strict_json(value, lambda problem, _: CorpusError(problem, source=""))
        except (json.JSONDecodeError, CorpusError):
            return value


def _text(value: object) -> str:
    """A key, or a part of one, as a text without blanks around it; empty where there is none."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # as tables hold whole numbers in a column with gaps
    return "" if value is None else str(value).strip()


def _blank(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())
