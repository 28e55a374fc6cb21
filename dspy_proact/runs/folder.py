"""A run on disk: `manifest.json`, `cases.jsonl` and the append-only `events.jsonl`.

One process writes, held by a lock that does not survive it; anybody may read meanwhile. Each event is one write of
one whole line, so a kill leaves at most a torn last line, which reading passes over and writing cuts off.
"""

import json
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import filelock
from pydantic import BaseModel, ValidationError

from dspy_proact.errors import RunError
from dspy_proact.runs.benchmark import Case
from dspy_proact.runs.event import Event, StageKey
from dspy_proact.runs.manifest import Identity, Manifest
from dspy_proact.types import Frozen

_SYNC_SECONDS = 1.0
M = TypeVar("M", bound=BaseModel)


class CaseRecord(Frozen):
    """One line of `cases.jsonl`."""

    key: str
    group: str
    stratum: str
    view: dict[str, Any]
    meta: dict[str, str | int]


class RunFolder:
    """Reads a run; `RunWriter` writes it."""

    def __init__(self, path: str | Path):
        self.path = Path(path)

    @property
    def exists(self) -> bool:
        """Whether a run was begun here."""
        return self._manifest.is_file()

    @property
    def unused(self) -> bool:
        """Whether nothing is in the folder, or only what a run leaves that was killed before it was begun."""
        left = {self._manifest.name, "manifest.json.new", "lock"}
        empty = {path.name for path in (self._cases, self._events) if path.is_file() and not path.stat().st_size}
        return {path.name for path in self.path.iterdir()} <= left | empty

    def manifest(self) -> Manifest:
        """The manifest; raises `RunError` when there is none or it is damaged."""
        try:
            return Manifest.model_validate_json(self._manifest.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            raise RunError(f"{self.path}: no run here (no manifest.json)") from None
        except OSError as error:
            raise RunError(f"{self._manifest}: cannot be read: {error.strerror}") from error
        except ValidationError as error:
            if error.errors()[0]["loc"] == ("format",):
                other = "made by another version of dspy-proact; read it with that one, or begin a new run elsewhere"
                raise RunError(f"{self._manifest}: field 'format': {other}") from error
            raise RunError(f"{self._manifest}: {_first(error)}") from error

    def require(self, identity: Identity) -> Manifest:
        """The manifest; raises `RunError` when it is another run's, naming what differs."""
        manifest = self.manifest()
        if differing := identity.differences(manifest.identity):
            raise RunError(
                f"{self.path}: holds another run, which differs in {', '.join(differing)}; "
                "name another folder with --out, or leave --out away"
            )
        return manifest

    def require_widened(self, asked: Manifest) -> Manifest:
        """The manifest by what is asked for now; raises `RunError` when that is another run, or in other words."""
        return _widened(self.require(asked.identity), asked, self.path)

    def cases(self) -> tuple[CaseRecord, ...]:
        """Every case that was ever asked for, in the order of asking."""
        return tuple(_lines(self._cases, CaseRecord))

    def events(self) -> tuple[Event, ...]:
        """Every stage that ended, in the order of ending."""
        return tuple(_lines(self._events, Event))

    @property
    def _manifest(self) -> Path:
        return self.path / "manifest.json"

    @property
    def _cases(self) -> Path:
        return self.path / "cases.jsonl"

    @property
    def _events(self) -> Path:
        return self.path / "events.jsonl"


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
        self._lock = self._locked()
        try:
            self._begin(manifest)
            self._file = self._events.open("ab", buffering=0)
        except OSError as error:
            self._lock.release()
            raise _unwritable(error.filename, error) from error
        except BaseException:
            self._lock.release()
            raise
        self._synced = time.monotonic()

    def __enter__(self) -> "RunWriter":
        return self

    def __exit__(self, *_: object) -> None:
        os.fsync(self._file.fileno())
        self._file.close()
        self._lock.release()

    def add_cases(self, cases: Iterable[Case]) -> None:
        """Write the cases that are not there yet; raises `RunError` when there is no room for them."""
        known = {case.key for case in self.cases()}
        records = [
            CaseRecord(
                key=case.key,
                group=case.group,
                stratum=case.stratum,
                view=case.view.model_dump(mode="json"),
                meta=dict(case.meta),
            )
            for case in cases
            if case.key not in known
        ]
        try:
            with self._cases.open("ab") as file:
                file.writelines(_line(record) for record in records)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise _unwritable(self._cases, error) from error

    def record(self, event: Event) -> None:
        """Append an event; it is on its way to the disk when this returns, and on it within a second.

        Raises:
            RunError: It could not be written whole; the record is as it was before.
        """
        line = _line(event)
        before = os.fstat(self._file.fileno())
        if not before.st_nlink:
            raise RunError(f"{self._events}: was removed; nothing more can be kept in it")
        try:
            whole = self._file.write(line) == len(line)
        except OSError as error:
            raise _unwritable(self._events, error) from error
        if not whole:
            self._file.truncate(before.st_size)
            raise RunError(f"{self._events}: no room on the disk; make some and give the same command again")
        if time.monotonic() - self._synced > _SYNC_SECONDS:
            os.fsync(self._file.fileno())
            self._synced = time.monotonic()

    def _locked(self) -> filelock.BaseFileLock:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if not self.exists and not self.unused:
                raise RunError(f"{self.path}: not empty and not a run; name another folder with --out")
            lock = filelock.FileLock(self.path / "lock", timeout=0)
            lock.acquire()
        except filelock.Timeout:
            raise RunError(f"{self.path}: another process is writing this run") from None
        except OSError as error:
            raise _unwritable(self.path, error) from error
        return lock

    def _begin(self, manifest: Manifest) -> None:
        if self.exists:
            manifest = self.require_widened(manifest)
        for path in (self._cases, self._events):
            _cut_torn_line(path)
        temporary = self.path / "manifest.json.new"
        temporary.write_text(manifest.model_dump_json(indent=2) + "\n", encoding="utf-8")
        temporary.replace(self._manifest)


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


def latest(events: Iterable[Event]) -> dict[StageKey, Event]:
    """The event that counts for each stage: the last one."""
    return {event.key: event for event in events}


def _line(record: BaseModel) -> bytes:
    # A model may answer with half a surrogate pair, which is no Unicode: it is kept as a question mark.
    text = json.dumps(record.model_dump(), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"


def _unwritable(path: object, error: OSError) -> RunError:
    return RunError(f"{path}: cannot be written: {error.strerror or error}")


def _lines(path: Path, model: type[M]) -> Iterator[M]:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return
    except OSError as error:
        raise RunError(f"{path}: cannot be read: {error.strerror}") from error
    whole, _, _ = content.rpartition(b"\n")
    for number, line in enumerate(whole.split(b"\n") if whole else (), start=1):
        try:
            yield model.model_validate_json(line)
        except ValidationError as error:
            raise RunError(f"{path}, line {number}: {_first(error)}") from error


def _cut_torn_line(path: Path) -> None:
    path.touch()
    with path.open("rb+") as file:
        content = file.read()
        file.truncate(content.rfind(b"\n") + 1)


def _first(error: ValidationError) -> str:
    fault = error.errors()[0]
    where = ".".join(str(part) for part in fault["loc"])
    return f"field {where!r}: {fault['msg']}" if where else fault["msg"]
