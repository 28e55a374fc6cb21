"""A run on disk: `manifest.json`, `cases.jsonl` and the append-only `events.jsonl`; one writes, anybody may read."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import ExitStack
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from dspy_proact.errors import RunError
from dspy_proact.kept import RUN_CLAIM, Claim, Log, read_lines, read_log, read_placed
from dspy_proact.plain_text import html_table
from dspy_proact.runs.benchmark import CONTROL, Case
from dspy_proact.runs.event import Event, StageKey
from dspy_proact.runs.manifest import Manifest
from dspy_proact.types import Frozen

_LONG = 64 * 1024
"""Bytes of a line from which on its view stays on disk."""


class CaseRecord(Frozen):
    """One line of `cases.jsonl`."""

    key: str
    group: str
    stratum: str
    view: Mapping[str, Any]
    meta: dict[str, str | int]
    mark: str | None = None
    """Hash of the rest of the line and of the run's corpus; None in runs of before there were marks."""

    def marked(self, corpus: str) -> "CaseRecord":
        """The same with its mark, in a run on this corpus."""
        rest = self.model_dump(exclude={"mark"})
        canonical = json.dumps([corpus, rest], sort_keys=True, ensure_ascii=False)
        # What cannot be encoded is kept as a question mark, and read again as one.
        return self.model_copy(update={"mark": hashlib.sha256(canonical.encode("utf-8", "replace")).hexdigest()[:32]})


class KeptView(Mapping[str, Any]):
    """A view that stays on disk.

    Args:
        read: Its fields; raises `RunError` where they cannot be read any more.
    """

    def __init__(self, read: Callable[[], Mapping[str, Any]]):
        self._read = read

    def __getitem__(self, name: str) -> Any:
        return self._read()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())


@lru_cache(maxsize=4)
def _view_at(path: Path, number: int, start: int, mark: str | None) -> Mapping[str, Any]:
    """The view in the line of a number that begins at a byte; raises `RunError` where another case stands there."""
    ((_, case),) = read_lines(path, CaseRecord, [(number, start)])
    if case.mark != mark:
        raise RunError(f"{path}, line {number}: was changed while it was read; give the same command again")
    return case.view


class RunFolder:
    """Reads a run; `RunWriter` writes it."""

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self._claim = Claim(self.path, RUN_CLAIM, Manifest, "run")
        self._cases, self._events = self.path / "cases.jsonl", self.path / "events.jsonl"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    def _repr_html_(self) -> str:
        try:
            manifest = self.manifest()
        except RunError as error:
            return html_table((), [("run", str(self.path)), ("cannot be read", str(error))])
        identity, nouns = manifest.identity, manifest.nouns
        rows = [
            ("run", str(self.path)),
            ("benchmark", f"{identity.benchmark}, {manifest.corpus.cases:,} {nouns.cases} of {manifest.corpus.name}"),
            ("model", identity.assistant.name),
            *(("judge", judge.name) for judge in identity.judges),
            ("begun", manifest.created),
            *([("embedded stand-in", "measures no real model")] if manifest.embedded else []),
        ]
        return html_table((), rows)

    @property
    def exists(self) -> bool:
        """Whether a run was begun here."""
        return self._claim.exists

    def manifest(self) -> Manifest:
        """The manifest; raises `RunError` when there is none or it is damaged."""
        return self._claim.read()

    def check(self, asked: Manifest) -> Manifest:
        """The manifest by what is asked for now; nothing is written.

        Raises:
            RunError: The folder holds another run, one whose control cases were graded in other words, or something
                else.
        """
        before = self._claim.check(asked.identity)
        return _widened(before, asked, self.path) if before else asked

    def cases(self) -> Iterator[CaseRecord]:
        """Every case that was ever asked for, in the order of asking.

        Raises:
            RunError: There is no run, or a line is damaged, was changed after it was written, or is of no stratum.
        """
        return (case for _, _, case in self._checked())

    def _checked(self) -> Iterator[tuple[int, range, CaseRecord]]:
        """The lines of the cases as `_case_lines` has them, each as the run wrote it."""
        manifest = self.manifest()
        strata = {*manifest.strata, *controls_of(manifest)}
        marked = False
        for number, place, case in self._case_lines():
            line, marked = f"{self._cases}, line {number}", marked or case.mark is not None
            if marked and case.mark != case.marked(manifest.identity.corpus).mark:
                raise RunError(f"{line}: was changed after the run wrote it; put back what stood there")
            if case.stratum not in strata:
                known = ", ".join(manifest.strata)
                raise RunError(f"{line}: the {manifest.nouns.stratum} {case.stratum!r} is none of the run's: {known}")
            yield number, place, case

    def cases_of(self, asked: Set[str]) -> tuple[CaseRecord, ...]:
        """Every case; raises `RunError` as `cases` does, and where one of those with these keys is missing.

        A long view is read again whenever it is looked at, since a thousand of them fill a memory.

        Args:
            asked: Keys of cases of which there are events. Read these first: a case is kept before its events.
        """
        cases = tuple(self._left(*line) for line in self._checked())
        if missing := asked - {case.key for case in cases}:
            told = f"{len(missing)} of the cases that were answered are not in it, such as {min(missing)!r}"
            raise RunError(f"{self._cases}: {told}; the command that began the run puts them back")
        return cases

    def events(self) -> Iterator[Event]:
        """Every stage that ended, in the order of ending."""
        return read_log(self._events, Event)

    def _case_lines(self) -> Iterator[tuple[int, range, CaseRecord]]:
        """The lines of the cases, with their numbers and the bytes in which they stand."""
        lines = enumerate(read_placed(self._cases, CaseRecord), start=1)
        return ((number, place, case) for number, (place, case) in lines)

    def _left(self, number: int, place: range, case: CaseRecord) -> CaseRecord:
        """The case; its view is left on disk where it is long."""
        if len(place) <= _LONG:
            return case
        read = partial(_view_at, self._cases.absolute(), number, place.start, case.mark)
        return case.model_copy(update={"view": KeptView(read)})


