"""Files that are written whole or not at all, and what is wrong with those that cannot be written or read."""

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json

from dspy_proact.errors import UsageError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def write_whole(path: Path, content: bytes | str) -> None:
    """Write a file, text as UTF-8; raises `UsageError` as `replacing` does."""
    with replacing(path) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def replacing(path: Path) -> Generator[Path]:
    """An empty file beside the path, to be written inside; it takes the path when it is whole on disk.

    Where anything goes wrong inside, the path is as it was and nothing is left beside it. Raises a `UsageError` where
    the path cannot be written.
    """
    temporary = _made_beside(path)
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise UsageError(unwritable(path, error)) from error
    finally:
        temporary.unlink(missing_ok=True)


def _made_beside(path: Path) -> Path:
    """A new file beside the path: it follows no link that stands at its name, and will replace no device."""
    try:
        temporary = path.with_name(f"{path.name}.{os.getpid()}.new")
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if path.exists() and not path.is_file():
            raise OSError(errno.EINVAL, "not a regular file; name another")
        temporary.unlink(missing_ok=True)
        temporary.touch(exist_ok=False)
    except OSError as error:
        raise UsageError(unwritable(path, error)) from error
    except ValueError as error:
        raise UsageError(f"{path}: cannot be written: not a path: {error}") from error
    return temporary


def unwritable(path: Path, error: OSError) -> str:
    """Why a file cannot be written, and how to mend it."""
    problem = error.strerror or str(error)
    if error.errno == errno.ENOENT:
        problem = f"there is no folder {str(path.parent)!r}; create it first"
    elif error.errno in _FULL:
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
