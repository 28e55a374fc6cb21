"""How a compile is done."""

from pydantic import Field

from dspy_proact.optimizer_names import Optimizer
from dspy_proact.types import Frozen


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
