"""Datasets of the Hugging Face hub, read through `datasets` and the hub's client.

`datasets` hands over the lines as text. Its own JSON reader infers one type for each column over all rows,
and so turns a column of messages that look like dates into timestamps, integers into floats, and an
infinite number into a null. Text leaves nothing to infer: a row is the same whichever way it was read.

`datasets` and the hub's client take seconds to import, so they are imported here, inside the functions.
"""

import re
import warnings
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatch
from types import ModuleType

from dspy_proact.errors import CorpusError

_COMMIT = re.compile(r"[0-9a-f]{40}")
_TIMEOUT = 30.0
"""Seconds that the hub has to name a revision."""
_MAX_MESSAGE = 200
"""Characters of a library's message that ours repeats."""


def hub_commit(name: str, revision: str | None, instead: str) -> str:
    """The commit of a dataset's revision, None for its default branch; `CorpusError` says what to do `instead`.

    A commit is taken as it is: what has been fetched at it is read without a network.
    """
    if revision is not None and _COMMIT.fullmatch(revision):
        return revision
    import huggingface_hub

    source = name if revision is None else f"{name}@{revision}"
    with _as_corpus_error(source, instead):
        commit = huggingface_hub.HfApi().dataset_info(name, revision=revision, timeout=_TIMEOUT).sha
    if commit is None:
        raise CorpusError("the hub names no commit for it", source=source)
    return commit


def hub_sizes(name: str, commit: str, files: Sequence[str], instead: str) -> dict[str, int]:
    """Bytes of the files of a dataset at a commit whose paths match the patterns, by path; raises as `hub_commit`."""
    import huggingface_hub

    with _as_corpus_error(f"{name}@{commit}", instead):
        tree = huggingface_hub.HfApi().list_repo_tree(name, recursive=True, revision=commit, repo_type="dataset")
        sizes = {entry.path: entry.size for entry in tree if isinstance(entry, huggingface_hub.hf_api.RepoFile)}
    return {path: size for path, size in sizes.items() if any(fnmatch(path, pattern) for pattern in files)}


def hub_folder(name: str, commit: str, files: Sequence[str], instead: str) -> str:
    """The folder in the hub's cache with the files of a commit that match, fetched once; raises as `hub_commit`."""
    import huggingface_hub

    with _as_corpus_error(f"{name}@{commit}", instead), without_progress_bars(huggingface_hub.utils):
        return huggingface_hub.snapshot_download(name, repo_type="dataset", revision=commit, allow_patterns=list(files))


def text_lines(address: str, source: str, instead: str) -> list[str]:
    """The lines of a text file, read by `datasets`; raises `CorpusError` where it cannot be read."""
    import datasets
    import huggingface_hub

    features = datasets.Features({"text": datasets.Value("string")})
    with ExitStack() as stack:
        stack.enter_context(_as_corpus_error(source, instead))
        stack.enter_context(without_progress_bars(datasets.utils))
        stack.enter_context(without_progress_bars(huggingface_hub.utils))
        return list(datasets.load_dataset("text", data_files=address, features=features, split="train")["text"])


def hub_rows(name: str, commit: str, columns: Sequence[str], count: int, instead: str) -> list[dict[str, object]]:
    """The first rows of the training split of a dataset, of which no more is fetched; raises as `hub_commit`."""
    import datasets

    with _as_corpus_error(f"{name}@{commit}", instead), without_progress_bars(datasets.utils):
        split = datasets.load_dataset(name, revision=commit, split="train", streaming=True)
        rows = list(split.select_columns(list(columns)).take(count))
        if not rows:
            raise ValueError("it has no rows")
        return rows


@contextmanager
def without_progress_bars(library: ModuleType) -> Generator[None]:
    """Progress bars off, and afterwards as they were; a person's environment variable takes precedence."""
    if library.are_progress_bars_disabled():
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Cannot disable progress bars")
        library.disable_progress_bars()
    try:
        yield
    finally:
        if library.are_progress_bars_disabled():
            library.enable_progress_bars()


@contextmanager
def _as_corpus_error(source: str, instead: str) -> Generator[None]:
    """Turn errors of the network, the hub, the disk and the format into a `CorpusError` that says what to do."""
    import datasets.exceptions
    import httpx

    try:
        yield
    except (datasets.exceptions.DatasetsError, OSError, ValueError, httpx.HTTPError) as error:
        # `datasets` wraps what went wrong in an error that only says that something did.
        wrapped = isinstance(error, datasets.exceptions.DatasetsError)
        cause = (error.__cause__ if wrapped else None) or error
        if isinstance(cause, UnicodeDecodeError):
            problem = f"not UTF-8: {cause.reason}; save the file as UTF-8"
        else:
            message = " ".join(line.strip() for line in str(cause).splitlines() if line.strip())
            summary = f"{type(cause).__name__}: {message[:_MAX_MESSAGE]!r}"
            problem = f"cannot be read ({summary}); try again, or {instead}"
        raise CorpusError(problem, source=source) from error
