"""The cases of PROBE: every task of a corpus, read when it is looked at, since a thousand of them fill a memory."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Protocol

from dspy_proact.benchmarks.probe.corpus import FOREIGN, Task
from dspy_proact.benchmarks.probe.view import ProbeView
from dspy_proact.runs import Case, CaseSet, CorpusRecord

_KEPT = 64
"""Tasks that stay read, for each is looked at by an agent and soon after by the judges."""


class TaskEntry(Protocol):
    """What is known of a task without reading it."""

    @property
    def key(self) -> str:
        """Unique in its corpus."""
        ...

    @property
    def person(self) -> str:
        """Whose task it is."""
        ...

    @property
    def difficulty(self) -> str:
        """Of `DIFFICULTIES`."""
        ...


class Tasks(Protocol):
    """A corpus of tasks, validated as a whole."""

    @property
    def name(self) -> str:
        """What the person asked for."""
        ...

    @property
    def revision(self) -> str | None:
        """Commit of the dataset; None for files, which have none."""
        ...

    @property
    def entries(self) -> Sequence[TaskEntry]:
        """One a task, in their order."""
        ...

    @property
    def ignored_fields(self) -> Mapping[str, int]:
        """How often each field occurred that the format does not know."""
        ...

    @property
    def left_out(self) -> Sequence[str]:
        """What is wrong with each task of the files that is none of the entries."""
        ...

    @property
    def sha256(self) -> str:
        """64 hex digits over the tasks as they are handed out, in their order."""
        ...

    @property
    def sanitize(self) -> bool:
        """Whether tasks are handed out sanitized."""
        ...

    @property
    def seed(self) -> int:
        """Of the sanitizing."""
        ...

    def task(self, key: str) -> Task:
        """The task of a key, read anew."""
        ...


class TaskCase(Case):
    """A case whose view is read when it is asked for."""

    _read: "_Reading"

    def __init__(self, entry: TaskEntry, read: "_Reading"):
        meta = {"person": entry.person}
        for name, value in (("key", entry.key), ("group", entry.person), ("stratum", entry.difficulty), ("meta", meta)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_read", read)

    @property
    def view(self) -> ProbeView:  # pyright: ignore[reportIncompatibleVariableOverride]  # read-only in the frozen parent
        """The task with what is right."""
        return self._read(self.key)

    def __eq__(self, other: object) -> bool:
        # By fields, two cases would be read to be told apart.
        return isinstance(other, TaskCase) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


class _Reading:
    """Reads views by key; a few stay read."""

    def __init__(self, tasks: Tasks):
        self._view = lru_cache(maxsize=_KEPT)(lambda key: ProbeView.of(tasks.task(key)))

    def __call__(self, key: str) -> ProbeView:
        return self._view(key)


def case_set_of(tasks: Tasks) -> CaseSet:
    """One case a task, in their order."""
    count, left_out, read = len(tasks.entries), len(tasks.left_out), _Reading(tasks)
    record = CorpusRecord(
        name=tasks.name,
        revision=tasks.revision,
        rows=count + left_out,
        cases=count,
        ignored_fields=dict(tasks.ignored_fields),
        left_out={FOREIGN: left_out} if left_out else {},
    )
    return CaseSet(tuple(TaskCase(entry, read) for entry in tasks.entries), record, tasks.sha256)
