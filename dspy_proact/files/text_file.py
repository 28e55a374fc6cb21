from collections.abc import Generator, Iterator
from contextlib import contextmanager
from io import BytesIO, StringIO
from pathlib import Path
from typing import BinaryIO

from dspy_proact.errors import CorpusError
from dspy_proact.kept import Kind, place_of


def read_bytes(source: str, wanted: str) -> bytes:
    """The contents of a file; raises `CorpusError` as `opened` does."""
    with opened(source, wanted) as file:
        return file.read()


@contextmanager
def opened(source: str, wanted: str) -> Generator[BinaryIO]:
    """A file to be read.

    Args:
        source: Its path.
        wanted: What to give the path of, for the message.

    Raises:
        CorpusError: The file is missing, a folder or unreadable.
    """
    try:
        with _open(source) as file:
            yield file
        return
    except FileNotFoundError:
        problem = f"there is no such file; give {wanted}"
    except IsADirectoryError:
        place = place_of(Path(source))
        plain = "a folder, not a file; give the path of the file in it"
        problem = plain if place.kind is Kind.FOLDER else place.problem(wanted)
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
    raise CorpusError(problem, source=source)


def lines_of(data: bytes | BinaryIO, source: str) -> Iterator[str]:
    """The lines of a file or of its contents, one at a time; raises `CorpusError` at the first that is not UTF-8.

    Ends of lines are universal, as `datasets` reads; str.splitlines would also split at U+2028 within a string.
    """
    for number, raw in enumerate(BytesIO(data) if isinstance(data, bytes) else data, start=1):
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            problem = f"not UTF-8: {error.reason}; save the file as UTF-8"
            raise CorpusError(problem, source=source, line=number) from None
        yield from StringIO(text, newline=None) if "\r" in text else (text,)


def _open(source: str) -> BinaryIO:
    try:
        return Path(source).open("rb")
    except ValueError as error:
        raise CorpusError(f"not a path: {error}", source=source) from None
