"""The published study in full, fetched from its repository once and kept.

The commit is resolved at the first reading: the newest in which the study is as it was last, because the newest of all
need not hold it. What was fetched is kept with a record of where it comes from and of every file's sha256, which all
later readings check. A folder is in its place only when all of it was fetched.
"""

import hashlib
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, TypeVar

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from dspy_proact.benchmarks.proactbench.corpus.ratings.official import ITEMS, RESULTS, OfficialFolder
from dspy_proact.benchmarks.proactbench.corpus.ratings.ratings import Ratings, RatingsSource
from dspy_proact.errors import CorpusError
from dspy_proact.types import Frozen

if TYPE_CHECKING:
    import httpx

REPOSITORY = "boson-ai/ProactBench"
STUDY = "dataset/human_eval"
"""The study's folder in the repository."""
_ADDRESS = f"github.com/{REPOSITORY}"
_KEPT = "proactbench-human-eval"
"""The folder in the cache."""
_RECORD = "source.json"
_COMMITS = 5
"""Commits to look into: the newest that touched the study may be the one that took it away."""
_LONGEST_TOLD = 200
"""Characters of a library's message that ours repeats."""
T = TypeVar("T")


class FetchRecord(Frozen):
    """What was fetched: `source.json` beside it."""

    repository: str
    commit: str
    url: str
    """Folder of the files at the commit."""
    time: str
    """When it was fetched, UTC."""
    files: dict[str, str]
    """sha256 of each file, by its path in the folder."""


class Commit(BaseModel):
    """One of a repository's commits."""

    sha: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]


class TreeEntry(BaseModel):
    """A file or folder of a commit."""

    path: str
    type: str
    sha: str
    """Of a file: git's hash of its bytes."""


class Tree(BaseModel):
    """Everything in a commit."""

    tree: list[TreeEntry]
    truncated: bool = False


@dataclass(frozen=True)
class GitHub:
    """Where the repository is."""

    api: str = "https://api.github.com"
    raw: str = "https://raw.githubusercontent.com"
    patience: float = 30.0
    """Seconds to wait for a connection, and for each part of an answer."""

    def study(self, cache: Path) -> Ratings:
        """The published study in full, from the cache; fetched into it if it is not there.

        Raises:
            CorpusError: It cannot be fetched or kept, or what was kept has changed.
        """
        folder = cache / _KEPT
        if not folder.exists():
            self._fetch(folder)
        return _kept(folder)

    def _fetch(self, folder: Path) -> None:
        import httpx

        try:
            with httpx.Client(timeout=self.patience, follow_redirects=True) as client:
                commit, files = self._resolved(client)
                url = f"{self.raw}/{REPOSITORY}/{commit}/{STUDY}"
                contents = {name: _content(client, f"{url}/{name}", git_hash) for name, git_hash in files.items()}
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            told = " ".join(str(error).split())[:_LONGEST_TOLD]
            raise _unfetched(f"{type(error).__name__}: {told!r}") from error
        source = RatingsSource.of(url, contents, commit)
        time = datetime.now(UTC).isoformat(timespec="seconds")
        record = FetchRecord(repository=_ADDRESS, commit=commit, url=url, time=time, files=dict(source.files))
        _keep(folder, contents, record)

    def _resolved(self, client: "httpx.Client") -> tuple[str, dict[str, str]]:
        """The newest commit that holds the study as it was last, and git's hash of each of its files."""
        address = f"{self.api}/repos/{REPOSITORY}"
        listed = _answer(client, f"{address}/commits?path={STUDY}&per_page={_COMMITS}", list[Commit])
        for commit in listed:
            tree = _answer(client, f"{address}/git/trees/{commit.sha}?recursive=1", Tree)
            files = _study_files(tree)
            if ITEMS in files and len(files) > 1:
                return commit.sha, files
            if tree.truncated:
                raise _unfetched("the list of its files is cut short")
        raise _unfetched(f"no commit of it holds {STUDY}/{ITEMS} with {RESULTS}")


GITHUB = GitHub()


def _study_files(tree: Tree) -> dict[str, str]:
    """Git's hash of the items and of each file of ratings, by path in the study's folder."""
    found: dict[str, str] = {}
    for entry in sorted(tree.tree, key=lambda entry: entry.path):
        path = PurePosixPath(entry.path)
        ratings = path.parent == PurePosixPath(STUDY, RESULTS) and path.suffix == ".jsonl"
        if entry.type == "blob" and (ratings or path == PurePosixPath(STUDY, ITEMS)):
            found[str(path.relative_to(STUDY))] = entry.sha
    return found


def _answer(client: "httpx.Client", url: str, kind: type[T]) -> T:
    try:
        return TypeAdapter(kind).validate_json(_got(client, url))
    except ValidationError as error:
        raise _unfetched(f"{url} answered something else than GitHub does") from error


def _content(client: "httpx.Client", url: str, git_hash: str) -> bytes:
    data = _got(client, url)
    # git's own hash of a file: it says whether all of it arrived, and nothing of who made it.
    if hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest() != git_hash:
        raise _unfetched(f"{url} is not the file that the commit holds")
    return data


def _got(client: "httpx.Client", url: str) -> bytes:
    response = client.get(url)
    if not response.is_success:
        raise _unfetched(f"{url} answered {response.status_code}")
    return response.content


def _unfetched(problem: str) -> CorpusError:
    mend = f"try again, or download its folder {STUDY}, from any commit that has it, and give the path of that folder"
    return CorpusError(f"cannot be fetched ({problem}); {mend}", source=_ADDRESS)


def _keep(folder: Path, contents: Mapping[str, bytes], record: FetchRecord) -> None:
    """Put the folder in its place, all of it or nothing; another process may have been faster."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f"{folder.name}.", dir=folder.parent) as temporary:
            new = Path(temporary) / folder.name
            (new / RESULTS).mkdir(parents=True)
            for name, data in contents.items():
                (new / name).write_bytes(data)
            (new / _RECORD).write_text(record.model_dump_json(indent=2) + "\n", encoding="utf-8")
            if not folder.exists():
                new.replace(folder)
    except OSError as error:
        if not folder.exists():
            problem = f"cannot be written: {error.strerror or error}; name another cache folder"
            raise CorpusError(problem, source=str(folder)) from error


def _kept(folder: Path) -> Ratings:
    """The study in files that are as the record beside them says.

    Raises:
        CorpusError: The record is missing or damaged, or a file was changed, added or taken away.
    """
    mend = f"delete {str(folder)!r}, and it is fetched anew"
    try:
        record = FetchRecord.model_validate_json((folder / _RECORD).read_bytes())
    except (OSError, ValidationError) as error:
        problem = f"no record of what was fetched can be read; {mend}"
        raise CorpusError(problem, source=str(folder / _RECORD)) from error
    for name in record.files:
        if not (folder / name).is_file():
            raise CorpusError(f"taken away since it was fetched; {mend}", source=str(folder / name))
    kept = OfficialFolder.read(folder)
    for name, found in RatingsSource.of(record.url, kept.contents).files.items():
        if found != record.files.get(name):
            change = "changed" if name in record.files else "added"
            raise CorpusError(f"{change} since it was fetched; {mend}", source=str(folder / name))
    return kept.ratings("proactbench", RatingsSource(origin=record.url, commit=record.commit, files=record.files))
