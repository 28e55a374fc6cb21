"""DSPy's optimizers, each as one function from a training set to the candidates that it tried, the student first.

`guards.choose` takes the best of them that keeps every `--guard`; the search of our own is in `search`.

DSPy's own evaluate their examples in as many threads as the training set's width; what they bootstrap, they do one
after another, for each demo that is found ends the search for it.
"""

import logging
import os
import threading
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import partial
from statistics import fmean
from typing import Any
from weakref import WeakSet

import dspy
import optuna
import tqdm
from dspy import AdapterParseError, LMError

from dspy_proact.compile.proposer import Excerpts, TamedJSONAdapter
from dspy_proact.compile.side_by_side import side_by_side
from dspy_proact.compile.training import Candidate, Training
from dspy_proact.evaluation.participant import fingerprint_of
from dspy_proact.models.dspy_internals import InstructionProposer, grounded_proposer
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


def _candidates(training: Training, scored: Sequence[tuple[Answering, float]]) -> list[Candidate]:
    """The student, and the other programs of an optimizer with their scores."""
    same = fingerprint_of(training.student)
    start = Candidate(training.student, _mean_score(training, training.student))
    others = [(answering.program, score) for answering, score in scored]
    return [start, *(Candidate(program, score) for program, score in others if fingerprint_of(program) != same)]


def _mean_score(training: Training, program: Any) -> float:
    """Mean score of a program on the examples that candidates are compared on."""
    work = [partial(training.scored, program, example) for example in training.compare]
    return fmean(side_by_side(work, training.width))


def _labeled(training: Training, recipe: Recipe) -> list[Candidate]:
    if not training.labelled:
        return _candidates(training, [])
    student, few_shot = Answering.of(training, training.student), dspy.LabeledFewShot(k=recipe.max_demos)
    shown: Any = few_shot.compile(student, trainset=list(training.labelled))
    return _candidates(training, [(shown, _mean_score(training, shown.program))])


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


def _bootstrap(training: Training, recipe: Recipe) -> list[Candidate]:
    settings, examples = _by_demos(training, recipe)
    random_search = dspy.BootstrapFewShotWithRandomSearch(num_candidate_programs=recipe.trials, **settings)
    best: Any = random_search.compile(Answering.of(training, training.student), **examples)
    return _candidates(training, [(tried["program"], tried["score"] / 100) for tried in best.candidate_programs])


def _miprov2(training: Training, recipe: Recipe) -> list[Candidate]:
    settings, examples = _by_demos(training, recipe)
    # None omits it, whatever DSPy declares: some models refuse any temperature.
    temperature: Any = None if training.proposer_lm.kwargs.get("temperature") is None else 1.0
    mipro = dspy.MIPROv2(
        prompt_model=training.proposer_lm,
        task_model=training.task_lm,
        auto=None,
        num_candidates=max(2, min(recipe.trials // 2, 8)),
        seed=recipe.seed,
        init_temperature=temperature,
        **settings,
    )
    student, how = Answering.of(training, training.student), {"num_trials": recipe.trials, "seed": recipe.seed}
    try:
        # The data-aware proposer prints whole examples into its prompt, answers and keys included.
        best: Any = mipro.compile(student, minibatch=False, data_aware_proposer=False, **how, **examples)
    except UNANSWERED:
        return _candidates(training, [])
    return _candidates(training, [(tried["program"], tried["score"] / 100) for tried in best.candidate_programs])


class _DescribesOnce(grounded_proposer.GenerateModuleInstruction):
    """MIPROv2's prompts for one instruction.

    For every instruction DSPy asks anew, under another rollout, what program and module do. Here that question has no
    rollout, so that its answer is paid for once; each instruction still has its own.
    """

    def forward(self, *args: Any, **named: Any) -> Any:
        """The instruction."""
        self.describe_program.lm = self.describe_module.lm = dspy.settings.lm.copy(rollout_id=None)
        return super().forward(*args, **named)


class _Proposer(InstructionProposer):  # pyright: ignore[reportGeneralTypeIssues]  # gepa's protocol is behind it
    """DSPy's, shown nothing but text, and of long inputs an excerpt."""

    def __init__(self, excerpts: Excerpts):
        super().__init__(adapter=TamedJSONAdapter())
        self._excerpts = excerpts

    def __call__(
        self,
        candidate: dict[str, str],
        reflective_dataset: Mapping[str, Sequence[Mapping[str, Any]]],
        components_to_update: list[str],
    ) -> dict[str, str]:
        shown = {
            name: [{**trace, "Inputs": self._excerpts.of(trace["Inputs"])} for trace in reflective_dataset[name]]
            for name in components_to_update
            if name in reflective_dataset
        }
        return super().__call__(candidate, shown, components_to_update)


def _gepa(training: Training, recipe: Recipe) -> list[Candidate]:
    def metric(
        example: dspy.Example,
        prediction: dspy.Prediction,
        trace: Any = None,  # noqa: ARG001 - GEPA gives it
        pred_name: str | None = None,  # noqa: ARG001 - likewise
        pred_trace: Any = None,  # noqa: ARG001 - likewise
    ) -> dspy.Prediction:
        score, feedback = training.score(example, prediction), training.feedback(example, prediction)
        return dspy.Prediction(score=score, feedback=feedback)

    gepa = dspy.GEPA(
        metric=metric,
        max_metric_calls=recipe.trials * len(training.compare),
        reflection_lm=training.proposer_lm,
        instruction_proposer=_Proposer(training.excerpts),
        num_threads=training.width,
        seed=recipe.seed,
        use_merge=False,
        track_stats=True,
    )
    student = Answering.of(training, training.student)
    best: Any = gepa.compile(student, trainset=list(training.learn), valset=list(training.compare))
    results = best.detailed_results
    return _candidates(training, list(zip(results.candidates, results.val_aggregate_scores, strict=True)))


OPTIMIZERS: Mapping[Optimizer, Callable[[Training, Recipe], list[Candidate]]] = {
    "labeled": _labeled,
    "bootstrap": _bootstrap,
    "miprov2": _miprov2,
    "gepa": _gepa,
}
"""DSPy's own: each gives its candidates, the student first."""


UNANSWERED = (AdapterParseError, LMError)
"""Errors of MIPROv2 where its proposer refuses or cannot be read; the start is then the only candidate."""


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
    proposer: Any = grounded_proposer
    read, turn = proposer.get_dspy_source_code, threading.Lock()
    words = proposer.GenerateModuleInstruction

    def in_turn(module: Any) -> str:
        # Python 3.11 may fail where two threads parse at once, and MIPROv2 then proposes without the code.
        with turn:
            return read(module)

    proposer.get_dspy_source_code = in_turn
    proposer.GenerateModuleInstruction = _DescribesOnce
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
        proposer.get_dspy_source_code = read
        proposer.GenerateModuleInstruction = words
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
