"""One training set of a compile, how programs answer it, and the candidates that an optimizer tried on it."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import dspy
from pydantic_core import to_jsonable_python

from dspy_proact.calls import collect_calls
from dspy_proact.compile.folds import split
from dspy_proact.compile.proposer import Proposer
from dspy_proact.compile.side_by_side import side_by_side
from dspy_proact.compile.target import Target
from dspy_proact.errors import StageError
from dspy_proact.evaluation.tuning import Feedback
from dspy_proact.programs.asking import SYSTEM

_POOL = 8
"""Answers of a program to draw demos from, at most."""
_NO_ANSWER = "It gave no answer that can be used."


@dataclass(frozen=True)
class TraceStep:
    """What a program asked its model on the way to an answer."""

    predictor: str
    """Its name, as `named_predictors` gives it."""
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]


@dataclass(frozen=True)
class Answered:
    """A program's answer to an example, scored."""

    example: dspy.Example
    prediction: dspy.Prediction | None
    """None where there is none that can be used."""
    feedback: Feedback
    trace: tuple[TraceStep, ...]
    """In the order in which they were put; those without an answer are left out."""
    completion_tokens: int | None
    """Of all the calls of the program; None where they were not counted."""

    @property
    def score(self) -> float:
        """In [0, 1], higher is better; 0 without an answer."""
        assert self.feedback.score is not None, "a target scores every answer"
        return self.feedback.score


class Training:
    """One training set; no other item is in reach.

    Candidates are raced on all `examples`; for DSPy's own optimizers these are divided into those to `learn` from and,
    of other units, those to `compare` on.

    An example holds one opaque key, by which everything else is looked up; those that people answered hold the inputs
    and outputs of the program too. `before` are the start's test results on the items of `train`.
    """

    def __init__(self, target: Target, train: Sequence[Any], before: Mapping[str, Any], proposer: Proposer, seed: int):
        self.chosen = target.chosen(train)
        learn, compare = split(self.chosen, target.units, seed)
        divided = {item.key for item in self.chosen}
        others = [item for item in train if item.key not in divided]
        self.target, self.proposer, self.seed = target.learning_from([*learn, *compare, *others]), proposer, seed
        self.student = target.start.program.deepcopy()
        watched = self.target.watched(self.chosen)
        self.items = {item.key: item for item in [*self.chosen, *watched]}
        self.groups = {key: item.group for key, item in self.items.items()}
        self.examples, self.learn, self.compare, self.watched = (
            [dspy.Example(key=item.key).with_inputs("key") for item in items]
            for items in (self.chosen, learn, compare, watched)
        )
        self.labelled = [example.with_inputs("key") for example in target.labelled(learn, before)]
        """The examples to learn from, answered by people; empty where nobody answered them."""
        self.proposal, self.width = target.proposal, target.width
        self.teacher = self.proposal.teacher and self.proposal.teacher(self.student)
        """Whose answers become demos; None where the student teaches itself."""
        self.task_lm, self.proposer_lm = target.models[target.role].lm, target.models["proposer"].lm
        self._keys: dict[str, set[str]] = {}
        """Of the items at which a program was asked something, by the inputs of the question."""

    def score(self, example: dspy.Example, prediction: dspy.Prediction) -> float:
        """Score of an answer, in [0, 1], higher is better."""
        score = self.target.feedback(self.items[example.key], prediction).score
        assert score is not None, "a target scores every answer"
        return score

    def is_worth_showing(self, example: dspy.Example, prediction: dspy.Prediction) -> bool:
        """Whether an answer is fit to be a demo."""
        return self.target.is_worth_showing(self.items[example.key], prediction)

    def pool(self) -> Sequence[dspy.Example]:
        """Answered examples from which the search draws demos."""
        if self.labelled or not self.target.taught:
            return self.labelled
        # As many are tried at once as are missing, so that none is tried in vain.
        passed, left, teacher = list[dspy.Example](), list(self.learn), self.teacher or self.student
        while len(teacher.predictors()) == 1 and left and len(passed) < _POOL:
            tried, left = left[: _POOL - len(passed)], left[_POOL - len(passed) :]
            for answered in self.answers(teacher, tried):
                prediction = answered.prediction
                if prediction is not None and answered.trace and self.is_worth_showing(answered.example, prediction):
                    step = answered.trace[-1]
                    passed.append(dspy.Example(augmented=True, **step.inputs, **step.outputs))
        return passed

    def shown_in(self, program: Any) -> frozenset[str]:
        """Keys of the items that stand in a program's demos: by their key, or by what a program was asked there."""
        keys = set[str]()
        for predictor in program.predictors():
            for demo in map(dict, predictor.demos):
                inputs = {name: demo[name] for name in (*predictor.signature.input_fields, SYSTEM) if name in demo}
                keys |= {demo["key"]} if "key" in demo else self._keys.get(_written(inputs), set())
        return frozenset(keys)

    @cached_property
    def guarded_at_start(self) -> Mapping[str, Any]:
        """The student's results by which guards compare."""
        return self.target.guarded(self.student)

    def broken(self, program: Any) -> tuple[str, ...]:
        """Guards that a program breaks, compared with the student."""
        return self.target.broken(self.guarded_at_start, self.target.guarded(program))

    def answer(self, program: Any, example: dspy.Example) -> Answered:
        """A program's answer to an example, with its score and the questions that it took."""
        item, prediction, feedback, trace = self.items[example.key], None, Feedback(_NO_ANSWER, 0.0, "no answer"), []
        with collect_calls() as calls, dspy.context(lm=self.task_lm, trace=trace), suppress(StageError):
            prediction = self.target.answer(program, item)
        names = {id(predictor): name for name, predictor in program.named_predictors()}
        steps = tuple(
            TraceStep(names[id(predictor)], inputs, outputs.toDict())
            for predictor, inputs, outputs in trace
            if id(predictor) in names
        )
        for step in steps:
            self._keys.setdefault(_written(step.inputs), set()).add(example.key)
        if prediction is not None:
            feedback = self.target.feedback(item, prediction)
        own = [call.completion_tokens for call in calls if call.role == self.target.role and call.error is None]
        known = [count for count in own if count is not None]
        tokens = sum(known) if len(known) == len(own) else None
        return Answered(example, prediction, feedback, steps, tokens)

    def answers(self, program: Any, examples: Sequence[dspy.Example]) -> list[Answered]:
        """A program's answers to examples side by side, in their order."""
        return side_by_side([partial(self.answer, program, example) for example in examples], self.width)

    def harm(self, answered: Answered) -> float | None:
        """Harm of an answer to a watched example, in [0, 1], lower is better; None where it is not known."""
        if answered.prediction is None:
            return None
        return self.target.harm(self.items[answered.example.key], answered.prediction)


