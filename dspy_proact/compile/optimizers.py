"""The optimizers, each as one function: a judge, items to learn from, and what it may cost."""

import logging
import os
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any, Literal, get_args

import dspy

from dspy_proact.compile.folds import grouped_folds
from dspy_proact.compile.gold import Gold
from dspy_proact.compile.labels import Labelled
from dspy_proact.compile.metric import AgreementMetric
from dspy_proact.compile.search import search
from dspy_proact.programs import Judge

Optimizer = Literal["labeled", "bootstrap", "miprov2", "gepa", "search"]
OPTIMIZERS: tuple[Optimizer, ...] = get_args(Optimizer)
_INNER_FOLDS = 3
"""A third of a training set's units, about, is where candidates are compared."""


@dataclass(frozen=True)
class Effort:
    """How hard an optimizer tries."""

    optimizer: Optimizer
    trials: int = 20
    max_demos: int = 4
    seed: int = 0


@dataclass(frozen=True)
class Bench:
    """What an optimizer works with."""

    effort: Effort
    judge_lm: dspy.LM
    proposer_lm: dspy.LM
    gold: Gold
    """Worked examples of labelled items."""

    def compiled(self, start: Judge, train: Sequence[Labelled]) -> Judge:
        """A judge tuned to the training set, from a start that stays as it is."""
        student = start.deepcopy()
        with dspy.context(lm=self.judge_lm, max_errors=10**9), _quiet():
            return _BY_NAME[self.effort.optimizer](self, student, train)


def _labeled(bench: Bench, student: Judge, train: Sequence[Labelled]) -> Judge:
    shuffled = _shuffled(train, bench.effort.seed)
    few_shot = dspy.LabeledFewShot(k=bench.effort.max_demos)
    return few_shot.compile(student, trainset=bench.gold.examples(shuffled))


def _bootstrap(bench: Bench, student: Judge, train: Sequence[Labelled]) -> Judge:
    learn, compare = split(train, bench.effort.seed)
    random_search = dspy.BootstrapFewShotWithRandomSearch(
        metric=AgreementMetric(train),
        max_bootstrapped_demos=bench.effort.max_demos,
        max_labeled_demos=bench.effort.max_demos,
        num_candidate_programs=bench.effort.trials,
        num_threads=1,
        max_errors=10**9,
    )
    return random_search.compile(
        student, trainset=bench.gold.examples(learn), valset=[item.example for item in compare]
    )


def _miprov2(bench: Bench, student: Judge, train: Sequence[Labelled]) -> Judge:
    learn, compare = split(train, bench.effort.seed)
    mipro = dspy.MIPROv2(
        metric=AgreementMetric(train),
        prompt_model=bench.proposer_lm,
        task_model=bench.judge_lm,
        max_bootstrapped_demos=bench.effort.max_demos,
        max_labeled_demos=bench.effort.max_demos,
        auto=None,
        num_candidates=max(2, min(bench.effort.trials // 2, 8)),
        num_threads=1,
        max_errors=10**9,
        seed=bench.effort.seed,
    )
    # The data-aware proposer prints whole examples into its prompt, labels and keys included.
    return mipro.compile(
        student,
        trainset=bench.gold.examples(learn),
        valset=[item.example for item in compare],
        num_trials=bench.effort.trials,
        minibatch=False,
        data_aware_proposer=False,
        seed=bench.effort.seed,
    )


def _gepa(bench: Bench, student: Judge, train: Sequence[Labelled]) -> Judge:
    learn, compare = split(train, bench.effort.seed)
    gepa = dspy.GEPA(
        metric=AgreementMetric(train, with_feedback=True),
        max_metric_calls=bench.effort.trials * len(compare),
        reflection_lm=bench.proposer_lm,
        num_threads=1,
        seed=bench.effort.seed,
        use_merge=False,
    )
    compiled: Any = gepa.compile(
        student, trainset=[item.example for item in learn], valset=[item.example for item in compare]
    )
    return compiled


def _search(bench: Bench, student: Judge, train: Sequence[Labelled]) -> Judge:
    learn, compare = split(train, bench.effort.seed)
    effort = bench.effort
    return search(
        student,
        learn=bench.gold.examples(learn),
        compare=[item.example for item in compare],
        metric=AgreementMetric(train, with_feedback=True),
        proposer_lm=bench.proposer_lm,
        trials=effort.trials,
        max_demos=effort.max_demos,
        seed=effort.seed,
    )


_BY_NAME: Mapping[Optimizer, Callable[[Bench, Judge, Sequence[Labelled]], Judge]] = {
    "labeled": _labeled,
    "bootstrap": _bootstrap,
    "miprov2": _miprov2,
    "gepa": _gepa,
    "search": _search,
}


def split(train: Sequence[Labelled], seed: int) -> tuple[Sequence[Labelled], Sequence[Labelled]]:
    """Items to learn from, and items of other units to compare candidates on."""
    units = len({item.unit for item in train})
    fold = grouped_folds(train, min(_INNER_FOLDS, units), seed)[0]
    return _shuffled(fold.train, seed), fold.test


def _shuffled(items: Sequence[Labelled], seed: int) -> list[Labelled]:
    order = sorted(items, key=lambda item: item.key)
    random.Random(seed).shuffle(order)
    return order


@contextmanager
def _quiet() -> Any:
    """The optimizers' running commentary off: what they log, and what they print, progress bars among it."""
    loggers = [logging.getLogger(name) for name in ("dspy", "gepa", "optuna")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):  # noqa: PTH123 - a device
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
