"""A race of candidates: which of them are tried on more items, which one leads, and what is said of each.

Two candidates are compared on the items that both have answered and that stand in the demos of neither, item by item.
After 12 items, 24 and so on, the lower half is dropped: 19 candidates then take about half of the answers that all of
them on 48 items would. What that costs in gain is measured in eval/selection.py.
"""

import itertools
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property, partial
from math import ceil
from operator import attrgetter
from typing import Any

import dspy
import numpy as np
from numpy.typing import NDArray

from dspy_proact.compile.folds import shuffled
from dspy_proact.compile.side_by_side import side_by_side
from dspy_proact.compile.target import MORE, TOKENS
from dspy_proact.compile.training import Answered, Candidate, Training
from dspy_proact.evaluation.participant import fingerprint_of

_FIRST = 12
"""Items of the first round."""
_KEPT = 3
"""Candidates beside the student that no round drops."""
_DIGITS = 9
"""Two differences tie that are equal to so many digits."""


class _Entrant:
    """A candidate in a race, and what it has answered so far, by key."""

    def __init__(self, program: Any, training: Training):
        self.program, self._training = program, training
        self.answers: dict[str, Answered] = {}

    @cached_property
    def shown(self) -> frozenset[str]:
        """Keys of the items that stand in its demos, once the student has answered them all."""
        return self._training.shown_in(self.program)


class Race:
    """The student of a training set, which is never dropped, and the candidates that enter against it."""

    def __init__(self, training: Training, seed: int):
        self._training = training
        self._examples = in_turns(training.examples, training.groups, seed)
        self._watched = in_turns(training.watched, training.groups, seed)
        self._keys = [example.key for example in self._examples]
        self._entrants = [_Entrant(training.student, training)]

    def __len__(self) -> int:
        return len(self._entrants)

    def enter(self, program: Any) -> int:
        """Take a candidate in; its index, that of the student being 0."""
        self._entrants.append(_Entrant(program, self._training))
        return len(self._entrants) - 1

    def run(self, indices: Collection[int]) -> list[int]:
        """Race candidates, with the answers that are there; the indices of those that were not dropped.

        Before anybody else the student is tried on every item.
        """
        self._try([0], len(self._examples))
        left = sorted({*indices} - {0})
        for size in rounds(len(self._examples)):
            self._try(left, size)
            if size < len(self._examples):
                left = sorted(self._ranked(left, size)[: max(_KEPT, ceil(len(left) / 2))])
        return [0, *left]

    def program(self, index: int) -> Any:
        """A candidate."""
        return self._entrants[index].program

    def answers(self, index: int) -> list[Answered]:
        """What a candidate has answered so far, in the order of the race; answers to watched items come last."""
        answers = self._entrants[index].answers
        return [answers[example.key] for example in [*self._examples, *self._watched] if example.key in answers]

    def best_at(self, indices: Sequence[int]) -> dict[str, int]:
        """For each predictor, by name, the candidate that leads most at the items at which it asked that predictor.

        A new program often has new instructions for several predictors, of which one is good and another bad.
        """
        names = [name for name, _ in self.program(0).named_predictors()]
        return {name: max(indices, key=lambda index: self._lead_at(index, name)) for name in names}

    def joined(self) -> Any | None:
        """The best predictors of two candidates or more in one program; None where that is a candidate already."""
        if len(self) <= 2:
            return None
        made = self.program(0).deepcopy()
        predictors = dict(made.named_predictors())
        for name, index in self.best_at(range(len(self))).items():
            best = dict(self.program(index).named_predictors())[name]
            predictors[name].signature, predictors[name].demos = best.signature, list(best.demos)
        known = {fingerprint_of(entrant.program) for entrant in self._entrants}
        return None if fingerprint_of(made) in known else made

    def _lead_at(self, index: int, predictor: str) -> float:
        """The sum of a candidate's leads over the student, of the items so far at which it has asked a predictor."""
        start, own = self._entrants[0].answers, self._entrants[index].answers
        keys = [example.key for example in self._examples if example.key in start.keys() & own.keys()]
        at = [key for key in keys if any(step.predictor == predictor for step in own[key].trace)]
        return sum(own[key].score - start[key].score for key in at)

    def better(self, out: Collection[int] = ()) -> list[int]:
        """Of the candidates that were tried on every item those above the student, the best first, `out` left out.

        Of those that tie the one with fewer completion tokens comes first.
        """
        tried = [index for index in range(1, len(self._entrants)) if index not in out and self._share(index) == 1]
        start, *others = self._scores([0, *tried])
        return self._ranked([index for index, own in zip(tried, others, strict=True) if _lead(own, [start]) > 0])

    @property
    def leader(self) -> int:
        """The best of those above the student that do not write too much; the student where there is none."""
        return next((index for index in self.better() if not self.is_wordy(index)), 0)

    def is_wordy(self, index: int) -> bool:
        """Whether a candidate's completion tokens rise by more than half where that is guarded, as far as is known."""
        both = self._tokens([0, index])
        before, after = both[:, ~np.isnan(both).any(axis=0)].sum(axis=1).tolist()
        return TOKENS in self._training.target.default_guards and after > (1 + MORE) * before

    def candidates(self) -> list[Candidate]:
        """All of them, in the order of their entry, by the leader's mean and the paired difference to it."""
        leader, everybody = self.leader, range(len(self._entrants))
        scores, harms = self._scores(everybody), self._numbers(self._training.harm, everybody, self._watched)
        return [
            Candidate(
                self.program(index),
                _estimate(scores, index, leader) or 0.0,
                _estimate(harms, index, leader),
                self._share(index),
            )
            for index in everybody
        ]

    def _ranked(self, indices: Sequence[int], size: int | None = None) -> list[int]:
        """The best first, by the mean difference to one another on the first so many items, then by fewer tokens."""
        scores, tokens = self._scores(indices)[:, :size], self._tokens(indices)[:, :size]
        rank = {
            index: (-_lead(own, scores), _lead(spent, tokens), index)
            for index, own, spent in zip(indices, scores, tokens, strict=True)
        }
        return sorted(indices, key=rank.__getitem__)

    def _scores(self, indices: Sequence[int]) -> NDArray[np.float64]:
        return self._numbers(attrgetter("score"), indices, self._examples)

    def _tokens(self, indices: Sequence[int]) -> NDArray[np.float64]:
        return self._numbers(_completion_tokens, indices, self._examples)

    def _numbers(
        self, number: Callable[[Answered], float | None], indices: Sequence[int], examples: Sequence[dspy.Example]
    ) -> NDArray[np.float64]:
        """A number of each answer, nan where there is none: shape (candidates, examples)."""
        keys = self._keys if examples is self._examples else [example.key for example in examples]
        answers = [[self._entrants[index].answers.get(key) for key in keys] for index in indices]
        rows = [[None if own is None else number(own) for own in row] for row in answers]
        return np.array(rows, dtype=np.float64).reshape(len(indices), len(examples))

    def _share(self, index: int) -> float:
        """Of the items that stand in none of a candidate's demos the share that it was tried on."""
        entrant = self._entrants[index]
        unseen = [key for key in self._keys if key not in entrant.shown]
        return sum(key in entrant.answers for key in unseen) / len(unseen) if unseen else 1.0

    def _try(self, indices: Sequence[int], size: int) -> None:
        """Have candidates answer the first so many items, and a like part of the watched ones, where they have not."""
        watched = ceil(len(self._watched) * size / len(self._examples))
        todo = [
            (entrant, example)
            for entrant in (self._entrants[index] for index in indices)
            for example in [*self._examples[:size], *self._watched[:watched]]
            if example.key not in entrant.answers and example.key not in entrant.shown
        ]
        work = [partial(self._training.answer, entrant.program, example) for entrant, example in todo]
        for (entrant, example), answered in zip(todo, side_by_side(work, self._training.width), strict=True):
            entrant.answers[example.key] = answered


