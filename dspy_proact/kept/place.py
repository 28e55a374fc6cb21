"""What a path is, of what is kept on disk: told by names and first bytes, for a message to whoever is given another."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path

from dspy_proact.errors import UsageError

RUN_CLAIM, COMPILE_CLAIM = "manifest.json", "compile.json"
_PROGRAMS = ("judge.json", "assistant.json", "agent.json", "judges.json")
_RECORDS = ("cases.jsonl", "events.jsonl", "record.jsonl")
_PROGRAM = re.compile(rb'\s*\{\s*"format"\s*:\s*\d+\s*,\s*"signature"\s*:')
_TABLES = (".csv", ".parquet")
_HEAD = 200
"""Bytes that tell a compiled program."""
_MOST_NAMED = 12


class Kind(StrEnum):
    """What a path can be, in the words of a message."""

    NOTHING = "nothing of that name is there"
    RUN = "the folder of a run"
    RUNS = "a folder of runs"
    COMPILE = "the folder of a compile"
    COMPILES = "a folder of compiles"
    FOLDER = "a folder with no run and no compile in it"
    PROGRAM = "a compiled program"
    PART = "a file out of the folder of a run or a compile"
    TABLE = "a table, as `export` makes of a run"
    FILE = "a file"


@dataclass(frozen=True)
class Place:
    """A path, and what it is."""

    path: Path
    kind: Kind
    inside: Sequence[Path] = ()
    """The runs or compiles of a folder; the program of a compile that has ended; else what the path may be meant for.
    """

    def told(self, wanted: str, several: Kind | None = None) -> str:
        """What it is, and what to do.

        Args:
            wanted: What was to be given.
            several: What holds several of it.
        """
        what, mend = str(self.kind), f"give {wanted}"
        match self.kind:
            case Kind.RUNS | Kind.COMPILES if self.kind is several:
                more = len(self.inside) - _MOST_NAMED
                named = ", ".join(map(str, self.inside[:_MOST_NAMED]))
                mend = f"name one of them: {named}{f' and {more} more' if more > 0 else ''}"
            case Kind.RUN:
                what += f", whose scores `dspy-proact report {self.path}` prints"
            case Kind.COMPILE if not self.inside:
                what += " that has not ended"
                mend = "the command that began it goes on"
            case Kind.COMPILE | Kind.PROGRAM:
                what += f", whose card `dspy-proact optimize show {self.path}` prints"
            case Kind.PART:
                mend = f"name the folder: {self.path.parent}"
            case Kind.NOTHING if self.inside:
                mend = f"did you mean {self.inside[0]}?"
            case _:
                pass
        return f"{what}; {mend}"


def place_of(path: Path) -> Place:
    """What a path is; of what may not be looked into, no more than that it is a file."""
    try:
        return _folder(path) if path.is_dir() else _file(path) if path.exists() else _nothing(path)
    except OSError:
        return Place(path, Kind.FILE)


def require_apart(path: Path, *read: Path) -> None:
    """Raise a `UsageError` where a file that is to be written would take the place of what is kept or read.

    Args:
        path: Of the file.
        read: What it is made of.
    """
    if any(path.exists() and each.exists() and path.samefile(each) for each in read):
        raise UsageError(f"{path}: is what is read; name another file")
    kept = ((RUN_CLAIM, "events.jsonl"), (COMPILE_CLAIM, "record.jsonl"))
    if any((path.parent / claim).is_file() and (path.parent / record).is_file() for claim, record in kept):
        raise UsageError(f"{path}: lies in the folder of a run or a compile; name a file outside of it")


def _folder(path: Path) -> Place:
    if (path / RUN_CLAIM).is_file():
        return Place(path, Kind.RUN)
    if (path / COMPILE_CLAIM).is_file():
        return Place(path, Kind.COMPILE, [path / name for name in _PROGRAMS if (path / name).is_file()])
    for kind, claim in ((Kind.RUNS, RUN_CLAIM), (Kind.COMPILES, COMPILE_CLAIM)):
        if found := sorted(claimed.parent for depth in ("*", "*/*") for claimed in path.glob(f"{depth}/{claim}")):
            return Place(path, kind, found)
    return Place(path, Kind.FOLDER)


def _file(path: Path) -> Place:
    if path.name in (RUN_CLAIM, COMPILE_CLAIM, *_RECORDS) and _folder(path.parent).kind in (Kind.RUN, Kind.COMPILE):
        return Place(path, Kind.PART)
    if path.suffix.lower() in _TABLES:
        return Place(path, Kind.TABLE)
    if path.is_file():  # what is read from a pipe is gone
        with path.open("rb") as file:
            if _PROGRAM.match(file.read(_HEAD)):
                return Place(path, Kind.PROGRAM)
    return Place(path, Kind.FILE)


def _nothing(path: Path) -> Place:
    named = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
    return Place(path, Kind.NOTHING, [path.with_name(name) for name in get_close_matches(path.name, named, n=1)])
