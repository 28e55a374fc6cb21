"""A run in a log of Inspect that we wrote, read as the folder of a run is.

What Inspect shows of a sample is a part of what a run has, so each sample of such a log has beside it the lines of the
run that are about it, in its metadata; the header's metadata has the manifest. They stay there whatever Inspect does
with the log: converts it, edits its tags, sorts its samples.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal, Never, TypeVar

from pydantic import BaseModel, ValidationError

from dspy_proact.calls import CallUsage
from dspy_proact.errors import CorpusError, UsageError
from dspy_proact.files.inspect_log import InspectSample, header_of, sample_at, samples_in
from dspy_proact.kept import Kind, content_of, first_fault
from dspy_proact.runs import CaseRecord, Manifest, RunFolder, StageEvent
from dspy_proact.types import Frozen

_LONG = 256 * 1024
"""Bytes of a sample from which on its view stays in the log: a thousand such views would fill the memory."""
OURS = "dspy_proact"
"""The key of our records in the metadata of a log and of a sample."""
M = TypeVar("M", bound=BaseModel)


class LoggedManifest(Frozen):
    """What the header of a log has of a run."""

    format: Literal[1] = 1
    manifest: Manifest
    pending: tuple[CaseRecord, ...] = ()
    """Cases without a sample, since nothing of them was tried; with a hash in place of the view."""


class LoggedCase(Frozen):
    """What a sample has of a case in an epoch."""

    case: CaseRecord
    events: tuple[StageEvent, ...]
    """In the order of ending."""
    calls: tuple[CallUsage, ...] = ()
    score: float | None = None
    """As Inspect shows it; None where it has none."""


class LoggedView(Mapping[str, Any]):
    """A view that stays in a log, in the file of a sample; reading it raises a `CorpusError` if that was changed."""

    def __init__(self, path: Path, member: str):
        self._where = path, member

    def __getitem__(self, name: str) -> Any:
        return _view_at(*self._where)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_view_at(*self._where))

    def __len__(self) -> int:
        return len(_view_at(*self._where))


@lru_cache(maxsize=4)
def _view_at(path: Path, member: str) -> Mapping[str, Any]:
    return _logged(sample_at(path, member)).case.view


class LoggedRun(RunFolder):
    """Reads a run from a log; raises a `CorpusError` where that was changed so that it contradicts the run."""

    def __init__(self, path: str | Path):
        super().__init__(path)
        header = header_of(self.path)
        if OURS not in header.metadata:
            raise CorpusError(
                "no run of ours is in this log of Inspect; its answers can be scored, with `answers`", source=str(path)
            )
        self._header = _record(LoggedManifest, header.metadata[OURS], str(path))

    @property
    def exists(self) -> bool:
        """A log that was read is there."""
        return True

    def manifest(self) -> Manifest:
        """That of the run."""
        return self._header.manifest

    def cases(self) -> Iterator[CaseRecord]:
        """Every case, those with a sample first; raises a `CorpusError` where one was changed."""
        cases = dict[str, tuple[str, CaseRecord]]()
        for source, record in self._records:
            cases.setdefault(record.case.key, (source, record.case))
        for source, case in cases.values():
            # One without a mark had characters replaced.
            if case.mark and not case.is_unchanged(self._header.manifest.identity.corpus):
                raise CorpusError(f"the case {case.key!r} was changed after the export", source=source)
            yield case
        yield from (case for case in self._header.pending if case.key not in cases)

    def events(self) -> Iterator[StageEvent]:
        """Every stage that ended, sample by sample."""
        return (event for _, record in self._records for event in record.events)

    def call_usage(self) -> Iterator[CallUsage]:
        """What every call used, likewise."""
        return (call for _, record in self._records for call in record.calls)

    def calls(self) -> Never:
        """Raise a `UsageError`: replies as they came are in the folder of the run alone."""
        raise UsageError(f"{self.path}: a log of Inspect has no replies as they came; name the folder of the run")

    @cached_property
    def _records(self) -> list[tuple[str, LoggedCase]]:
        """By sample, in the order of the log."""
        records = list[tuple[str, LoggedCase]]()
        for sample in samples_in(self.path):
            record = _logged(sample)
            if sample.size > _LONG:
                view = LoggedView(self.path.absolute(), sample.member)
                record = record.model_copy(update={"case": record.case.model_copy(update={"view": view})})
            records.append((sample.source, record))
        return records


def run_at(path: str | Path) -> RunFolder:
    """The run in a folder, or in a log of Inspect; raises a `CorpusError` where a log has none of ours."""
    return LoggedRun(path) if content_of(Path(path)).kind is Kind.LOG else RunFolder(path)


def _logged(sample: InspectSample) -> LoggedCase:
    if OURS not in sample.metadata:
        raise sample.fault(f"the sample has no {OURS!r}; export the run again", "metadata")
    record = _record(LoggedCase, sample.metadata[OURS], sample.source)
    here = next((score.value for name, score in sample.scores.items() if name != GRADE), None)
    if here != record.score:
        changed = f"the score is {here!r} in the log and {record.score!r} in the run: it was changed after the export"
        raise sample.fault(f"{changed}; export the run again", "scores")
    return record


GRADE = "grade"
"""The name of the score that has the label; that of the number is named by who grades."""


def _record(form: type[M], fields: Any, source: str) -> M:
    try:
        return form.model_validate(fields)
    except ValidationError as error:
        problem = f"{first_fault(error)}; export the run again, with this version"
        raise CorpusError(problem, source=source, field=f"metadata.{OURS}") from None
