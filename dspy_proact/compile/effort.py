"""How hard an optimizer tries, and which there are."""

from dataclasses import dataclass
from typing import Literal, get_args

Optimizer = Literal["labeled", "bootstrap", "miprov2", "gepa", "search"]
OPTIMIZERS: tuple[Optimizer, ...] = get_args(Optimizer)


@dataclass(frozen=True)
class Effort:
    """How hard an optimizer tries."""

    optimizer: Optimizer
    trials: int = 20
    max_demos: int = 4
    seed: int = 0
