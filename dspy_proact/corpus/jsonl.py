from io import StringIO
from pathlib import Path

from dspy_proact.corpus.corpus import Corpus
from dspy_proact.errors import CorpusError


def read_jsonl(path: str | Path) -> Corpus:
    """Read a corpus from a file in the official format, one dialogue a line.

    Raises:
        CorpusError: The file is missing, a folder, unreadable, not UTF-8, or not a valid corpus.
    """
    source = str(path)
    data = _contents(source)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = 1 + data.count(b"\n", 0, error.start)
        raise CorpusError(f"not UTF-8: {error.reason}; save the file as UTF-8", source=source, line=line) from None
    # Universal newlines, as `datasets` reads; str.splitlines would also split at U+2028 within a string.
    return Corpus.of(StringIO(text, newline=None), name=source, source=source)


def _contents(source: str) -> bytes:
    try:
        return Path(source).read_bytes()
    except FileNotFoundError:
        problem = "there is no such file; give sample, proactbench, proactbench@REVISION or the path of a JSONL file"
    except IsADirectoryError:
        problem = "a folder, not a file; give the path of the JSONL file in it"
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
    except ValueError as error:
        problem = f"not a path: {error}"
    raise CorpusError(problem, source=source)
