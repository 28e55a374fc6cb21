"""Grouped k-fold: every labelled item is tested once, by a program that never saw its scenario."""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from dspy_proact.compile.labels import Labelled
from dspy_proact.errors import UsageError


@dataclass(frozen=True)
class Fold:
    """A split of the items; no unit is on both sides."""

    train: tuple[Labelled, ...]
    test: tuple[Labelled, ...]


def grouped_folds(items: Sequence[Labelled], count: int, seed: int) -> tuple[Fold, ...]:
    """Folds of whole units, balanced by size; the same items and seed give the same folds, in any order of the items.

    Args:
        items: To be split; each is in the test part of one fold.
        count: Number of folds, 2 or more.
        seed: Of the order in which units of one size are dealt out.

    Raises:
        UsageError: There are fewer units than folds.
    """
    units: defaultdict[str, list[Labelled]] = defaultdict(list)
    for item in items:
        units[item.unit].append(item)
    if not 2 <= count <= len(units):
        raise UsageError(
            f"{len(units)} personas or scenarios cannot make {count} folds; give --folds between 2 and {len(units)}, "
            "or label responses of more scenarios"
        )
    order = sorted(units)
    random.Random(seed).shuffle(order)
    tests: list[set[str]] = [set() for _ in range(count)]
    for unit in sorted(order, key=lambda unit: -len(units[unit])):
        smallest = min(range(count), key=lambda place: sum(len(units[name]) for name in tests[place]))
        tests[smallest].add(unit)
    return tuple(
        Fold(
            train=tuple(item for item in items if item.unit not in test),
            test=tuple(item for item in items if item.unit in test),
        )
        for test in tests
    )
