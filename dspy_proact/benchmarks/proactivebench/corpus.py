"""ProactiveBench's corpus: entries read and checked as a whole, and their images, read one at a time.

A folder holds `<loader>_preprocessed.jsonl` of each environment, and the images under the paths that its entries name:
in zips beside it, from which they are read without unpacking them, or below it. The published files themselves were not
seen; the layout is that of the package proactivebench 0.1.1.
"""

import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dspy_proact.benchmarks.proactivebench.entries import FOLDER, NAMES, WORLDS, Entry, Name, RawEntry, World
from dspy_proact.benchmarks.proactivebench.environment import Environment, State
from dspy_proact.errors import CorpusError
from dspy_proact.files.archives import Archive, ZippedFolder
from dspy_proact.files.hub import hub_commit, hub_folder, hub_sizes
from dspy_proact.files.rows import Line, lines_in, lines_of, read_bytes
from dspy_proact.images import MOST_BYTES, Box, measured
from dspy_proact.plain_text import shown
from dspy_proact.runs import CorpusRecord

NAME = "proactivebench"
DATASET = "tdemin16/ProactiveBench"
"""The official dataset on the Hugging Face hub."""
_WANTED = f"the test folder of {DATASET}, with a *_preprocessed.jsonl of each environment and its images or zips"
_INSTEAD = "download its folder test and give the path of that folder"
_AROUND = 50
"""Pixels about the middle of a thing that must be seen for it to be told."""


@dataclass(frozen=True)
class Corpus:
    """Entries that were validated as a whole, and where their images are."""

    record: CorpusRecord
    entries: Mapping[Name, Sequence[Entry]]
    """Those that are kept, by environment in the order in which these were asked for."""
    images: "Images"


def read_corpus(
    corpus: Any, environments: Sequence[Name], filtered: bool, foreign: bool = False, revision: str | None = None
) -> Corpus:
    """The entries of environments, in this order, from `sample`, `proactivebench@REVISION`, or the path of a folder.

    A folder with one of these names is given as `./sample`. Without a revision, which a resumed run has recorded, the
    message of the error says what would be fetched. If `filtered`, entries that the paper's filter drops are left out
    and counted, of the sample none; if `foreign`, entries may offer moves of other environments. Raises a
    `CorpusError`, with file and line, where there is no such corpus, or an entry of it cannot be played.
    """
    spec, worlds = str(corpus), [WORLDS[name] for name in environments]
    name, revision, folder = _located(spec, revision, worlds)
    descriptions = tomllib.loads((folder / "descriptions.toml").read_text(encoding="utf-8")) if spec == "sample" else {}
    images = Images(folder, worlds, descriptions)
    kept = kept_ids() if filtered and spec != "sample" else {}
    entries: dict[Name, list[Entry]] = {name: [] for name in environments}
    ignored, left_out, rows = Counter[str](), Counter[str](), 0
    for world in worlds:
        file = folder / f"{world.loader}_preprocessed.jsonl"
        for line, raw in _rows(file, ignored):
            rows += 1
            entry = raw.checked(line, world, foreign)
            if raw.strong_occlusions is False:
                left_out["seen well without a move (strong_occlusions: false)"] += 1
            elif kept and raw.id not in kept[world.name]:
                left_out["dropped by the paper's filter"] += 1
            else:
                images.require(line, world, _paths(world, entry))
                entries[world.name].append(entry)
        if not entries[world.name]:
            mend = "; `settings.filter=false` takes all" if kept else ""
            raise CorpusError(f"holds no entry that is kept{mend}", source=str(file))
    record = CorpusRecord(
        name=name,
        revision=revision,
        rows=rows,
        cases=sum(map(len, entries.values())),
        ignored_fields=dict(sorted(ignored.items())),
        left_out=dict(sorted(left_out.items())),
    )
    return Corpus(record, entries, images)


