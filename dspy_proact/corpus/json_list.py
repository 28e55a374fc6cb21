"""A JSON list of objects, read as strictly as the lines of a JSONL file."""

import json
from collections.abc import Iterator

from dspy_proact.corpus.line import Line, shown, strict_json
from dspy_proact.errors import CorpusError


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
