"""Rows of files that others wrote, read strictly: bytes, lines, JSON, and typed values.

JSON lets through what later breaks in a request, a hash or a report, so a line that holds any of it is
refused, wherever in the row it stands: a key that is given twice, NaN and the infinities, integers that
do not fit 64 bits, lone surrogates, NUL characters, and depth without end.
"""

import csv
import json
import math
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, reduce
from importlib.resources.abc import Traversable
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticCustomError

from dspy_proact.errors import CorpusError
from dspy_proact.kept import Kind, content_of, open_to_read, read_contents
from dspy_proact.plain_text import shortened, shown

_MAX_DEPTH = 64
"""Levels of nesting; the official rows of one benchmark have six."""
_MAX_DIGITS = 19
"""Digits of the largest signed integer of 64 bits; nanoseconds since 1970, as traces have them, are as long."""
_MIB = 2**20
_LONGEST_LINE = 64 * _MIB
"""Bytes, more than any line of a corpus has; a device or a pipe may have no end."""
_UTF16 = (BOM_UTF16_LE, BOM_UTF16_BE)
_NO_TEXT = {
    b"\x1f\x8b": "packed by gzip; unpack it first",
    b"BZh": "packed by bzip2; unpack it first",
    b"\xfd7zXZ": "packed by xz; unpack it first",
    b"\x28\xb5\x2f\xfd": "packed by zstd; unpack it first",
    b"PK\x03\x04": "a zip, as spreadsheets are too; unpack it, or save the sheet as CSV",
    b"PAR1": "Parquet; save its rows as text, such as a JSON object a line",
}
"""What a file is that begins so, and how to make text of it."""
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@contextmanager
def opened(source: str, wanted: str) -> Generator[BinaryIO]:
    """A file to be read; raises `CorpusError` where it is missing, a folder or unreadable, or its name is no UTF-8."""
    try:
        source.encode()  # runs keep the name
        with open_to_read(source) as file:
            yield file
        return
    except UnicodeEncodeError:
        problem = "its name is not UTF-8; rename it"
    except ValueError as error:
        problem = f"not a path: {error}"
    except FileNotFoundError:
        problem = f"there is no such file; give {wanted}"
    except IsADirectoryError:
        content = content_of(Path(source))
        plain = "a folder, not a file; give the path of the file in it"
        problem = plain if content.kind is Kind.FOLDER else content.problem(wanted)
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
    raise CorpusError(problem, source=source)


def read_bytes(source: str, wanted: str) -> bytes:
    """The contents of a file; raises `CorpusError` as `opened` does, and where it is larger than 256 MiB."""
    return FileReader().read(source, wanted)


class FileReader:
    """Reads files that may hold 256 MiB together."""

    def __init__(self):
        self._size = 0

    def read(self, path: str | Path, wanted: str) -> bytes:
        """The contents of a file; raises as `read_bytes` does, also where it is larger with those read before it."""
        with opened(str(path), wanted) as file:
            data = read_contents(file, beside=self._size)
        self._size += len(data)
        return data


def csv_rows(file: Traversable) -> Iterator[dict[str, str]]:
    """The rows by column of a CSV file that comes with the package."""
    return csv.DictReader(StringIO(file.read_text(encoding="utf-8")), strict=True)


def lines_of(data: bytes | BinaryIO, source: str, ends: str | None = None) -> Iterator[str]:
    """The lines of a file or of its contents, one by one; a `CorpusError` at one not UTF-8 or of more than 64 MiB.

    It says so where the file is packed. Ends of lines are universal, as `datasets` reads, and become line feeds unless
    `ends` is empty; str.splitlines would also split at U+2028 within a string.
    """
    file = BytesIO(data) if isinstance(data, bytes) else data
    for number, raw in enumerate(iter(partial(file.readline, _LONGEST_LINE + 1), b""), start=1):
        if len(raw) > _LONGEST_LINE:
            problem = f"the line has more than {_LONGEST_LINE // _MIB} MiB, or no end"
            raise CorpusError(problem, source=source, line=number)
        if number == 1 and (form := next((form for start, form in _NO_TEXT.items() if raw.startswith(start)), None)):
            raise CorpusError(f"not text: it is {form}", source=source)
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            raise CorpusError(_not_utf8(error, raw), source=source, line=number) from None
        yield from StringIO(text, newline=ends) if "\r" in text else (text,)


