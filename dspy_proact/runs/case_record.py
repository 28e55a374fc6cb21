"""The cases of a run on disk, a line each in `cases.jsonl`. What a case shows stays there until it is looked at."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import field_serializer

from dspy_proact.errors import RunError
from dspy_proact.kept import LogLine, as_text, mark_of, marked, read_lines
from dspy_proact.types import Frozen

_VIEW, _META = b',"view":', b',"meta":{'
"""What stands before and after a view in a line: no text within it can hold either, nor the metadata the second."""


class CaseRecord(Frozen):
    """One line of `cases.jsonl`."""

    key: str
    group: str
    stratum: str
    view: Mapping[str, Any]
    meta: dict[str, str | int]
    mark: str | None = None
    """Hash of the rest of the line and of the run's corpus; None in runs that are older than marks."""

    @field_serializer("view")
    def _plain(self, view: Mapping[str, Any]) -> dict[str, Any]:
        """One that stays on disk is read."""
        return dict(view)

    def line(self, corpus: str) -> str:
        """Its line in a run on this corpus, with its mark."""
        return marked(self._unmarked, corpus)

    def is_unchanged(self, corpus: str) -> bool:
        """Whether its mark is that of the rest, however that is formatted, in a run on this corpus."""
        if self.mark == mark_of(self._unmarked, corpus):
            return True
        rest = {"key": self.key, "group": self.group, "stratum": self.stratum, "view": dict(self.view)}
        # As marks were made at first.
        canonical = json.dumps([corpus, rest | {"meta": self.meta}], sort_keys=True, ensure_ascii=False)
        return self.mark == hashlib.sha256(canonical.encode("utf-8", "replace")).hexdigest()[:32]

    @property
    def _unmarked(self) -> str:
        return as_text(self.model_copy(update={"mark": ""}))


class StoredView(Mapping[str, Any]):
    """A view that stays on disk, in a line of `cases.jsonl`; reading it raises a `RunError` if that was changed.

    Attributes:
        digest: Of its text. Views with the same one are equal, and need not be read to be compared.
    """

    __slots__ = ("_where", "digest")

    def __init__(self, line: LogLine, mark: str | None, corpus: str, text: bytes):
        self._where = line.path, line.number, line.start, len(line.data), mark, corpus
        self.digest = hashlib.sha256(text).digest()

    def __getitem__(self, name: str) -> Any:
        return _view_at(self._where)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_view_at(self._where))

    def __len__(self) -> int:
        return len(_view_at(self._where))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, StoredView) and other.digest == self.digest:
            return True
        return super().__eq__(other)

    __hash__ = Mapping.__hash__  # none, as of any mapping


def read_cases(path: Path, corpus: str) -> Iterator[tuple[LogLine, CaseRecord]]:
    """The cases of a run on this corpus, each with its line.

    Raises a `RunError` where a line is damaged, is not what the run wrote, or has no mark and one before it has.
    """
    path, any_marked = path.absolute(), False
    for line in read_lines(path, CaseRecord):
        start, end = line.data.find(_VIEW), line.data.rfind(_META)
        if 0 < start < end and line.is_marked(corpus):  # it is as it was written, so that its view need not be read
            case = line.record(CaseRecord, line.data[:start] + b',"view":{}' + line.data[end:])
            text = line.data[start + len(_VIEW) : end]
        else:
            case = line.record(CaseRecord)
            if (any_marked or case.mark) and not case.is_unchanged(corpus):
                raise RunError(
                    f"{path}, line {line.number}: was changed after the run wrote it; restore the original line"
                )
            text = json.dumps(dict(case.view), sort_keys=True).encode()
        any_marked = any_marked or case.mark is not None
        view: Mapping[str, Any] = {} if text == b"{}" else StoredView(line, case.mark, corpus, text)
        yield line, case.model_copy(update={"view": view})


@lru_cache(maxsize=4)
def _view_at(where: tuple[Path, int, int, int, str | None, str]) -> Mapping[str, Any]:
    path, number, start, size, mark, corpus = where
    try:
        with path.open("rb") as file:
            file.seek(start)
            line = LogLine(path, number, start, file.read(size))
    except OSError as error:
        raise RunError(f"{path}: cannot be read: {error.strerror}") from error
    with suppress(RunError):
        case = line.record(CaseRecord)
        if case.mark == mark and (not mark or line.is_marked(corpus) or case.is_unchanged(corpus)):
            return case.view
    raise RunError(f"{path}, line {number}: was changed while it was read; give the same command again")
