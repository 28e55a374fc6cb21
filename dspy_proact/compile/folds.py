"""Grouped k-fold: every item is tested once, by a program that never saw its unit.

An item has a `key`, unique among the items. Items of one unit are kept together; units are given by key.
"""

import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from dspy_proact.errors import UsageError
from dspy_proact.runs import Case, Nouns

Item = TypeVar("Item", bound=Any)


def joined(units: Mapping[str, str], cases: Sequence[Case]) -> Mapping[str, str]:
    """Units by the keys of cases; units that share a chain, or whose cases programs see alike, are one.

    A row that stands twice makes such cases.
    """
    same, holder = {unit: unit for unit in units.values()}, dict[str, str]()

    def root(unit: str) -> str:
        while same[unit] != unit:
            unit = same[unit]
        return unit

    for case in cases:
        for shared in (case.view.model_dump_json(), *([f"chain {case.chain}"] if case.chain else [])):
            unit = root(units[case.key])
            same[unit] = root(holder.setdefault(shared, unit))
    return {key: root(unit) for key, unit in units.items()}


@dataclass(frozen=True)
class Fold(Generic[Item]):
    """A split of the items; no unit is on both sides."""

    train: tuple[Item, ...]
    test: tuple[Item, ...]

    @classmethod
    def of(cls, items: Sequence[Item], units: Mapping[str, str], test: Collection[str]) -> "Fold[Item]":
        """The items in their order; those of some units are tested."""
        train, tested = ([item for item in items if (units[item.key] in test) == side] for side in (False, True))
        return cls(tuple(train), tuple(tested))


def grouped_folds(items: Sequence[Item], units: Mapping[str, str], count: int, seed: int) -> tuple[Fold[Item], ...]:
    """Two or more folds of whole units, balanced by size; they depend on items and seed, not on the items' order."""
    sizes = Counter(units[item.key] for item in items)
    assert 2 <= count <= len(sizes), "folds are counted before"
    order = sorted(sizes)
    random.Random(seed).shuffle(order)
    tests: list[set[str]] = [set() for _ in range(count)]
    for unit in sorted(order, key=lambda unit: -sizes[unit]):
        min(tests, key=lambda test: sum(sizes[name] for name in test)).add(unit)
    return tuple(Fold.of(items, units, test) for test in tests)


def balanced_folds(
    items: Sequence[Item], chosen: Sequence[Item], units: Mapping[str, str], *, count: int, seed: int, nouns: Nouns
) -> tuple[Fold[Item], ...]:
    """The folds of a compile, balanced by the chosen items; the other items of a unit go with them.

    Raises a `UsageError` where there are fewer units than folds, or a fold leaves fewer than two units in training: one
    to learn from, one to compare candidates on.
    """
    dealt = {units[item.key] for item in chosen}
    tests: list[set[str]] = []
    if 2 <= count <= len(dealt):
        tests = [{units[item.key] for item in fold.test} for fold in grouped_folds(chosen, units, count, seed)]
    if not tests or any(len(dealt - test) < 2 for test in tests):
        mend = f"give `recipe.folds={len(dealt)}`, or bring" if len(dealt) > 2 else "bring"
        raise UsageError(
            f"{len(chosen)} {nouns.cases} of {len(dealt)} independent {nouns.groups} cannot make {count} folds and "
            f"leave two of them to learn from in each; {mend} more of them"
        )
    for index, unit in enumerate(sorted({units[item.key] for item in items} - dealt)):
        tests[index % len(tests)].add(unit)
    return tuple(Fold.of(items, units, test) for test in tests)


def split(train: Sequence[Item], units: Mapping[str, str], seed: int) -> tuple[Sequence[Item], Sequence[Item]]:
    """Items to learn from, and items of other units, about a quarter of all, to compare candidates on."""
    count = len({units[item.key] for item in train})
    fold = grouped_folds(train, units, min(4, count), seed)[0]
    return shuffled(fold.train, seed), fold.test


def shuffled(items: Sequence[Item], seed: int) -> list[Item]:
    """The items in an order that depends on their keys and the seed alone."""
    order = sorted(items, key=lambda item: item.key)
    random.Random(seed).shuffle(order)
    return order
