"""Folders that one run or compile has to itself, and what any other path is, for messages.

A file in the folder states whose it is, and a lock is held while somebody writes there.
"""

import fcntl
import hashlib
import json
import os
import platform
import re
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from enum import StrEnum
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import filelock
from pydantic import ValidationError

from dspy_proact.errors import RunError, UsageError
from dspy_proact.kept.log import first_fault, open_to_read, read_contents, require_finite, unwritable, write_file
from dspy_proact.kept.messages import MESSAGES
from dspy_proact.types import Frozen

RUN_CLAIM, COMPILE_CLAIM, CORPUS_CLAIM, AUDIT_CLAIM = "manifest.json", "compile.json", "corpus.json", "audit.json"
CALLS = "calls.jsonl"
"""Log of the calls of a run or compile, in its folder."""
BATCHES = "batches.jsonl"
"""The log of the batches of a run."""
_LOGS = ("cases.jsonl", "events.jsonl", CALLS, MESSAGES, BATCHES)
LOCK = "lock"
_PROGRAMS = ("judge.json", "assistant.json", "agent.json", "judges.json")
_PROGRAM_HEAD = re.compile(rb'\s*\{\s*"format"\s*:\s*\d+\s*,\s*"signature"\s*:')
_LOG_HEAD = re.compile(rb'\s*\{(?=.*"version")(?=.*"(eval|status)")', re.DOTALL)
_HEAD_BYTES = 400
_MOST_NAMED = 12
_PATIENCE = 20.0
"""Seconds to wait for git, which looks at every file of a repository."""
_LONGEST_VALUE = 40


class Identified(Frozen):
    """What must be equal for two commands to do the same run or compile."""

    def digest(self) -> str:
        """sha256 in hexadecimal."""
        return hashlib.sha256(_canonical(self.model_dump(mode="json")).encode()).hexdigest()

    def differences(self, other: "Identified") -> dict[str, tuple[str | None, str | None]]:
        """By dotted name, JSON of the values in which this identity and the other differ; None for a missing one."""
        mine, theirs = _leaves(self.compared(other)), _leaves(other.compared(self))
        paths = [path for path in sorted(mine.keys() | theirs.keys()) if mine.get(path) != theirs.get(path)]
        inner = {path[:length] for path in paths for length in range(len(path))}
        return {".".join(path): (mine.get(path), theirs.get(path)) for path in paths if path not in inner}

    def differing(self, other: "Identified") -> str:
        """The fields in which this identity and the other differ, with both values where they are short; else empty."""
        return ", ".join(_with_values(name, *values) for name, values in self.differences(other).items())

    def compared(self, other: "Identified") -> dict[str, Any]:  # noqa: ARG002 - subclasses name fields by both
        """The fields as JSON, under the names by which a message says that they differ from another's."""
        return self.model_dump(mode="json")

    def mend(self, differing: Mapping[str, tuple[str | None, str | None]]) -> str:  # noqa: ARG002 - see above
        """How to go on with what a folder holds, whose values these are beside those here, and ", or "; else empty."""
        return ""


def _with_values(name: str, here: str | None, there: str | None) -> str:
    """The name of what differs, with both values where they are short."""
    values = [f"{value or 'nothing'} {where}" for value, where in ((there, "there"), (here, "here"))]
    return f"{name} ({', '.join(values)})" if max(map(len, values)) <= _LONGEST_VALUE else name


def _leaves(value: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], str]:
    """The canonical JSON of everything in a JSON value that is not an object with fields, by its path."""
    if not isinstance(value, dict) or not value:
        return {path: _canonical(value)}
    leaves: dict[tuple[str, ...], str] = {}
    for name, inner in cast("dict[str, Any]", value).items():
        leaves |= _leaves(inner, (*path, name))
    return leaves


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def versions(*names: str) -> dict[str, str]:
    """Versions of dspy-proact, DSPy, litellm, Python and further packages."""
    packages = {name: _version(name) for name in ("dspy-proact", "dspy", "litellm", *names)}
    return packages | {"python": platform.python_version()}


_version = cache(version)


def git_commit() -> str | None:
    """The commit of the working folder, with `-dirty` where files of it were changed; None outside of a repository."""

    def output(*command: str) -> bytes:
        # No monitor of the repository's, and no lock that would stay if git were killed. Filters that its configuration
        # names may run.
        git = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", *command]
        return subprocess.run(git, capture_output=True, timeout=_PATIENCE, check=True).stdout.strip()

    try:
        commit = output("rev-parse", "HEAD").decode()
    except (OSError, subprocess.SubprocessError):
        return None
    with suppress(OSError, subprocess.SubprocessError):
        return f"{commit}-dirty" if output("status", "-s", "-uno") else commit
    return commit


