"""A search of ours: two rounds of proposals, then an Optuna study over what they brought; its candidates are raced.

The first round has the student, the hints that are bundled and a proposal for each tip, the second has proposals from
what the leader of their race got wrong; each alone and with demos. Of a program with several predictors the best
instruction of every one is then tried together. The study combines the instructions of both rounds with demos, which
and how many. It is seeded, and no program is tried twice; run again with the same answers it ends in the same
candidates.
"""

import random
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from math import ceil, prod
from pathlib import Path
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import create_trial

from dspy_proact.compile.forecast import Progress
from dspy_proact.compile.proposals import proposals
from dspy_proact.compile.race import Race
from dspy_proact.compile.target import instructions_of
from dspy_proact.compile.training import Candidate, Training, variant
from dspy_proact.errors import StorageFault
from dspy_proact.recipe import Recipe

_DRAWS = 6
"""Random draws of demos to choose from."""
_GENERATION = 10
"""Trials of the study that are raced at once."""
_FIRST = 5
"""Candidates of the first round at most, or half of all trials where that is more."""
_MANY = 10_000
"""Combinations that are listed, where there are more."""
_Params = dict[str, int]
"""A combination, by the names of a study's parameters."""


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
    """A race of at most so many candidates as there are trials: those of both rounds, then those of a study.

    In `journal` the study is written down in Optuna's own form, for its dashboard; it is never read.
    """
    searched = _Search(training, recipe, progress)
    race, starts = searched.race, instructions_of(training.student)
    if searched.trials_left:
        hints = [[f"{hint}\n\n{start}".strip() for start in starts] for hint in training.proposal.hints]
        searched.round([starts, *hints, *_proposed(training, race, 0)], max(_FIRST, ceil(recipe.trials / 2)))
        searched.join()
    if searched.trials_left:
        searched.round(_proposed(training, race, race.leader, again=race.leader == 0), recipe.trials)
        searched.join()
    searched.study(journal)
    return race


def _proposed(training: Training, race: Race, index: int, *, again: bool = False) -> list[list[str]]:
    """For each tip an instruction of each predictor of a candidate; its own where the proposer gave none.

    Asked `again`, it is for other ones.
    """
    program, tips = race.program(index), len(training.proposal.tips)
    numbers = range(tips, 2 * tips) if again else range(tips)
    proposed = proposals(training, program, race.answers(index), numbers)
    names = [name for name, _ in program.named_predictors()]
    now = list(zip(names, instructions_of(program), strict=True))
    return [[proposed.get(name, [None] * tips)[tip] or text for name, text in now] for tip in range(tips)]


class _Search:
    """The candidates of a search, each once, the student first, and their race."""

    def __init__(self, training: Training, recipe: Recipe, progress: Progress):
        self._recipe, self._progress, self._harm = recipe, progress, bool(training.watched)
        self.race, self._left = Race(training, recipe.seed), list[int]()
        self.race.run([])
        self._space = _Space(training, recipe)
        start, *_ = self._space.params(instructions_of(training.student))
        self._params, self._tried = [start], {self._space.identity(start): 0}
        progress.tried(1, self.race.candidates()[0].score)

    @property
    def trials_left(self) -> int:
        """Candidates that may still be entered."""
        return self._recipe.trials - len(self._params)

    def round(self, rows: Sequence[Sequence[str]], most: int) -> None:
        """Race the candidates of instructions, a row of them each, alone and with demos, up to so many in all."""
        wanted = [params for texts in rows for params in self._space.params(texts)]
        begun, most = len(self._params), min(most, self._recipe.trials)
        for params in wanted:
            if len(self._params) < most and self._is_new(params):
                self._enter(params)
        self._run(begun)

    def join(self) -> None:
        """Race the best instruction of every predictor together."""
        best = self.race.best_at([index for index, params in enumerate(self._params) if not params["demos"]]).values()
        if len(best) > 1:
            texts = [self._space.texts(self._params[index])[number] for number, index in enumerate(best)]
            self.round([texts], self._recipe.trials)

    def study(self, journal: Path | None) -> None:
        """Have Optuna combine what there is for the trials that are left, or until every combination was tried."""
        study = optuna.create_study(
            storage=None if journal is None else journal_at(journal),
            directions=["maximize", "minimize"] if self._harm else ["maximize"],
            sampler=optuna.samplers.TPESampler(seed=self._recipe.seed),
        )
        known = self._space.distributions()
        for params, candidate in zip(self._params, self.race.candidates(), strict=True):
            own = {name: known[name] for name in params}
            study.add_trial(create_trial(params=params, distributions=own, values=self._values(candidate)))
        while self.trials_left:
            begun = len(self._params)
            suggested = [pair for _ in range(min(_GENERATION, self.trials_left)) for pair in self._trials(study)]
            if len(self._params) == begun:
                return
            self._run(begun)
            candidates = self.race.candidates()
            for trial, index in suggested:
                study.tell(trial, self._values(candidates[index]))

    def _trials(self, study: optuna.Study) -> Iterator[tuple[optuna.Trial, int]]:
        """What the study asks for, with its candidate; where that was tried before one that was not, if one is left."""
        trial = study.ask()
        params = self._space.suggested(trial)
        new = self._is_new(params)
        if new:
            self._enter(params)
        yield trial, self._tried[self._space.identity(params)]
        if not new and (other := next(filter(self._is_new, self._space.shuffled(self._recipe.seed)), None)):
            study.enqueue_trial(other)
            trial = study.ask()
            self._enter(self._space.suggested(trial))
            yield trial, len(self._params) - 1

    def _is_new(self, params: _Params) -> bool:
        return self._space.identity(params) not in self._tried

    def _enter(self, params: _Params) -> None:
        self._params.append(params)
        self._tried[self._space.identity(params)] = self.race.enter(self._space.program(params))

    def _run(self, begun: int) -> None:
        """Race those from an index on against those that are left."""
        new = range(begun, len(self._params))
        self._left = self.race.run([*self._left, *new])
        self._progress.tried(len(new), self.race.candidates()[self.race.leader].score)

    def _values(self, candidate: Candidate) -> list[float]:
        return [candidate.score, candidate.harm or 0.0] if self._harm else [candidate.score]


