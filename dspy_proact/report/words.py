from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from dspy_proact.runs import Nouns

Told = TypeVar("Told")


def worded(told: Told, nouns: Nouns) -> Told:
    """A frozen value whose reasons, and those of its fields, speak of a benchmark's own things.

    What is told by `stats` speaks of cases, strata and groups.
    """
    value: Any = told
    own = {each.name: getattr(value, each.name) for each in fields(value)}
    inner = {name: worded(each, nouns) for name, each in own.items() if is_dataclass(each)}
    return replace(value, **inner, **({"reason": nouns.worded(own["reason"])} if own.get("reason") else {}))
