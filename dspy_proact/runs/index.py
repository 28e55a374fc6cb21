"""What a list of a run's cases needs of its files, read in one pass without their texts.

A large run has several hundred megabytes. Of each line only the fields that decide a grade are decoded, and its place
is kept, so that the few cases that a person looks at are then read and checked in full.
"""

import gc
import json
from collections import defaultdict
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec

from dspy_proact.kept import read_lines
from dspy_proact.runs.consensus import consensus
from dspy_proact.runs.event import Event, Stage
from dspy_proact.runs.folder import CaseRecord, RunFolder, controls_of
from dspy_proact.runs.glance import Glance
from dspy_proact.runs.ledger import Grading

_BLOCK = 1 << 20
_NOTHING = msgspec.Raw(b"null")
_VIEW = b',"view":'
"""Where the texts of a case begin; no text has these bytes in it, for a quote inside of one is escaped."""
_ESCAPED = rb"\u", rb"\/"
"""In a line of which the texts are not what they look like."""
Place = tuple[int, int]
"""Number of a line, counted from 1, and the place of its first byte."""
_Kind = tuple[str, int, str | None, int]
"""What of a stage's key is not its case."""
S = TypeVar("S", bound=msgspec.Struct)


class _Case(msgspec.Struct, gc=False):
    key: str
    stratum: str


class _Key(msgspec.Struct, gc=False):
    case: str
    epoch: int
    stage: Stage
    judge: str | None = None
    judge_epoch: int = 1

    @property
    def kind(self) -> _Kind:
        return self.stage, self.epoch, self.judge, self.judge_epoch


class _Grade(msgspec.Struct, gc=False):
    label: str
    verified: bool | None


class _Failure(msgspec.Struct, gc=False):
    reason: str


class _Event(msgspec.Struct, gc=False):
    key: _Key
    answer: msgspec.Raw = _NOTHING
    grade: _Grade | None = None
    failure: _Failure | None = None


class _IrregularError(Exception):
    """A line is not as a run writes it."""


class RunIndex:
    """Where the lines of a run stand, and what decides its grades.

    Args:
        folder: Of the run.
        text: What is looked for in the texts, in any case of letters.

    Attributes:
        manifest: Of the run.
        glances: What is to be said of every case in every epoch: case by case, in the order of asking.
        holding: Keys of the cases with a line that may hold the text; all of them where none is looked for.
    """

    def __init__(self, folder: RunFolder, text: str | None = None):
        self.manifest = folder.manifest()
        self._path, self._wanted = folder.path, text and _folded(text)
        self._strata: dict[str, str] = {}
        self._case_starts, self._events, self._event_starts = list[int](), list[str](), list[int]()
        """Of each line where it begins, and the case that an event is of."""
        self._ended = defaultdict[_Kind, dict[str, Any]](dict)
        self.holding = set[str]()
        with _uncollected():
            self._read()
            self.glances = list(self._glances())
        if text is None:
            self.holding = set(self._strata)

    @classmethod
    def of(cls, folder: RunFolder, text: str | None = None) -> Self | None:
        """That of a run; None for one that has to be read in full.

        That is one of compiled judges, whose grades rest on more than a label, and one with a line that is not as a run
        writes it.
        """
        if any(judge.cuts for judge in folder.manifest().identity.judges):
            return None
        try:
            return cls(folder, text)
        except (_IrregularError, msgspec.MsgspecError, UnicodeDecodeError, OSError):
            return None

    def part(self, keys: Collection[str]) -> RunFolder:
        """The run with some of its cases alone."""
        cases = [place for place, key in zip(_places(self._case_starts), self._strata, strict=True) if key in keys]
        events = [place for place, key in zip(_places(self._event_starts), self._events, strict=True) if key in keys]
        return _Part(self._path, cases, events)

    def _read(self) -> None:
        # Events first: a case is kept before its events, and a run may be growing.
        cases, ended = self._events, self._ended
        for start, line, event in _decoded(self._path / "events.jsonl", _Event):
            case, grade = event.key.case, event.grade
            cases.append(case)
            self._event_starts.append(start)
            # As the full reading has it: a verdict with a grade is none that failed, a response with a failure is.
            done = grade if event.key.stage == "verdict" else None
            if done is None:
                done = event.failure.reason if event.failure else event.answer != _NOTHING or None
            ended[event.key.kind][case] = done
            if self._wanted:
                self._search(case, line)
        for start, line, case in _decoded(self._path / "cases.jsonl", _Case, _VIEW):
            self._strata[case.key] = case.stratum
            self._case_starts.append(start)
            if self._wanted:
                self._search(case.key, line)
        if len(self._strata) < len(self._case_starts) or not self._strata.keys() >= set(cases):
            raise _IrregularError

    def _search(self, key: str, line: bytes) -> None:
        assert self._wanted, "asked where a text is looked for"
        if any(map(line.__contains__, _ESCAPED)) or self._wanted in line.decode().casefold():
            self.holding.add(key)

    def _glances(self) -> Iterator[Glance]:
        manifest = self.manifest
        judges = Grading([judge.model for judge in manifest.identity.judges], manifest.judge_epochs)
        asked = [(key.judge, key.judge_epoch) for key in judges.keys("", 1)]
        labels = dict.fromkeys(manifest.strata, manifest.labels)
        labels |= dict.fromkeys(controls_of(manifest), manifest.control_labels)
        epochs = [
            (
                epoch,
                self._ended["response", epoch, None, 1],
                [(again == 1, self._ended["verdict", epoch, judge, again]) for judge, again in asked],
            )
            for epoch in range(1, manifest.epochs + 1)
        ]
        for key, stratum in self._strata.items():
            if stratum not in labels:
                raise _IrregularError
            for epoch, responses, verdicts in epochs:
                response = responses.get(key)
                if isinstance(response, str):
                    yield Glance(key, epoch, stratum, "unscored", None, f"response: {response}")
                elif response is None:
                    yield Glance(key, epoch, stratum, "pending")
                else:
                    found = [(first, ended.get(key)) for first, ended in verdicts]
                    yield _graded(key, epoch, stratum, found, labels[stratum])


