"""The optimizers, each as one function: an assistant, triggers to learn from, and the candidates that came of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import dspy

from dspy_proact.compile.assistant.candidate import Candidate
from dspy_proact.compile.assistant.guards import Fence, Guard
from dspy_proact.compile.assistant.metric import InitiativeMetric
from dspy_proact.compile.assistant.panel import Panel, tuning_score
from dspy_proact.compile.assistant.probe import Probe, controls_among, of_phases
from dspy_proact.compile.assistant.search import search
from dspy_proact.compile.assistant.teacher import teacher_of
from dspy_proact.compile.assistant.withholding import Withheld
from dspy_proact.compile.effort import Effort, Optimizer
from dspy_proact.compile.folds import split
from dspy_proact.compile.quiet import UNANSWERED, quiet
from dspy_proact.programs import Assistant
from dspy_proact.types import Phase


@dataclass(frozen=True)
class Tuned:
    """What came of one training set."""

    program: Assistant
    """The best candidate that keeps the guards; the start where no other does."""
    tried: tuple[Candidate, ...]
    """The start first, then the others in the order of trying."""
    broken: Mapping[int, tuple[Guard, ...]]
    """Guards that candidates do not keep, by place; only those that were looked at."""
    place: int
    """Of the program among the tried."""


@dataclass(frozen=True)
class Task:
    """What an optimizer is given of one training set."""

    student: Assistant
    learn: Sequence[Probe]
    """Triggers to learn from."""
    compare: Sequence[Probe]
    """Triggers of other units, to compare candidates on."""
    controls: Sequence[Probe]
    """Control turns of the same units."""
    journal: Path | None
    """Where a study is written down; output only."""

    @property
    def learning(self) -> list[dspy.Example]:
        """Examples to learn from."""
        return [probe.example for probe in self.learn]

    @property
    def comparing(self) -> list[dspy.Example]:
        """Examples to compare on."""
        return [probe.example for probe in self.compare]


@dataclass(frozen=True)
class Bench:
    """What an optimizer works with."""

    effort: Effort
    panel: Panel
    """With the tuning judge."""
    proposer_lm: dspy.LM
    phases: Sequence[Phase]
    margins: Mapping[Guard, float]
    withheld: Withheld = field(default_factory=Withheld)

    def tuned(self, start: Assistant, train: Sequence[Probe], journal: Path | None = None) -> Tuned:
        """The best that an optimizer finds on a training set and that keeps the guards; the start stays as it is."""
        chosen = of_phases(train, self.phases)
        learn, compare = split(chosen, self.effort.seed)
        units = {probe.unit for probe in compare}
        controls = [probe for probe in controls_among(train) if probe.unit in units]
        task = Task(start.deepcopy(), learn, compare, controls, journal)
        with dspy.context(lm=self.panel.assistant_lm, max_errors=10**9), quiet():
            tried = _BY_NAME[self.effort.optimizer](self, task)
        fence = Fence(self.margins, self.panel, train, self.phases)
        before = fence.measured(start)
        broken: dict[int, tuple[Guard, ...]] = {0: ()}
        order = sorted(range(len(tried)), key=lambda place: (-tried[place].score, tried[place].offers or 0.0, place))
        for place in order:
            if place:
                broken[place] = fence.broken(before, fence.measured(tried[place].program))
            if not broken[place]:
                return Tuned(tried[place].program, tuple(tried), broken, place)
        raise AssertionError("the start keeps every guard")

    def metric(self, task: Task, with_feedback: bool = False) -> InitiativeMetric:
        """The metric of a task."""
        return InitiativeMetric([*task.learn, *task.compare], self.panel, self.withheld, with_feedback)

    def candidates(self, task: Task, found: Sequence[tuple[Assistant, float]]) -> list[Candidate]:
        """The start, and what an optimizer found beside it."""
        played = self.panel.play(task.student, task.compare)
        start = Candidate(task.student, fmean(tuning_score(played[probe.key]) for probe in task.compare))
        said = task.student.fingerprint()
        return [start, *(Candidate(program, score) for program, score in found if program.fingerprint() != said)]


def _bootstrap(bench: Bench, task: Task) -> list[Candidate]:
    random_search = dspy.BootstrapFewShotWithRandomSearch(
        metric=bench.metric(task),
        max_bootstrapped_demos=bench.effort.max_demos,
        max_labeled_demos=0,
        num_candidate_programs=bench.effort.trials,
        num_threads=1,
        max_errors=10**9,
    )
    best: Any = random_search.compile(
        task.student, teacher=teacher_of(task.student), trainset=task.learning, valset=task.comparing
    )
    return bench.candidates(task, _scored(best.candidate_programs))


def _miprov2(bench: Bench, task: Task) -> list[Candidate]:
    mipro = dspy.MIPROv2(
        metric=bench.metric(task),
        prompt_model=bench.proposer_lm,
        task_model=bench.panel.assistant_lm,
        max_bootstrapped_demos=bench.effort.max_demos,
        max_labeled_demos=0,
        auto=None,
        num_candidates=max(2, min(bench.effort.trials // 2, 8)),
        num_threads=1,
        max_errors=10**9,
        seed=bench.effort.seed,
    )
    # The data-aware proposer prints whole examples into its prompt, keys included.
    try:
        best: Any = mipro.compile(
            task.student,
            teacher=teacher_of(task.student),
            trainset=task.learning,
            valset=task.comparing,
            num_trials=bench.effort.trials,
            minibatch=False,
            data_aware_proposer=False,
            seed=bench.effort.seed,
        )
    except UNANSWERED:
        return bench.candidates(task, [])
    return bench.candidates(task, _scored(best.candidate_programs))


def _gepa(bench: Bench, task: Task) -> list[Candidate]:
    gepa = dspy.GEPA(
        metric=bench.metric(task, with_feedback=True),
        max_metric_calls=bench.effort.trials * len(task.compare),
        reflection_lm=bench.proposer_lm,
        num_threads=1,
        seed=bench.effort.seed,
        use_merge=False,
        track_stats=True,
    )
    best: Any = gepa.compile(task.student, trainset=task.learning, valset=task.comparing)
    found = best.detailed_results
    return bench.candidates(task, list(zip(found.candidates, found.val_aggregate_scores, strict=True)))


def _search(bench: Bench, task: Task) -> list[Candidate]:
    metric, effort = bench.metric(task, with_feedback=True), bench.effort
    return search(
        task.student,
        learn=task.learn,
        compare=task.compare,
        controls=task.controls,
        panel=bench.panel,
        metric=metric,
        proposer_lm=bench.proposer_lm,
        effort=effort,
        journal=task.journal,
    )


_BY_NAME: Mapping[Optimizer, Callable[[Bench, Task], list[Candidate]]] = {
    "bootstrap": _bootstrap,
    "miprov2": _miprov2,
    "gepa": _gepa,
    "search": _search,
}
ASSISTANT_OPTIMIZERS: tuple[Optimizer, ...] = tuple(_BY_NAME)
"""Labelled few-shot is none of them: nobody has written the responses that it would show."""


def _scored(found: Sequence[Mapping[str, Any]]) -> list[tuple[Assistant, float]]:
    """What DSPy's optimizers leave behind; their scores are percentages."""
    return [(each["program"], each["score"] / 100) for each in found]
