"""How hard an optimizer tries, and which there are."""

from dataclasses import dataclass
from typing import Literal, get_args

Optimizer = Literal["labeled", "bootstrap", "miprov2", "gepa", "search"]
OPTIMIZERS: tuple[Optimizer, ...] = get_args(Optimizer)


PROPOSALS = {"labeled": 0, "bootstrap": 0, "miprov2": 40, "gepa": 100, "search": 3}
"""What an optimizer asks of its proposer in one compile, about; GEPA's grow with its trials."""


@dataclass(frozen=True)
class Effort:
    """How hard an optimizer tries."""

    optimizer: Optimizer
    trials: int = 20
    max_demos: int = 4
    seed: int = 0

    def answers_at_most(self, learn: int, compare: int) -> int:
        """Answers that the optimizer asks of the program on a training set, repairs apart.

        Args:
            learn: Examples to learn from.
            compare: Examples that candidates are compared on.
        """
        return {
            "labeled": 0,
            "bootstrap": (self.trials + 3) * compare + (self.trials + 1) * learn,
            "miprov2": (self.trials + 1) * compare + self.trials * learn,
            "gepa": (self.trials + 1) * compare + 6 * self.trials,
            "search": self.trials * compare + learn,
        }[self.optimizer]
