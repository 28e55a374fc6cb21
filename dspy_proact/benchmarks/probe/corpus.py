"""PROBE's tasks: where their official files are, and how they are read, sanitized and handed out one at a time.

The published corpus has 1,000 tasks of 450 kB. A file is read when its task is asked for and then let go, so that
memory does not grow with the corpus. Nothing is unpacked to disk, so that the paths in an archive lead nowhere.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath

from dspy_proact.benchmarks.probe.official import read_task
from dspy_proact.benchmarks.probe.task import DATA, ProbeView
from dspy_proact.errors import CorpusError
from dspy_proact.files.archives import Archive
from dspy_proact.files.hub import hub_commit, hub_folder
from dspy_proact.files.rows import JsonFile, opened, text_of
from dspy_proact.runs import Case, CaseSet, CorpusRecord

PROBE = "gilfastino/PROBE"
"""The official dataset on the Hugging Face hub."""
LARGEST = 16 << 20
"""Bytes of one file, unpacked; the official ones have less than one million."""
MOST_BYTES = 8 << 30
"""Bytes of all files of an archive, unpacked."""
_NAME = re.compile(r"(.+)_(input|output)\.json")
_SIDES = re.compile(r"(inputs|outputs)(?!.*(?:inputs|outputs))")
"""The last place in a zip's name that says which of the two it is."""
_WANTED = "a folder of *_input.json and *_output.json, either of the two official zips, or a folder that holds both"
_INSTEAD = "download its two zips and give the path of their folder"


@dataclass(frozen=True)
class Member:
    """One of the two files of a task."""

    source: str
    """Where it is, for messages."""
    read: Callable[[], bytes]
    """Returns its bytes; raises `CorpusError` where it cannot be read or is larger than `LARGEST`."""


@dataclass(frozen=True)
class TaskSet:
    """Tasks that were validated as a whole, and how they were read."""

    case_set: CaseSet
    sanitize: bool
    seed: int


class TaskCase(Case):
    """A task whose view is read again when it is used.

    Reading raises a `CorpusError` where the files have changed since the corpus was read, or cannot be read.
    """

    _read: Callable[[str], ProbeView]

    def __init__(self, case: Case, read: Callable[[str], ProbeView]):
        # Without the dataclass's own constructor, which would set the view.
        vars(self).update(key=case.key, group=case.group, stratum=case.stratum, meta=case.meta, _read=read)

    @property
    def view(self) -> ProbeView:  # pyright: ignore[reportIncompatibleVariableOverride]  # read-only in the frozen parent
        """The task with the gold answer."""
        return self._read(self.key)


def load_tasks(
    spec: str, revision: str | None = None, *, sanitize: bool = True, seed: int = 0, strict: bool = False
) -> TaskSet:
    """Load the tasks that a person asked for, and validate all of them.

    Args:
        spec: `sample`, `probe`, `probe@REVISION`, or a path: a folder of the official files, one of the two official
            zips, or a folder that holds both. A folder with one of these names is given as `./sample`.
        revision: Commit of `probe` where the spec names none, such as the one that a resumed run has recorded.
        sanitize: Whether tasks are handed out with opaque ids, in a seeded order and without stamps.
        seed: For the ids and the order.
        strict: Whether one task whose files cannot be used raises; otherwise the task is left out and counted.

    Raises:
        CorpusError: There is no such corpus, no task of it can be used, or a revision is given for files.
    """
    name, revision, path = _place_of(spec, revision)
    pairs = _pairs_at(path)

    def read(key: str, ignored: Counter[str]) -> tuple[Case, str]:
        given, right = (JsonFile.of(of.source, text_of(of.read(), of.source)) for of in pairs[key])
        case = read_task(key, given, right, ignored)
        case = sanitized(case, seed) if sanitize else case
        return case, _sha256(case)

    @lru_cache(maxsize=64)  # an agent looks at a task, and soon after the judges
    def view(key: str) -> ProbeView:
        case, sha256 = read(key, Counter())
        if sha256 != hashes[key]:
            problem = "changed since the corpus was read; give the same command again"
            raise CorpusError(problem, source=pairs[key][0].source)
        return case.view_as(ProbeView)

    ignored, cases, hashes, left_out = Counter[str](), list[Case](), dict[str, str](), list[CorpusError]()
    for key in pairs:
        try:
            case, hashes[key] = read(key, ignored)
            cases.append(TaskCase(case, view))
        except CorpusError as error:
            left_out.append(error)
    if left_out and (strict or not cases):
        raise left_out[0]
    record = CorpusRecord(
        name=name,
        revision=revision,
        rows=len(pairs),
        cases=len(cases),
        ignored_fields=dict(sorted(ignored.items())),
        left_out=dict(Counter(map(_reason, left_out))),
    )
    digest = hashlib.sha256("".join(f"{sha256}\n" for sha256 in hashes.values()).encode())
    return TaskSet(CaseSet(tuple(cases), record, digest.hexdigest()), sanitize, seed)


