"""A race of candidates: each is tried on a growing part of the examples and dropped when it is unlikely to win.

The rule. All examples stand in one seeded order in which the groups take turns. Every candidate is tried on the first
four of them, then on twice as many, and so on to the last. After each round a candidate is dropped where another one
leads it, on the examples that both have, by more than the standard error of that lead, and does no more harm. The lead
is paired by example and its error is that of a mean of groups (CR1). So of two candidates of equal worth one is dropped
in about a third of the rounds, and the better of two that lie two such errors apart in one of a thousand.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from math import ceil, sqrt
from statistics import fmean
from typing import Any, Generic

import dspy

from dspy_proact.compile.candidate import Candidate
from dspy_proact.compile.folds import shuffled
from dspy_proact.compile.side_by_side import side_by_side
from dspy_proact.compile.training import P, Training

_FIRST = 4
"""Examples of the first round."""
_SURE = 1.0
"""Standard errors by which the lead must exceed 0."""


class Race(Generic[P]):
    """Candidates on the examples that a training set compares on.

    Args:
        training: Says what an answer is worth, and what it spoils.
        seed: Of the order of the examples.

    Attributes:
        programs: Of the candidates, in the order of their entry.
    """

    def __init__(self, training: Training[P], seed: int):
        self.programs: list[P] = []
        self._training = training
        self._compared = in_turns(training.compare, training.groups, seed)
        self._groups = [training.groups[example.key] for example in self._compared]
        self._watched = in_turns(training.watched, training.groups, seed)
        self._scores: list[list[float]] = []
        self._harms: list[list[float | None]] = []

    def enter(self, program: P) -> int:
        """Take a candidate in; its place."""
        self.programs.append(program)
        self._scores.append([])
        self._harms.append([])
        return len(self.programs) - 1

    def run(self, places: Collection[int]) -> list[int]:
        """Race candidates, with the answers that are there; the places of those that were tried on every example."""
        left = sorted(places)
        for size in rounds(len(self._compared)):
            self._try(left, size)
            if size < len(self._compared):
                left = [each for each in left if not any(self._beats(rival, each, size) for rival in left)]
        return left

    def candidates(self) -> list[Candidate[P]]:
        """All of them, in the order of their entry, as far as they came; those that never ran have score 0."""
        return [
            Candidate(program, fmean(scores) if scores else 0.0, self._harm(place), len(scores) / len(self._compared))
            for place, (program, scores) in enumerate(zip(self.programs, self._scores, strict=True))
        ]

    def without(self, out: Collection[int]) -> list[Candidate[P]]:
        """The candidates after a race without some of them: who was dropped for their sake may win now."""
        self.run([place for place in range(len(self.programs)) if place not in out])
        return self.candidates()

    def _try(self, places: Sequence[int], size: int) -> None:
        """Have candidates answer as many examples, and a like part of the watched ones, where they have not yet."""
        watched = self._watched[: ceil(len(self._watched) * size / len(self._compared))]
        kinds: list[tuple[Callable[[P, dspy.Example], float | None], list[list[Any]], Sequence[dspy.Example]]] = [
            (self._training.scored, self._scores, self._compared[:size]),
            (self._training.harmed, self._harms, watched),
        ]
        todo = [
            (rows[place], partial(answer, self.programs[place], example))
            for answer, rows, examples in kinds
            for place in places
            for example in examples[len(rows[place]) :]
        ]
        for (row, _), value in zip(todo, side_by_side([work for _, work in todo], self._training.width), strict=True):
            row.append(value)

    def _beats(self, rival: int, place: int, size: int) -> bool:
        """Whether a rival is likely to stay ahead without doing more harm."""
        lead = [mine - theirs for mine, theirs in zip(self._scores[rival], self._scores[place], strict=False)][:size]
        return is_sure(lead, self._groups[:size]) and (self._harm(rival) or 0.0) <= (self._harm(place) or 0.0)

    def _harm(self, place: int) -> float | None:
        known = [harm for harm in self._harms[place] if harm is not None]
        return fmean(known) if known else None


def rounds(count: int) -> list[int]:
    """Examples that are compared on by the end of each round, of so many."""
    sizes = [min(_FIRST, count)]
    while sizes[-1] < count:
        sizes.append(min(2 * sizes[-1], count))
    return sizes


def in_turns(examples: Sequence[dspy.Example], groups: Mapping[str, str], seed: int) -> list[dspy.Example]:
    """The examples in an order that the seed decides, in which groups take turns; it is that of no list."""
    turns: defaultdict[str, Iterator[int]] = defaultdict(count)
    return sorted(shuffled(examples, seed), key=lambda example: next(turns[groups[example.key]]))


def is_sure(lead: Sequence[float], groups: Sequence[str]) -> bool:
    """Whether a mean lead lies above 0 by more than its standard error over groups; not with a single group.

    Args:
        lead: Score of one minus that of another, one an example.
        groups: Of the examples, aligned.
    """
    mean, sums = fmean(lead), defaultdict[str, float](float)
    for group, each in zip(groups, lead, strict=True):
        sums[group] += each - mean
    count = len(sums)
    if count < 2:
        return False
    error = sqrt(count / (count - 1) * sum(each**2 for each in sums.values())) / len(lead)
    return mean > _SURE * error
