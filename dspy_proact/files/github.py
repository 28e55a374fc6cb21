"""A folder of a repository on GitHub, fetched once and kept with a record.

The commit is pinned, or resolved at the first reading: the newest in which the folder holds what is wanted, because the
newest of all need not hold it. What was fetched is kept with a record of where it comes from and of every file's
sha256, which all later readings check. A folder is in its place only when all of it was fetched.
"""

import hashlib
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, TypeVar

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from dspy_proact.errors import CorpusError
from dspy_proact.files.rows import FileReader
from dspy_proact.types import Frozen

if TYPE_CHECKING:
    import httpx

API, RAW = "https://api.github.com", "https://raw.githubusercontent.com"
_TIMEOUT = 30.0
"""Seconds to wait for a connection, and for each part of an answer."""
_RECORD = "source.json"
_COMMITS = 5
"""Commits to look into: the newest that touched the folder may be the one that took it away."""
_MAX_MESSAGE = 200
"""Characters of a library's message that ours repeats."""
T = TypeVar("T")


def cache_folder() -> Path:
    """Where this package keeps what it fetches: a folder of its own in the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dspy-proact"


class FetchRecord(Frozen):
    """What was fetched: `source.json` beside it."""

    repository: str
    commit: str
    url: str
    time: str
    files: dict[str, str]
    """sha256 of each file, by its path in the folder."""


class _Commit(BaseModel):
    sha: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]


class _Entry(BaseModel):
    path: str
    type: str
    sha: str
    """Of a file: git's hash of its bytes."""


class _CommitTree(BaseModel):
    tree: list[_Entry]
    truncated: bool = False


@dataclass(frozen=True)
class RepositoryFolder:
    """Files in a folder of a repository."""

    repository: str
    """Owner and name, such as `stanfordnlp/dspy`."""
    path: str
    wanted: tuple[str, ...]
    """Patterns of the paths of files in the folder; at least one file must match each."""
    commit: str | None = None
    """40 hex digits; None for the newest that holds what is wanted."""

    def fetched(self, cache: Path) -> tuple[FetchRecord, dict[str, bytes]]:
        """The record, and the contents by path, in order; a `CorpusError` where they cannot be had, or have changed."""
        if not cache.exists():
            self._fetch(cache)
        return self._kept(cache)

    def _fetch(self, cache: Path) -> None:
        import httpx

        try:
            with httpx.Client(timeout=_TIMEOUT, follow_redirects=True) as client:
                commit, hashes = self._resolved(client, f"{API}/repos/{self.repository}")
                url = f"{RAW}/{self.repository}/{commit}/{self.path}"
                contents = {name: self._get(client, f"{url}/{name}") for name in hashes}
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            message = " ".join(str(error).split())[:_MAX_MESSAGE]
            raise self._unfetched(f"{type(error).__name__}: {message!r}") from error
        for name, data in contents.items():
            # git's own hash of a file: it says whether all of it arrived, and nothing of who made it.
            if hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest() != hashes[name]:
                raise self._unfetched(f"{url}/{name} is not the file that the commit holds")
        record = FetchRecord(
            repository=f"github.com/{self.repository}",
            commit=commit,
            url=url,
            time=datetime.now(UTC).isoformat(timespec="seconds"),
            files={name: hashlib.sha256(data).hexdigest() for name, data in contents.items()},
        )
        _keep(cache, {**contents, _RECORD: f"{record.model_dump_json(indent=2)}\n".encode()})

    def _resolved(self, client: "httpx.Client", address: str) -> tuple[str, dict[str, str]]:
        """The commit, and git's hash of each of the files that are wanted."""
        if self.commit:
            commits = [_Commit(sha=self.commit)]
        else:
            commits = self._answer(client, f"{address}/commits?path={self.path}&per_page={_COMMITS}", list[_Commit])
        for commit in commits:
            tree = self._answer(client, f"{address}/git/trees/{commit.sha}?recursive=1", _CommitTree)
            inside = [entry for entry in tree.tree if entry.type == "blob" and entry.path.startswith(f"{self.path}/")]
            under = {entry.path.removeprefix(f"{self.path}/"): entry.sha for entry in inside}
            hashes = {name: under[name] for name in self._matching(under)}
            if all(any(_matches(name, pattern) for name in hashes) for pattern in self.wanted):
                return commit.sha, hashes
            if tree.truncated:
                raise self._unfetched("the list of its files is cut short")
        raise self._unfetched(f"no commit of it holds {self.path}/{' with '.join(self.wanted)}")

    def _matching(self, names: Iterable[str]) -> list[str]:
        return sorted(name for name in names if any(_matches(name, pattern) for pattern in self.wanted))

    def _answer(self, client: "httpx.Client", url: str, kind: type[T]) -> T:
        try:
            return TypeAdapter(kind).validate_json(self._get(client, url))
        except ValidationError as error:
            raise self._unfetched(f"{url} answered something else than GitHub does") from error

    def _get(self, client: "httpx.Client", url: str) -> bytes:
        response = client.get(url)
        if not response.is_success:
            raise self._unfetched(f"{url} answered {response.status_code}")
        return response.content

    def _unfetched(self, problem: str) -> CorpusError:
        mend = f"download its folder {self.path}, from any commit that has it, and give the path of that folder"
        source = f"github.com/{self.repository}"
        return CorpusError(f"cannot be fetched ({problem}); try again, or {mend}", source=source)

    def _kept(self, cache: Path) -> tuple[FetchRecord, dict[str, bytes]]:
        """What is in the cache, if it is as the record beside it says."""
        mend = f"delete {str(cache)!r} to fetch it again"
        try:
            record = FetchRecord.model_validate_json((cache / _RECORD).read_bytes())
        except (OSError, ValidationError) as error:
            problem = f"no record of what was fetched can be read; {mend}"
            raise CorpusError(problem, source=str(cache / _RECORD)) from error
        if self.commit not in (None, record.commit):
            raise CorpusError(f"of commit {record.commit}, not {self.commit}; {mend}", source=str(cache))
        for name in record.files:
            if not (cache / name).is_file():
                raise CorpusError(f"removed since it was fetched; {mend}", source=str(cache / name))
        inside = {path.relative_to(cache).as_posix() for path in cache.rglob("*") if path.is_file()}
        held, reader = self._matching(inside - {_RECORD}), FileReader()
        contents = {name: reader.read(cache / name, "a file that was fetched") for name in held}
        for name, data in contents.items():
            if hashlib.sha256(data).hexdigest() != record.files.get(name):
                change = "changed" if name in record.files else "added"
                raise CorpusError(f"{change} since it was fetched; {mend}", source=str(cache / name))
        return record, contents


def _matches(name: str, pattern: str) -> bool:
    """Whether a path matches a pattern as a whole; an asterisk stands for no slash."""
    return PurePosixPath(f"/{name}").match(f"/{pattern}")


def _keep(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Put the folder in its place, all of it or nothing; another process may have been faster."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f"{folder.name}.", dir=folder.parent) as temporary:
            new = Path(temporary) / folder.name
            for name, data in contents.items():
                (new / name).parent.mkdir(parents=True, exist_ok=True)
                (new / name).write_bytes(data)
            if not folder.exists():
                new.replace(folder)
    except OSError as error:
        if not folder.exists():
            problem = f"cannot be written: {error.strerror or error}; name another cache folder"
            raise CorpusError(problem, source=str(folder)) from error
