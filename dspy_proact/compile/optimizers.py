"""DSPy's optimizers, each as one function from a training set to the best programs that it tried, the best first.

Their own scores are on a part of the items only: which program is chosen is decided in `guards.choose`, by one race.
The search of our own is in `search`; GEPA is in `reflection`. Instructions are written by our proposer throughout.

DSPy's own evaluate their examples in as many threads as the training set's width; what they bootstrap, they do one
after another, for each demo that is found ends the search for it.
"""

import logging
import os
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any
from weakref import WeakSet

import dspy
import optuna
import tqdm

from dspy_proact.compile.forecast import BEST, mipro_instructions
from dspy_proact.compile.proposals import proposals
from dspy_proact.compile.reflection import reflect
from dspy_proact.compile.training import Training
from dspy_proact.evaluation.participant import fingerprint_of
from dspy_proact.optimizer_names import Optimizer
from dspy_proact.recipe import Recipe

NO_END = 10**9
"""Errors after which DSPy would give up: failures that matter end a compile by themselves."""


class Answering(dspy.Module):
    """A program as DSPy's optimizers call it: with the key of an item, which it answers as the benchmark declares."""

    def __init__(self, program: Any, answer: Callable[[Any, str], dspy.Prediction]):
        super().__init__()
        self.program = program
        self._answer = answer

    @classmethod
    def of(cls, training: Training, program: Any) -> "Answering":
        """A program of a training set."""

        def answer(program: Any, key: str) -> dspy.Prediction:  # a function: copies of the module share it
            return training.target.answer(program, training.items[key])

        return cls(program, answer)

    def forward(self, key: str) -> dspy.Prediction:
        """The answer; raises a `StageError` where there is none."""
        return self._answer(self.program, key)


def _best(training: Training, scored: Sequence[tuple[Any, float]]) -> list[Any]:
    """The programs of the highest scores, the highest first; each once, and not the student."""
    best = {fingerprint_of(training.student): training.student}
    for program, _ in sorted(scored, key=lambda pair: -pair[1]):
        best.setdefault(fingerprint_of(program), program)
    return [*best.values()][1 : 1 + BEST]


def _labeled(training: Training, recipe: Recipe) -> list[Any]:
    if not training.labelled:
        return []
    student, few_shot = Answering.of(training, training.student), dspy.LabeledFewShot(k=recipe.max_demos)
    shown: Any = few_shot.compile(student, trainset=list(training.labelled))
    return _best(training, [(shown.program, 0.0)])


def _by_demos(training: Training, recipe: Recipe) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings and examples of DSPy's optimizers that bootstrap demos."""

    def metric(example: dspy.Example, prediction: dspy.Prediction, trace: Any = None) -> float | bool:
        if trace is not None:  # asked whether the answer is worth a demo
            return training.is_worth_showing(example, prediction)
        return training.score(example, prediction)

    settings = {
        "metric": metric,
        "max_bootstrapped_demos": recipe.max_demos,
        "max_labeled_demos": recipe.max_demos if training.labelled else 0,
        "num_threads": training.width,
        "max_errors": NO_END,
    }
    trainset = list(training.labelled or training.learn)
    teacher = training.teacher and Answering.of(training, training.teacher)
    return settings, {"teacher": teacher, "trainset": trainset, "valset": list(training.compare)}


def _bootstrap(training: Training, recipe: Recipe) -> list[Any]:
    settings, examples = _by_demos(training, recipe)
    random_search = dspy.BootstrapFewShotWithRandomSearch(num_candidate_programs=recipe.trials, **settings)
    best: Any = random_search.compile(Answering.of(training, training.student), **examples)
    return _best(training, [(tried["program"].program, tried["score"]) for tried in best.candidate_programs])


class _Mipro(dspy.MIPROv2):
    """DSPy's, with the instructions of our proposer; demos that only DSPy's own would see are not made."""

    def __init__(self, training: Training, **settings: Any):
        super().__init__(prompt_model=training.proposer_lm, task_model=training.task_lm, auto=None, **settings)
        self._training = training

    def _bootstrap_fewshot_examples(self, *args: Any, **settings: Any) -> Any:
        if not (self.max_bootstrapped_demos or self.max_labeled_demos):
            return None
        return super()._bootstrap_fewshot_examples(*args, **settings)

    def _propose_instructions(self, *_: Any, num_instruct_candidates: int, **__: Any) -> dict[int, list[str]]:
        """By the number of a predictor the student's instruction, and as many new ones as make so many in all."""
        training, student = self._training, self._training.student
        answers = training.answers(student, [*training.examples, *training.watched])
        proposed = proposals(training, student, answers, range(num_instruct_candidates - 1))
        return {
            number: [predictor.signature.instructions, *filter(None, proposed.get(name, ()))]
            for number, (name, predictor) in enumerate(student.named_predictors())
        }


def _miprov2(training: Training, recipe: Recipe) -> list[Any]:
    settings, examples = _by_demos(training, recipe)
    mipro = _Mipro(training, num_candidates=mipro_instructions(recipe), seed=recipe.seed, **settings)
    student, how = Answering.of(training, training.student), {"num_trials": recipe.trials, "minibatch": False}
    best: Any = mipro.compile(student, seed=recipe.seed, **how, **examples)
    return _best(training, [(tried["program"].program, tried["score"]) for tried in best.candidate_programs])


def _gepa(training: Training, recipe: Recipe) -> list[Any]:
    return _best(training, reflect(training, recipe))


OPTIMIZERS: Mapping[Optimizer, Callable[[Training, Recipe], list[Any]]] = {
    "labeled": _labeled,
    "bootstrap": _bootstrap,
    "miprov2": _miprov2,
    "gepa": _gepa,
}
"""DSPy's own: each gives the best programs that it tried, without the student."""


class _Forgetful(WeakSet[object]):
    """An empty set of progress bars: that of tqdm is not safe with several threads."""

    def add(self, item: object) -> None:
        """Forget it."""

    def remove(self, item: object) -> None:
        """It is forgotten."""


@contextmanager
def silenced() -> Generator[None]:
    """Turn off what the optimizers log and print, and make their parts safe with threads meanwhile.

    It holds for the whole process: to print, use the stream that was there before.
    """
    loggers = [logging.getLogger(name) for name in ("dspy", "gepa", "optuna")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    library: Any = tqdm.tqdm  # which does not declare the bars that it knows of
    bars, library._instances = library._instances, _Forgetful()
    try:
        with (
            open(os.devnull, "w", encoding="utf-8") as nowhere,  # noqa: PTH123 - a device
            redirect_stdout(nowhere),
            redirect_stderr(nowhere),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        library._instances = bars
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
