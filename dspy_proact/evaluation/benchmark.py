"""The declaration of a benchmark, which every command reads.

A benchmark is a class derived from `Benchmark`. It declares its cases, the program under test and how an answer is
graded; every further attribute or method makes further commands work on it. A file that declares one imports nothing
slow at its top: methods that need DSPy import it themselves, so that reports of its runs load neither DSPy nor litellm.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from dspy_proact.errors import ContentError
from dspy_proact.evaluation.people import People
from dspy_proact.evaluation.published import Published
from dspy_proact.evaluation.results import ResultsFormat
from dspy_proact.runs import Case, CaseSet, ExpectedCall, Measure, Nouns, Scored, Settings

if TYPE_CHECKING:
    from dspy_proact.evaluation.ask import Ask
    from dspy_proact.evaluation.controls import Controls
    from dspy_proact.evaluation.reporting import Reporting

Answer = TypeVar("Answer", bound=BaseModel)
Detail = TypeVar("Detail", bound=BaseModel)
NO_ROLES: Mapping[str, Any] = MappingProxyType({})
StandIn = Callable[[str, Sequence[tuple[str, str]]], str]
"""What the embedded model answers to a system text and messages, each with its role."""
StandInFields = Callable[[str, Sequence[tuple[str, str]]], Mapping[str, Any]]
"""The same answer as the output fields of a plain DSPy program."""


@dataclass(frozen=True)
class Start:
    """What a person names in place of the uncompiled program."""

    prompt: str | None = None
    """A system prompt, or the name of a judge's prompt; None for the program's own. A benchmark takes a system prompt
    if its `program` says something else to its model by another one."""
    file: Path | None = None
    """Of a compiled program, or the folder of its compile; `program` and `judge` of a benchmark are not given one."""


@dataclass(frozen=True)
class CorpusFacts:
    """The published corpus, and what else may be read as a case."""

    size: str = ""
    """Of the published corpus, counted in the benchmark's nouns."""
    licence: str = "not known"
    """Of the published corpus."""
    source: str = ""
    """Where the published corpus comes from."""
    name: str | None = None
    """Of the published corpus, as `--corpus` takes it; None where there is only the bundled one."""
    reference: str | None = None
    """The entry of a case's `meta` that is a response of proper length to it, by which a reward measures others."""
    own_case: Callable[[bytes, str], Case] | None = None
    """For `try --conversation`, where a person's own text makes a case: the case in the bytes of a file, without a
    grade. Raises a `CorpusError` that names its second argument, the source."""
    making: Callable[[], Any] | None = None
    """Gives how corpora are made, a `generation.maker.Making`; None where none can be."""
    reviewing: Callable[[], Any] | None = None
    """Gives how people review a corpus, an `evaluation.reviewing.Reviewing`; None where they cannot."""
    auditing: Callable[[], Any] | None = None
    """Gives how corpora are audited, an `audit.auditing.Auditing`; None to audit them by their cases."""


@dataclass(frozen=True)
class ModelDefaults:
    """How the models of a benchmark are asked, where a person does not say."""

    judge: str | None = None
    """The judge of a real model; None for none."""
    temperatures: Mapping[str, float] = field(default_factory=dict[str, float])
    """By role, in place of the 0.7 of models that take one."""
    judge_prompts: Sequence[str] = ()
    """Names of the judge's other prompts than its own."""
    require: Callable[[Sequence[Case], Any, Sequence[Any]], None] = lambda *_: None
    """Raises a `UsageError` where programs cannot take the views of cases: the one under test, None where answers exist
    already, and those of the judges."""


@dataclass(frozen=True)
class Rule:
    """What stands in place of the model under test."""

    name: str
    """Shown in place of the model's."""
    setting: str
    """The setting that makes it so, as NAME=VALUE."""
    judged: bool = False
    """Whether a judge grades its answers."""


def unknown(*_: Any) -> None:
    """The calls of a stage where they are not known in advance."""


@dataclass(frozen=True)
class CallForecast:
    """The calls that a stage of a run makes first, without repairs; None where they are not known in advance."""

    answers: Callable[[Case, Any, Settings], Sequence[ExpectedCall] | None] = unknown
    """Those of `answer`, from the case, the program under test and the settings."""
    grades: Callable[[Case, Any, Any, Settings], Sequence[ExpectedCall] | None] = unknown
    """Those of `grade`, from the case, its answer, the judge's program and the settings; for an answer that is None,
    those of one of an assumed length."""
    assumption: str | None = None
    """What they assume, a sentence."""


def lazily(module: str, name: str) -> Callable[..., Any]:
    """A function of a module that is imported at its first call, so that a declaration imports nothing slow."""

    def call(*args: Any) -> Any:
        return getattr(import_module(module), name)(*args)

    return call


