"""ProactiveBench's corpus: entries read and checked as a whole, and their images, read one at a time.

A folder holds `<loader>_preprocessed.jsonl` of each environment and, below it, the images under the paths that its
entries name. The published files themselves were not seen; the layout is that of the package proactivebench 0.1.1.
"""

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

from dspy_proact.benchmarks.proactivebench.entries import FOLDER, NAMES, WORLDS, Entry, Name, RawEntry, World
from dspy_proact.benchmarks.proactivebench.environment import Environment, State
from dspy_proact.benchmarks.proactivebench.sample import description, drawn
from dspy_proact.errors import CorpusError
from dspy_proact.files.rows import Line, lines_in, lines_of, opened, read_bytes
from dspy_proact.images import MOST_BYTES, Box
from dspy_proact.runs import CorpusRecord

_LINES = "{}_preprocessed.jsonl"
_WANTED = "the test folder of tdemin16/ProactiveBench, with a *_preprocessed.jsonl of each environment and its images"
_UNNEEDED = "seen well without a move (strong_occlusions: false)"
_FILTERED = "dropped by the paper's filter"


class Images(Protocol):
    """The images of a corpus; several threads may ask for some at a time."""

    def load(self, world: World, path: str) -> bytes:
        """The file of an image; raises a `CorpusError` where it cannot be read."""
        ...

    def description(self, world: World, path: str, crop: Box | None) -> str:
        """What is seen on an image, or on a crop of it, in words; empty but for drawings of the sample."""
        ...


@dataclass(frozen=True)
class Corpus:
    """Entries that were validated as a whole, and where their images are."""

    record: CorpusRecord
    entries: tuple[tuple[World, Entry], ...]
    """Those that are kept, in the order in which environments were asked for, and of the files."""
    images: Images


def read_corpus(
    corpus: Any, environments: Sequence[Name], filtered: bool, foreign: bool = False, revision: str | None = None
) -> Corpus:
    """The entries of environments.

    Args:
        corpus: `sample`, or the path of a folder; one of that name is given as `./sample`.
        environments: Whose entries are read, in the order in which they are to stand.
        filtered: Whether entries that the paper's filter drops are left out and counted; of the sample none are.
        foreign: Whether entries may offer moves of other environments.
        revision: That a resumed run has recorded.

    Raises:
        CorpusError: There is no such corpus, or an entry of it cannot be played; the message names file and line.
    """
    spec = str(corpus)
    if revision is not None:
        raise CorpusError("a folder has no revisions; leave the revision out", source=spec)
    images = _Drawn() if spec == "sample" else _InFolder(_folder(spec))
    place = Path(str(FOLDER), "sample") if spec == "sample" else _folder(spec)
    kept = kept_ids() if filtered and spec != "sample" else {}
    entries, ignored, left_out, rows = list[tuple[World, Entry]](), Counter[str](), Counter[str](), 0
    for world in (WORLDS[name] for name in environments):
        file, before = place / _LINES.format(world.loader), len(entries)
        for line, raw in _rows(file, ignored):
            rows += 1
            entry = raw.checked(line, world, foreign)
            if raw.strong_occlusions is False:
                left_out[_UNNEEDED] += 1
            elif kept and raw.id not in kept[world.name]:
                left_out[_FILTERED] += 1
            else:
                _require_images(line, world, entry, images)
                entries.append((world, entry))
        if len(entries) == before:
            mend = "; --set filter=false takes all" if kept else ""
            raise CorpusError(f"holds no entry that is kept{mend}", source=str(file))
    record = CorpusRecord(
        name=spec,
        revision=revision,
        rows=rows,
        cases=len(entries),
        ignored_fields=dict(sorted(ignored.items())),
        left_out=dict(sorted(left_out.items())),
    )
    return Corpus(record, tuple(entries), images)


def _folder(spec: str) -> Path:
    if "\0" in spec:
        raise CorpusError("not a path: it holds a NUL character", source=repr(spec))
    if not Path(spec).is_dir():
        raise CorpusError(f"no folder; give {_WANTED}", source=spec)
    return Path(spec)


def kept_ids() -> Mapping[Name, frozenset[int]]:
    """Ids of the entries that the paper's filter keeps."""
    masks = tomllib.loads((FOLDER / "filter.toml").read_text(encoding="utf-8"))
    return {
        name: frozenset(place for place, bit in enumerate(f"{int(masks[name], 16):b}"[::-1]) if bit == "1")
        for name in NAMES
    }


def _rows(file: Path, ignored: Counter[str]) -> Iterator[tuple[Line, RawEntry]]:
    """Each entry of a file, and its line."""
    source, ids = str(file), dict[int, int]()
    for line in lines_in(lines_of(read_bytes(source, _WANTED), source), source, "entry"):
        raw = RawEntry.of(line)
        ignored.update(raw.unknown_fields())
        if (first := ids.setdefault(raw.id, line.number)) != line.number:
            raise line.error(f"{raw.id} is the id of line {first} too", "id")
        yield line, raw


def _require_images(line: Line, world: World, entry: Entry, images: "_Drawn | _InFolder") -> None:
    """Raise a `CorpusError` where an image that an entry may show is not there."""
    for path in _paths(world, entry):
        if problem := _strange(path) or images.problem(path):
            raise line.error(f"its image {path!r} {problem}", "image_template")


def _strange(path: str) -> str:
    """What is wrong with the path of an image, whatever there is."""
    if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
        return "would lie outside of the folder"
    return ""


def _paths(world: World, entry: Entry) -> list[str]:
    """Paths of all images that an entry may show."""
    shown, clear = Environment(world, entry), Environment(world, entry, reference=True)
    first, count = entry.first_image, entry.num_images
    states = [State(first)]
    if entry.valid_images is not None:
        states += [State(number, turn) for turn, number in enumerate(entry.valid_images[:count]) if turn]
    elif world.circular:
        states = [State(number) for number in range(count)]
    elif world.name == "CIT":
        step = entry.step_size or 1
        most = step * (shown.max_steps - 1)
        states = [State(n) for n in range(max(first - most, first % step), min(first + most + 1, count), step)]
    elif world.name != "COCO":
        way = -1 if world.backward else 1
        states = [State(first + way * turn, turn) for turn in range(count)]
    return list(dict.fromkeys([*map(shown.path, states), clear.path(clear.start)]))


class _Drawn:
    """The images of the sample."""

    def problem(self, path: str) -> str:  # noqa: ARG002 - as a folder takes it
        return ""

    def load(self, world: World, path: str) -> bytes:  # noqa: ARG002 - as a folder takes it
        return drawn(path)

    def description(self, world: World, path: str, crop: Box | None) -> str:  # noqa: ARG002 - likewise
        return description(path, crop)


@dataclass(frozen=True)
class _InFolder:
    """Images in a folder."""

    folder: Path

    def problem(self, path: str) -> str:
        """Why there is no such image; empty where there is one."""
        place = self.folder / path
        try:
            if not place.is_file():
                return "is missing"
            inside = place.resolve().is_relative_to(self.folder.resolve())
        except (OSError, ValueError) as error:
            return f"cannot be read: {error}"
        return "" if inside else "is a link that leads out of the folder"

    def load(self, world: World, path: str) -> bytes:  # noqa: ARG002 - as archives take it
        source = str(self.folder / path)
        if problem := _strange(path) or self.problem(path):
            raise CorpusError(problem, source=source)
        with opened(source, "an image") as file:
            return file.read(MOST_BYTES + 1)

    def description(self, world: World, path: str, crop: Box | None) -> str:  # noqa: ARG002 - nobody has described them
        return ""