def sanitized(case: Case, seed: int = 0) -> Case:
    """The task with nothing but its content to tell what is evidence.

    In the official files the prefix of an id, the order of the items and their time of creation can tell it. A
    sanitized task has ids of one form and items cut to id, kind and content.

    A person's tasks share the items that are no evidence. Half of these come first, with the same ids and in the same
    order in each task, so that a provider's cache holds that much of a prompt. The others are shuffled, task by task,
    with the evidence: were all of them first, the place of an item would tell what it is.
    """
    view, gold = case.view_as(ProbeView), case.view_as(ProbeView).gold
    others = [item for item in view.items if item.id not in gold.evidence]
    others.sort(key=lambda item: _digest(seed, case.group, "order", item.id))
    shared = others[: len(others) // 2]
    shuffled = [item for item in view.items if item not in shared]
    shuffled.sort(key=lambda item: _digest(seed, case.key, "order", item.id))
    items = [*shared, *shuffled]
    ids: dict[str, str] = {}
    for item in items:
        digest = _digest(seed, case.group, "id", item.id)
        # Eight digits are few enough to copy; the prefix keeps a model from copying digits alone as a number.
        while (new := f"item_{digest[:8]}") in ids.values():
            digest = _digest(digest)
        ids[item.id] = new
    in_gold = {
        "evidence": tuple(ids[id_] for id_ in gold.evidence),
        "supported_by": gold.supported_by and {name: ids[item] for name, item in gold.supported_by.items()},
    }
    in_view = {
        "items": tuple(item.model_copy(update={"id": ids[item.id], "stamps": None}) for item in items),
        "gold": gold.model_copy(update=in_gold),
    }
    return replace(case, view=view.model_copy(update=in_view))


def _reason(error: CorpusError) -> str:
    """Why a task is left out, in words that do not name it, so that reasons can be counted."""
    field = re.sub(r"\[\d+\]", "[]", error.field or "")
    return f"{field}: {error.problem}" if field else error.problem


def _digest(*parts: object) -> str:
    return hashlib.sha256("/".join(map(str, parts)).encode()).hexdigest()


def _sha256(case: Case) -> str:
    task = {"key": case.key, "person": case.group, "difficulty": case.stratum, **case.view.model_dump(mode="json")}
    canonical = json.dumps(task, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _place_of(spec: str, revision: str | None) -> tuple[str, str | None, str]:
    """Name, revision and path of the corpus that a person asked for, fetched from the hub where it has to be."""
    name, at, pinned = spec.partition("@")
    if name == "probe":
        if at and not pinned:
            raise CorpusError("the revision after @ is empty; leave the @ out for the newest", source=spec)
        revision = hub_commit(PROBE, pinned or revision, _INSTEAD)
        path = hub_folder(PROBE, revision, ("*.zip", "*_input.json", "*_output.json"), _INSTEAD)
    elif revision is not None:
        raise CorpusError("only probe has revisions; leave the revision out", source=spec)
    else:
        name, path = spec, str(DATA / "sample") if spec == "sample" else spec
    return name, revision, path


def _pairs_at(path: str) -> dict[str, tuple[Member, Member]]:
    """Input and output of each task at a path (see `load_tasks`), by key and in the order of the keys.

    The names of the two zips differ by `inputs` and `outputs`. Raises a `CorpusError` where there is nothing of the
    kind, an archive is damaged or too large, or two files have one name; reading a missing partner raises one.
    """
    place = Path(path)
    try:
        is_folder, is_file = place.is_dir(), place.is_file()
    except (OSError, ValueError):  # no path at all; opening it says what is wrong with it
        is_folder = is_file = False
    if is_folder:
        zips = sorted(path for path in place.glob("*.zip") if _SIDES.search(path.name))
        members = _in_zips(zips) if zips else _in_folder(place)
    elif is_file:
        other = _SIDES.sub(lambda side: "outputs" if side[0] == "inputs" else "inputs", place.name)
        members = _in_zips(path for path in dict.fromkeys((place, place.with_name(other))) if path.is_file())
    else:
        with opened(path, _WANTED):
            raise CorpusError(f"neither a zip nor a folder; give {_WANTED}", source=path)
    sides: dict[str, dict[str, Member]] = {"input": {}, "output": {}}
    for name, member in members:
        if not (match := _NAME.fullmatch(name)) or name.startswith("._"):  # as a Mac's archiver adds
            continue
        if not name.isprintable():
            raise CorpusError("its name has control characters", source=repr(member.source))
        key, side = match.groups()
        if (first := sides[side].setdefault(key, member)) is not member:
            raise CorpusError(f"the same name as {first.source}; keep one of the two", source=member.source)
    given, right = sides.values()
    if not given and not right:
        raise CorpusError(f"there is no file of a task in it; give {_WANTED}", source=path)
    counts = f"{len(given)} inputs and {len(right)} outputs were found"
    for key in given.keys() ^ right.keys():
        alone, side = (given[key], "output") if key in given else (right[key], "input")
        missing = CorpusError(f"there is no {side} file for it; {counts}", source=alone.source)
        sides[side][key] = Member(alone.source, partial(_raise, missing))
    return {key: (given[key], right[key]) for key in sorted(given)}


def _raise(error: CorpusError) -> bytes:
    raise error


def _in_folder(folder: Path) -> Iterator[tuple[str, Member]]:
    for path in sorted(folder.rglob("*.json")):
        if path.is_file():
            yield path.name, Member(str(path), partial(_read_file, str(path)))


def _in_zips(paths: Iterable[Path]) -> Iterator[tuple[str, Member]]:
    for path in paths:
        archive = Archive(path, _WANTED)
        if (size := sum(archive.sizes.values())) > MOST_BYTES:
            raise CorpusError(f"{size:,} bytes when unpacked; at most {MOST_BYTES:,} are read", source=archive.source)
        for name in archive.sizes:
            yield PurePosixPath(name).name, Member(archive.place(name), partial(archive.read, name, LARGEST))


def _read_file(source: str) -> bytes:
    with opened(source, _WANTED) as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise CorpusError(f"larger than {LARGEST:,} bytes, which no file of a task is", source=source)
    return data
