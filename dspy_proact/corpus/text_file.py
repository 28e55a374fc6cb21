from collections.abc import Iterable
from io import StringIO
from pathlib import Path

from dspy_proact.errors import CorpusError


def read_bytes(source: str, wanted: str) -> bytes:
    """The contents of a file.

    Args:
        source: Its path.
        wanted: What to give the path of, for the message.

    Raises:
        CorpusError: The file is missing, a folder or unreadable.
    """
    try:
        return Path(source).read_bytes()
    except FileNotFoundError:
        problem = f"there is no such file; give {wanted}"
    except IsADirectoryError:
        problem = "a folder, not a file; give the path of the file in it"
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
    except ValueError as error:
        problem = f"not a path: {error}"
    raise CorpusError(problem, source=source)


def lines_of(data: bytes, source: str) -> Iterable[str]:
    """The lines of a file's contents; raises `CorpusError` where they are not UTF-8.

    Ends of lines are universal, as `datasets` reads; str.splitlines would also split at U+2028 within a string.
    """
    try:
        return StringIO(data.decode(), newline=None)
    except UnicodeDecodeError as error:
        line = 1 + data.count(b"\n", 0, error.start)
        raise CorpusError(f"not UTF-8: {error.reason}; save the file as UTF-8", source=source, line=line) from None
