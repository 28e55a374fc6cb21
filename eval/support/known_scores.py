"""A training set whose scores are known, by program and item: candidates are raced without a model."""

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace

import dspy

from dspy_proact.compile.target import MORE, TOKENS


@dataclass(frozen=True)
class KnownProgram:
    """A program by its name."""

    name: str


@dataclass(frozen=True)
class KnownAnswer:
    """As much of an `Answered` as a race reads."""

    example: dspy.Example
    score: float
    completion_tokens: int | None
    prediction: str = "an answer"


class KnownScores:
    """As much of a `Training` as a race and its guards read; it writes down what is asked.

    Args:
        scores: Of each item, by program, the student first.
        groups: How many groups the items are dealt to, or the group of each.
        harms: Of each watched item, by program.
        tokens: Of an answer, by program; unknown of others.
        shown: Keys of the items that stand in demos, by program.
        broken: Guards that a program breaks on other items, by its name.
        guarded_by_default: Whether the guard on completion tokens applies.
    """

    width = 1

    def __init__(
        self,
        scores: Mapping[str, Sequence[float]],
        groups: int | Sequence[int] = 4,
        *,
        harms: Mapping[str, Sequence[float]] | None = None,
        tokens: Mapping[str, int] | None = None,
        shown: Mapping[str, Collection[str]] | None = None,
        broken: Callable[[str], tuple[str, ...]] = lambda _: (),
        guarded_by_default: bool = True,
    ):
        self.calls, self.guarded = list[tuple[str, str]](), list[str]()
        self._tokens, self._shown, self._broken = tokens or {}, shown or {}, broken
        names, self._turn = [*scores], threading.Lock()
        rows = {name: [*scores[name], *(harms or {}).get(name, ())] for name in names}
        count, both = len(scores[names[0]]), len(rows[names[0]])
        examples = [dspy.Example(key=f"{number:03d}") for number in range(both)]
        self.examples, self.watched = examples[:count], examples[count:]
        dealt = [number % groups for number in range(both)] if isinstance(groups, int) else groups
        self.groups = {example.key: f"g{group}" for example, group in zip(examples, dealt, strict=True)}
        self._rows = {name: dict(zip(self.groups, row, strict=True)) for name, row in rows.items()}
        self.programs = {name: KnownProgram(name) for name in names}
        self.student = self.programs[names[0]]
        self.target = SimpleNamespace(default_guards={TOKENS: MORE} if guarded_by_default else {})

    def answer(self, program: KnownProgram, example: dspy.Example) -> KnownAnswer:
        """The known score of a program at an item, or its harm at a watched one."""
        with self._turn:
            self.calls.append((program.name, example.key))
        return KnownAnswer(example, self._rows[program.name][example.key], self._tokens.get(program.name))

    def harm(self, answered: KnownAnswer) -> float:
        """That of an answer to a watched item."""
        return answered.score

    def shown_in(self, program: KnownProgram) -> frozenset[str]:
        """Keys of the items in a program's demos."""
        return frozenset(self._shown.get(program.name, ()))

    def broken(self, program: KnownProgram) -> tuple[str, ...]:
        """The guards that a program breaks on other items."""
        self.guarded.append(program.name)
        return self._broken(program.name)