def now() -> str:
    """The time, ISO 8601, UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


Whose = TypeVar("Whose", bound=Identified)
C = TypeVar("C", bound="Claimed[Any]")


class Claimed(Frozen, Generic[Whose]):
    """Content of the file; only the identity decides whose the folder is."""

    identity: Whose


class Claim(Generic[C]):
    """A folder, and the file in it that claims it."""

    def __init__(self, folder: Path, name: str, form: type[C], kind: str):
        self.folder, self.file, self._form, self._kind = folder, folder / name, form, kind

    @property
    def exists(self) -> bool:
        """Whether the folder is claimed."""
        return self.file.is_file()

    def read(self) -> C:
        """The content of the file; raises `RunError` where it is missing or damaged."""
        try:
            with open_to_read(self.file) as file:
                data = read_contents(file)
            claimed = self._form.model_validate_json(data)
            require_finite(data)
            return claimed
        except (FileNotFoundError, NotADirectoryError):
            several = _SEVERAL.get(self.file.name)
            problem = content_of(self.folder).problem(f"the folder of a {self._kind}", several)
            raise RunError(f"{self.folder}: no {self._kind} here (no {self.file.name}): {problem}") from None
        except OSError as error:
            raise RunError(f"{self.file}: cannot be read: {error.strerror}") from error
        except ValidationError as error:
            problem = first_fault(error)
            if any(fault["loc"] == ("format",) for fault in error.errors()):
                problem = (
                    "field 'format': made by another version of dspy-proact; read it with that version, "
                    f"or start a new {self._kind} in another folder"
                )
            raise RunError(f"{self.file}: {problem}") from error
        except ValueError as error:
            raise RunError(f"{self.file}: {error}") from error

    def check(self, identity: Identified) -> C | None:
        """The content of the file, None for a free folder; `RunError` where it is another's or holds other files."""
        if not self.exists:
            self._require_free()
            return None
        claimed = self.read()
        if differing := identity.differences(claimed.identity):
            raise RunError(
                f"{self.folder}: holds another {self._kind}, which differs in {identity.differing(claimed.identity)}; "
                f"{identity.mend(differing)}name another folder with `out`, or omit `out`"
            )
        return claimed

    @contextmanager
    def held(self, identity: Identified) -> Generator[C | None]:
        """Make the folder if it is missing, and lock it for this process; the lock does not survive the process.

        Yields what `check` returns; where that is None, `write` claims the folder. Raises as `check` does, and where
        another process holds the folder or it cannot be written.
        """
        try:
            if not self.exists:
                self._require_free()
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = filelock.FileLock(self.folder / LOCK, timeout=0)
            lock.acquire()
        except filelock.Timeout:
            raise RunError(f"{self.folder}: another process is writing this {self._kind}") from None
        except OSError as error:
            raise RunError(unwritable(self.folder, error)) from error
        try:
            yield self.check(identity)
        finally:
            lock.release()

    @contextmanager
    def unwritten(self) -> Generator[None]:
        """Inside, no process writes the folder, in which nothing changes; a `RunError` where one does."""
        try:
            # Without waiting: a pipe in place of the file may have no end.
            file = os.open(self.folder / LOCK, os.O_RDONLY | os.O_NONBLOCK)
        except (FileNotFoundError, NotADirectoryError):  # nobody has written it, it is a copy, or no folder
            yield
            return
        except OSError as error:
            raise RunError(f"{self.folder / LOCK}: cannot be read: {error.strerror}") from error
        try:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError as error:
                busy = f"another process is writing this {self._kind}; wait for its end"
                problem = busy if isinstance(error, BlockingIOError) else f"cannot be locked: {error.strerror}"
                raise RunError(f"{self.folder}: {problem}") from None
            yield
        finally:
            os.close(file)

    def write(self, claimed: C) -> None:
        """Write the file; raises `UsageError` where that fails."""
        write_file(self.file, claimed.model_dump_json(indent=2) + "\n")

    def leave(self, *others: Path) -> None:
        """Delete the file, the lock and further files of the same owner, and the folder if nothing else is in it."""
        for path in (*others, self.file, self.folder / LOCK):
            path.unlink(missing_ok=True)
        with suppress(OSError):
            self.folder.rmdir()

    def _require_free(self) -> None:
        """Raise a `RunError` where the folder holds more than a process killed during `held` leaves behind."""
        left = re.compile(rf"{LOCK}|{re.escape(self.file.name)}\.\d+\.new")
        if self.folder.exists() and not all(left.fullmatch(path.name) for path in self.folder.iterdir()):
            raise RunError(f"{self.folder}: not empty and not a {self._kind}; name another folder with `out`")


class Kind(StrEnum):
    """What a path can be, in the words of a message."""

    NOTHING = "no such file or folder"
    RUN = "the folder of a run"
    RUNS = "a folder of runs"
    COMPILE = "the folder of a compile"
    COMPILES = "a folder of compiles"
    CORPUS = "the folder of a corpus that was made"
    CORPORA = "a folder of corpora that were made"
    FOLDER = "a folder without a run or a compile in it"
    PROGRAM = "a compiled program"
    PART = "a file inside the folder of a run or a compile"
    TABLE = "a table"
    LOG = "a log of Inspect"
    FILE = "a file"


