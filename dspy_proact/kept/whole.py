"""Files that are written whole or not at all."""

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from dspy_proact.errors import UsageError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def write_whole(path: Path, content: bytes | str) -> None:
    """Put a file in place, text as UTF-8; raises `UsageError` as `replacing` does."""
    with replacing(path) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def replacing(path: Path) -> Generator[Path]:
    """An empty file beside the path, to be written inside; it takes the path when it is on the disk whole.

    Where anything goes wrong inside, the path is as it was and nothing is left beside it.

    Raises:
        UsageError: It cannot be written; the message holds the mend.
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


def unwritable(path: Path, error: OSError) -> str:
    """Why a file cannot be written, with the mend."""
    told = error.strerror or str(error)
    if error.errno == errno.ENOENT:
        told = f"there is no folder {str(path.parent)!r}; make it first"
    elif error.errno in _FULL:
        told = f"{told}; make room on the disk and give the same command again"
    return f"{path}: cannot be written: {told}"


def _made_beside(path: Path) -> Path:
    """A new file beside the path: no link that stands at its name is followed, and no device will be replaced."""
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
