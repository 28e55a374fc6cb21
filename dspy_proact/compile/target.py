"""What a compile tunes: a program, what it learns from and is tested on, and how its answers are scored."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import dspy

from dspy_proact.calls import Call
from dspy_proact.compile.folds import joined
from dspy_proact.compile.forecast import RoleForecast
from dspy_proact.errors import UsageError
from dspy_proact.evaluation.benchmark import Benchmark, Start
from dspy_proact.evaluation.compiled import compiled_program
from dspy_proact.evaluation.participant import fingerprint_of
from dspy_proact.evaluation.registry import benchmark_named
from dspy_proact.evaluation.tuning import Feedback, tuning_of
from dspy_proact.models import AllowedModels, Gate, Model, ModelSpec, Role, open_model
from dspy_proact.models.dspy_internals import async_engine_of
from dspy_proact.programs.artefact import Artefact, Cuts, ProgramRole, read_artefact
from dspy_proact.programs.card import DataSource
from dspy_proact.programs.embedded import proposer
from dspy_proact.programs.item_scores import CONTROL_CASE, ItemScores, Tokens, numbered_once
from dspy_proact.recipe import Recipe
from dspy_proact.runs import CONTROL, Case, Nouns, Settings
from dspy_proact.stats import SCORE_SPREADS, detectable_gain

if TYPE_CHECKING:
    from dspy_proact.compile.training import Training

T = TypeVar("T")
PROPOSER = Role("proposer", "proposer", "verdict", proposer.answer)
"""Who writes instructions for a compile."""


TOKENS, MORE = "completion tokens", 0.5
"""The guard on them that applies by default, and by which part they may rise."""


@dataclass(frozen=True)
class Tuned:
    """A program as it is tested and shipped."""

    program: Any
    cuts: Mapping[str, Cuts] = field(default_factory=dict[str, Cuts])
    """Of a judge, on the mean level of its verdicts, by stratum."""
    worked: tuple[int, int] | None = None
    """Of a judge, the worked cases that it gets right before and after; None without their guard."""

    @property
    def instruction(self) -> str:
        """Of all its predictors."""
        return "\n".join(instructions_of(self.program))


def instructions_of(program: Any) -> list[str]:
    """Instruction of each predictor; that of an only one as the program gives it, empty where there is none."""
    instructions = [predictor.signature.instructions for predictor in program.predictors()]
    return instructions if len(instructions) > 1 else [getattr(program, "instruction", instructions[0])]


@dataclass(frozen=True)
class Tested:
    """Test results of every item."""

    results: Mapping[str, Any]
    """By key, in the order of the items."""
    calls: Mapping[str, Sequence[Call]]
    """Of the program under test, likewise."""


@dataclass(frozen=True)
class OutOfFold:
    """Test results before and after a compile."""

    before: Tested
    """By the start."""
    after: Tested
    """Each item by a program that never saw its unit."""
    folds: Mapping[str, int]
    """Number of the fold in which an item was tested, by key."""

    def numbers(self, items: Sequence[Any], number: Callable[[Any], T | None]) -> tuple[list[T | None], list[T | None]]:
        """A number of each item before and after, aligned; None where it has none."""
        before, after = ([number(tested.results[item.key]) for item in items] for tested in (self.before, self.after))
        return before, after


def tokens_of_call(call: Call) -> Tokens:
    """Tokens of the prompt and the answer; None where one of them was not counted."""
    if call.prompt_tokens is None or call.completion_tokens is None:
        return None
    return call.prompt_tokens, call.completion_tokens


class Target(ABC):
    """A program, the items that it is tuned and tested on, and how its answers to them are scored.

    A subclass sets the attributes without a default. An item has a key, unique among the items, a group and a stratum.
    """

    role: ClassVar[ProgramRole]
    """Of the program that is compiled; the name of its model, its folder and its file."""
    items: Sequence[Any]
    """To learn from and to test on: cases, or rated answers."""
    units: Mapping[str, str]
    """What folds keep together, by key."""
    data: DataSource
    """What is learned from."""
    start: Tuned
    """Where tuning starts, and what is tested before; it is never changed."""
    start_hash: str
    taught: ClassVar[bool] = False
    """Whether a search draws demos from a program's own answers, where people answered none."""
    guarded_by_default: bool = True
    """Whether a candidate is dropped that writes much more, or is shown to be worse where it is not tuned."""
    learned_before: frozenset[str] = frozenset()
    """Marks of the rows that the start has learned from."""
    votes: int = 1
    """Answers to each item that are tested."""
    identity: Mapping[str, Any]
    """What else decides the compile, as JSON."""
    specs: Mapping[str, tuple[ModelSpec, Role]]
    """Models by what each is asked for: the program's own is named as its role."""
    further: Mapping[str, tuple[ModelSpec, Role]] = MappingProxyType({})
    """Those of them that are further roles of the answers."""
    models: Mapping[str, Model]
    """The same, opened by the compile."""
    width: int
    """Items at once; set by the compile."""

    def __init__(self, benchmark: Benchmark[Any, Any] | str | None, settings: Settings | None):
        self.declared = benchmark_named(benchmark)
        self.settings = settings or self.declared.settings_type()
        self.declared = self.settings.applied_to(self.declared)
        self.tuning = tuning_of(self.declared, self.settings)
        self.proposal = self.tuning.proposals[self.role]
        self.tuning.require(self.role)

    def _read(self, items: Sequence[Any], cases: Sequence[Case]) -> None:
        """Set items and the units of their cases, as `joined` makes them."""
        self.items = tuple(items)
        self.units = joined(self.tuning.units(cases), cases)

    def _begin(self, start: Start, data: str) -> Artefact | None:
        """Set the start; its artefact where it names a file. `data` is what the rows of the data are called.

        Raises a `UsageError` where the start cannot be used, or has seen some of the rows that are to be tested.
        """
        handles = {name: open_model(spec, role, Gate()).lm for name, (spec, role) in self.further.items()}
        self._start, program = start, self._built(start, handles)
        artefact = read_artefact(start.file, self.role) if start.file else None
        if artefact:
            self.learned_before = artefact.card.learned_from
            if seen := self.learned_before.intersection(self.data.rows):
                raise UsageError(
                    f"{start.file}: was compiled on {len(seen)} of {data}, so that no program that never saw them "
                    "could be tested on them; start from one that was compiled on others, or leave `start` out"
                )
        self.start, self.start_hash = Tuned(program), artefact.digest if artefact else fingerprint_of(program)
        return artefact

    def _built(self, start: Start, handles: Mapping[str, Any]) -> Any:
        """The program of a start, with models of further roles for its tools; `UsageError` where it cannot be tuned."""
        program = compiled_program(self.declared, self.settings, start, self.role, handles)
        AllowedModels(handles.values()).require(program)
        for name, predictor in program.named_predictors():
            if predictor.lm is not None:
                role = async_engine_of(predictor.lm).gated.caller.role
                raise UsageError(
                    f"{name}: asks the model of the {role}, and a compile tunes what asks the model under test; ask "
                    f"the {role} in `answer`, or by a tool that is no part of the program"
                )
        return self.tuning.student(program)

    @property
    def handles(self) -> Mapping[str, Any]:
        """The models of the further roles, as answers ask them."""
        return {name: self.models[name].lm for name in self.further}

    def opened(self, models: Mapping[str, Model], width: int) -> Self:
        """A copy that asks these models, so many items at once."""
        made = copy(self)
        made.models, made.width = models, width
        if made.further:
            made.start = replace(made.start, program=made._built(made._start, made.handles))
        return made

    def learning_from(self, items: Sequence[Any]) -> Self:
        """A copy that knows these items alone."""
        made = copy(self)
        made.items = items
        return made

    @property
    def default_guards(self) -> dict[str, float]:
        """Margins of the guards that apply by default, where a margin is known."""
        return {TOKENS: MORE} if self.guarded_by_default else {}

    # What is tuned

    def chosen(self, items: Sequence[Any]) -> list[Any]:
        """The items that it is tuned on; the others are tested alone."""
        return list(items)

    @abstractmethod
    def answer(self, program: Any, item: Any) -> dspy.Prediction:
        """A program's answer to an item, whatever questions it takes; raises a `StageError` where there is none."""

    def labelled(self, items: Sequence[Any], before: Mapping[str, Any]) -> list[dspy.Example]:
        """Examples answered by people, by the start's test results; none where nobody answered them."""
        del items, before
        return []

    @abstractmethod
    def feedback(self, item: Any, prediction: dspy.Prediction) -> Feedback:
        """The score of an answer, and what a proposer may be told of it."""

    @abstractmethod
    def is_worth_showing(self, item: Any, prediction: dspy.Prediction) -> bool:
        """Whether an answer is fit to be a demo."""

    def watched(self, compared: Sequence[Any]) -> list[Any]:
        """Items on which the harm of candidates is measured that are compared on others."""
        del compared
        return []

    def harm(self, item: Any, prediction: dspy.Prediction) -> float | None:
        """Harm of an answer to a watched item, in [0, 1], lower is better; None where it is not known."""
        raise NotImplementedError

    @abstractmethod
    def guarded(self, program: Any) -> Mapping[str, Any]:
        """Results of a program by which guards compare it with the start; nothing without a guard."""

    @abstractmethod
    def broken(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, ...]:
        """Guards that a program breaks, by the start's results and its own."""

    def finished(self, program: Any, training: "Training") -> Tuned:
        """What is shipped and tested of the program that was chosen on a training set."""
        del training
        return Tuned(program)

    # What is tested

    @abstractmethod
    def test(self, tuned: Tuned, item: Any) -> Any:
        """Test result of an item; a failure of content is a result."""

    @property
    def nouns(self) -> Nouns:
        """What its card calls things."""
        return self.declared.nouns

    @abstractmethod
    def card(self, tuned: Tuned, tests: OutOfFold) -> dict[str, Any]:
        """Fields of the card that are of this kind of program, its `item_scores` among them."""

    def item_scores(self, tests: OutOfFold, **own: Any) -> ItemScores:
        """What a card keeps of every item, with the fields that are of this kind of program."""
        strata = self.strata_there
        indices = {CONTROL: CONTROL_CASE, **{stratum: index for index, stratum in enumerate(strata)}}

        def tokens(tested: Tested) -> tuple[tuple[Tokens, ...], ...]:
            return tuple(tuple(map(tokens_of_call, tested.calls[item.key])) for item in self.items)

        return ItemScores(
            strata=tuple(strata),
            votes=self.votes,
            groups=numbered_once(item.group for item in self.items),
            folds=tuple(tests.folds[item.key] for item in self.items),
            stratum=tuple(indices[item.stratum] for item in self.items),
            calls_before=tokens(tests.before),
            calls_after=tokens(tests.after),
            **own,
        )

    @property
    def strata_there(self) -> list[str]:
        """Strata of its items, in the benchmark's order."""
        there = {item.stratum for item in self.items} - {CONTROL}
        known = [str(stratum) for stratum in self.declared.strata if stratum in there]
        return [*known, *sorted(there.difference(known))]

    # What it takes

    @abstractmethod
    def tuned_at_most(self, recipe: Recipe, train: Sequence[Any]) -> int:
        """The most answers that an optimizer and the guards ask for on one training set."""

    @abstractmethod
    def roles(self, recipe: Recipe, tuned: int) -> Mapping[str, RoleForecast]:
        """What each model is asked, where so many answers are asked for in tuning."""

    @property
    def in_kappa(self) -> bool:
        """Whether a gain is one in kappa, and not in a mean score."""
        return False

    @property
    def detectable_gain(self) -> tuple[float, float] | None:
        """Between which gains the items show one in four compiles of five; None where it is unknown or not claimed."""
        return detectable_gain([*Counter(item.group for item in self.chosen(self.items)).values()], 0, SCORE_SPREADS)
