"""One training set of a compile, the candidates that an optimizer tried on it, and what a whole compile found."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import dspy

from dspy_proact.calls import Call
from dspy_proact.errors import Halt, StageError
from dspy_proact.switch import HEARTBEAT

if TYPE_CHECKING:
    from dspy_proact.compile.compile import Compile

T = TypeVar("T")


@dataclass(frozen=True)
class Proposal:
    """How the search asks for instructions."""

    signature: type[dspy.Signature]
    """Inputs `instruction`, `shortfalls` and `tip`; output `improved_instruction`."""
    tips: Sequence[str]
    """What each further candidate is to try."""


class Training(ABC):
    """One training set, divided; no unit is on both sides.

    An example holds the inputs of the program and one opaque key. Everything else is looked up by the key.

    Args:
        compiling: Its compile.
        student: Where tuning starts; it is never changed.
        learn: Items to learn from.
        compare: Items to compare candidates on.
        watched: Items on which the harm of candidates is measured.
    """

    teacher: Any = None
    """Whose answers become demos; None where the student teaches itself."""
    labelled: Sequence[dspy.Example] = ()
    """The examples to learn from, answered by people; empty where nobody answered them."""

    def __init__(
        self, compiling: "Compile", student: Any, learn: Sequence[Any], compare: Sequence[Any], watched: Any = ()
    ):
        self.student = student
        self.items: Mapping[str, Any] = {item.key: item for item in [*learn, *compare, *watched]}
        self.groups = {key: item.group for key, item in self.items.items()}
        self.learn, self.compare, self.watched = (
            [compiling.example(item) for item in items] for items in (learn, compare, watched)
        )
        self.task_lm, self.proposer_lm = compiling.models[compiling.role].lm, compiling.models["proposer"].lm
        self.tuning, self.width, self.excerpts = compiling.tuning, compiling.width, compiling.excerpts
        self.proposal = self.tuning.proposal(compiling.role)

    @abstractmethod
    def score(self, example: dspy.Example, prediction: dspy.Prediction) -> float:
        """Score of an answer, in [0, 1], higher is better."""

    @abstractmethod
    def feedback(self, example: dspy.Example, prediction: dspy.Prediction) -> str:
        """What a proposer may be told of an answer."""

    @abstractmethod
    def shortfall(self, example: dspy.Example, prediction: dspy.Prediction) -> str:
        """What a proposer may be told of an answer that it has not seen."""

    @abstractmethod
    def is_worth_showing(self, example: dspy.Example, prediction: dspy.Prediction) -> bool:
        """Whether an answer is fit to be a demo."""

    @abstractmethod
    def broken(self, program: Any) -> tuple[str, ...]:
        """Guards that a program breaks, compared with the student."""

    def pool(self) -> Sequence[dspy.Example]:
        """Answered examples from which the search draws demos."""
        return self.labelled

    def harm(self, example: dspy.Example, prediction: dspy.Prediction) -> float | None:
        """Harm of an answer to a watched example, in [0, 1], lower is better; None where it is not known."""
        raise NotImplementedError

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
        """Harm of a program's answer to a watched example."""
        prediction = self.prediction_of(program, example)
        return None if prediction is None else self.harm(example, prediction)


def instructions_of(program: Any) -> list[str]:
    """Instruction of each predictor; that of an only one as the program gives it, empty where there is none."""
    instructions = [each.signature.instructions for each in program.predictors()]
    return instructions if len(instructions) > 1 else [getattr(program, "instruction", instructions[0])]


def variant(program: Any, instruction: str | Sequence[str | None] | None, demos: Sequence[dspy.Example]) -> Any:
    """A copy with other demos in its first predictor and those that ask alike, and other instructions.

    Args:
        program: It is not changed.
        instruction: Of the first predictor, or one for each predictor; None keeps the present one.
        demos: As they are shown.
    """
    made = program.deepcopy()
    predictors = made.predictors()
    given = [instruction] if isinstance(instruction, str) or instruction is None else instruction
    for predictor, each in zip(predictors, given, strict=False):
        if each is not None:
            predictor.signature = predictor.signature.with_instructions(each)
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
class Chosen:
    """The candidates of one training set, and the chosen one."""

    tried: tuple[Candidate, ...]
    """The student first, then the others in the order of trying."""
    place: int
    """Of the best candidate that keeps the guards; of the student where no other does."""
    broken: dict[int, tuple[str, ...]]
    """Guards that candidates break, by place; only of those that were tested."""

    @property
    def program(self) -> Any:
        """The chosen one."""
        return self.tried[self.place].program


@dataclass(frozen=True)
class Tested:
    """Test results of every item."""

    results: Mapping[str, Any]
    """By key, in the order of the items."""
    calls: tuple[Call, ...]
    """Of the program under test."""


@dataclass(frozen=True)
class Compiled:
    """The outcome of a compile."""

    tuned: Any
    """On all items."""
    chosen: Chosen
    """The candidates among which it was chosen."""
    before: Tested
    """By the start."""
    after: Tested
    """Each item by a program that never saw its unit."""
    fold_scores: tuple[float | None, ...]
    """Of each fold's program on its test items."""

    def numbers(self, items: Sequence[Any], number: Callable[[Any], T | None]) -> tuple[list[T | None], list[T | None]]:
        """A number of each item before and after, aligned; None where it has none."""
        before, after = ([number(tested.results[item.key]) for item in items] for tested in (self.before, self.after))
        return before, after

    def both(self, items: Sequence[Any], number: Callable[[Any], T | None]) -> tuple[list[Any], list[T], list[T]]:
        """The items that have a number before and after, and these numbers, aligned."""
        rows = zip(items, *self.numbers(items, number), strict=True)
        known = [(item, first, second) for item, first, second in rows if first is not None and second is not None]
        return [row[0] for row in known], [row[1] for row in known], [row[2] for row in known]


def side_by_side(work: Sequence[Callable[[], T]], width: int) -> list[T]:
    """Results of the pieces of work, in their order; at most `width` run at once, each in the caller's context.

    After a failure no further piece starts, and those that run are awaited. Raises the first failure in order; one
    that is no `Halt` goes first, as it may be why the others were halted.
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
