"""ProactiveAgent's traces: found in a folder or fetched, validated as a whole, and read turn by turn."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from dspy_proact.benchmarks.proactiveagent.turns import Kind, StreamEvent, TurnView
from dspy_proact.errors import CorpusError
from dspy_proact.files.github import RepositoryFolder, cache_folder
from dspy_proact.files.rows import Id, JsonFile, Line, RawPart, Text, elements, read_bytes, text_of
from dspy_proact.runs import Case, CaseSet

NAME = "proactiveagent"
COMMIT = "86383616ee530e9bcd1e9fe2269703ef3e3d8478"
REPOSITORY = "thunlp/ProactiveAgent"
FOLDER = files("dspy_proact.benchmarks.proactiveagent") / "data"
LONGEST_EVENT = 20_000
"""Characters; the official ones have at most 230."""
MOST_EVENTS = 10_000
"""Of a trace; the official ones have at most 21. Each is shown with those before it, so that views grow with it."""
SHA256 = {
    "dataset/test_data": "6e1387ca6efa664518e27b2de6fd32db5199d40485901c58d738d76f39fc4451",
    "dataset/reward_data": "acae47bbb6ef2d92a004ac243a934f38f9e58d516aa9ac35cbe6fde5b87a1842",
}
"""Of what is fetched, by folder: over the names and sha256 of its files at the pinned commit."""
_WANTED = "a folder with splits.json and its traces, such as dataset/test_data of the authors' repository"


class RawEvent(RawPart):
    """An event, as the files have it."""

    time: Id
    event: Text

    @property
    def plain(self) -> StreamEvent:
        """As agents and judges see it."""
        return StreamEvent(time=self.time, event=self.event)

    @property
    def problem(self) -> str | None:
        """Why it cannot be used; None where it can."""
        count = len(self.event) + len(self.time)
        return f"{count:,} characters; an event has at most {LONGEST_EVENT:,}" if count > LONGEST_EVENT else None


class Row(RawPart):
    """A turn as the files have it: what was observed and, in outputs, what an agent said."""

    observation: RawEvent
    agent_response: Any = None
    """In the corpus the authors' candidates, which reach nothing."""
    task_status: Any = None
    other_infomation: Any = None


class _Split(RawPart):
    files: list[Id]


@dataclass(frozen=True)
class Trace:
    """The events of one person's session, in the order of the file, which is that of the recording.

    In three official traces a time is earlier than the one before; the authors' evaluator goes by the order too.
    """

    name: str
    kind: Kind
    events: tuple[StreamEvent, ...]

    @property
    def origin(self) -> str:
        """Hash of its first event, by which it is known wherever it stands."""
        return origin_of(self.events[0])

    def case(self, number: int, window: int) -> Case:
        """The turn of a number, counted from 1, with the last `window` events up to it."""
        view = TurnView(events=self.events[max(0, number - window) : number], origin=self.origin)
        return Case(f"{self.name}/{number:02}", self.name, self.kind, view, {"turn": number})


def origin_of(first: StreamEvent) -> str:
    """Hash of the first event of a trace."""
    return hashlib.sha256(json.dumps([first.time, first.event]).encode()).hexdigest()[:16]


def load_corpus(spec: str, window: int, revision: str | None = None) -> CaseSet:
    """A case a turn of every trace of a corpus; raises as `load_traces` does."""
    traces, ignored, revision = load_traces(spec, revision)
    cases = [trace.case(number, window) for trace in traces.values() for number in range(1, len(trace.events) + 1)]
    case_set = CaseSet.of(spec, cases, revision, len(traces), dict(sorted(ignored.items())))
    return replace(case_set, read_with={"window": window})


