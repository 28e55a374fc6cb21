"""Files written whole or not at all, and a log that keeps every line that `append` has returned for.

No kill of the process loses such a line, and it is on the disk within a second of the next one. A kill in the middle of
a line leaves a torn last one, which readers skip and the next writer cuts off; a last line that only lacks its newline
counts. A line that a full disk cuts short is taken back at once, so that two lines never run into one another.
"""

import errno
import fcntl
import hashlib
import json
import os
import stat
import threading
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from select import select
from typing import Any, BinaryIO, Generic, NamedTuple, Self, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError, from_json

from dspy_proact.errors import RunError, UsageError

_SYNC_SECONDS = 1.0
_BLOCK = 1 << 16
M = TypeVar("M", bound=BaseModel)


class Log(Generic[M]):
    """The one writer of a log; a context manager that threads may share; a `RunError` if it is in use or unwritable."""

    def __init__(self, path: Path, form: type[M]):
        self.path, self._form = path, form
        self._turn = threading.Lock()
        with _writing(path):
            # A link is not followed: the file that it leads to would be cut.
            self._file = open(path, "ab+", 0, opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW, 0o666))  # noqa: SIM115
        try:
            with _writing(path):
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._end = _end_of_lines(self._file)
                self._file.seek(self._end)
                last = self._file.read()
                if _is_record(form, last):  # an editor took its newline away
                    self._write(b"\n")
                    self._end += len(last) + 1
                self._file.truncate(self._end)
        except RunError:
            self._file.close()
            raise
        self._synced = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._sync()
        finally:
            self._file.close()

    def __iter__(self) -> Iterator[M]:
        """The records so far, in the order of appending; raises `RunError` as `read_log` does."""
        return read_log(self.path, self._form)

    def append(self, record: M) -> None:
        """Keep one more record; raises as `as_text` and `append_text` do."""
        self.append_text(as_text(record))

    def append_text(self, text: str) -> None:
        """Keep one more record, by its line without the end.

        Raises a `RunError` where it could not be kept whole, and the file is as before; where somebody else removed or
        changed the file, and nothing can be kept any more; or where the file was moved and the record kept in it.
        """
        # A model may answer with half a surrogate pair, which is no Unicode: it is kept as a question mark.
        line = text.encode("utf-8", "replace") + b"\n"
        with self._turn:
            status = self._present()
            if status.st_size != self._end:
                raise RunError(f"{self.path}: was changed by somebody else meanwhile; repeat the command")
            with _writing(self.path):
                self._write(line)
            self._end += len(line)
            if time.monotonic() - self._synced > _SYNC_SECONDS:
                self._sync()
            there, moved_to = False, ""
            with suppress(OSError):
                there = os.path.samestat(os.stat(self.path), status)  # noqa: PTH116 - the fastest, once a line
            if not there:
                self._present()  # it may have been removed since
                with suppress(OSError):  # to which path, where the system tells
                    moved_to = f" to {Path(f'/proc/self/fd/{self._file.fileno()}').readlink()}"
                raise RunError(f"{self.path}: was moved{moved_to}; name its folder with `out` to go on")

    def _present(self) -> os.stat_result:
        """The status of the file, which still has a name; a `RunError` where it was removed."""
        status = os.fstat(self._file.fileno())
        if not status.st_nlink:
            raise RunError(f"{self.path}: was removed; nothing more can be kept in it")
        return status

    def _write(self, line: bytes) -> None:
        try:
            complete = self._file.write(line) == len(line)
        except OSError:
            self._file.truncate(self._end)
            raise
        if not complete:
            self._file.truncate(self._end)
            raise RunError(f"{self.path}: the disk is full; free some space and repeat the command")

    def _sync(self) -> None:
        with _writing(self.path):
            os.fsync(self._file.fileno())
        self._synced = time.monotonic()


def as_text(record: BaseModel) -> str:
    """A record as its line has it; raises a `ValueError` where it holds a nan or an infinity."""
    with suppress(PydanticSerializationError):  # half a surrogate pair
        text = record.model_dump_json()
        if "NaN" not in text and "Infinity" not in text:  # where a text has these words, the slower way is as good
            return text
    return json.dumps(record.model_dump(), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


_LONGEST = 256 * 2**20
"""Bytes, more than any file that people write has; a device or a pipe may have no end."""
_PATIENCE = 30.0
"""Seconds in which a pipe must begin to send."""


def open_to_read(path: str | Path) -> BinaryIO:
    """A file, device or pipe; raises an `OSError` where it cannot be read, or is a pipe that sends nothing."""
    # Without waiting for the writer of a pipe, who may never come.
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))  # noqa: SIM115
    if stat.S_ISFIFO(os.fstat(file.fileno()).st_mode) and not select([file], [], [], _PATIENCE)[0]:
        file.close()
        raise OSError(errno.ETIMEDOUT, f"a pipe that sent nothing in {_PATIENCE:g} seconds")
    os.set_blocking(file.fileno(), True)
    return file


def read_contents(file: BinaryIO, beside: int = 0) -> bytes:
    """The contents of a file; raises an `OSError` where they, with so many bytes beside them, are above 256 MiB."""
    data = file.read(_LONGEST - beside + 1)
    if len(data) > _LONGEST - beside:
        which = "with the files before it larger" if beside else "larger"
        raise OSError(errno.EFBIG, f"{which} than {_LONGEST // 2**20} MiB, or without an end")
    return data


def read_log(path: Path, form: type[M]) -> Iterator[M]:
    """The records of a log one by one, also while it is written; none where there is no file.

    Raises a `RunError` where it cannot be read, or a line before the last is damaged; the message names file and line.
    """
    return (line.record(form) for line in read_lines(path, form))


