"""PROBE's tasks: where their official files are, and how they are read, sanitized and handed out one at a time.

The published corpus has 1,000 tasks of 450 kB. A file is read when its task is asked for and then let go, so that
memory does not grow with the corpus. Nothing is unpacked to disk, so that the paths in an archive lead nowhere.
"""

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath

from dspy_proact.benchmarks.probe.official import read_task
from dspy_proact.benchmarks.probe.task import DATA, ProbeView
from dspy_proact.errors import CorpusError
from dspy_proact.files.archives import Archive
from dspy_proact.files.hub import hub_commit, hub_folder
from dspy_proact.files.rows import JsonFile, opened, read_bytes, text_of
from dspy_proact.runs import HELD_BACK, Case, CaseSet, CorpusRecord

PROBE = "gilfastino/PROBE"
"""The official dataset on the Hugging Face hub."""
LARGEST = 16 << 20
"""Bytes of one file in a zip, unpacked; the official ones have less than one million."""
_NAME = re.compile(r"(.+)_(input|output)\.json")
_WANTED = "a folder of *_input.json and *_output.json, or of the two official zips"
_INSTEAD = "download its two zips and give the path of their folder"


class TaskCase(Case):
    """A task whose view is read when it is used; a `CorpusError` where its files have changed or cannot be read."""

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
) -> CaseSet:
    """The tasks of `sample`, `probe`, `probe@REVISION`, or a path, all of them validated.

    A path is that of a folder of the official files or of zips of them, or of one zip that holds all; a folder with one
    of these names is given as `./sample`. `revision` is that of `probe` where none is named, such as a resumed run has
    recorded. If they are to `sanitize`, tasks have opaque ids, an order by the seed, and no stamps. A task whose files
    cannot be used is left out and counted, unless `strict`. Raises a `CorpusError` where there is no such corpus, no
    task of it can be used, or a revision is given for files.
    """
    name, revision, path = _located(spec, revision)
    pairs = pairs_at(path)

    def read_case(key: str, ignored: Counter[str]) -> tuple[Case, str]:
        if missing := {"input", "output"} - pairs[key].keys():
            ((alone, _),) = pairs[key].values()
            raise CorpusError(f"there is no {missing.pop()} file for it", source=alone)
        sides = (pairs[key]["input"], pairs[key]["output"])
        source, right = (JsonFile.of(file, text_of(read(), file)) for file, read in sides)
        case = read_task(key, source, right, ignored)
        case = sanitized(case, seed) if sanitize else case
        task = {"key": key, "person": case.group, "difficulty": case.stratum, **case.view.model_dump(mode="json")}
        canonical = json.dumps(task, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return case, hashlib.sha256(canonical.encode()).hexdigest()

    @lru_cache(maxsize=64)  # an agent looks at a task, and soon after the judges
    def view(key: str) -> ProbeView:
        case, sha256 = read_case(key, Counter())
        if sha256 != hashes[key]:
            problem = "changed since the corpus was read; give the same command again"
            raise CorpusError(problem, source=pairs[key]["input"][0])
        return case.view_as(ProbeView)

    ignored, cases, hashes, left_out = Counter[str](), list[Case](), dict[str, str](), list[CorpusError]()
    for key in pairs:
        try:
            case, hashes[key] = read_case(key, ignored)
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
        held_back=any(case.meta.get(HELD_BACK) for case in cases),
    )
    digest = hashlib.sha256("".join(f"{sha256}\n" for sha256 in hashes.values()).encode())
    return CaseSet(tuple(cases), record, digest.hexdigest(), {"sanitize": sanitize, "seed": seed})


def sanitized(case: Case, seed: int = 0) -> Case:
    """The task with nothing but its content to tell what is evidence.

    In the official files the prefix of an id, the order of the items and their time of creation can tell it. A
    sanitized task has ids of one form and items cut to id, kind and content.

    A person's tasks share the items that are no evidence, and have them in one order with the same ids. What an item is
    has no part in its place: all are sorted by a hash of their id.
    """
    view, gold = case.view_as(ProbeView), case.view_as(ProbeView).gold
    items = sorted(view.items, key=lambda item: _digest(seed, case.group, "order", item.id))
    ids: dict[str, str] = {}
    for item in items:
        digest = _digest(seed, case.group, "id", item.id)
        # Eight digits are few enough to copy; the prefix keeps a model from copying digits alone as a number.
        while (new := f"item_{digest[:8]}") in ids.values():
            digest = _digest(digest)
        ids[item.id] = new
    bare = tuple(item.model_copy(update={"id": ids[item.id], "stamps": None}) for item in items)
    gold = gold.model_copy(update={"evidence": tuple(ids[id_] for id_ in gold.evidence), "supported_by": {}})
    return replace(case, view=view.model_copy(update={"items": bare, "gold": gold, "unread": {}}))


def _reason(error: CorpusError) -> str:
    """Why a task is left out, in words that do not name it, so that reasons can be counted."""
    field = re.sub(r"\[\d+\]", "[]", error.field or "")
    return f"{field}: {error.problem}" if field else error.problem


def _digest(*parts: object) -> str:
    return hashlib.sha256("/".join(map(str, parts)).encode()).hexdigest()


def _located(spec: str, revision: str | None) -> tuple[str, str | None, str]:
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


def pairs_at(path: str) -> dict[str, dict[str, tuple[str, Callable[[], bytes]]]]:
    """By the key of a task, in the order of the keys, and by side, where a file is and how its bytes are read.

    Raises a `CorpusError` where there is nothing of the kind, an archive is damaged, or two files have one name;
    reading raises one where a file cannot be read or is too large.
    """
    pairs: defaultdict[str, dict[str, tuple[str, Callable[[], bytes]]]] = defaultdict(dict)
    for name, source, contents in _files_at(path):
        if not (match := _NAME.fullmatch(name)) or name.startswith("._"):  # as a Mac's archiver adds
            continue
        if not name.isprintable():
            raise CorpusError("its name has control characters", source=repr(source))
        key, side = match.groups()
        if first := pairs[key].get(side):
            raise CorpusError(f"the same name as {first[0]}; keep one of the two", source=source)
        pairs[key][side] = source, contents
    if not pairs:
        raise CorpusError(f"there is no file of a task in it; give {_WANTED}", source=path)
    return dict(sorted(pairs.items()))


def _files_at(path: str) -> Iterator[tuple[str, str, Callable[[], bytes]]]:
    """Name, place and reader of each file in a zip, in the zips of a folder, or else in the folder."""
    root = Path(path)
    try:
        is_folder, is_file = root.is_dir(), root.is_file()
    except (OSError, ValueError):  # no path at all; opening it says what is wrong with it
        is_folder = is_file = False
    if not is_folder and not is_file:
        with opened(path, _WANTED):
            raise CorpusError(f"neither a zip nor a folder; give {_WANTED}", source=path)
    zips = sorted(root.glob("*.zip")) if is_folder else [root]
    for archive in (Archive(path, _WANTED) for path in zips):
        for name in archive.sizes:
            yield PurePosixPath(name).name, archive.source_of(name), partial(archive.read, name, LARGEST)
    for file in () if zips else sorted(root.rglob("*.json")):
        if file.is_file():
            yield file.name, str(file), partial(read_bytes, str(file), _WANTED)
