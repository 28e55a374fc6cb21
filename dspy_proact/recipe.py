"""How a compile is done: its optimizer, and what each optimizer needs. Imports nothing slow."""

from typing import Literal, get_args

from pydantic import Field

from dspy_proact.types import Frozen

Optimizer = Literal["labeled", "bootstrap", "miprov2", "gepa", "search"]
OPTIMIZERS: tuple[Optimizer, ...] = get_args(Optimizer)


class Recipe(Frozen):
    """How a compile is done, whatever is compiled."""

    optimizer: Optimizer = "search"
    trials: int = Field(default=20, ge=1)
    """Candidates to try."""
    max_demos: int = Field(default=4, ge=0)
    """Worked examples of a candidate, at most."""
    folds: int = Field(default=5, ge=2)
    """Folds of whole units, each tested by a program that never saw it."""
    seed: int = Field(default=0, ge=0)
    """Of folds, draws and studies."""


def optimizers_of(role: Literal["assistant", "judge"], demos: bool = True) -> tuple[Optimizer, ...]:
    """The optimizers of use for the program of a role, with or without worked examples.

    `labeled` shows answers by people, which only a judge has; `gepa` and `search` alone change instructions without
    showing worked examples.
    """
    if not demos:
        return "search", "gepa"
    return OPTIMIZERS if role == "judge" else tuple(name for name in OPTIMIZERS if name != "labeled")