def _not_utf8(error: UnicodeDecodeError, raw: bytes) -> str:
    """Why a line is not UTF-8, with the letter that its first such byte is where a spreadsheet saved plain CSV."""
    letter = raw[error.start : error.start + 1].decode("cp1252", "ignore")
    why = f"{error.reason}, which in Windows-1252 is {letter!r}" if letter.isalpha() else error.reason
    why = "UTF-16" if raw.startswith(_UTF16) else why
    return f"not UTF-8: {why}; save the file as UTF-8, which spreadsheets call CSV UTF-8"


def text_of(data: bytes, source: str) -> str:
    """The contents of a text file, without byte order marks; raises `CorpusError` where they are not UTF-8.

    With a byte order mark UTF-16 is read too: spreadsheets save it as Unicode text.
    """
    return "".join(decoded_lines(BytesIO(data), data[:2], source)).lstrip("\ufeff")


def decoded_lines(file: BinaryIO, start: bytes, source: str, ends: str | None = None) -> Iterator[str]:
    """The lines of a text file as `lines_of` reads them, and of UTF-16 where that is what its `start` says."""
    if start[:2] not in _UTF16:
        yield from lines_of(file, source, ends)
        return
    texts = TextIOWrapper(file, "utf-16", newline=ends)
    try:
        for number, text in enumerate(iter(partial(texts.readline, _LONGEST_LINE + 1), ""), start=1):
            if len(text) > _LONGEST_LINE:
                problem = f"the line has more than {_LONGEST_LINE // _MIB} Mi characters, or no end"
                raise CorpusError(problem, source=source, line=number)
            yield text
    except UnicodeDecodeError as error:
        raise CorpusError(f"not UTF-16: {error.reason}; save the file as UTF-8", source=source) from None
    finally:
        if not texts.closed:  # its owner closes the file, or has where not all of it was read
            texts.detach()


@dataclass(frozen=True)
class Line:
    """A line and where it stands."""

    source: str
    number: int
    """Counted from 1; blank lines count."""
    text: str
    fields: dict[str, object] | None = None

    def error(self, problem: str, field: str | None = None) -> CorpusError:
        """The error to raise for a problem with this line."""
        return CorpusError(problem, source=self.source, line=self.number, field=field)

    @property
    def position(self) -> str:
        """Where it stands, for a message about another line of its file."""
        return f"on line {self.number}"

    def parse(self) -> dict[str, object]:
        """The fields, or the line's JSON object; a `CorpusError` if it is none, or holds what `strict_json` refuses."""
        if self.fields is not None:
            return self.fields
        try:
            value = strict_json(self.text, self.error)
        except json.JSONDecodeError as error:
            raise self.error(f"not JSON: {error.msg}, at column {error.colno}") from None
        if not isinstance(value, dict):
            raise self.error(f"a line must hold one JSON object, not {shown(value)}")
        return value


class Element(Line):
    """An object in a JSON list; `number` counts from 0, as in the paths of fields, and `text` is empty."""

    def error(self, problem: str, field: str | None = None) -> CorpusError:
        """The error to raise for a problem with this element."""
        return CorpusError(problem, source=self.source, field=f"[{self.number}]{f'.{field}' if field else ''}")

    @property
    def position(self) -> str:
        """Where it stands, by its index."""
        return f"in [{self.number}]"


class JsonFile(Line):
    """A file that holds one JSON object."""

    @classmethod
    def of(cls, source: str, text: str) -> Self:
        """That of a text; raises a `CorpusError` where it is no JSON object, or holds what `strict_json` refuses."""
        value = json_of(text, source)
        if not isinstance(value, dict):
            raise CorpusError(f"an object is expected, not {shown(value)}", source=source)
        return cls(source, 1, "", value)

    def error(self, problem: str, field: str | None = None) -> CorpusError:
        """The error to raise for a problem with this file."""
        return CorpusError(problem, source=self.source, field=field)


