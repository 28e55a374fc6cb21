"""A compile from top to bottom: before, fold by fold, on everything; all at once, as far as calls allow."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Generic

from dspy_proact.calls import Call, collect_calls
from dspy_proact.compile.candidate import Chosen
from dspy_proact.compile.folds import Fold
from dspy_proact.compile.optimizers import choose
from dspy_proact.compile.progress import Progress
from dspy_proact.compile.side_by_side import side_by_side
from dspy_proact.compile.study import journal
from dspy_proact.compile.task import Item, R, T, Task, Tested
from dspy_proact.compile.training import P
from dspy_proact.errors import Interrupted
from dspy_proact.programs import Recipe
from dspy_proact.switch import Switch


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
            UsageError: There are fewer units than folds need.
            Halt: A limit was reached, a provider is down, or the person asked to stop.
        """
        task, folds = self.task, self.task.folds()
        before = self._tested(task.start, task.items)
        work = [partial(self._fold, number, fold, before.results) for number, fold in enumerate(folds, start=1)]
        whole: list[tuple[T, Chosen[P]]] = []
        last = partial(self._whole, whole, before.results)
        found = [each for each in side_by_side([*work, last], len(work) + 1) if each is not None]
        ((tuned, chosen),) = whole
        results = {key: result for each in found for key, result in each.results.items()}
        after = Tested(
            {item.key: results[item.key] for item in task.items}, tuple(call for each in found for call in each.calls)
        )
        scores = (task.score(each.results, fold.test) for each, fold in zip(found, folds, strict=True))
        return Compiled(tuned, chosen, before, after, tuple(scores))

    def _whole(self, whole: list[tuple[T, Chosen[P]]], before: Mapping[str, R]) -> None:
        with self._ending_all():
            whole.append(self._tuned(self.task.items, before, "all"))

    def _fold(self, number: int, fold: Fold[Item], before: Mapping[str, R]) -> Tested[R]:
        with self._ending_all():
            tuned, _ = self._tuned(fold.train, before, f"fold-{number}")
            return self._tested(tuned, fold.test)

    @contextmanager
    def _ending_all(self) -> Generator[None]:
        """A part of the compile, whose failure ends the other parts before they pay on for nothing."""
        try:
            yield
        except Exception:
            self.switch.pull(Interrupted("another part of the compile failed"))
            raise

    def _tuned(self, train: Sequence[Item], before: Mapping[str, R], name: str) -> tuple[T, Chosen[P]]:
        training = self.task.training(train, {item.key: before[item.key] for item in train})
        chosen = choose(training, self.recipe, journal(self.journals, name), self.progress)
        return self.task.finished(chosen, training), chosen

    def _tested(self, tuned: T, items: Sequence[Item]) -> Tested[R]:
        found = side_by_side([partial(self._test, tuned, item) for item in items], self.width)
        results = {item.key: result for item, (result, _) in zip(items, found, strict=True)}
        return Tested(results, tuple(call for _, calls in found for call in calls if call.role == self.task.role))

    def _test(self, tuned: T, item: Item) -> tuple[R, list[Call]]:
        with collect_calls() as calls:
            return self.task.test(tuned, item), calls