class Benchmark(Generic[Answer, Detail]):
    """A set of cases, a program under test and a way to grade its answers."""

    name: ClassVar[str]
    """As a person types it and runs record it."""
    about: ClassVar[str] = ""
    """What it measures, a sentence."""
    corpus: CorpusFacts = CorpusFacts()

    strata: Sequence[str] = ("all",)
    """Every stratum, in the order of reports."""
    labels: Sequence[str]
    """Every label, from best to worst; the first is a full pass."""
    nouns: Nouns = Nouns()
    measures: Sequence[Measure] = ()
    """What reports give beside scores, in their order."""
    answer_type: type[Answer]
    """The frozen pydantic model of an answer, as it is read from disk."""
    view: type[BaseModel] | None = None
    """The model of a case's view, as it is read from disk; None where answers cannot be judged again."""
    settings_type: type[Settings] = Settings
    """What `--set` sets."""
    models: ModelDefaults = ModelDefaults()
    roles: Mapping[str, str | None] = NO_ROLES
    """Further models that an answer takes, such as a simulated `user`: each with the one that plays it beside a real
    model under test, None where a person must name it."""

    people: People | None = People()
    """How people grade the answers; None where no command reads people's grades."""
    published: Published | None = None
    forecast: CallForecast = CallForecast()
    results: ResultsFormat | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    # Cases

    def read(self, corpus: Any, settings: Settings, revision: str | None = None) -> CaseSet:
        """The cases of a corpus, control cases among them.

        The corpus is `sample`, the name of the published one, the path of a file, or one that was read; `revision` is
        that of the published one, as a run has recorded it, None for the newest. Raises a `CorpusError` where there is
        no such corpus, or it is not valid.
        """
        raise NotImplementedError(f"{self.name}: `read` is not declared")

    def mark(self, view: BaseModel) -> str:
        """A hash by which a compiled program knows the cases it has seen: equal for cases of one row of the corpus."""
        import hashlib

        return hashlib.sha256(view.model_dump_json().encode("utf-8", "surrogatepass")).hexdigest()[:16]

    # Programs

    def program(self, settings: Settings, start: Start, roles: Mapping[str, Any] = NO_ROLES) -> Any:
        """The program under test, a `dspy.Module` whose inputs are fields of the cases' views.

        It begins with the prompt or compiled program that a person names. Further models come by role: a `dspy.LM` for
        each of `roles`, an `Embedder` as `embedder`, none where a compiled program is read alone. Raises a `UsageError`
        where the start cannot be used.
        """
        raise NotImplementedError(f"{self.name}: `program` is not declared")

    def judge(self, settings: Settings, start: Start) -> Any | None:
        """The judge, a `dspy.Module`; None where answers are graded without a model. Raises as `program` does."""
        return None

    def stand_in(self, role: str) -> StandIn | StandInFields | None:
        """What the embedded model answers as `assistant`, `judge` or one of `roles`; None without a stand-in."""
        return None

    def rule(self, settings: Settings) -> Rule | None:
        """The rule that stands in place of the model under test, and asks none; None where a model is asked."""
        return None

    # Answers and grades

    async def answer(self, case: Case, ask: "Ask") -> Answer:
        """Have the program under test answer; `ask.roles` has further models. Raises a `StageError` without one."""
        return self.answer_of(await ask(**self.inputs(case.view)))

    def inputs(self, view: BaseModel) -> dict[str, Any]:
        """The inputs of the program under test: the fields of a view that it takes."""
        return {name: getattr(view, name) for name in type(view).model_fields}

    def answer_of(self, prediction: Any) -> Answer:
        """An answer, from a prediction of the program under test."""
        named, wanted = prediction.toDict(), self.answer_type.model_fields
        if missing := [name for name, field in wanted.items() if field.is_required() and name not in named]:
            raise TypeError(f"the program gives {', '.join(named)}, and {self.answer_type.__name__} needs {missing[0]}")
        try:
            return self.answer_type.model_validate({name: named[name] for name in wanted if name in named})
        except ValidationError as error:
            raise ContentError("unreadable", error.errors()[0]["msg"]) from error

    async def grade(self, case: Case, answer: Answer, ask: "Ask") -> Scored[Detail]:
        """Grade an answer by a judge, or without one where `ask` has settings alone; `StageError` without a grade."""
        raise NotImplementedError(f"{self.name}: `grade` is not declared")

    def feedback(self, case: Case, answer: Answer, scored: Scored[Detail]) -> str:
        """Feedback for an optimizer on an answer and its grade; it must not reveal hidden parts of the case."""
        return f"Graded {scored.label}, {scored.score:.2f} of 1."

    def tuning(self, settings: Settings) -> Any | None:
        """How its programs are compiled, a `compile.tuning.Tuning`; None for what suits any benchmark."""
        return None

    # Reports

    @property
    def reporting(self) -> "Reporting | None":
        """How reports show its cases, answers and verdicts; None for what serves any benchmark."""
        return None

    @property
    def controls(self) -> "Controls | None":
        """Its control cases; None where it has none."""
        return None


def has_judge(declared: Benchmark[Any, Any]) -> bool:
    """Whether a benchmark declares a judge, for some settings at least."""
    return type(declared).judge is not Benchmark.judge
