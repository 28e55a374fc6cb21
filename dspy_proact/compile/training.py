"""What an optimizer works with: a student, examples of a training set, and what an answer to one of them is worth."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeVar

import dspy

from dspy_proact.compile.proposer import Excerpts
from dspy_proact.errors import Halt, StageError
from dspy_proact.switch import HEARTBEAT


class Program(Protocol):
    """What can be tuned: a DSPy module with predictors, which raises a `StageError` where it has no answer."""

    def predictors(self) -> list[Any]:
        """Its predictors, in the order in which it asks them."""
        ...

    def deepcopy(self) -> Self:
        """A copy that shares nothing."""
        ...

    def __call__(self, **inputs: Any) -> dspy.Prediction:
        """The answer to an example's inputs."""
        ...


P = TypeVar("P", bound=Program)


@dataclass(frozen=True)
class Proposal:
    """How the search asks for instructions."""

    signature: type[dspy.Signature]
    """Inputs `instruction`, `shortfalls` and `tip`; output `improved_instruction`."""
    tips: Sequence[str]
    """What each further candidate is to try."""


@dataclass(frozen=True)
class Training(ABC, Generic[P]):
    """One training set, divided; no unit is on both sides.

    An example holds inputs of the program and one opaque key. Whatever else is known of it is looked up by the key.
    """

    student: P
    """Where tuning starts; it stays as it is."""
    learn: Sequence[dspy.Example]
    """To learn from."""
    compare: Sequence[dspy.Example]
    """To compare candidates on."""
    groups: Mapping[str, str]
    """What examples share that are not independent, by key."""
    task_lm: dspy.LM
    proposer_lm: dspy.LM
    proposal: Proposal
    width: int
    """Examples at once."""
    excerpts: Excerpts
    """Cuts the inputs that a proposer is shown."""

    @abstractmethod
    def score(self, example: dspy.Example, prediction: dspy.Prediction) -> float:
        """What an answer is worth, in [0, 1], higher is better."""

    @abstractmethod
    def feedback(self, example: dspy.Example, prediction: dspy.Prediction) -> str:
        """What a proposer may be told of an answer."""

    def is_worth_showing(self, example: dspy.Example, prediction: dspy.Prediction) -> bool:  # noqa: ARG002 - for those with demos
        """Whether an answer is fit to be a demo; none is where the program is shown none."""
        return False

    def shortfall(self, example: dspy.Example, prediction: dspy.Prediction) -> str:
        """What a proposer may be told of an answer that it has not seen."""
        return self.feedback(example, prediction)

    @property
    def labelled(self) -> Sequence[dspy.Example]:
        """The examples to learn from, answered by people; none where nobody has answered them."""
        return ()

    @property
    def teacher(self) -> P | None:
        """Whose answers are shown as demos; None where the student teaches itself."""
        return None

    def pool(self) -> Sequence[dspy.Example]:
        """Answered examples for the search to draw demos from."""
        return self.labelled

    @property
    def watched(self) -> Sequence[dspy.Example]:
        """Examples on which a candidate's harm is looked at."""
        return ()

    def harm(self, example: dspy.Example, prediction: dspy.Prediction) -> float | None:
        """What an answer to a watched example spoils, in [0, 1], lower is better; None where that is not known."""
        raise NotImplementedError

    def broken(self, program: P) -> tuple[str, ...]:  # noqa: ARG002 - for those that have guards
        """Guards that a program does not keep against the student."""
        return ()

    def answered(self, program: P, example: dspy.Example) -> dspy.Prediction | None:
        """A program's answer; None where it has none that can be used."""
        try:
            with dspy.context(lm=self.task_lm, trace=None):
                return program(**example.inputs())
        except StageError:
            return None

    def scored(self, program: P, example: dspy.Example) -> float:
        """What a program's answer is worth; no answer is worth nothing."""
        prediction = self.answered(program, example)
        return 0.0 if prediction is None else self.score(example, prediction)

    def harmed(self, program: P, example: dspy.Example) -> float | None:
        """What a program's answer to a watched example spoils."""
        prediction = self.answered(program, example)
        return None if prediction is None else self.harm(example, prediction)


def instructions_of(program: Program) -> list[str]:
    """What it tells its model to do, by predictor; of its first its own word, which is empty where nothing is told."""
    first, *further = (each.signature.instructions for each in program.predictors())
    return [getattr(program, "instruction", first), *further]


def variant(program: P, instruction: str | Sequence[str | None] | None, demos: Sequence[dspy.Example]) -> P:
    """A copy with these demos to its first predictor, and another instruction where one is given.

    Args:
        program: It stays as it is.
        instruction: Of the first predictor, or one for each; None for what stands there.
        demos: As they are shown.
    """
    made = program.deepcopy()
    predictors = made.predictors()
    told = [instruction] if isinstance(instruction, str) or instruction is None else instruction
    for predictor, each in zip(predictors, told, strict=False):
        if each is not None:
            predictor.signature = predictor.signature.with_instructions(each)
    predictors[0].demos = list(demos)
    return made


@dataclass(frozen=True)
class Candidate(Generic[P]):
    """A program that an optimizer tried, on what it compared candidates on."""

    program: P
    score: float
    """Mean, in [0, 1], higher is better."""
    harm: float | None = None
    """Mean over the watched examples, in [0, 1], lower is better; None where that was not looked at."""
    share: float = 1.0
    """Of the examples on which it was compared before it was dropped, in (0, 1]."""


@dataclass(frozen=True)
class Chosen(Generic[P]):
    """What came of one training set."""

    tried: tuple[Candidate[P], ...]
    """The student first, then the others in the order of trying."""
    place: int
    """Of the best one that keeps the guards; that of the student where no other does."""
    broken: dict[int, tuple[str, ...]]
    """Guards that candidates do not keep, by place; only those that were looked at."""

    @property
    def program(self) -> P:
        """The chosen one."""
        return self.tried[self.place].program


def rank(candidates: list[Candidate[P]]) -> list[int]:
    """Places of candidates, the best first: by share compared, score, harm, and the order of trying."""
    worth = [(-each.share, -each.score, each.harm or 0.0) for each in candidates]
    return sorted(range(len(candidates)), key=worth.__getitem__)


T = TypeVar("T")


def side_by_side(work: Sequence[Callable[[], T]], width: int) -> list[T]:
    """What each piece of work comes to, in their order; as many as the width at once, each in the caller's context.

    Where one fails no further one is begun, those that have begun are waited for, and the first failure in their order
    is raised: before all, one that is no `Halt`, for it may be why the others were ended.
    """
    if min(width, len(work)) < 2:
        return [each() for each in work]
    with ThreadPoolExecutor(min(width, len(work))) as pool:
        futures = [pool.submit(copy_context().run, each) for each in work]
        while (ended := wait(futures, HEARTBEAT, return_when=FIRST_EXCEPTION)).not_done:
            if any(future.cancelled() or future.exception() for future in ended.done):
                for future in ended.not_done:
                    future.cancel()
                wait(ended.not_done, HEARTBEAT)
    failures = [error for future in futures if not future.cancelled() and (error := future.exception())]
    if failures:
        raise min(failures, key=lambda error: isinstance(error, Halt))
    return [future.result() for future in futures]
