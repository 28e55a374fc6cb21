"""A file that grows by one line of JSON at a time, and of which nothing is lost that was said to be kept.

A line is on its way to the disk when `append` returns, so that no kill of the process loses it, and on the disk within
a second of the next one. A kill in the middle of a line leaves a torn last one, which reading passes over and the next
writer cuts off; one that only lacks its newline counts. A disk without room cuts a line short, which is taken back at
once, so that no two lines ever run into one another.
"""

import fcntl
import json
import os
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from dspy_proact.errors import RunError
from dspy_proact.kept.fault import first_fault
from dspy_proact.kept.whole import unwritable

_SYNC_SECONDS = 1.0
_BLOCK = 1 << 16
M = TypeVar("M", bound=BaseModel)


class Log(Generic[M]):
    """The one writer of a log; use as a context manager. Threads may share it.

    Args:
        path: The file; made if it is not there, in a folder that is.
        form: What each line holds.

    Raises:
        RunError: Another process writes it, or it cannot be written.
    """

    def __init__(self, path: Path, form: type[M]):
        self.path, self._form = path, form
        self._turn = threading.Lock()
        try:
            self._file = open(path, "ab+", buffering=0, opener=_open_itself)  # noqa: SIM115 - closed by `__exit__`
        except OSError as error:
            raise RunError(unwritable(path, error)) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._end = _whole_lines(self._file)
            if last := self._unended():
                self._write(b"\n")
                self._end += len(last) + 1
            self._file.truncate(self._end)
        except BlockingIOError:
            self._file.close()
            raise RunError(f"{path}: another process is writing it; wait for it, or end it") from None
        except OSError as error:
            self._file.close()
            raise RunError(unwritable(path, error)) from error
        self._synced = time.monotonic()

    def __enter__(self) -> "Log[M]":
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._sync()
        finally:
            self._file.close()

    def __iter__(self) -> Iterator[M]:
        """What it holds by now, in the order of appending; raises `RunError` as `read_log` does."""
        return read_log(self.path, self._form)

    def append(self, record: M) -> None:
        """Keep one more.

        Raises:
            RunError: It could not be kept whole, and the file is as it was before; or the file was removed or changed
                by somebody else, and nothing can be kept any more.
            ValueError: It holds a nan or an infinity, which no JSON does.
        """
        line = _line(record)
        with self._turn:
            self._require_untouched()
            self._write(line)
            self._end += len(line)
            if time.monotonic() - self._synced > _SYNC_SECONDS:
                self._sync()

    def _unended(self) -> bytes:
        """A last line that is whole and lacks its newline, which an editor took away; empty where there is none."""
        self._file.seek(self._end)
        last = self._file.read()
        return last if _is_whole(self._form, last) else b""

    def _require_untouched(self) -> None:
        status = os.fstat(self._file.fileno())
        if not status.st_nlink:
            raise RunError(f"{self.path}: was removed; nothing more can be kept in it")
        if status.st_size != self._end:
            raise RunError(f"{self.path}: was changed by somebody else meanwhile; give the same command again")

    def _write(self, line: bytes) -> None:
        try:
            try:
                whole = self._file.write(line) == len(line)
            except OSError:
                self._file.truncate(self._end)
                raise
            if not whole:
                self._file.truncate(self._end)
                raise RunError(f"{self.path}: no room on the disk; make some and give the same command again")
        except OSError as error:
            raise RunError(unwritable(self.path, error)) from error

    def _sync(self) -> None:
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise RunError(unwritable(self.path, error)) from error
        self._synced = time.monotonic()


def read_log(path: Path, form: type[M]) -> Iterator[M]:
    """The lines of a log one by one, also while it is written; none where there is no file.

    Raises:
        RunError: It cannot be read, or a line before the last is damaged: named by file and number.
    """
    return (record for _, record in read_placed(path, form))


def read_placed(path: Path, form: type[M]) -> Iterator[tuple[range, M]]:
    """The same, each with the bytes in which it stands."""
    end = 0
    try:
        if path.exists() and not path.is_file():
            raise RunError(f"{path}: cannot be read: it is no file")
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                start, end = end, end + len(line)
                if line.endswith(b"\n") or _is_whole(form, line):
                    yield range(start, end), _record(path, form, number, line)
    except FileNotFoundError:
        return
    except OSError as error:
        raise RunError(f"{path}: cannot be read: {error.strerror}") from error


def read_lines(path: Path, form: type[M], places: Iterable[tuple[int, int]]) -> Iterator[tuple[int, M]]:
    """Some lines of a log with their numbers; raises `RunError` as `read_log` does.

    Args:
        path: The file.
        form: What each line holds.
        places: Of each line its number, counted from 1, and the place of its first byte.
    """
    try:
        with path.open("rb") as file:
            for number, start in places:
                file.seek(start)
                yield number, _record(path, form, number, file.readline())
    except OSError as error:
        raise RunError(f"{path}: cannot be read: {error.strerror}") from error


def _open_itself(path: str, flags: int) -> int:
    """A file descriptor of the file and not of what a link in its place leads to, which would be cut."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def _record(path: Path, form: type[M], number: int, line: bytes) -> M:
    try:
        return form.model_validate_json(line)
    except ValidationError as error:
        mend = "take this line out, and what it held is done again"
        raise RunError(f"{path}, line {number}: {first_fault(error)}; {mend}") from error


def _is_whole(form: type[BaseModel], line: bytes) -> bool:
    """Whether a line that does not end is a record all the same: the beginning of one is no JSON."""
    try:
        form.model_validate_json(line)
    except ValidationError:
        return False
    return True


def _line(record: BaseModel) -> bytes:
    # A model may answer with half a surrogate pair, which is no Unicode: it is kept as a question mark.
    text = json.dumps(record.model_dump(), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"


def _whole_lines(file: BinaryIO) -> int:
    """Bytes up to the end of the last line that has one, sought from the end of the file."""
    end = file.seek(0, os.SEEK_END)
    while end:
        start = max(0, end - _BLOCK)
        file.seek(start)
        if (found := file.read(end - start).rfind(b"\n")) >= 0:
            return start + found + 1
        end = start
    return 0
