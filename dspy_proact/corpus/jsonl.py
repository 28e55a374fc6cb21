from pathlib import Path

from dspy_proact.corpus.corpus import Corpus
from dspy_proact.corpus.text_file import lines_of, opened

_WANTED = "sample, proactbench, proactbench@REVISION or the path of a JSONL file"


def read_jsonl(path: str | Path) -> Corpus:
    """Read a corpus from a file in the official format, one dialogue a line.

    Raises:
        CorpusError: The file is missing, a folder, unreadable, not UTF-8, or not a valid corpus.
    """
    source = str(path)
    with opened(source, _WANTED) as file:
        return Corpus.of(lines_of(file, source), name=source, source=source)