class LogLine(NamedTuple):
    """A line of a log."""

    path: Path
    number: int
    """Counted from 1."""
    start: int
    """The byte of the file at which it begins."""
    data: bytes

    @property
    def text(self) -> str:
        """The line as `Log.append_text` takes it."""
        return self.data.decode().removesuffix("\n")

    def record(self, form: type[M], data: bytes | None = None) -> M:
        """What it says, or what is left of it in `data`; raises a `RunError` with file, line and field."""
        try:
            return form.model_validate_json(self.data if data is None else data)
        except ValidationError as error:
            mend = "restore this line, or delete it to go on without it"
            raise RunError(f"{self.path}, line {self.number}: {first_fault(error)}; {mend}") from error

    def is_marked(self, owner: str) -> bool:
        """Whether it is letter by letter as `marked` made it for this owner."""
        rest, _, end = self.data.rpartition(b'"')[0].rpartition(b'"')
        return _mark(rest + _NO_MARK, owner).encode() == end


def read_lines(path: Path, form: type[BaseModel]) -> Iterator[LogLine]:
    """The lines of a log of this form one by one, as `read_log` reads them."""
    end = 0
    try:
        if path.exists() and not path.is_file():
            raise RunError(f"{path}: cannot be read: not a regular file")
        with path.open("rb") as file:
            for number, data in enumerate(file, start=1):
                start, end = end, end + len(data)
                if data.endswith(b"\n") or _is_record(form, data):
                    yield LogLine(path, number, start, data)
    except FileNotFoundError:
        return
    except OSError as error:
        raise RunError(f"{path}: cannot be read: {error.strerror}") from error


def read_records(path: Path, form: type[M], starts: Iterable[tuple[int, int]]) -> Iterator[M]:
    """Some records of a log, by the numbers of their lines and where these begin; raises as `read_log` does."""
    try:
        with path.open("rb") as file:
            for number, start in starts:
                file.seek(start)
                yield LogLine(path, number, start, file.readline()).record(form)
    except OSError as error:
        raise RunError(f"{path}: cannot be read: {error.strerror}") from error


_NO_MARK = b'""}'
"""How the text of a record ends whose last field is `mark`, before it has one."""


def marked(text: str, owner: str) -> str:
    """The text of a record, whose mark is empty, with its mark in the log of this owner."""
    return text.removesuffix(_NO_MARK.decode()) + f'"{mark_of(text, owner)}"}}'


def mark_of(text: str, owner: str) -> str:
    """Hash of the text of a record without its mark, and of whose log it is."""
    return _mark(text.encode("utf-8", "replace"), owner)


def _mark(text: bytes, owner: str) -> str:
    return hashlib.sha256(f"{owner} ".encode() + text).hexdigest()[:16]


def _is_record(form: type[BaseModel], line: bytes) -> bool:
    """Whether a line without a newline is a record all the same: the beginning of one is no JSON."""
    try:
        form.model_validate_json(line)
    except ValidationError:
        return False
    return True


def _end_of_lines(file: BinaryIO) -> int:
    """Bytes up to the end of the last line that has a newline, searched from the end of the file."""
    end = file.seek(0, os.SEEK_END)
    while end:
        start = max(0, end - _BLOCK)
        file.seek(start)
        if (newline := file.read(end - start).rfind(b"\n")) >= 0:
            return start + newline + 1
        end = start
    return 0


@contextmanager
def _writing(path: Path) -> Generator[None]:
    """Turns failures of the disk into a `RunError`."""
    try:
        yield
    except BlockingIOError:
        raise RunError(f"{path}: another process is writing it; wait for it, or end it") from None
    except OSError as error:
        raise RunError(unwritable(path, error)) from error


def write_file(path: Path, content: bytes | str) -> None:
    """Write a file, text as UTF-8; raises `UsageError` as `replacing` does."""
    with replacing(path) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def replacing(path: Path) -> Generator[Path]:
    """An empty file beside the path, to be written inside; it takes the path when it is whole on disk.

    Where anything goes wrong inside, the path is as it was and nothing is left beside it. Raises a `UsageError` where
    the path cannot be written.
    """
    try:
        temporary = path.with_name(f"{path.name}.{os.getpid()}.new")
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if path.exists() and not path.is_file():
            raise OSError(errno.EINVAL, "not a regular file; name another")
        temporary.unlink(missing_ok=True)
        temporary.touch(exist_ok=False)  # it follows no link that stands at its name
    except OSError as error:
        raise UsageError(unwritable(path, error)) from error
    except ValueError as error:
        raise UsageError(f"{path}: cannot be written: not a path: {error}") from error
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise UsageError(unwritable(path, error)) from error
    finally:
        temporary.unlink(missing_ok=True)


def unwritable(path: Path, error: OSError) -> str:
    """Why a file cannot be written, and how to mend it."""
    problem = error.strerror or str(error)
    if error.errno == errno.ENOENT:
        problem = f"there is no folder {str(path.parent)!r}; create it first"
    elif error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        problem = f"{problem}; free some disk space and repeat the command"
    return f"{path}: cannot be written: {problem}"


def require_finite(data: bytes) -> None:
    """Raise a `ValueError` where JSON holds a NaN or an infinity, which fields of any type let pass."""
    try:
        _: Any = from_json(data, allow_inf_nan=False)
    except ValueError as error:
        raise ValueError(f"a number that is not finite: {error}") from error


def first_fault(error: ValidationError) -> str:
    """The first fault in a value, with the name of its field where it has one."""
    fault = error.errors()[0]
    field, message = ".".join(str(part) for part in fault["loc"]), fault["msg"].removeprefix("Value error, ")
    return f"field {field!r}: {message}" if field else message