def load_traces(spec: str, revision: str | None = None) -> tuple[dict[str, Trace], Counter[str], str | None]:
    """The traces of a corpus by name, how often each unknown field occurred, and the commit.

    The corpus is `sample`, `proactiveagent`, or a folder in the official layout: that of the traces, or one above it.
    Without a `revision`, which a resumed run has recorded, the pinned commit is read. Raises a `CorpusError` where
    there is no such corpus, or it is not valid.
    """
    if spec == NAME:
        contents = fetched("dataset/test_data", ("*.json",), revision)
        return *_traces(f"{REPOSITORY}/dataset/test_data", contents, contents.__getitem__), revision or COMMIT
    if revision is not None:
        raise CorpusError(f"only {NAME} has revisions; leave the revision out", source=spec)
    for folder in folders_of(spec, "test_data", "dataset/test_data"):
        if (folder / "splits.json").is_file():
            names = {path.name for path in folder.glob("*.json")}
            return *_traces(str(folder), names, lambda name, at=folder: read_bytes(str(at / name), _WANTED)), None
    raise CorpusError(f"holds no splits.json; give {_WANTED}", source=spec)


def folders_of(spec: str, *below: str) -> list[Path]:
    """Where the files of a folder may be that a person names: in it, or below it in the layout of the repository."""
    folder = Path(str(FOLDER / "sample")) if spec == "sample" else Path(spec)
    if "\0" in spec:
        raise CorpusError("not a path: it holds a NUL character", source=repr(spec))
    return [folder, *(folder / path for path in below)]


def fetched(path: str, wanted: tuple[str, ...], revision: str | None = None) -> Mapping[str, bytes]:
    """Files of a folder of the authors' repository by name, fetched once; a `CorpusError` where they cannot be had."""
    commit = revision or COMMIT
    cache = cache_folder() / f"{NAME}-{commit[:12]}" / path.rpartition("/")[2]
    contents = RepositoryFolder(REPOSITORY, path, wanted, commit).fetched(cache)[1]
    lines = (f"{name} {hashlib.sha256(contents[name]).hexdigest()}\n" for name in sorted(contents))
    if commit == COMMIT and hashlib.sha256("".join(lines).encode()).hexdigest() != SHA256[path]:
        problem = f"not the files of the pinned commit, by their sha256; delete {str(cache)!r} to fetch them again"
        raise CorpusError(problem, source=f"github.com/{REPOSITORY}/{path}")
    return contents


def _traces(source: str, names: Collection[str], read: Callable[[str], bytes]) -> tuple[dict[str, Trace], Counter[str]]:
    where = f"{source}/splits.json"
    splits = JsonFile.of(where, text_of(read("splits.json"), where)).parse()
    kinds, ignored = dict[str, Kind](), Counter[str]()
    named: dict[str, Kind] = {"real_coding": "coding", "real_writing": "writing"}
    for name, kind in named.items():
        split = splits.get(name)
        if not isinstance(split, dict):
            raise CorpusError(f"the split {name} is missing", source=where)
        listed = _Split.of(Line(where, 1, "", split)).files
        if strange := next((file for file in listed if file not in names), None):
            raise CorpusError(f"names {strange!r}, which is not there", source=where, field=f"{name}.files")
        kinds |= dict.fromkeys(listed, kind)
    if not kinds:
        raise CorpusError("names no traces", source=where)
    traces = [read_trace(f"{source}/{file}", read(file), kind, ignored) for file, kind in sorted(kinds.items())]
    return {trace.name: trace for trace in traces}, ignored


def read_trace(source: str, data: bytes, kind: Kind, ignored: Counter[str]) -> Trace:
    """The trace in a file, whose name is the file's; raises `CorpusError`, with the row, where it is not valid."""
    rows = [Row.of(row) for row in elements(text_of(data, source), source)]
    if not 0 < len(rows) <= MOST_EVENTS:
        raise CorpusError(f"{len(rows):,} events; a trace has 1 to {MOST_EVENTS:,}", source=source)
    for number, row in enumerate(rows):
        ignored.update(row.unknown_fields())
        if problem := row.observation.problem:
            raise CorpusError(problem, source=source, field=f"[{number}].observation.event")
    return Trace(Path(source).stem, kind, tuple(row.observation.plain for row in rows))
