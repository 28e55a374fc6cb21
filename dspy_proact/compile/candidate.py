from dataclasses import dataclass
from typing import Generic

from dspy_proact.compile.training import P


@dataclass(frozen=True)
class Candidate(Generic[P]):
    """A program that an optimizer tried, on what it compared candidates on."""

    program: P
    score: float
    """Mean, in [0, 1], higher is better."""
    harm: float | None = None
    """Mean over the watched examples, in [0, 1], lower is better; None where that was not looked at."""
    share: float = 1.0
    """Of the examples on which it was compared before it was dropped, in (0, 1]."""


@dataclass(frozen=True)
class Chosen(Generic[P]):
    """What came of one training set."""

    tried: tuple[Candidate[P], ...]
    """The student first, then the others in the order of trying."""
    place: int
    """Of the best one that keeps the guards; that of the student where no other does."""
    broken: dict[int, tuple[str, ...]]
    """Guards that candidates do not keep, by place; only those that were looked at."""

    @property
    def program(self) -> P:
        """The chosen one."""
        return self.tried[self.place].program


def rank(candidates: list[Candidate[P]]) -> list[int]:
    """Places of candidates, the best first: by share compared, score, harm, and the order of trying."""
    worth = [(-each.share, -each.score, each.harm or 0.0) for each in candidates]
    return sorted(range(len(candidates)), key=worth.__getitem__)
