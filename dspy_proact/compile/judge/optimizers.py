"""The optimizers, each as one function: a judge, items to learn from, and what it may cost."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dspy

from dspy_proact.compile.effort import Effort, Optimizer
from dspy_proact.compile.folds import shuffled, split
from dspy_proact.compile.judge.gold import Gold
from dspy_proact.compile.judge.labels import Labelled
from dspy_proact.compile.judge.metric import AgreementMetric
from dspy_proact.compile.judge.search import search
from dspy_proact.compile.quiet import UNANSWERED, quiet
from dspy_proact.programs import Judge


@dataclass(frozen=True)
class Bench:
    """What an optimizer works with."""

    effort: Effort
    judge_lm: dspy.LM
    proposer_lm: dspy.LM
    gold: Gold
    """Worked examples of labelled items."""
    journal: Path | None = None
    """Where a study is written down; output only."""

    def compiled(self, start: Judge, train: Sequence[Labelled]) -> Judge:
        """A judge tuned to the training set, from a start that stays as it is."""
        student = start.deepcopy()
        with dspy.context(lm=self.judge_lm, max_errors=10**9), quiet():
            return _BY_NAME[self.effort.optimizer](self, student, train)


def _labeled(bench: Bench, student: Judge, train: Sequence[Labelled]) -> Judge:
    examples = bench.gold.examples(shuffled(train, bench.effort.seed))
    few_shot = dspy.LabeledFewShot(k=bench.effort.max_demos)
    return few_shot.compile(student, trainset=examples)


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
    try:
        return mipro.compile(
            student,
            trainset=bench.gold.examples(learn),
            valset=[item.example for item in compare],
            num_trials=bench.effort.trials,
            minibatch=False,
            data_aware_proposer=False,
            seed=bench.effort.seed,
        )
    except UNANSWERED:
        return student


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
        journal=bench.journal,
    )


_BY_NAME: Mapping[Optimizer, Callable[[Bench, Judge, Sequence[Labelled]], Judge]] = {
    "labeled": _labeled,
    "bootstrap": _bootstrap,
    "miprov2": _miprov2,
    "gepa": _gepa,
    "search": _search,
}