def _completion_tokens(answered: Answered) -> int | None:
    return None if answered.prediction is None else answered.completion_tokens


def _lead(own: NDArray[np.float64], others: Sequence[NDArray[np.float64]] | NDArray[np.float64]) -> float:
    """Mean over others of the paired mean difference to each, over the items of both; 0 to one without such items."""
    differences = own - np.asarray(others)
    known = ~np.isnan(differences)
    means = np.where(known, differences, 0.0).sum(axis=1) / np.maximum(1, known.sum(axis=1))
    return round(float(means.mean()), _DIGITS)


def _estimate(rows: NDArray[np.float64], index: int, leader: int) -> float | None:
    """The leader's mean and the paired difference of one to it, in [0, 1]; None where one has no number.

    The leader's own is the mean of the first, which has the most items, and the difference to that.
    """
    start, ahead, own = rows[0], rows[leader], rows[index]
    if any(np.isnan(row).all() for row in (start, ahead, own)):
        return None
    return min(1.0, max(0.0, float(np.nanmean(start)) + _lead(ahead, [start]) + _lead(own, [ahead])))


def rounds(count: int) -> list[int]:
    """Items that candidates have been tried on by the end of each round, of so many."""
    sizes = [min(_FIRST, count)]
    while sizes[-1] < count:
        sizes.append(min(2 * sizes[-1], count))
    return sizes


def in_turns(examples: Sequence[dspy.Example], groups: Mapping[str, str], seed: int) -> list[dspy.Example]:
    """The examples in an order that the seed decides, in which groups take turns; it is that of no list."""
    turns: defaultdict[str, Iterator[int]] = defaultdict(itertools.count)
    return sorted(shuffled(examples, seed), key=lambda example: next(turns[groups[example.key]]))
