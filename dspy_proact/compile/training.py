"""One training set of a compile, and the candidates that an optimizer tried on it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import dspy

from dspy_proact.compile.folds import split
from dspy_proact.compile.proposer import Excerpts
from dspy_proact.compile.target import Target
from dspy_proact.errors import StageError


class Training:
    """One training set, divided; no unit is on both sides, and no other item is in reach.

    An example holds the inputs of the program and one opaque key. Everything else is looked up by the key. `before` are
    the start's test results on the items of `train`.
    """

    def __init__(
        self, target: Target, train: Sequence[Any], before: Mapping[str, Any], *, seed: int, excerpts: Excerpts
    ):
        learn, self.compared = split(target.chosen(train), target.units, seed)
        divided = {item.key for item in [*learn, *self.compared]}
        others = [item for item in train if item.key not in divided]
        self.target, self.excerpts, self.seed = target.learning_from([*learn, *self.compared, *others]), excerpts, seed
        self.student = target.start.program.deepcopy()
        watched = self.target.watched(self.compared)
        self.items = {item.key: item for item in [*learn, *self.compared, *watched]}
        self.groups = {key: item.group for key, item in self.items.items()}
        self.learn, self.compare, self.watched = (
            [target.example(item) for item in items] for items in (learn, self.compared, watched)
        )
        self.labelled = target.labelled(learn, before)
        """The examples to learn from, answered by people; empty where nobody answered them."""
        self.proposal, self.width = target.proposal, target.width
        self.teacher = self.proposal.teacher and self.proposal.teacher(self.student)
        """Whose answers become demos; None where the student teaches itself."""
        self.task_lm, self.proposer_lm = target.models[target.role].lm, target.models["proposer"].lm

    def score(self, example: dspy.Example, prediction: dspy.Prediction) -> float:
        """Score of an answer, in [0, 1], higher is better."""
        score = self.target.feedback(self.items[example.key], prediction).score
        assert score is not None, "a target scores every answer"
        return score

    def feedback(self, example: dspy.Example, prediction: dspy.Prediction, seen: bool = True) -> str:
        """What a proposer may be told of an answer that it has seen, or of one that it has not."""
        feedback = self.target.feedback(self.items[example.key], prediction)
        self.excerpts.withhold(*feedback.withheld)
        return feedback.text if seen else feedback.shortfall

    def is_worth_showing(self, example: dspy.Example, prediction: dspy.Prediction) -> bool:
        """Whether an answer is fit to be a demo."""
        return self.target.is_worth_showing(self.items[example.key], prediction)

    def pool(self) -> Sequence[dspy.Example]:
        """Answered examples from which the search draws demos."""
        return self.labelled or self.target.taught(self.learn, self.teacher or self.student)

    @cached_property
    def guarded_at_start(self) -> Mapping[str, Any]:
        """The student's results by which guards compare."""
        return self.target.guarded(self.student)

    def broken(self, program: Any) -> tuple[str, ...]:
        """Guards that a program breaks, compared with the student."""
        return self.target.broken(self.guarded_at_start, self.target.guarded(program))

    def prediction_of(self, program: Any, example: dspy.Example) -> dspy.Prediction | None:
        """A program's answer; None where it has none that can be used."""
        try:
            with dspy.context(lm=self.task_lm, trace=None):
                return program(**example.inputs())
        except StageError:
            return None

    def scored(self, program: Any, example: dspy.Example) -> float:
        """Score of a program's answer; 0 without an answer."""
        prediction = self.prediction_of(program, example)
        return 0.0 if prediction is None else self.score(example, prediction)

    def harmed(self, program: Any, example: dspy.Example) -> float | None:
        """Harm of a program's answer to a watched example, in [0, 1], lower is better; None where it is not known."""
        prediction = self.prediction_of(program, example)
        return None if prediction is None else self.target.harm(self.items[example.key], prediction)


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
    """A program that an optimizer tried, on the items that candidates are compared on."""

    program: Any
    score: float
    """Mean, in [0, 1], higher is better."""
    harm: float | None = None
    """Mean over the watched examples, in [0, 1], lower is better; None where it was not measured."""
    share: float = 1.0
    """Share of the examples that it was compared on before it was dropped, in (0, 1]."""


@dataclass(frozen=True)
class Choice:
    """The candidates of one training set, and the chosen one."""

    tried: tuple[Candidate, ...]
    """The student first, then the others in the order of trying."""
    index: int
    """Of the best candidate that keeps the guards; of the student where no other does."""
    broken: dict[int, tuple[str, ...]]
    """Guards that candidates break, by index; only of those that were tested."""
