"""Files of a person's own that say what a corpus is made from: TOML, read strictly, with faults that say where."""

import json
import re
import tomllib
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from dspy_proact.errors import CorpusError
from dspy_proact.kept import open_to_read
from dspy_proact.plain_text import encodable

M = TypeVar("M", bound=BaseModel)
MOST_BYTES = 1_000_000
"""Of a file that goes into prompts; a longer one is a mistake that would be paid for in every request."""


def read_text(path: Path, what: str) -> str:
    """The text of a file; raises a `CorpusError` where it cannot be read, is blank, not UTF-8, or too long."""
    try:
        with open_to_read(path) as file:
            data = file.read(MOST_BYTES + 1)
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise CorpusError(f"cannot be read: {error.strerror}", source=str(path)) from error
    except UnicodeDecodeError as error:
        if len(data) <= MOST_BYTES:
            raise CorpusError("not UTF-8 text; save it as UTF-8", source=str(path)) from error
        text = ""
    if len(data) > MOST_BYTES:
        problem = f"longer than {MOST_BYTES:,} bytes; {what} goes into prompts: keep what the corpus is about"
        raise CorpusError(problem, source=str(path))
    if not text.strip():
        raise CorpusError(f"empty; write {what} into it", source=str(path))
    return text.replace("\r\n", "\n")


def read_brief(path: Path, form: type[M]) -> M:
    """The value that a TOML file holds; raises a `CorpusError` that names line and field of its first fault."""
    return parse_brief(read_text(path, "the brief"), form, str(path))


def parse_brief(text: str, form: type[M], source: str) -> M:
    """The value that a TOML text holds; raises as `read_brief` does."""
    try:
        return form.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise CorpusError(f"not TOML: {error}", source=source) from error
    except RecursionError as error:
        raise CorpusError("not TOML that can be read: nested too deeply", source=source) from error
    except ValidationError as error:
        fault = error.errors()[0]
        name = ".".join(map(str, fault["loc"]))
        line = _line_of(text, fault["loc"])
        raise CorpusError(_problem(fault, form), source=source, line=line, field=name or None) from error


def toml_of(value: str | bool | int | Sequence[str | int]) -> str:
    """A value as TOML: texts of several lines as such, lists with a line for an entry."""
    if isinstance(value, bool | int):
        return json.dumps(value)
    if isinstance(value, str):
        if "\n" not in value:
            return _quoted(value)
        lines = (_quoted(line)[1:-1] for line in value.split("\n"))
        return '"""\n' + "\n".join(lines) + '"""'
    if all(isinstance(entry, int) for entry in value):
        return json.dumps(list(value))
    entries = (toml_of(entry) if isinstance(entry, int) else _quoted(entry) for entry in value)
    return "[\n" + "".join(f"    {entry},\n" for entry in entries) + "]"


def _quoted(text: str) -> str:
    """A basic string; JSON's escapes are TOML's, which forbids one character more."""
    return json.dumps(encodable(text), ensure_ascii=False).replace("\x7f", "\\u007f")


def _problem(fault: Any, form: type[BaseModel]) -> str:
    *outer, last = fault["loc"] or [""]
    fields = _form_at(form, outer).model_fields
    match fault["type"]:
        case "extra_forbidden":
            near = get_close_matches(str(last), fields, n=1)
            return (
                f"there is no such field; {f'did you mean {near[0]!r}?' if near else f'there are {', '.join(fields)}'}"
            )
        case "missing":
            return "is missing; write it"
        case _:
            return fault["msg"].removeprefix("Value error, ").replace("Input should", "should")


def _form_at(form: type[BaseModel], loc: Sequence[int | str]) -> type[BaseModel]:
    """The model of a table, by its names."""
    for name in loc:
        inner = form.model_fields[str(name)].annotation if str(name) in form.model_fields else None
        form = inner if isinstance(inner, type) and issubclass(inner, BaseModel) else form
    return form


def _line_of(text: str, loc: Sequence[int | str]) -> int | None:
    """The line that assigns the field, or opens its table, counted from 1; None where none does."""
    table, known = "", None
    for number, line in enumerate(text.split("\n"), 1):
        if opened := re.match(r"\s*\[+\s*([\w.-]+)\s*\]+\s*(#.*)?$", line):
            table = opened[1]
            known = number if loc and table == loc[0] and known is None else known
        assigned = re.match(r"""\s*["']?([\w.-]+)["']?\s*=""", line)
        path = ".".join(filter(None, [table, assigned[1] if assigned else ""]))
        if assigned and loc and path in (str(loc[0]), ".".join(map(str, loc[:2]))):
            return number
    return known
