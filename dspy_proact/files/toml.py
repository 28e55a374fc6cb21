"""TOML that a person writes by hand, read strictly, with faults that say where; and texts that go into prompts."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from dspy_proact.errors import CorpusError, UsageError
from dspy_proact.files.rows import misfit, opened, text_of
from dspy_proact.plain_text import encodable, printable

M = TypeVar("M", bound=BaseModel)
MOST_BYTES = 1_000_000
"""Of a file that goes into prompts: a longer one is a mistake that every request would pay for."""
_OWN = "Value error, "


def read_text(path: Path, what: str) -> str:
    """The text of a file; raises a `CorpusError` where it cannot be read, is blank, not UTF-8, or too long."""
    source = str(path)
    with opened(source, what) as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise CorpusError(f"longer than {MOST_BYTES:,} bytes, which no prompt can hold; shorten it", source=source)
    text = text_of(data, source)
    if not text.strip():
        raise CorpusError(f"empty; give {what}", source=source)
    return text


def parse_toml(text: str, form: type[M], source: str) -> M:
    """The value that a TOML text holds; raises a `CorpusError` with line and field of its first fault."""
    try:
        return form.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise CorpusError(f"not TOML: {error}", source=source) from None
    except RecursionError:
        raise CorpusError("not TOML that can be read: nested too deeply", source=source) from None
    except ValidationError as error:
        faults = error.errors(include_url=False)
        fault = next((fault for fault in faults if fault["type"] == "extra_forbidden"), faults[0])  # a slip of the pen
        path = [str(step) for step in fault["loc"]]
        field, problem = misfit(error)
        if fault["type"] in ("extra_forbidden", "missing"):
            field, problem = ".".join(path), _misspelt_or_missing(form, path, missing=fault["type"] == "missing")
        elif fault["msg"].startswith(_OWN):
            problem = fault["msg"].removeprefix(_OWN)
        raise CorpusError(problem, source=source, line=_line_of(text, path), field=field or None) from None


def toml_value(text: str) -> Any:
    """The value of a text that is one value of TOML, such as `9`, `"csi"` or `[1, 2]`; else the text."""
    try:
        read = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return read["value"] if len(read) == 1 else text  # further lines would be further names


def with_fields(value: M, changes: Mapping[str, Any], argument: str) -> M:
    """A copy of a value with other values of fields, by dotted name, which is checked as a file's would be.

    Raises a `UsageError` for a name that is no field, or a value that its field does not take; it names the `argument`.
    """
    form, document = type(value), value.model_dump()
    known = list(_fields(form))
    for name, change in changes.items():
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise UsageError(f"`{argument}` {name}: there is no such field; {hint}There are {', '.join(known)}")
        *tables, last = name.split(".")
        table = document
        for inner in tables:
            table = cast("dict[str, Any]", table[inner])
        table[last] = change
    try:
        return form.model_validate(document)
    except ValidationError as error:
        field, problem = misfit(error)
        message = error.errors(include_url=False)[0]["msg"]
        problem = message.removeprefix(_OWN) if message.startswith(_OWN) else problem
        named = next((name for name in changes if name == field or field.startswith(f"{name}[")), None)
        raise UsageError(f"`{argument}` {named or ', '.join(changes)}: {problem}") from None


def changed_field(value: BaseModel, other: BaseModel, ignored: Sequence[str] = ()) -> str | None:
    """Dotted name of the first field of tables that differs in two values of one form; None where none does."""
    for section in type(value).model_fields:
        own, others = getattr(value, section), getattr(other, section)
        for name in type(own).model_fields:
            if f"{section}.{name}" not in ignored and getattr(own, name) != getattr(others, name):
                return f"{section}.{name}"
    return None


def _fields(form: type[BaseModel]) -> Iterator[str]:
    """Dotted names of the fields that hold values, and not tables of further fields."""
    for name in form.model_fields:
        table = _table(form, name)
        yield from (f"{name}.{inner}" for inner in _fields(table)) if table else (name,)


def document_of(value: BaseModel, heading: str, notes: Mapping[str, Sequence[str]] | None = None) -> str:
    """A value of tables as a file that a person reads and edits: the line under a field is the comment above it.

    `notes` stand after the entries of a list, by its dotted name.
    """
    lines = [f"# {heading}"]
    for section in type(value).model_fields:
        part: BaseModel = getattr(value, section)
        lines += ["", f"# {type(part).__doc__}", f"[{section}]"]
        for name, field in type(part).model_fields.items():
            about = " ".join((field.description or "").split())
            text = toml_of(getattr(part, name), (notes or {}).get(f"{section}.{name}", ()))
            lines += [f"# {about}", f"{name} = {text}"]
    return "\n".join(lines) + "\n"


def toml_of(value: str | int | Sequence[str | int], notes: Sequence[str] = ()) -> str:
    """A value as TOML; a text of several lines stands on lines of its own, and so does a text in a list.

    The notes are comments after the texts of a list, in their order.
    """
    if isinstance(value, int):
        return json.dumps(value)
    if isinstance(value, str):
        if "\n" not in value:
            return _quoted(value)
        return '"""\n' + "\n".join(_quoted(line)[1:-1] for line in value.split("\n")) + '"""'
    if not any(isinstance(entry, str) for entry in value):
        return json.dumps(list(value))
    comments = [*(f"  # {printable(' '.join(note.split()))}" if note else "" for note in notes), *("" for _ in value)]
    lines = (f"    {_quoted(str(entry))},{comment}\n" for entry, comment in zip(value, comments, strict=False))
    return f"[\n{''.join(lines)}]"


def _quoted(text: str) -> str:
    """A basic string: JSON's escapes are TOML's, which forbids one character more."""
    return json.dumps(encodable(text), ensure_ascii=False).replace("\x7f", "\\u007f")


def _misspelt_or_missing(form: type[BaseModel], path: Sequence[str], *, missing: bool) -> str:
    """What is wrong with a name that is no field of its table, or a field that is not there."""
    for name in path[:-1]:
        form = _table(form, name) or form
    if missing:
        about = form.model_fields[path[-1]].description or (table.__doc__ if (table := _table(form, path[-1])) else "")
        return f"is missing: {' '.join((about or '').split())}"
    near = get_close_matches(path[-1], form.model_fields, n=1)
    known = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(form.model_fields)}"
    return f"there is no such field; {known}"


def _table(form: type[BaseModel], name: str) -> type[BaseModel] | None:
    """The model of a field that is a table; None for any other."""
    inner = form.model_fields[name].annotation
    return inner if isinstance(inner, type) and issubclass(inner, BaseModel) else None


def _line_of(text: str, path: Sequence[str]) -> int | None:
    """The line that assigns a field of a table, or else opens its table, counted from 1; None where none does."""
    table, opens = "", None
    for number, line in enumerate(text.split("\n"), start=1):
        if heading := re.match(r"\s*\[\s*([\w.-]+)\s*\]", line):
            table = heading[1]
            opens = number if path and table == path[0] else opens
        elif assigned := re.match(r"\s*([\w.-]+)\s*=", line):
            name = f"{table}.{assigned[1]}" if table else assigned[1]
            if path and name in (path[0], ".".join(path[:2])):
                return number
    return opens
