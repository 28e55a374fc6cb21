"""A search of ours: an Optuna study over instructions and over which demos and how many, whose trials are raced.

The instructions come from a proposer that is shown where the student falls short. Trials are asked of the study in
generations, each raced against all that are left (`race`), so that their answers can come in any order. The study is
seeded and asks no more than its trials; run again with the same answers it ends in the same candidates.
"""

import itertools
import random
from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from math import ceil, sqrt
from pathlib import Path
from statistics import fmean
from typing import Any

import dspy
import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from dspy_proact.compile.folds import shuffled
from dspy_proact.compile.forecast import Progress
from dspy_proact.compile.proposals import proposals
from dspy_proact.compile.side_by_side import side_by_side
from dspy_proact.compile.target import instructions_of
from dspy_proact.compile.training import Candidate, Training, variant
from dspy_proact.errors import StorageFault
from dspy_proact.recipe import Recipe

_DRAWS = 6
"""Random draws of demos to choose from."""
_GENERATION = 10
"""Trials that are asked for at once: as many as the sampler draws at random before it learns from them."""
_Choice = tuple[tuple[int, ...], int, int]
_FIRST = 4
"""Examples of the first round."""
_SURE = 1.0
"""Standard errors by which the lead must exceed 0."""


class Race:
    """Candidates on the examples that a training set compares on, in an order that the seed decides."""

    def __init__(self, training: Training, seed: int):
        self.programs: list[Any] = []
        self._training = training
        self._compared = in_turns(training.compare, training.groups, seed)
        self._groups = [training.groups[example.key] for example in self._compared]
        self._watched = in_turns(training.watched, training.groups, seed)
        self._scores: list[list[float]] = []
        self._harms: list[list[float | None]] = []

    def enter(self, program: Any) -> int:
        """Take a candidate in; its index."""
        self.programs.append(program)
        self._scores.append([])
        self._harms.append([])
        return len(self.programs) - 1

    def run(self, indices: Collection[int]) -> list[int]:
        """Race candidates, with the answers that are there; the indices of those that were tried on every example."""
        left = sorted(indices)
        for size in rounds(len(self._compared)):
            self._try(left, size)
            if size < len(self._compared):
                left = [index for index in left if not any(self._beats(rival, index, size) for rival in left)]
        return left

    def candidates(self) -> list[Candidate]:
        """All of them, in the order of their entry, as far as they came; those that never ran have score 0."""
        return [
            Candidate(program, fmean(scores) if scores else 0.0, self._harm(index), len(scores) / len(self._compared))
            for index, (program, scores) in enumerate(zip(self.programs, self._scores, strict=True))
        ]

    def without(self, out: Collection[int]) -> list[Candidate]:
        """The candidates after a race without some of them: who was dropped for their sake may win now."""
        self.run([index for index in range(len(self.programs)) if index not in out])
        return self.candidates()

    def _try(self, indices: Sequence[int], size: int) -> None:
        """Have candidates answer as many examples, and a like part of the watched ones, where they have not yet."""
        watched = self._watched[: ceil(len(self._watched) * size / len(self._compared))]
        kinds: list[tuple[Callable[[Any, dspy.Example], float | None], list[list[Any]], Sequence[dspy.Example]]] = [
            (self._training.scored, self._scores, self._compared[:size]),
            (self._training.harmed, self._harms, watched),
        ]
        todo = [
            (rows[index], partial(answer, self.programs[index], example))
            for answer, rows, examples in kinds
            for index in indices
            for example in examples[len(rows[index]) :]
        ]
        for (row, _), value in zip(todo, side_by_side([work for _, work in todo], self._training.width), strict=True):
            row.append(value)

    def _beats(self, rival: int, index: int, size: int) -> bool:
        """Whether a rival is likely to stay ahead without doing more harm."""
        lead = [mine - theirs for mine, theirs in zip(self._scores[rival], self._scores[index], strict=False)][:size]
        return is_sure(lead, self._groups[:size]) and (self._harm(rival) or 0.0) <= (self._harm(index) or 0.0)

    def _harm(self, index: int) -> float | None:
        known = [harm for harm in self._harms[index] if harm is not None]
        return fmean(known) if known else None


def rounds(count: int) -> list[int]:
    """Examples that are compared on by the end of each round, of so many."""
    sizes = [min(_FIRST, count)]
    while sizes[-1] < count:
        sizes.append(min(2 * sizes[-1], count))
    return sizes