def _located(spec: str, revision: str | None, worlds: Sequence[World]) -> tuple[str, str | None, Path]:
    """Name, revision and folder of the corpus that a person asked for, fetched from the hub where it has to be."""
    name, _, pinned = spec.partition("@")
    if name == NAME:
        wanted = pinned or revision
        commit = hub_commit(DATASET, wanted, _INSTEAD)
        files = [f"test/{world.loader}*" for world in worlds]
        if not wanted:
            sizes = hub_sizes(DATASET, commit, files, _INSTEAD)
            size = f"{len(sizes)} files, {sum(sizes.values()) / 1e6:,.0f} MB, would be fetched"
            raise CorpusError(f"{size}; `corpus={NAME}@{commit}` fetches them, or {_INSTEAD}", source=DATASET)
        return name, commit, Path(hub_folder(DATASET, commit, files, _INSTEAD), "test")
    if revision is not None:
        raise CorpusError(f"only {NAME} has revisions; leave the revision out", source=spec)
    folder = Path(str(FOLDER), "sample") if spec == "sample" else Path(spec)
    if not folder.is_dir():
        raise CorpusError(f"no folder; give {_WANTED}", source=spec)
    return spec, None, folder


def kept_ids() -> Mapping[Name, frozenset[int]]:
    """Ids of the entries that the paper's filter keeps."""
    masks = tomllib.loads((FOLDER / "filter.toml").read_text(encoding="utf-8"))
    return {
        name: frozenset(index for index, bit in enumerate(f"{int(masks[name], 16):b}"[::-1]) if bit == "1")
        for name in NAMES
    }


def _rows(file: Path, ignored: Counter[str]) -> Iterator[tuple[Line, RawEntry]]:
    source, ids = str(file), dict[int, int]()
    for line in lines_in(lines_of(read_bytes(source, _WANTED), source), source, "entry"):
        raw = RawEntry.of(line)
        ignored.update(raw.unknown_fields())
        if (first := ids.setdefault(raw.id, line.number)) != line.number:
            raise line.error(f"{raw.id} is the id of line {first} too", "id")
        yield line, raw


def _paths(world: World, entry: Entry) -> Iterator[str]:
    made, clear = Environment(world, entry), Environment(world, entry, reference=True)
    yield clear.path(clear.start)
    for action in world.actions:  # one of them for ever leads wherever several do
        state: State | None = made.start
        while state:
            yield made.path(state)
            state = made.moved(state, action)


class Images:
    """The images of a corpus; several threads may load some at a time.

    Those of each world are in the zips of the folder that its name begins, or else in all. The `descriptions` of the
    sample say what is `seen` on each image in words, where the thing on one that is shown in parts is, `at`, and what a
    part shows `little` without it.
    """

    def __init__(self, folder: Path, worlds: Sequence[World], descriptions: Mapping[str, Any]):
        self._descriptions = descriptions
        zips, archives = sorted(folder.glob("*.zip")), dict[Path, Archive]()
        self._folders = dict[Name, ZippedFolder]()
        for world in worlds:
            own = [path for path in zips if path.name.startswith(world.loader)] or zips
            archives |= {path: Archive(path, _WANTED) for path in own if path not in archives}
            self._folders[world.name] = ZippedFolder(folder, [archives[path] for path in own])

    def require(self, line: Line, world: World, paths: Iterable[str]) -> None:
        """Raise a `CorpusError` of a line where an image is not there or not taken, as far as its beginning tells."""
        for path in dict.fromkeys(paths):
            try:
                with self._folders[world.name].opened(path, MOST_BYTES) as file:
                    measured(file, path, path)
            except CorpusError as error:
                raise line.error(f"its image {shown(path)}: {error.problem}", "image_template") from None

    def load(self, world: World, path: str) -> bytes:
        """The file of an image; raises a `CorpusError` where it cannot be read."""
        with self._folders[world.name].opened(path, MOST_BYTES) as file:
            return file.read(MOST_BYTES + 1)  # beyond the end of a file in a zip, where its checksum is verified

    def source_of(self, world: World, path: str) -> str:
        """Where an image stands, as messages name it."""
        return self._folders[world.name].source_of(path)

    def description(self, path: str, crop: Box | None) -> str:
        """What is seen on an image, or on a crop of it, in words, for the embedded model; empty but for the sample."""
        if crop and (at := self._descriptions.get("at", {}).get(path)):
            shown = all(crop[side] + _AROUND <= at[side] <= crop[side + 2] - _AROUND for side in (0, 1))
            return self._descriptions["seen"][path] if shown else self._descriptions["little"]
        return self._descriptions.get("seen", {}).get(path, "")
