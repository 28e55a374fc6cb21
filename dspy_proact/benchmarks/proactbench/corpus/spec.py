from dataclasses import replace
from pathlib import Path

from dspy_proact.benchmarks.proactbench.corpus.corpus import Corpus
from dspy_proact.benchmarks.proactbench.corpus.dataset import read_dataset
from dspy_proact.benchmarks.proactbench.corpus.sample import sample_path
from dspy_proact.errors import CorpusError
from dspy_proact.files.text_file import lines_of, opened

_WANTED = "sample, proactbench, proactbench@REVISION or the path of a JSONL file"


def load_corpus(spec: str, revision: str | None = None) -> Corpus:
    """Load the corpus that a person asked for.

    Args:
        spec: `sample`, `proactbench`, `proactbench@REVISION`, or the path of a file in the official format. A file
            with one of these names is given as `./sample`.
        revision: Used where `proactbench` pins none, such as the commit that a resumed run has recorded.

    Raises:
        CorpusError: There is no such corpus, it is not valid, or a revision is given for what has none.
    """
    name, at, pinned = spec.partition("@")
    if name == "proactbench":
        if at and not pinned:
            raise CorpusError("the revision after @ is empty; leave the @ out for the newest", source=spec)
        return read_dataset(revision=pinned or revision)
    if revision is not None:
        raise CorpusError("only proactbench has revisions; leave the revision out", source=spec)
    if spec == "sample":
        return replace(read_jsonl(sample_path()), name=spec)
    return read_jsonl(spec)


def read_jsonl(path: str | Path) -> Corpus:
    """Read a corpus from a file in the official format, one dialogue a line.

    Raises:
        CorpusError: The file is missing, a folder, unreadable, not UTF-8, or not a valid corpus.
    """
    source = str(path)
    with opened(source, _WANTED) as file:
        return Corpus.of(lines_of(file, source), name=source, source=source)