def in_turns(examples: Sequence[dspy.Example], groups: Mapping[str, str], seed: int) -> list[dspy.Example]:
    """The examples in an order that the seed decides, in which groups take turns; it is that of no list."""
    turns: defaultdict[str, Iterator[int]] = defaultdict(itertools.count)
    return sorted(shuffled(examples, seed), key=lambda example: next(turns[groups[example.key]]))


def is_sure(lead: Sequence[float], groups: Sequence[str]) -> bool:
    """Whether a mean lead, one score less another an example, is above 0 by more than its standard error over groups.

    With a single group it is not.
    """
    mean, sums = fmean(lead), defaultdict[str, float](float)
    for group, difference in zip(groups, lead, strict=True):
        sums[group] += difference - mean
    count = len(sums)
    if count < 2:
        return False
    error = sqrt(count / (count - 1) * sum(total**2 for total in sums.values())) / len(lead)
    return mean > _SURE * error


def journal_at(path: Path) -> JournalStorage:
    """A journal that is begun afresh; raises a `StorageFault`, which ends a compile, where it cannot be written."""
    with _kept(path):
        path.unlink(missing_ok=True)
        return JournalStorage(_File(str(path)))


@contextmanager
def _kept(path: Path | str) -> Generator[None]:
    try:
        yield
    except (OSError, RuntimeError) as error:  # Optuna's lock says the latter
        raise StorageFault(f"{path}: cannot be written: {error}") from error


class _File(JournalFileBackend):
    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        with _kept(self._file_path):
            super().append_logs(logs)

    def read_logs(self, log_number_from: int) -> Generator[dict[str, Any]]:
        with _kept(self._file_path):  # Optuna reads what it wrote
            yield from super().read_logs(log_number_from)


def search(training: Training, recipe: Recipe, journal: Path | None, progress: Progress) -> Race:
    """A race of the candidates that the study asked for, the student first, each once.

    Trials include the student. In `journal` the study is written down in Optuna's own form, for its dashboard; it is
    never read.
    """
    instructions = _instructions(training)
    pool = training.pool() if recipe.max_demos else ()
    draws = [list(pool) for _ in range(_DRAWS)]
    for number, draw in enumerate(draws):
        random.Random(recipe.seed + number).shuffle(draw)
    harm = bool(training.watched)
    study = optuna.create_study(
        storage=None if journal is None else journal_at(journal),
        directions=["maximize", "minimize"] if harm else ["maximize"],
        sampler=optuna.samplers.TPESampler(seed=recipe.seed),
    )
    names = ["instruction", *(f"instruction_{number}" for number in range(2, len(instructions) + 1))]
    study.enqueue_trial({"demos": 0} | dict.fromkeys(names, 0))  # the student

    def choice(trial: optuna.Trial) -> _Choice:
        """Indices of the instruction of each predictor and of a draw of demos, and how many of these."""
        indices = [trial.suggest_int(name, 0, len(texts) - 1) for name, texts in zip(names, instructions, strict=True)]
        count = trial.suggest_int("demos", 0, min(recipe.max_demos, len(pool)))
        return tuple(indices), trial.suggest_int("draw", 0, _DRAWS - 1) if count else 0, count

    race, entered = Race(training, recipe.seed), dict[_Choice, int]()
    left: list[int] = []
    for begun in range(0, recipe.trials, _GENERATION):
        trials = [study.ask() for _ in range(min(_GENERATION, recipe.trials - begun))]
        choices = [choice(trial) for trial in trials]
        for chosen in dict.fromkeys(choices):
            if chosen not in entered:
                own = [texts[index] if index else None for texts, index in zip(instructions, chosen[0], strict=True)]
                demos = draws[chosen[1]][: chosen[2]] or training.student.predictors()[0].demos
                entered[chosen] = race.enter(variant(training.student, own, demos))
        left = race.run({*left, *(entered[chosen] for chosen in choices)})
        candidates = race.candidates()
        progress.tried(len(trials), max(candidate.score for candidate in candidates if candidate.share == 1))
        for trial, chosen in zip(trials, choices, strict=True):
            candidate = candidates[entered[chosen]]
            study.tell(trial, [candidate.score, candidate.harm or 0.0] if harm else [candidate.score])
    return race


def _instructions(training: Training) -> list[list[str]]:
    """By predictor the student's instruction, then one for each tip, where the proposer gave one."""
    answers = training.answers(training.student, training.learn)
    proposed = proposals(training, training.student, answers)
    names = [name for name, _ in training.student.named_predictors()]
    starts = instructions_of(training.student)
    return [[start, *filter(None, proposed.get(name, ()))] for name, start in zip(names, starts, strict=True)]
