"""The SQLite file of a study: what is written is on disk in it when a transaction ends, or refused with its cause.

It has a rollback journal, which stands beside it only while something is written, and no write-ahead log: the file
alone holds everything that was acknowledged, wherever it is moved or copied to, and is read where nothing can be
written.
"""

import os
import sqlite3
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

from dspy_proact.errors import UsageError

_BUSY_SECONDS = 5.0
"""In which another process has to give a lock back."""
BESIDE = ("-journal", "-wal", "-shm")
"""Suffixes of files that belong to a database of SQLite's."""
_LOCKED = ("another process has locked the file of the study", "wait for it, or end it")
_DENIED = (
    "the file of the study, or its folder, cannot be opened or written",
    "give this user the permission, or copy it elsewhere",
)
_CAUSES: Mapping[int, tuple[str, str]] = {
    sqlite3.SQLITE_FULL: ("the disk is full", "free some space and try again"),
    sqlite3.SQLITE_IOERR: ("the disk is full or fails", "free some space and try again, or copy the file elsewhere"),
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_PROTOCOL: _LOCKED,
    sqlite3.SQLITE_READONLY: _DENIED,
    sqlite3.SQLITE_PERM: _DENIED,
    sqlite3.SQLITE_CANTOPEN: _DENIED,
}
"""By SQLite's primary result code, why nothing can be read or written now, and what whoever owns the file can do."""
_DISPLACED = "the file of the study was moved, removed or replaced"


class StoreError(UsageError):
    """The file of a study cannot be read or written now.

    Attributes:
        why: The cause without the file's name, for raters.
        full: Whether the disk has no room for more.
    """

    def __init__(self, message: str, why: str, *, full: bool = False):
        super().__init__(message)
        self.why, self.full = why, full


class Database:
    """An open file of SQLite's, for one thread at a time.

    Every method raises a `StoreError` where the system, or another process, keeps it from what it does, and a
    `UsageError` where the file is none of a study, or damaged. An `IntegrityError` of SQLite's passes.
    """

    def __init__(self, path: Path):
        self.path = path
        self._rescued = ""
        with self._causes():
            # Before it is opened: a file that takes its place meanwhile counts as another.
            self._status = path.stat()
            # The server's thread is not always the one that opened the file; it is one at a time.
            self._db = sqlite3.connect(
                f"{path.resolve().as_uri()}?mode=rw",
                uri=True,
                timeout=_BUSY_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
            self._db.row_factory = sqlite3.Row
            try:
                for pragma in ("synchronous = EXTRA", "foreign_keys = ON", "trusted_schema = OFF"):
                    self._db.execute(f"PRAGMA {pragma}")
            except sqlite3.Error:
                self._db.close()
                raise

    def close(self) -> None:
        """Close the file; everything is in it."""
        self._db.close()

    def execute(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        """Do what a statement says; its rows, none of what writes."""
        with self._causes():
            return self._db.execute(statement, values).fetchall()

    def row(self, statement: str, *values: object) -> Any:
        """The first row of a query; None without one."""
        return next(iter(self.execute(statement, values)), None)

    def executemany(self, statement: str, rows: Iterable[Any]) -> int:
        """Do what a statement says with the values of each row; how many rows of the file that changed."""
        with self._causes():
            return self._db.executemany(statement, rows).rowcount

    @contextmanager
    def transaction(self) -> Generator[None]:
        """What is written within is on disk afterwards, in the file that is at the path, or nothing of it counts."""
        self.require_unmoved()
        try:
            self.execute("BEGIN IMMEDIATE")
            yield
            self.execute("COMMIT")
        except BaseException as error:
            if self._db.in_transaction:
                with suppress(sqlite3.Error):  # what ended the transaction is raised
                    self._db.execute("ROLLBACK")
            if isinstance(error, StoreError):
                self.require_unmoved()  # SQLite says of a moved file that it cannot be written
            raise
        self.require_unmoved()

    def require_unmoved(self) -> None:
        """Raise a `StoreError` where the path does not lead to the open file any more.

        What it held is in a copy beside it then, unless it is known to be in another place.
        """
        if self._unmoved():
            return
        moved_to, removed = None, False
        with suppress(OSError):  # where the system tells
            for opened in Path("/proc/self/fd").iterdir():
                with suppress(OSError):
                    if os.path.samestat(status := opened.stat(), self._status):
                        removed = not status.st_nlink
                        moved_to = opened.readlink()
        there = ", and another file is in its place" if self.path.exists() else ""
        if moved_to and not removed:
            kept = f"was moved to {moved_to}{there}; what was written before is in it"
        else:
            what = "was removed" if removed else "was moved or removed"
            kept = f"{what}{there}; {self._rescue()}"
        raise StoreError(f"{self.path}: {kept}; nothing more is kept until it is back in its place", _DISPLACED)

    def _unmoved(self) -> bool:
        with suppress(OSError):
            return os.path.samestat(self.path.stat(), self._status)
        return False

    def _rescue(self) -> str:
        """Copy what the open file holds to a new one beside it, once; where it is, or why it is nowhere."""
        if self._rescued:
            return self._rescued
        names = (f"{self.path.stem}.rescued{number or ''}{self.path.suffix}" for number in count())
        copy = next(path for name in names if not (path := self.path.with_name(name)).exists())
        try:
            copy.touch(0o600, exist_ok=False)
            self._db.execute("VACUUM INTO ?", (str(copy),))
        except (OSError, sqlite3.Error) as error:
            copy.unlink(missing_ok=True)
            return f"what was written before cannot be copied: {error}"
        self._rescued = f"what was written before is in {copy}"
        return self._rescued

    @contextmanager
    def _causes(self) -> Generator[None]:
        """Turns what SQLite says into the errors of this class."""
        try:
            yield
        except sqlite3.IntegrityError:
            raise
        except (OSError, sqlite3.Error) as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CANTOPEN if isinstance(error, OSError) else 0)
            if cause := _CAUSES.get(code & 0xFF):
                why, mend = cause
                full = code & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
                raise StoreError(f"{self.path}: {why} ({error}); {mend}", why, full=full) from error
            what = "is no file of `label serve`" if code == sqlite3.SQLITE_NOTADB else "is damaged"
            raise UsageError(f"{self.path}: {what}: {error}") from error