def _written(inputs: Mapping[str, Any]) -> str:
    return json.dumps(to_jsonable_python(inputs, fallback=str), sort_keys=True)


def variant(program: Any, instructions: Sequence[str | None], demos: Sequence[dspy.Example]) -> Any:
    """A copy with other demos in its first predictor and those that ask alike, and other instructions.

    `instructions` are of its first predictors; None keeps the present one.
    """
    made = program.deepcopy()
    predictors = made.predictors()
    for predictor, text in zip(predictors, instructions, strict=False):
        if text is not None:
            predictor.signature = predictor.signature.with_instructions(text)
    first = predictors[0].signature
    for predictor in predictors:
        if predictor.signature.fields.keys() == first.fields.keys():
            predictor.demos = list(demos)
    return made


@dataclass(frozen=True)
class Candidate:
    """A program that an optimizer tried, by a race with the others."""

    program: Any
    score: float
    """The leader's mean and the paired difference to it, in [0, 1], higher is better."""
    harm: float | None = None
    """Likewise over the watched examples, in [0, 1], lower is better; None where it was not measured."""
    share: float = 1.0
    """Of the items that stand in none of its demos, the share that it was tried on before it was dropped."""


@dataclass(frozen=True)
class Choice:
    """The candidates of one training set, and the chosen one."""

    tried: tuple[Candidate, ...]
    """The student first, then the others in the order of trying."""
    index: int
    """Of the best candidate that keeps the guards; of the student where no other does."""
    broken: dict[int, tuple[str, ...]]
    """Guards that candidates break, by index; only of those that were tested."""