def lines_in(texts: Iterable[str], source: str, holding: str | None = None) -> Iterator[Line]:
    """The lines of a file that are not blank, without a byte order mark.

    Where it is said what each line is `holding`, one that does not begin as a JSON object raises a `CorpusError`.
    """
    for number, text in enumerate(texts, start=1):
        line = Line(source, number, text.removeprefix("\ufeff") if number == 1 else text)
        if not line.text.strip():
            continue
        if holding and line.text.lstrip()[0] != "{":
            raise line.error(f"a line must hold one {holding} as a JSON object")
        yield line


def elements(text: str, source: str) -> Iterator[Element]:
    """The objects of a JSON list; raises a `CorpusError` where it is none, or holds what `strict_json` refuses."""
    listed = json_of(text, source)
    if not isinstance(listed, list):
        raise CorpusError(f"a list of items is expected, not {shown(listed)}", source=source)
    for index, fields in enumerate(listed):
        if not isinstance(fields, dict):
            raise CorpusError(f"an object is expected, not {shown(fields)}", source=source, field=f"[{index}]")
        yield Element(source, index, "", fields)


def json_of(text: str, source: str) -> object:
    """What a whole file holds; raises a `CorpusError` where it is not JSON, or holds what `strict_json` refuses."""
    try:
        return strict_json(text, lambda problem, field: CorpusError(problem, source=source, field=field))
    except json.JSONDecodeError as error:
        raise CorpusError(f"not JSON: {error.msg}, at column {error.colno}", source=source, line=error.lineno) from None


_Path = tuple[str | int, "_Path"] | None


@dataclass(frozen=True)
class _Flaw:
    """Stands in the parsed row where a value could not be taken, until the walk names its path."""

    problem: str


def strict_json(
    text: str,
    fault: Callable[[str, str | None], CorpusError],
    *,
    nan: bool = False,
    only: Callable[[str], bool] = lambda _: True,
) -> object:
    """What a text holds as JSON; raises `JSONDecodeError`, or the `fault` of what the module's docstring refuses.

    With `nan`, NaN and the infinities are null, for files of programs that write them; of an object only the fields by
    these names are kept and looked at.
    """
    constant = (lambda _: None) if nan else (lambda name: _Flaw(f"{name} is not JSON"))
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=constant, parse_int=_bounded_integer)
    except RecursionError:
        raise fault(f"nested more than {_MAX_DEPTH} levels deep", None) from None
    if isinstance(value, dict):
        value = {name: item for name, item in value.items() if only(name)}
    if flaw := first_flaw(value):
        raise fault(*flaw)
    return value


def first_flaw(value: object) -> tuple[str, str | None] | None:
    """What no JSON of ours may hold, and the path of the field, None for all of it; None where there is nothing."""
    # In document order; a stack and no recursion, so that depth is harmless. A path is a step and the path before it.
    pending: list[tuple[_Path, object, int]] = [(None, value, 0)]
    while pending:
        path, item, depth = pending.pop()
        if problem := _problem(item, depth):
            steps = list[str | int]()
            while path is not None:
                step, path = path
                steps.append(step)
            return problem, _dotted(reversed(steps)) or None
        if isinstance(item, dict | list):
            inner = item.items() if isinstance(item, dict) else enumerate(item)
            pending.extend([((step, path), child, depth + 1) for step, child in inner][::-1])
    return None


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields: dict[str, object] = {}
    for key, value in pairs:
        fields[key] = _Flaw("the key is given twice in one object") if key in fields else value
    return fields


def _bounded_integer(text: str) -> int | _Flaw:
    count = len(text.removeprefix("-"))
    if count > _MAX_DIGITS:
        return _Flaw(f"an integer may have at most {_MAX_DIGITS} digits, not {count}")
    return number if -(2**63) <= (number := int(text)) < 2**63 else _Flaw("an integer must fit 64 bits")


def _problem(item: object, depth: int) -> str | None:
    if depth > _MAX_DEPTH:
        return f"nested more than {_MAX_DEPTH} levels deep"
    if isinstance(item, _Flaw):
        return item.problem
    if isinstance(item, str):
        return _text_problem(item)
    if isinstance(item, float) and not math.isfinite(item):
        return f"{item} is no finite number"
    if isinstance(item, dict):
        return next((f"a key in it {problem}" for key in item if (problem := _text_problem(key))), None)
    return None