def _graded(
    key: str, epoch: int, stratum: str, found: Sequence[tuple[bool, _Grade | str | None]], labels: Sequence[str]
) -> Glance:
    """A case with its response.

    Args:
        key: Of the case.
        epoch: Of the response.
        stratum: Of the case.
        found: Of each verdict that was asked for, whether it is its judge's first, and what became of it.
        labels: All there are, from best to worst.
    """
    if len(found) == 1 and isinstance(only := found[0][1], _Grade) and only.label in labels:
        return Glance(key, epoch, stratum, "scored", only.label, None, only.verified is False)
    if any(first and ended is None for first, ended in found):
        return Glance(key, epoch, stratum, "pending")
    given = [ended for _, ended in found if isinstance(ended, _Grade)]
    if not given:
        tried = [ended for _, ended in found if ended is not None]
        if len(tried) < len(found):
            return Glance(key, epoch, stratum, "pending")
        return Glance(key, epoch, stratum, "unscored", None, f"verdict: {tried[0]}")
    named = [each.label for each in given]
    if not all(label in labels for label in named):
        raise _IrregularError
    label = named[0] if len(named) == 1 else consensus(named, labels)
    unverified = any(each.verified is False for each in given)
    return Glance(key, epoch, stratum, "scored", label, None, unverified, len(set(named)) > 1)


class _Part(RunFolder):
    """A run of which some lines are read, by their places."""

    def __init__(self, path: Path, cases: Sequence[Place], events: Sequence[Place]):
        super().__init__(path)
        self._chosen_cases, self._chosen_events = cases, events

    def _case_lines(self) -> Iterator[tuple[int, range, CaseRecord]]:
        # They are few, so that none is left on disk.
        lines = read_lines(self._cases, CaseRecord, self._chosen_cases)
        return ((number, range(0), case) for number, case in lines)

    def events(self) -> Iterator[Event]:
        """Every stage of these cases that ended, in the order of ending."""
        return (event for _, event in read_lines(self._events, Event, self._chosen_events))


def _decoded(path: Path, form: type[S], texts: bytes | None = None) -> Iterator[tuple[int, bytes, S]]:
    """The lines of a log as far as they are whole, each with the place of its first byte; none without a file.

    Args:
        path: Of the log.
        form: What of a line is decoded.
        texts: What stands before all that is left out unseen; None where the whole line is looked through.
    """
    decode, start = msgspec.json.Decoder(form).decode, 0
    if not path.exists():
        return
    with path.open("rb", buffering=_BLOCK) as file:
        for line in file:
            end = line.find(texts) if texts and line.endswith(b"}\n") else -1
            try:
                found = decode(line if end < 0 else line[:end] + b"}")
            except msgspec.MsgspecError:
                if line.endswith(b"\n"):
                    raise
                return  # the torn end of a run that was killed, or is growing
            yield start, line, found
            start += len(line)


def _places(starts: Iterable[int]) -> Iterator[Place]:
    return enumerate(starts, start=1)


@contextmanager
def _uncollected() -> Generator[None]:
    """Without the search for garbage in cycles, of which there is none here: it takes a fourth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _folded(text: str) -> str:
    """A text as it stands in a line, without regard to the case of letters."""
    return json.dumps(text, ensure_ascii=False)[1:-1].casefold()
