"""Tasks from which nothing but their content tells what is evidence.

In the files of the official generator an id's prefix, the order of the items and when they were made can tell it. A
sanitized task has ids of one form, items cut to id, kind and what they hold, and a seeded order; where an id stood in
gold, the new one stands.
"""

import hashlib

from dspy_proact.benchmarks.probe.corpus.task import Item, Task

_ID_DIGITS = 8
"""Hexadecimal digits of an id: short enough to be copied, and too many to be hit by guessing."""


def sanitized(task: Task, seed: int = 0) -> Task:
    """The task with opaque ids in an order of chance, and without stamps.

    The same task and seed give the same task, whatever the order of its items was; an item has another id in every
    task, so that ids do not tell which items a person's tasks share.
    """
    ranked = sorted(task.items, key=lambda item: _digest(seed, task.key, "order", item.id))
    ids = _ids(ranked, f"{seed}", task.key)
    gold = task.gold
    supported = gold.supported_by and {name: ids[item] for name, item in gold.supported_by.items()}
    return task.model_copy(
        update={
            "items": tuple(item.model_copy(update={"id": ids[item.id], "stamps": None}) for item in ranked),
            "gold": gold.model_copy(
                update={"evidence": tuple(ids[each] for each in gold.evidence), "supported_by": supported}
            ),
        }
    )


def _ids(items: list[Item], seed: str, key: str) -> dict[str, str]:
    """New ids by the old ones, no two alike."""
    ids: dict[str, str] = {}
    taken: set[str] = set()
    for item in items:
        digest = _digest(seed, key, "id", item.id)
        while digest[:_ID_DIGITS] in taken:
            digest = _digest(digest)
        taken.add(digest[:_ID_DIGITS])
        # Digits alone might be copied as a number.
        ids[item.id] = f"item_{digest[:_ID_DIGITS]}"
    return ids


def _digest(*parts: object) -> str:
    return hashlib.sha256("/".join(map(str, parts)).encode()).hexdigest()