class _Space:
    """What candidates are combined of: instructions of each predictor, and draws of demos from a pool."""

    def __init__(self, training: Training, recipe: Recipe):
        self._student, self._pool = training.student, training.pool() if recipe.max_demos else ()
        self._texts = [[text] for text in instructions_of(training.student)]
        self._names = ["instruction", *(f"instruction_{number}" for number in range(2, len(self._texts) + 1))]
        self._most = min(recipe.max_demos, len(self._pool))
        self._draws = [list(range(len(self._pool))) for _ in range(_DRAWS)]
        for number, draw in enumerate(self._draws):
            random.Random(recipe.seed + number).shuffle(draw)

    def params(self, texts: Sequence[str]) -> list[_Params]:
        """The combinations of instructions, one a predictor, with nothing and with demos; new ones are taken in."""
        chosen = _Params()
        for name, known, text in zip(self._names, self._texts, texts, strict=True):
            if text not in known:
                known.append(text)
            chosen[name] = known.index(text)
        return [chosen | {"demos": 0}, *([chosen | {"demos": self._most, "draw": 0}] if self._most else [])]

    def texts(self, params: _Params) -> list[str]:
        """The instructions of a combination."""
        return [texts[params[name]] for name, texts in self._instructions]

    def identity(self, params: _Params) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """What combinations have in common that make one program: instructions, and demos in their order."""
        demos = self._draws[params["draw"]][: params["demos"]] if params["demos"] else []
        return tuple(params[name] for name in self._names), tuple(demos)

    def program(self, params: _Params) -> Any:
        """The candidate of a combination."""
        indices, demos = self.identity(params)
        texts = [own[index] if index else None for own, index in zip(self._texts, indices, strict=True)]
        shown = [self._pool[index] for index in demos] or self._student.predictors()[0].demos
        return variant(self._student, texts, shown)

    def distributions(self) -> dict[str, BaseDistribution]:
        """Of all parameters."""
        texts = {name: CategoricalDistribution(range(len(own))) for name, own in self._instructions}
        return {**texts, "demos": IntDistribution(0, self._most), "draw": IntDistribution(0, _DRAWS - 1)}

    def suggested(self, trial: optuna.Trial) -> _Params:
        """The combination that a study suggests; without demos there is no draw of them."""
        params = {name: trial.suggest_categorical(name, range(len(own))) for name, own in self._instructions}
        params["demos"] = trial.suggest_int("demos", 0, self._most)
        return params | ({"draw": trial.suggest_int("draw", 0, _DRAWS - 1)} if params["demos"] else {})

    def shuffled(self, seed: int) -> Iterator[_Params]:
        """Combinations in an order that the seed decides; of more than 10,000 so many."""
        sizes = {name: len(own) for name, own in self._instructions} | {"demos": self._most + 1, "draw": _DRAWS}
        count = min(prod(sizes.values()), sys.maxsize)
        for number in random.Random(seed).sample(range(count), min(count, _MANY)):
            params, rest = _Params(), number
            for name, size in reversed(sizes.items()):
                rest, params[name] = divmod(rest, size)
            yield params

    @property
    def _instructions(self) -> list[tuple[str, list[str]]]:
        return list(zip(self._names, self._texts, strict=True))
