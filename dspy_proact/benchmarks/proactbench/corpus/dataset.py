"""The official corpus as a dataset of the hub, or a local copy of it."""

import glob
from pathlib import Path

from dspy_proact.benchmarks.proactbench.corpus.corpus import Corpus
from dspy_proact.errors import CorpusError
from dspy_proact.files.hub import hub_commit, text_lines

PROACTBENCH = "bosonai/proactbench"
"""The official dataset on the Hugging Face hub."""
_FILE = "final_dialogues.jsonl"
_INSTEAD = f"download {_FILE} and give its path"


def read_dataset(path: str | Path = PROACTBENCH, revision: str | None = None) -> Corpus:
    """Read a corpus from a dataset of the hub, or from a local folder that holds `final_dialogues.jsonl`.

    A revision of the hub (a branch, tag or commit; None is the default branch) is resolved once, to the commit
    that is then read and that `Corpus.revision` records.

    Raises:
        CorpusError: The hub, the dataset, the revision or the file cannot be reached, or it is not a valid corpus.
    """
    name = str(path)
    # A folder that happens to have the official name must not stand in for the official dataset.
    if name != PROACTBENCH and Path(name).is_dir():
        return _read_folder(Path(name), revision)
    commit = hub_commit(name, revision, _INSTEAD)
    source = f"{name}@{commit}/{_FILE}"
    lines = text_lines(f"hf://datasets/{source}", source, _INSTEAD)
    return Corpus.of(lines, name="proactbench" if name == PROACTBENCH else name, source=source, revision=commit)


def _read_folder(folder: Path, revision: str | None) -> Corpus:
    file = folder / _FILE
    if revision is not None:
        raise CorpusError("a folder has no revisions; leave the revision out", source=str(folder))
    if not file.is_file():
        raise CorpusError(f"there is no {_FILE} in this folder", source=str(folder))
    # `datasets` cannot make a split of an empty file; `Corpus` says what is wrong with it.
    lines = text_lines(glob.escape(str(file)), str(file), _INSTEAD) if file.stat().st_size else []
    return Corpus.of(lines, name=str(folder), source=str(file))
