"""The optimizers of a compile by name, and which are of use for what. Imports nothing, so that help is fast."""

from typing import Literal, get_args

Optimizer = Literal["labeled", "bootstrap", "miprov2", "gepa", "search"]
OPTIMIZERS: tuple[Optimizer, ...] = get_args(Optimizer)


def optimizers_of(role: Literal["assistant", "judge"], demos: bool = True) -> tuple[Optimizer, ...]:
    """The optimizers of use for the program of a role, with or without worked examples.

    `labeled` shows answers by people, which only a judge has; like `bootstrap` it changes nothing but worked examples.
    """
    if not demos:
        return "search", "gepa", "miprov2"
    return OPTIMIZERS if role == "judge" else tuple(name for name in OPTIMIZERS if name != "labeled")
