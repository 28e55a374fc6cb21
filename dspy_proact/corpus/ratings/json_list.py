"""A JSON list of objects, read as strictly as the lines of a JSONL file."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from dspy_proact.corpus.line import Line, shown
from dspy_proact.errors import CorpusError

_WRAP = '{{"list": {}}}'
"""`Line` reads an object, and refuses within it whatever JSON lets through and nobody wants."""


@dataclass(frozen=True)
class Element(Line):
    """An object of the list; `number` counts from 0, as in the paths of fields, and `text` is empty."""

    fields: dict[str, object]

    def error(self, problem: str, field: str | None = None) -> CorpusError:
        """The error to raise for a problem with this element."""
        return CorpusError(problem, source=self.source, field=f"[{self.number}]{f'.{field}' if field else ''}")

    def parse(self) -> dict[str, object]:
        """The object."""
        return self.fields


def elements(text: str, source: str) -> Iterator[Element]:
    """The objects of the list.

    Raises:
        CorpusError: The text is no JSON list of objects, or holds what `Line` refuses.
    """
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        raise CorpusError(f"not JSON: {error.msg}, at column {error.colno}", source=source, line=error.lineno) from None
    except RecursionError:
        pass  # what follows says where
    listed = _Whole(source, 0, _WRAP.format(text)).parse()["list"]
    if not isinstance(listed, list):
        raise CorpusError(f"a list of items is expected, not {shown(listed)}", source=source)
    for index, fields in enumerate(listed):
        if not isinstance(fields, dict):
            raise CorpusError(f"an object is expected, not {shown(fields)}", source=source, field=f"[{index}]")
        yield Element(source, index, "", fields)


class _Whole(Line):
    def error(self, problem: str, field: str | None = None) -> CorpusError:
        return CorpusError(problem, source=self.source, field=(field or "").removeprefix("list") or None)