class RunWriter(RunFolder):
    """The one writer of a run; use as a context manager.

    Args:
        path: The folder; made if it is not there.
        manifest: Of the command that runs now.

    Raises:
        RunError: The folder holds another run, something else than a run, or is being written by another process.
    """

    def __init__(self, path: Path, manifest: Manifest):
        super().__init__(path)
        with ExitStack() as stack:
            before = stack.enter_context(self._claim.held(manifest.identity))
            self._claim.write(_widened(before, manifest, self.path) if before else manifest)
            self._case_log = stack.enter_context(Log(self._cases, CaseRecord))
            self._event_log = stack.enter_context(Log(self._events, Event))
            self._held = stack.pop_all()
        self._new, self._empty = before is None, False

    def __enter__(self) -> "RunWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()
        if self._empty:
            self._claim.leave(self._cases, self._events)

    def leave_nothing_unanswered(self) -> None:
        """Have the folder be as it was found, once it is closed, where it was new and holds no answer and no grade."""
        self._empty = self._new and not any(event.answer is not None or event.grade for event in self.events())

    def add_cases(self, cases: Iterable[Case]) -> None:
        """Keep the cases that are not there yet; raises `RunError` when they cannot be."""
        known, corpus = {case.key for case in self.cases()}, self.manifest().identity.corpus
        for case in cases:
            if case.key not in known:
                view = case.view.model_dump(mode="json")
                record = CaseRecord(
                    key=case.key, group=case.group, stratum=case.stratum, view=view, meta=dict(case.meta)
                )
                self._case_log.append(record.marked(corpus))

    def record(self, event: Event) -> None:
        """Keep an event; raises `RunError` when it cannot be, and the record is as it was before."""
        self._event_log.append(event)


def _widened(before: Manifest, now: Manifest, path: Path) -> Manifest:
    """The manifest of a run that goes on, by what is asked for now; raises `RunError` where control cases differ."""
    if before.controls and now.controls and before.controls != now.controls:
        raise RunError(
            f"{path}: its {now.nouns.controls} were graded in other words, by another version; "
            "leave --controls out, or name another folder with --out"
        )
    most = {name: max(getattr(before, name), getattr(now, name)) for name in ("epochs", "judge_epochs")}
    asked = {"controls": before.controls or now.controls, "control_labels": now.control_labels}
    return before.model_copy(update=most | asked)


def controls_of(manifest: Manifest) -> list[str]:
    """The stratum of control cases, where a run can have some."""
    return [CONTROL] if manifest.control_labels or manifest.controls else []


def latest(events: Iterable[Event]) -> dict[StageKey, Event]:
    """The event that counts for each stage: the last one."""
    return {event.key: event for event in events}
