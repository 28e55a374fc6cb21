"""One line of a file, or one element of a JSON list, read strictly.

JSON lets through what later breaks in a request, a hash or a report, so a line that holds any of it is
refused, wherever in the row it stands: a key that is given twice, NaN and the infinities, integers that
do not fit 64 bits, lone surrogates, NUL characters, and depth without end.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce

from dspy_proact.errors import CorpusError
from dspy_proact.plain_text import shortened, shown

_DEEPEST = 64
"""Levels of nesting; the official rows have six."""
_MOST_DIGITS = 18
"""Digits that always fit a signed integer of 64 bits."""
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Line:
    """A line and where it stands."""

    source: str
    """File or dataset."""
    number: int
    """Counted from 1; blank lines count."""
    text: str
    fields: dict[str, object] | None = None
    """What it holds, where that was read before."""

    def error(self, problem: str, field: str | None = None) -> CorpusError:
        """The error to raise for a problem with this line."""
        return CorpusError(problem, source=self.source, line=self.number, field=field)

    def parse(self) -> dict[str, object]:
        """The fields, or the JSON object on the line.

        Raises:
            CorpusError: The line is no JSON object, or holds what the module's docstring refuses.
        """
        if self.fields is not None:
            return self.fields
        try:
            value = strict_json(self.text, self.error)
        except json.JSONDecodeError as error:
            raise self.error(f"not JSON: {error.msg}, at column {error.colno}") from None
        if not isinstance(value, dict):
            raise self.error(f"a line must hold one dialogue as a JSON object, not {shown(value)}")
        return value


def lines_in(texts: Iterable[str], source: str, holding: str | None = None) -> Iterator[Line]:
    """The lines of a file that are not blank, without a byte order mark.

    Raises:
        CorpusError: It is said what each is `holding`, and one does not begin as a JSON object.
    """
    for number, text in enumerate(texts, start=1):
        line = Line(source, number, text.removeprefix("\ufeff") if number == 1 else text)
        if not line.text.strip():
            continue
        if holding and line.text.lstrip()[0] != "{":
            raise line.error(f"a line must hold one {holding} as a JSON object")
        yield line


def strict_json(text: str, fault: Callable[[str, str | None], CorpusError]) -> object:
    """What a text holds as JSON.

    Args:
        text: To be read.
        fault: Makes the error to raise out of a problem and the path of its field.

    Raises:
        CorpusError: It holds what the module's docstring refuses.
        JSONDecodeError: It is no JSON.
    """
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_constant, parse_int=_bounded_integer)
    except RecursionError:
        raise fault(f"nested more than {_DEEPEST} levels deep", None) from None
    for path, problem in _flaws(value):
        raise fault(problem, path or None)
    return value


class Element(Line):
    """An object of the list; `number` counts from 0, as in the paths of fields, and `text` is empty."""

    def error(self, problem: str, field: str | None = None) -> CorpusError:
        """The error to raise for a problem with this element."""
        return CorpusError(problem, source=self.source, field=f"[{self.number}]{f'.{field}' if field else ''}")


def elements(text: str, source: str) -> Iterator[Element]:
    """The objects of the list.

    Raises:
        CorpusError: The text is no JSON list of objects, or holds what `strict_json` refuses.
    """
    try:
        listed = strict_json(text, lambda problem, field: CorpusError(problem, source=source, field=field))
    except json.JSONDecodeError as error:
        raise CorpusError(f"not JSON: {error.msg}, at column {error.colno}", source=source, line=error.lineno) from None
    if not isinstance(listed, list):
        raise CorpusError(f"a list of items is expected, not {shown(listed)}", source=source)
    for index, fields in enumerate(listed):
        if not isinstance(fields, dict):
            raise CorpusError(f"an object is expected, not {shown(fields)}", source=source, field=f"[{index}]")
        yield Element(source, index, "", fields)


def dotted(steps: Iterable[str | int]) -> str:
    """The path of a field, such as `turn_records[0].user_message`; list positions count from 0."""
    return reduce(_joined, steps, "")


@dataclass(frozen=True)
class _Flaw:
    """Stands in the parsed row where a value could not be taken, until the walk names its place."""

    problem: str


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields: dict[str, object] = {}
    for key, value in pairs:
        fields[key] = _Flaw("the key is given twice in one object") if key in fields else value
    return fields


def _constant(name: str) -> _Flaw:
    return _Flaw(f"{name} is not JSON")


def _bounded_integer(digits: str) -> int | _Flaw:
    if len(digits.removeprefix("-")) > _MOST_DIGITS:
        return _Flaw(f"an integer may have at most {_MOST_DIGITS} digits, not {len(digits.removeprefix('-'))}")
    return int(digits)


def _flaws(value: object) -> Iterator[tuple[str, str]]:
    """Path and problem of each flaw in document order; a stack and no recursion, so that depth is harmless."""
    pending = [("", value, 0)]
    while pending:
        path, item, depth = pending.pop()
        if problem := _problem(item, depth):
            yield path, problem
        elif isinstance(item, dict | list):
            steps = item.items() if isinstance(item, dict) else enumerate(item)
            pending.extend([(_joined(path, step), child, depth + 1) for step, child in steps][::-1])


def _problem(item: object, depth: int) -> str | None:
    if depth > _DEEPEST:
        return f"nested more than {_DEEPEST} levels deep"
    if isinstance(item, _Flaw):
        return item.problem
    if isinstance(item, str):
        return _text_problem(item)
    if isinstance(item, dict):
        return next((f"a key in it {problem}" for key in item if (problem := _text_problem(key))), None)
    return None


def _text_problem(text: str) -> str | None:
    if found := _LONE_SURROGATE.search(text):
        return f"holds the lone surrogate {found.group()!r}, at character {found.start() + 1}"
    if "\0" in text:
        return f"holds a NUL character, at character {text.index(chr(0)) + 1}"
    return None


def _joined(path: str, step: str | int) -> str:
    if isinstance(step, int):
        return f"{path}[{step}]"
    return f"{path}.{shortened(step)}" if path else shortened(step)