_SEVERAL = {RUN_CLAIM: Kind.RUNS, COMPILE_CLAIM: Kind.COMPILES, CORPUS_CLAIM: Kind.CORPORA}
"""What a folder is that holds several folders with this file."""


@dataclass(frozen=True)
class PathContent:
    """A path, and what it is."""

    path: Path
    kind: Kind
    inside: Sequence[Path] = ()
    """The runs or compiles of a folder; the program of a finished compile; of a missing path, a similar name."""

    def problem(self, wanted: str, several: Kind | None = None) -> str:
        """A message for a path of the wrong kind: what it is, and what to do."""
        what, mend = str(self.kind), f"give {wanted}"
        match self.kind:
            case Kind.RUNS | Kind.COMPILES | Kind.CORPORA if self.kind is several:
                more = len(self.inside) - _MOST_NAMED
                named = ", ".join(map(str, self.inside[:_MOST_NAMED]))
                mend = f"name one of them: {named}{f' and {more} more' if more > 0 else ''}"
            case Kind.RUN:
                what += f"; `dspy-proact report {self.path}` prints its scores"
            case Kind.TABLE:
                what += "; a table of answers can be named as the answers of `dspy-proact eval`"
            case Kind.CORPUS if not self.inside:
                what, mend = "the folder of a corpus that is not finished", "repeat the command that started it"
            case Kind.CORPUS:
                what += "; name it as the corpus of `dspy-proact eval`"
            case Kind.COMPILE if not self.inside:
                what += " that has not finished"
                mend = "repeat the command that started it"
            case Kind.COMPILE | Kind.PROGRAM:
                what += f"; `dspy-proact optimize show {self.path}` prints its card"
            case Kind.PART:
                mend = f"name the folder: {self.path.parent}"
            case Kind.NOTHING if self.inside:
                mend = f"did you mean {self.inside[0]}?"
            case _:
                pass
        return f"{what}; {mend}"


def content_of(path: Path) -> PathContent:
    """What a path is, by names and first bytes; a path that cannot be read counts as a file."""
    try:
        if path.is_dir():
            return _folder(path)
        if not path.exists():
            names = [sibling.name for sibling in path.parent.iterdir()] if path.parent.is_dir() else []
            names = [name for name in names if name != path.name]  # a link that leads nowhere
            near = get_close_matches(path.name, names, n=1)
            return PathContent(path, Kind.NOTHING, [path.with_name(name) for name in near])
        return PathContent(path, _file(path))
    except OSError:
        return PathContent(path, Kind.FILE)


def _file(path: Path) -> Kind:
    if path.name in (RUN_CLAIM, COMPILE_CLAIM, *_LOGS) and _folder(path.parent).kind in (Kind.RUN, Kind.COMPILE):
        return Kind.PART
    if path.suffix.lower() in (".csv", ".parquet"):
        return Kind.TABLE
    if path.suffix == ".eval":
        return Kind.LOG
    head = b""
    if path.is_file():  # never a pipe: reading would take its content away
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    if _PROGRAM_HEAD.match(head):
        return Kind.PROGRAM
    return Kind.LOG if path.suffix == ".json" and _LOG_HEAD.match(head) else Kind.FILE


def _folder(path: Path) -> PathContent:
    if (path / RUN_CLAIM).is_file():
        return PathContent(path, Kind.RUN)
    if (path / COMPILE_CLAIM).is_file():
        return PathContent(path, Kind.COMPILE, [path / name for name in _PROGRAMS if (path / name).is_file()])
    if (path / CORPUS_CLAIM).is_file():
        return PathContent(path, Kind.CORPUS, [*path.glob("items.jsonl")])
    for claim, kind in _SEVERAL.items():
        if folders := sorted(claimed.parent for depth in ("*", "*/*") for claimed in path.glob(f"{depth}/{claim}")):
            return PathContent(path, kind, folders)
    return PathContent(path, Kind.FOLDER)


def refuse_overwrite(path: Path, *inputs: Path) -> None:
    """Raise a `UsageError` where writing a file would overwrite an input, or a file of a run or compile."""
    if any(path.exists() and source.exists() and path.samefile(source) for source in inputs):
        raise UsageError(f"{path}: is the input; name another file")
    kept = ((RUN_CLAIM, "events.jsonl"), (COMPILE_CLAIM, CALLS), (CORPUS_CLAIM, CALLS))
    if any((path.parent / claim).is_file() and (path.parent / record).is_file() for claim, record in kept):
        raise UsageError(f"{path}: lies in the folder of a run, a compile or a corpus; name a file outside of it")
