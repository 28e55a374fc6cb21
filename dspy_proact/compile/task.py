"""What a compile needs to know of what it tunes; the judge and the assistant are such tasks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from dspy_proact.calls import Call
from dspy_proact.compile.candidate import Chosen
from dspy_proact.compile.folds import Fold, Grouped
from dspy_proact.compile.training import P, Training

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

    def folds(self) -> Sequence[Fold[Item]]:
        """Splits of the items, each tested once; raises a `UsageError` where there are too few units."""
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