def _text_problem(text: str) -> str | None:
    if surrogate := _LONE_SURROGATE.search(text):
        return f"holds the lone surrogate {surrogate.group()!r}, at character {surrogate.start() + 1}"
    if "\0" in text:
        return f"holds a NUL character, at character {text.index(chr(0)) + 1}"
    return None


def _joined(path: str, step: str | int) -> str:
    if isinstance(step, int):
        return f"{path}[{step}]"
    return f"{path}.{shortened(step)}" if path else shortened(step)


def _dotted(steps: Iterable[str | int]) -> str:
    """The path of a field, such as `turn_records[0].user_message`; list positions count from 0."""
    return reduce(_joined, steps, "")


def _not_blank(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("blank", "Input should not be blank")
    return text


def _printable(text: str) -> str:
    if not text.isprintable():
        raise PydanticCustomError("unprintable", "Input should have no control characters")
    return text


Text = Annotated[str, AfterValidator(_not_blank)]
"""Text with more than white space in it."""
Name = Annotated[str, AfterValidator(_printable)]
"""Text that reports may print: no control characters."""
Id = Annotated[str, AfterValidator(_not_blank), AfterValidator(_printable)]
"""A name that is not blank."""


class OwnPart(BaseModel):
    """A line of a file of ours, or a part of it, without coercion; a field that we do not know is a fault."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    @classmethod
    def of(cls, line: Line) -> Self:
        """What is on a line; raises `CorpusError` where it is not JSON or its fields do not fit."""
        try:
            part = cls.model_validate(line.parse())
        except ValidationError as error:
            field, problem = misfit(error)
            raise line.error(problem, field) from None
        for field, problem in part.misfits():
            raise line.error(problem, field)
        return part

    def misfits(self) -> Iterator[tuple[str, str]]:
        """Field and problem wherever parts do not fit together."""
        return iter(())


class RawPart(OwnPart):
    """A part of a line of a public corpus: unknown fields are ignored and counted."""

    model_config = ConfigDict(extra="allow")

    def known(self) -> dict[str, Any]:
        """The fields that the format knows, as plain values."""
        return self.model_dump(include=set(type(self).model_fields))

    def unknown_fields(self) -> Counter[str]:
        """How often each field that the format does not know is given, by dotted name; nulls do not count."""
        return Counter(map(_dotted, _unknown(self)))


def _unknown(part: RawPart, *path: str) -> Iterator[tuple[str, ...]]:
    """The paths of the unknown fields of a part and of the parts in it; those of a list all have its path."""
    yield from ((*path, name) for name, value in (part.model_extra or {}).items() if value is not None)
    for name in type(part).model_fields:
        value = getattr(part, name)
        for inner in value if isinstance(value, list) else (value,):
            if isinstance(inner, RawPart):
                yield from _unknown(inner, *path, name)
        for key, inner in value.items() if isinstance(value, dict) else ():
            if isinstance(inner, RawPart):
                yield from _unknown(inner, *path, name, key)


def misfit(error: ValidationError) -> tuple[str, str]:
    """Dotted path of the first field that does not fit, and what is wrong with it in a sentence of ours."""
    first = error.errors(include_url=False)[0]
    kind, context = first["type"], first.get("ctx", {})
    problem = _SENTENCES.get(kind)
    if kind == "union_tag_not_found":
        problem = f"the field {context['discriminator']} is missing"
    elif kind == "union_tag_invalid":
        problem = f"its {context['discriminator']} is {shown(context['tag'])}, none of {context['expected_tags']}"
    elif problem is None:
        expected = _EXPECTED.get(kind, first["msg"])
        problem = f"{expected[0].lower()}{expected[1:]}, not {shown(first['input'])}"
    return _dotted(first["loc"]), problem


_SENTENCES = {
    "missing": "the field is missing",
    "too_short": "the list should not be empty",
    "extra_forbidden": "no field of ours",
}
_EXPECTED = {"model_type": "Input should be an object", "tuple_type": "Input should be a valid list"}
