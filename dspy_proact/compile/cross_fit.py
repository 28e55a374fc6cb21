"""A compile from top to bottom: before, fold by fold, on everything; all at once, as far as calls allow.

What it tunes is a `Task`; the judge and the assistant are such tasks.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from dspy_proact.calls import Call, collect_calls
from dspy_proact.compile.folds import Fold, Grouped
from dspy_proact.compile.forecast import Progress
from dspy_proact.compile.optimizers import choose
from dspy_proact.compile.training import Chosen, P, Training, side_by_side
from dspy_proact.errors import Interrupted
from dspy_proact.programs import Recipe
from dspy_proact.switch import Switch

Item = TypeVar("Item", bound=Grouped)
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Tested(Generic[R]):
    """What was found at every item."""

    results: Mapping[str, R]
    """By key, in the order of the items."""
    calls: tuple[Call, ...]
    """That the program under test took."""


class Task(Protocol[Item, P, T, R]):
    """A program to tune, and items to learn from and to test on.

    `Item` is an item, `P` a program that optimizers change, `T` what is shipped and tested (a program, or one with
    something fitted beside it), and `R` what a test finds at one item.
    """

    @property
    def items(self) -> Sequence[Item]:
        """What is learned from and tested on."""
        ...

    @property
    def start(self) -> T:
        """What is tested before, and where tuning starts; it stays as it is."""
        ...

    @property
    def role(self) -> str:
        """In which the program under test calls its model."""
        ...

    @property
    def folds(self) -> Sequence[Fold[Item]]:
        """Splits of the items, in which each is tested once; no unit is on both sides."""
        ...

    def training(self, train: Sequence[Item], before: Mapping[str, R]) -> Training[P]:
        """One training set, with what was found of its items before; nothing of any other item is in reach."""
        ...

    def finished(self, chosen: Chosen[P], training: Any) -> T:
        """What is shipped of a program that was chosen on a training set of this task's."""
        ...

    def test(self, tuned: T, item: Item) -> R:
        """What is found at an item; a failure of content is a result."""
        ...

    def score(self, results: Mapping[str, R], items: Sequence[Item]) -> float | None:
        """Mean score of the results of a fold's test items, in [0, 1], higher is better; None without any."""
        ...


N = TypeVar("N", bound=float)


@dataclass(frozen=True)
class Compiled(Generic[P, T, R]):
    """What came of a compile."""

    tuned: T
    """On everything."""
    chosen: Chosen[P]
    """Among which candidates it was chosen."""
    before: Tested[R]
    """By the start."""
    after: Tested[R]
    """Each item by a program that never saw its unit."""
    fold_scores: tuple[float | None, ...]
    """Of each fold's program on its test items."""

    def numbers(
        self, items: Sequence[Item], number: Callable[[R], N | None]
    ) -> tuple[Sequence[N | None], Sequence[N | None]]:
        """A number of each item before and after, aligned; None where it has none."""
        before, after = ([number(tested.results[item.key]) for item in items] for tested in (self.before, self.after))
        return before, after

    def both(
        self, items: Sequence[Item], number: Callable[[R], N | None]
    ) -> tuple[Sequence[Item], Sequence[N], Sequence[N]]:
        """The items that have a number before and after, and these numbers, aligned."""
        rows = zip(items, *self.numbers(items, number), strict=True)
        known = [(item, first, second) for item, first, second in rows if first is not None and second is not None]
        return [row[0] for row in known], [row[1] for row in known], [row[2] for row in known]


@dataclass(frozen=True)
class CrossFit(Generic[Item, P, T, R]):
    """How a task is compiled.

    Args:
        task: What is tuned.
        recipe: How hard.
        width: Items at once; calls in flight are the gate's matter.
        progress: Is told of candidates.
        journals: Folder in which studies are written down; None where they are not.
        switch: Of the gate; a part that fails ends the others by it.
    """

    task: Task[Item, P, T, R]
    recipe: Recipe
    width: int
    progress: Progress
    journals: Path | None = None
    switch: Switch = field(default_factory=Switch)

    def compiled(self) -> Compiled[P, T, R]:
        """Test the start, then tune on all but each fold and test on it, and tune on everything.

        Nothing of a test item reaches its fold's program.

        Raises:
            Halt: A limit was reached, a provider is down, or the person asked to stop.
        """
        task, folds = self.task, self.task.folds
        before = self._tested(task.start, task.items)
        parts: list[Callable[[], Any]] = [
            *(partial(self._fold, number, fold, before.results) for number, fold in enumerate(folds, start=1)),
            partial(self._tuned, task.items, before.results, "all"),
        ]
        found: list[Tested[R]]
        *found, (tuned, chosen) = side_by_side([partial(self._ending_all, part) for part in parts], len(parts))
        results = {key: result for each in found for key, result in each.results.items()}
        after = Tested(
            {item.key: results[item.key] for item in task.items}, tuple(call for each in found for call in each.calls)
        )
        scores = (task.score(each.results, fold.test) for each, fold in zip(found, folds, strict=True))
        return Compiled(tuned, chosen, before, after, tuple(scores))

    def _fold(self, number: int, fold: Fold[Item], before: Mapping[str, R]) -> Tested[R]:
        tuned, _ = self._tuned(fold.train, before, f"fold-{number}")
        return self._tested(tuned, fold.test)

    def _ending_all(self, part: Callable[[], Any]) -> Any:
        """What a part of the compile comes to; its failure ends the other parts before they pay on for nothing."""
        try:
            return part()
        except Exception:
            self.switch.pull(Interrupted("another part of the compile failed"))
            raise

    def _tuned(self, train: Sequence[Item], before: Mapping[str, R], name: str) -> tuple[T, Chosen[P]]:
        training = self.task.training(train, {item.key: before[item.key] for item in train})
        journal = self.journals / f"study-{name}.log" if self.journals else None
        chosen = choose(training, self.recipe, journal, self.progress)
        return self.task.finished(chosen, training), chosen

    def _tested(self, tuned: T, items: Sequence[Item]) -> Tested[R]:
        found = side_by_side([partial(self._test, tuned, item) for item in items], self.width)
        results = {item.key: result for item, (result, _) in zip(items, found, strict=True)}
        return Tested(results, tuple(call for _, calls in found for call in calls if call.role == self.task.role))

    def _test(self, tuned: T, item: Item) -> tuple[R, list[Call]]:
        with collect_calls() as calls:
            return self.task.test(tuned, item), calls
