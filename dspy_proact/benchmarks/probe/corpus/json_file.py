"""A file that holds one JSON object, read strictly."""

import json
import re
from typing import Self

from dspy_proact.errors import CorpusError
from dspy_proact.files.line import Line, strict_json
from dspy_proact.plain_text import shown

_KIND_STEP = re.compile(r"(\[\d+\])\.(?:email|event|document)\b")
"""What validation adds to the path of an item's field: its kind, which is no step in the file."""


class JsonFile(Line):
    """The object in a file; `number` is 1, and `text` is empty."""

    @classmethod
    def of(cls, source: str, data: bytes) -> Self:
        """The object that the bytes of a file hold; a byte order mark is skipped.

        Raises:
            CorpusError: They are no UTF-8, no JSON object, or hold what `strict_json` refuses.
        """
        try:
            text = data.decode().removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            problem = f"not UTF-8: {error.reason}, at byte {error.start + 1}; save the file as UTF-8"
            raise CorpusError(problem, source=source) from None
        try:
            value = strict_json(text, lambda problem, field: CorpusError(problem, source=source, field=field))
        except json.JSONDecodeError as error:
            problem = f"not JSON: {error.msg}, at column {error.colno}"
            raise CorpusError(problem, source=source, line=error.lineno) from None
        if not isinstance(value, dict):
            raise CorpusError(f"an object is expected, not {shown(value)}", source=source)
        return cls(source, 1, "", value)

    def error(self, problem: str, field: str | None = None) -> CorpusError:
        """The error to raise for a problem with this file."""
        return CorpusError(problem, source=self.source, field=_KIND_STEP.sub(r"\1", field) if field else None)
