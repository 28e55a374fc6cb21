import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from dspy_proact.benchmarks.probe.corpus.json_file import JsonFile
from dspy_proact.benchmarks.probe.corpus.members import Pair
from dspy_proact.benchmarks.probe.corpus.official import RawInput, RawOutput, foreign, unfit
from dspy_proact.benchmarks.probe.corpus.sanitize import sanitized
from dspy_proact.benchmarks.probe.corpus.task import Task
from dspy_proact.errors import CorpusError

FOREIGN = "the right parameters are not those of the right action"
"""Why a task is left out: nothing that an agent could answer would be right."""


class _UnsolvableError(CorpusError):
    """A task whose right parameters are not those of its right action."""


@dataclass(frozen=True)
class TaskEntry:
    """What is held of a task: enough to select it, to group it and to read it again."""

    key: str
    person: str
    difficulty: Literal["easy", "medium", "hard"]
    sha256: str
    """64 hex digits over the task as it is handed out."""
    pair: Pair = field(repr=False)


@dataclass(frozen=True)
class TaskCorpus:
    """Tasks that were validated as a whole, and where they come from. A task is read anew each time it is asked for."""

    name: str
    """What the person asked for: a path, `sample` or `probe`."""
    revision: str | None
    """Commit of the dataset; None for files, which have none."""
    entries: tuple[TaskEntry, ...]
    """In the order of their keys."""
    ignored_fields: Mapping[str, int] = field(default_factory=dict[str, int], hash=False)
    """How often each field occurred that the format does not know, by dotted name."""
    left_out: tuple[str, ...] = ()
    """Of each task that stands in the files and is none of the entries, for `FOREIGN`, what is wrong with it."""
    sanitize: bool = True
    """Whether tasks are handed out sanitized."""
    seed: int = 0
    """Of the sanitizing."""

    @classmethod
    def of(
        cls, pairs: Iterable[Pair], *, name: str, revision: str | None = None, sanitize: bool = True, seed: int = 0
    ) -> "TaskCorpus":
        """Read and validate tasks, one after the other, so that no more than one is held.

        Raises:
            CorpusError: A file is at fault, two do not fit together, or no task has parameters of its action.
        """
        ignored = Counter[str]()
        entries: list[TaskEntry] = []
        left_out: list[_UnsolvableError] = []
        for pair in pairs:
            try:
                task = _handed_out(_read(pair, ignored), sanitize, seed)
            except _UnsolvableError as error:
                left_out.append(error)
            else:
                entries.append(TaskEntry(task.key, task.person, task.difficulty, _sha256(task), pair))
        if left_out and not entries:
            raise left_out[0]
        told, named = tuple(map(str, left_out)), dict(sorted(ignored.items()))
        return cls(name, revision, tuple(entries), named, told, sanitize, seed)

    def __len__(self) -> int:
        """Number of tasks, at least 1."""
        return len(self.entries)

    def __iter__(self) -> Iterator[Task]:
        """The tasks, one at a time, in the order of their keys; raises as `task` does."""
        return map(self._task, self.entries)

    def task(self, key: str) -> Task:
        """The task of a key.

        Raises:
            KeyError: There is none.
            CorpusError: Its files were changed since the corpus was read, or cannot be read.
        """
        return self._task(self._by_key[key])

    @property
    def persons(self) -> tuple[str, ...]:
        """Whose tasks they are, in the order of their first ones."""
        return tuple(dict.fromkeys(each.person for each in self.entries))

    @property
    def sha256(self) -> str:
        """64 hex digits over the tasks as they are handed out, in their order."""
        return self._sha256

    @cached_property
    def _sha256(self) -> str:
        whole = hashlib.sha256()
        for each in self.entries:
            whole.update(f"{each.sha256}\n".encode())
        return whole.hexdigest()

    @cached_property
    def _by_key(self) -> Mapping[str, TaskEntry]:
        return {each.key: each for each in self.entries}

    def _task(self, entry: TaskEntry) -> Task:
        task = _handed_out(_read(entry.pair), self.sanitize, self.seed)
        if _sha256(task) != entry.sha256:
            problem = "changed since the corpus was read; give the same command again"
            raise CorpusError(problem, source=entry.pair.given.source)
        return task


def _read(pair: Pair, ignored: Counter[str] | None = None) -> Task:
    """The task in a pair of files; the fields that their format does not know are added to what was ignored."""
    given = RawInput.of(JsonFile.of(pair.given.source, pair.given.read()))
    output = JsonFile.of(pair.right.source, pair.right.read())
    right = RawOutput.of(output)
    for name, problem in unfit(given, right):
        raise output.error(problem, name)
    if ignored is not None:
        ignored.update(given.unknown_fields())
        ignored.update(right.unknown_fields())
    for name, problem in foreign(given, right):
        raise _UnsolvableError(problem, source=output.source, field=name)
    world = given.world_model
    return Task(
        key=pair.key,
        person=world.persona_id,
        difficulty=world.context_difficulty,
        world=world.world(),
        items=given.items(),
        actions=given.actions(),
        gold=right.gold(),
    )


def _handed_out(task: Task, sanitize: bool, seed: int) -> Task:
    return sanitized(task, seed) if sanitize else task


def _sha256(task: Task) -> str:
    canonical = json.dumps(task.model_dump(mode="json"), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
