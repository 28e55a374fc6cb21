"""Where the official files of tasks lie: a folder, one zip or two. Nothing is unpacked.

A file is read when it is asked for and is let go, so that the size of a corpus is not the size of what is held. What an
archive says of its members is checked before the first of them is read.
"""

import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Literal

from dspy_proact.errors import CorpusError
from dspy_proact.files.text_file import opened
from dspy_proact.plain_text import printable, shown

Side = Literal["input", "output"]

LARGEST = 16 << 20
"""Bytes of one file; the official ones have less than one million."""
MOST_BYTES = 8 << 30
"""Bytes of all files of an archive, unpacked."""
MOST_MEMBERS = 50_000
"""Members of an archive; the official ones have 1,000."""
_NAME = re.compile(r"(?P<key>.+)_(?P<side>input|output)\.json")
_SIDES = re.compile(r"(inputs|outputs)(?!.*(?:inputs|outputs))")
"""The last place in a name where an archive says which of the two it is."""
_WANTED = "a folder of *_input.json and *_output.json, either of the two official zips, or a folder that holds both"


@dataclass(frozen=True)
class Member:
    """One file of a task."""

    key: str
    """Its name without `_input.json` or `_output.json`: what the two files of a task share."""
    side: Side
    source: str
    """Where it lies, for messages."""
    read: Callable[[], bytes]
    """Its bytes; raises `CorpusError` where it cannot be read, or is larger than `LARGEST`."""


@dataclass(frozen=True)
class Pair:
    """The two files of a task."""

    key: str
    given: Member
    right: Member


def pairs_at(path: str) -> tuple[Pair, ...]:
    """The tasks that lie at a path, in the order of their keys.

    Args:
        path: A folder of the files, at any depth; one of the two zips, whose name differs from the other's by `inputs`
            and `outputs`; or a folder that holds both.

    Raises:
        CorpusError: There is nothing of the kind, an archive is damaged or not to be trusted, a file has no partner, or
            two have one name.
    """
    place = Path(path)
    if _is(Path.is_dir, place):
        zips = sorted(each for each in place.glob("*.zip") if _SIDES.search(each.name))
        return _paired(_in_zips(zips) if zips else _in_folder(place), path)
    if _is(Path.is_file, place):
        return _paired(_in_zips(_with_partner(place)), path)
    with opened(path, _WANTED):
        raise CorpusError(f"neither a zip nor a folder; give {_WANTED}", source=path)


def _is(kind: Callable[[Path], bool], path: Path) -> bool:
    """Whether a path is of a kind; what is no path is of none, and is told of when it is opened."""
    try:
        return kind(path)
    except (OSError, ValueError):
        return False


def _with_partner(path: Path) -> list[Path]:
    """A zip that is named, and its partner where that lies beside it."""
    if not (found := _SIDES.search(path.name)):
        return [path]
    other = "outputs" if found.group() == "inputs" else "inputs"
    partner = path.with_name(f"{path.name[: found.start()]}{other}{path.name[found.end() :]}")
    return [path, partner] if partner.is_file() else [path]


def _paired(members: Iterable[Member], source: str) -> tuple[Pair, ...]:
    sides: dict[Side, dict[str, Member]] = {"input": {}, "output": {}}
    for member in members:
        first = sides[member.side].setdefault(member.key, member)
        if first is not member:
            raise CorpusError(f"the same name as {first.source}; keep one of the two", source=member.source)
    given, right = sides.values()
    if not given and not right:
        raise CorpusError(f"there is no file of a task in it; give {_WANTED}", source=source)
    for key in sorted(given.keys() ^ right.keys()):
        alone, other = (given[key], "output") if key in given else (right[key], "input")
        problem = f"there is no {key}_{other}.json for it; {len(given)} inputs and {len(right)} outputs were found"
        raise CorpusError(problem, source=alone.source)
    return tuple(Pair(key, given[key], right[key]) for key in sorted(given))


def _member(name: str, source: str, read: Callable[[], bytes]) -> Member | None:
    """The file of a name, where it is one of a task's; what a Mac's archiver adds is none."""
    path = PurePosixPath(name)
    found = _NAME.fullmatch(path.name)
    if not found or path.name.startswith("._"):
        return None
    side: Side = "input" if found.group("side") == "input" else "output"
    if not path.name.isprintable():
        raise CorpusError("its name has control characters", source=repr(source))
    return Member(found.group("key"), side, source, read)


def _in_folder(folder: Path) -> Iterator[Member]:
    for path in sorted(folder.rglob("*.json")):
        if path.is_file() and (member := _member(path.name, str(path), partial(_read_file, str(path)))):
            yield member


def _read_file(source: str) -> bytes:
    with opened(source, _WANTED) as file:
        return _bounded(file.read(LARGEST + 1), source)


def _in_zips(paths: Iterable[Path]) -> Iterator[Member]:
    for path in paths:
        yield from _in_zip(path)


def _in_zip(path: Path) -> Iterator[Member]:
    source = str(path)
    try:
        with opened(source, _WANTED):
            # Its own destructor closes it, with the last of its members.
            archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        problem = f"no whole zip: {error}; give {_WANTED}, and fetch anew what was cut short"
        raise CorpusError(problem, source=source) from None
    members = archive.infolist()
    if len(members) > MOST_MEMBERS:
        raise CorpusError(f"{len(members):,} members; at most {MOST_MEMBERS:,} are read", source=source)
    if (size := sum(each.file_size for each in members)) > MOST_BYTES:
        raise CorpusError(f"{size:,} bytes when unpacked; at most {MOST_BYTES:,} are read", source=source)
    for each in members:
        where = f"{source}, {printable(each.filename)}"
        _require_harmless(each, source)
        if not each.is_dir() and (member := _member(each.filename, where, partial(_read_zipped, archive, each, where))):
            yield member


def _require_harmless(member: zipfile.ZipInfo, source: str) -> None:
    # zipfile rewrites names on reading; what the archive says is in orig_filename.
    path = PurePosixPath(member.orig_filename.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or re.match("[A-Za-z]:", member.orig_filename):
        raise CorpusError(f"{shown(member.orig_filename)} leads out of the archive; do not trust it", source=source)
    if member.file_size > LARGEST:
        problem = f"{shown(member.filename)} has {member.file_size:,} bytes; a file of a task has at most {LARGEST:,}"
        raise CorpusError(problem, source=source)
    if member.flag_bits & 1:
        raise CorpusError(f"{shown(member.filename)} is encrypted; unpack it and give the folder", source=source)


def _read_zipped(archive: zipfile.ZipFile, member: zipfile.ZipInfo, source: str) -> bytes:
    try:
        with archive.open(member) as file:
            # One byte more than it says it has, so that its end is seen and its sum checked.
            return file.read(member.file_size + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError) as error:
        raise CorpusError(f"cannot be unpacked: {error}; fetch the zip anew", source=source) from None


def _bounded(data: bytes, source: str) -> bytes:
    if len(data) > LARGEST:
        raise CorpusError(f"larger than {LARGEST:,} bytes, which no file of a task is", source=source)
    return data
