"""A folder that one run or compile has to itself: by a file that says whose it is, and a lock while it is done."""

import re
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

import filelock
from pydantic import ValidationError

from dspy_proact.errors import RunError
from dspy_proact.kept.fault import first_fault, require_finite
from dspy_proact.kept.identity import Identified
from dspy_proact.kept.place import RUN_CLAIM, Kind, place_of
from dspy_proact.kept.whole import unwritable, write_whole
from dspy_proact.types import Frozen

Whose = TypeVar("Whose", bound=Identified)
C = TypeVar("C", bound="Claimed[Any]")
_LOCK = "lock"


class Claimed(Frozen, Generic[Whose]):
    """What the file says; whatever stands beside the identity decides nothing."""

    identity: Whose


class Claim(Generic[C]):
    """A folder, and the file in it that claims it.

    Args:
        folder: Need not be there.
        name: Of the file.
        form: What the file holds.
        kind: What is done in the folder, such as `run`, for messages.
    """

    def __init__(self, folder: Path, name: str, form: type[C], kind: str):
        self.folder, self.file, self._form, self._kind = folder, folder / name, form, kind

    @property
    def exists(self) -> bool:
        """Whether the folder is claimed."""
        return self.file.is_file()

    def read(self) -> C:
        """What the file says; raises `RunError` when there is none, or it is damaged."""
        try:
            data = self.file.read_bytes()
            claimed = self._form.model_validate_json(data)
            require_finite(data)
            return claimed
        except (FileNotFoundError, NotADirectoryError):
            several = Kind.RUNS if self.file.name == RUN_CLAIM else Kind.COMPILES
            told = place_of(self.folder).told(f"the folder of a {self._kind}", several)
            raise RunError(f"{self.folder}: no {self._kind} here (no {self.file.name}): {told}") from None
        except OSError as error:
            raise RunError(f"{self.file}: cannot be read: {error.strerror}") from error
        except ValidationError as error:
            if any(fault["loc"] == ("format",) for fault in error.errors()):
                other = f"read it with that one, or begin a new {self._kind} elsewhere"
                raise RunError(
                    f"{self.file}: field 'format': made by another version of dspy-proact; {other}"
                ) from error
            raise RunError(f"{self.file}: {first_fault(error)}") from error
        except ValueError as error:
            raise RunError(f"{self.file}: {error}") from error

    def check(self, identity: Identified) -> C | None:
        """What the file says; None where the folder is free.

        Raises:
            RunError: The folder is another's, whose identity differs, or there is something else in it.
        """
        if not self.exists:
            self._require_free()
            return None
        claimed = self.read()
        if differing := identity.differences(claimed.identity):
            raise RunError(
                f"{self.folder}: holds another {self._kind}, which differs in {', '.join(differing)}; "
                "name another folder with --out, or leave --out away"
            )
        return claimed

    @contextmanager
    def held(self, identity: Identified) -> Generator[C | None]:
        """The folder, made if it is not there, for this process alone, by a lock that does not survive it.

        Yields:
            What `check` returns; where that is None, `write` claims it.

        Raises:
            RunError: As `check` does; also where another process holds it, or it cannot be written.
        """
        try:
            if not self.exists:
                self._require_free()
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = filelock.FileLock(self.folder / _LOCK, timeout=0)
            lock.acquire()
        except filelock.Timeout:
            raise RunError(f"{self.folder}: another process is writing this {self._kind}") from None
        except OSError as error:
            raise RunError(unwritable(self.folder, error)) from error
        try:
            yield self.check(identity)
        finally:
            lock.release()

    def write(self, claimed: C) -> None:
        """Put the file in its place; raises `UsageError` when it cannot be written."""
        write_whole(self.file, claimed.model_dump_json(indent=2) + "\n")

    def leave(self, *others: Path) -> None:
        """Take the file, the lock and others of the same owner's away, and the folder if nothing else is in it."""
        for path in (*others, self.file, self.folder / _LOCK):
            path.unlink(missing_ok=True)
        with suppress(OSError):
            self.folder.rmdir()

    def _require_free(self) -> None:
        """Raise a `RunError` where there is more than what one leaves that is killed while it claims the folder."""
        left = re.compile(rf"{_LOCK}|{re.escape(self.file.name)}\.\d+\.new")
        if self.folder.exists() and not all(left.fullmatch(path.name) for path in self.folder.iterdir()):
            raise RunError(f"{self.folder}: not empty and not a {self._kind}; name another folder with --out")
