"""The declaration of a benchmark, which every command reads.

A benchmark is a class derived from `Benchmark`. It declares its cases, the program under test and how an answer is
graded; every further attribute or method makes further commands work on it. A file that declares one imports nothing
slow at its top: methods that need DSPy import it themselves, so that reports of its runs load neither DSPy nor litellm.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from dspy_proact.errors import ContentError, UsageError
from dspy_proact.evaluation.published import PublishedRow
from dspy_proact.evaluation.results import ResultsFormat
from dspy_proact.runs import Case, CaseSet, ExpectedCall, Measure, Nouns, Scored, Settings

if TYPE_CHECKING:
    from dspy_proact.evaluation.ask import Ask
    from dspy_proact.evaluation.controls import Controls
    from dspy_proact.evaluation.ratings import RatedItem, Ratings
    from dspy_proact.evaluation.reporting import Reporting
    from dspy_proact.models import Embedder, Gate

Answer = TypeVar("Answer", bound=BaseModel)
Detail = TypeVar("Detail", bound=BaseModel)
StandIn = Callable[[str, Sequence[tuple[str, str]]], str]
"""What the embedded model answers to a system text and messages, each with its role."""
StandInFields = Callable[[str, Sequence[tuple[str, str]]], Mapping[str, Any]]
"""The same answer as the output fields of a plain DSPy program."""


@dataclass(frozen=True)
class Start:
    """What a person names in place of the uncompiled program."""

    prompt: str | None = None
    """A system prompt, or the name of a judge's prompt; None for the program's own."""
    file: Path | None = None
    """Of a compiled program, or the folder of its compile; `program` and `judge` of a benchmark are not given one."""


@dataclass(frozen=True)
class Part:
    """A part of a grading that people grade too."""

    name: str
    levels: tuple[str, ...]
    """From worst to best on an ordinal scale; in any order on a nominal one."""
    scale: Literal["ordinal", "nominal"] = "ordinal"
    tuned: bool = True
    """Whether a compile of the judge counts it; its agreement with people is reported either way."""
    question: str = ""
    """What a rater is asked about it, a sentence; empty for which grade the response earns."""
    criteria: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    """What its levels mean, by level, where a case does not say so itself."""

    @property
    def weight(self) -> Literal["quadratic", "none"]:
        """How disagreement grows with the distance of two levels: by its square; on a nominal scale any is 1."""
        return "quadratic" if self.scale == "ordinal" else "none"

    @property
    def ties(self) -> tuple[str, ...]:
        """Every level, in the order in which it wins a tie: of three the middle one, then the best."""
        middle = self.levels[1:2] if len(self.levels) == 3 else ()
        return tuple(dict.fromkeys((*middle, *reversed(self.levels))))


@dataclass(frozen=True)
class HumanGrade:
    """One person's grade of one part of one answer."""

    case: str
    answer: BaseModel | None
    """None where its labels alone are known, which no benchmark declares."""
    grade: str
    rater: str
    part: str = ""
    """Name of the part; empty for the grading as a whole."""
    reason: str = ""
    item: str = ""
    """Key of the answer, where a case has several; the case's key otherwise."""
    confidence: int | None = None
    """From 1 to 5, where 5 is certain."""
    seconds: float | None = None
    """How long it took."""

    @property
    def key(self) -> str:
        """Of the answer."""
        return self.item or self.case


@dataclass(frozen=True)
class WorkedCase:
    """An answer whose label follows from a rule of the judge's."""

    name: str
    case: Case
    answer: BaseModel
    label: str
    rule: str = ""
    why: str = ""
    """Why it has this label, in sentences."""


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
    own_case: Callable[[bytes, str], tuple[Case, str | None]] | None = None
    """For `try --conversation`, where a person's own text makes a case: the case in the bytes of a file, without a
    grade, and the system prompt in it, if any. Raises a `CorpusError` that names its second argument, the source."""


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
    """A set of cases, a program under test and a way to grade its answers.

    Attributes:
        file: The file of a person's own benchmark; None for one of the package.
    """

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
    of_grading: frozenset[str] = frozenset()
    """Settings that affect grades but no answer, so that a rejudging may change them."""
    of_ratings: frozenset[str] = frozenset()
    """Settings that affect which people's ratings are read."""
    options: frozenset[str] = frozenset(
        {"--corpus", "--program", "--judge-program", "--max-demos", "--ratings", "--run"}
    )
    """Options that this benchmark supports, of those that not every one does; see `cli/options/benchmark.py`."""
    judge_name: str | None = None
    """Judge of a real model where none is named; None for none."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    temperatures: Mapping[str, float] = MappingProxyType({})
    """By role, `assistant` or `judge`, in place of the 0.7 of models that take one."""
    forecast: CallForecast = CallForecast()
    results: ResultsFormat | None = None
    as_published: Mapping[str, str] = MappingProxyType({})
    """Arguments of an evaluation made as the published scores were, as `settings.history`, with their values."""
    published_beside: str = "A run of your own stands beside them: leaderboard RUN."
    """Where a run stands on the leaderboard."""
    file: Path | None = None

    @property
    def best(self) -> str:
        """The best published score and its source, a sentence; empty without one."""
        first = next(iter(self.published()), None)
        score = first and first.scores.get("score")
        return f"{100 * score:.1f} of 100 ({first.name})" if first and score is not None else ""

    # Cases

    def read(self, corpus: Any, settings: Settings, revision: str | None = None) -> CaseSet:
        """The cases of a corpus, control cases among them.

        Args:
            corpus: `sample`, the name of the published one, the path of a file, or a corpus that was read.
            settings: Of this benchmark.
            revision: Of the published corpus, as a run has recorded it; None for the newest.

        Raises:
            CorpusError: There is no such corpus, or it is not valid.
        """
        raise NotImplementedError(f"{self.name}: `read` is not declared")

    def strata_of(self, case_set: CaseSet) -> Sequence[str]:
        """The strata that reports of these cases show; all by default."""
        return self.strata

    def mark(self, view: BaseModel) -> str:
        """A hash by which a compiled program knows the cases it has seen: equal for cases of one row of the corpus."""
        import hashlib

        return hashlib.sha256(view.model_dump_json().encode("utf-8", "surrogatepass")).hexdigest()[:16]

    # Programs

    def program(self, settings: Settings, start: Start, companions: Sequence["Embedder"] = ()) -> Any:
        """The program under test, a `dspy.Module` whose inputs are fields of the cases' views.

        It begins with the prompt or compiled program that a person names, and gets what `companions` opened. Raises a
        `UsageError` where the start cannot be used.
        """
        raise NotImplementedError(f"{self.name}: `program` is not declared")

    def judge(self, settings: Settings, start: Start) -> Any | None:
        """The judge, a `dspy.Module`; None where answers are graded without a model. Raises as `program` does."""
        return None

    def stand_in(self, role: str) -> StandIn | StandInFields | None:
        """What the embedded model answers as `assistant` or `judge`; None where it has no stand-in."""
        return None

    def companions(self, settings: Settings, gate: "Gate") -> Sequence["Embedder"]:
        """Further models that the program under test calls; raises `UsageError` where they cannot be called."""
        return ()

    def settled(self, settings: Settings, companions: Sequence["Embedder"]) -> Settings:
        """The settings as a run records them, such as with the endpoint of a further model."""
        return settings

    def unasked(self, settings: Settings) -> str | None:
        """The name shown in place of a model for a program that calls none; None where one is called."""
        return None

    def judged(self, settings: Settings) -> bool:
        """Whether the judge is asked, if there is one; by default not about the answers of what asks no model."""
        return self.unasked(settings) is None

    def require(self, settings: Settings, models: Iterable[str], start: Start) -> None:
        """Raise a `UsageError` where settings, models and program do not fit together.

        `models` are the names of the one under test and of the judges.
        """

    # Answers and grades

    async def answer(self, case: Case, ask: "Ask") -> Answer:
        """Have the program under test answer, once or often; raises a `StageError` when there is no answer."""
        return self.answer_of(await ask(**self.inputs(case.view)))

    def inputs(self, view: BaseModel) -> dict[str, Any]:
        """The inputs of the program under test: the fields of a view that it takes."""
        return {name: getattr(view, name) for name in type(view).model_fields}

    def answer_of(self, prediction: Any) -> Answer:
        """An answer, from a prediction of the program under test."""
        given, wanted = prediction.toDict(), self.answer_type.model_fields
        if missing := [name for name, field in wanted.items() if field.is_required() and name not in given]:
            raise TypeError(f"the program gives {', '.join(given)}, and {self.answer_type.__name__} needs {missing[0]}")
        try:
            return self.answer_type.model_validate({name: given[name] for name in wanted if name in given})
        except ValidationError as error:
            raise ContentError("unreadable", error.errors()[0]["msg"]) from error

    async def grade(self, case: Case, answer: Answer, ask: "Ask") -> Scored[Detail]:
        """Grade an answer by asking a judge, or without one, where `ask` has no program and is read for its settings.

        Raises:
            StageError: There is no grade.
        """
        raise NotImplementedError(f"{self.name}: `grade` is not declared")

    def feedback(self, case: Case, answer: Answer, scored: Scored[Detail]) -> str:
        """Feedback for an optimizer on an answer and its grade; it must not reveal hidden parts of the case."""
        return f"Graded {scored.label}, {scored.score:.2f} of 1."

    def tuning(self, settings: Settings) -> Any | None:
        """How its programs are compiled, a `compile.tuning.Tuning`; None for what suits any benchmark."""
        return None

    def worked_cases(self) -> Sequence[WorkedCase]:
        """Answers whose label follows from a rule, for `try --judge-cases` and `optimize judge --guard cases`."""
        return ()

    # People, and what was published

    parts: Sequence[Part] = ()
    """Parts of a grading that people grade; the labels, from worst to best, where none are declared."""
    for_raters: str = ""
    """What a rater is to know of the grading before the first item, in sentences."""
    about_raters: str = ""
    """What a reader must know of the people behind `human_grades`, in sentences."""

    label_scores: Mapping[str, float] = MappingProxyType({})
    """The score of each label, in [0, 1], where scores are of labels alone; else a run's own say which they are."""

    def ratings(self, named: str, settings: Settings) -> "Ratings | None":
        """Ratings of a name, or in a form of its own, with what they are of.

        Args:
            named: As a person types it. By default `sample` and `published` are `human_grades`.
            settings: Those in `of_ratings` say what is read.

        Returns:
            None where it has none of this name and form: it is a file of labels, then.

        Raises:
            CorpusError: There are no such ratings, or they are not valid.
            UsageError: The benchmark declares no human grades.
        """
        from dspy_proact.evaluation.ratings import Ratings

        if named not in ("sample", "published"):
            return None
        if not (grades := self.human_grades()):
            raise UsageError(f"{self.name}: there are no people's ratings to agree with; declare `human_grades`")
        return Ratings.of_human_grades(named, self, grades, self.read("sample", self.settings_type()).cases)

    def items_of_text(self, data: bytes, source: str) -> "tuple[RatedItem, ...]":
        """The items to be rated that a file's bytes hold.

        Raises a `CorpusError` that names the `source`, or a `UsageError` where the benchmark has no form of items.
        """
        raise UsageError(f"`items`: {self.name} has no form of items; name the run that is rated")

    def official_files(self, ratings: "Ratings") -> Mapping[str, str]:
        """Ratings in the layout of its study, by path in the folder; raises a `UsageError` where it has none."""
        raise UsageError(f"`official`: {self.name} has no such layout; leave it out")

    def published_ratings(self) -> Any | None:
        """A published study of how ratings vary, a `report.plan.PublishedRatings`, which plans assume; or None."""
        return None

    def human_grades(self) -> Sequence[HumanGrade]:
        """Grades that people gave to answers."""
        return ()

    def published_pairs(self) -> Any | None:
        """A published study of preferences between two answers, a `report.pairs.PublishedPairs`; None without one."""
        return None

    @property
    def graded_by_people(self) -> Sequence[Part]:
        """The parts that people grade: the grading as a whole where none are declared."""
        return self.parts or (Part("", tuple(reversed(self.labels))),)

    def graded_parts(self, scored: Scored[Detail]) -> Mapping[str, str]:
        """What a judge said of each part that people grade, by its name."""
        said = {part.name: getattr(scored.detail, part.name, None) for part in self.parts if part.name}
        return {"": scored.label} | {name: str(level) for name, level in said.items() if level is not None}

    def likelihoods(self, scored: Scored[Detail]) -> Mapping[str, float]:
        """How probable a judge finds it that people give a part of two levels its best one, in [0, 1], by its name."""
        return {}

    def published(self) -> Sequence[PublishedRow]:
        """Scores that were published, the best first."""
        return ()

    def differences(self, run: Any) -> Sequence[str]:
        """How the conditions of a run, a `report.Summary`, differ from the published rows'; ranked where none do."""
        return ("no condition is declared under which a run is ranked",)

    leaderboard_columns: Mapping[str, str] = MappingProxyType({})
    """Heading of each score of the leaderboard, by its name; those of the first published row where none are given."""
    leaderboard_numbers: frozenset[str] = frozenset()
    """Names of its columns that are plain numbers and no shares."""
    leaderboard_headline: str = "score"
    """Name of the score that ranks."""
    leaderboard_notes: Sequence[str] = ()
    """What the table is to be read with, in sentences."""

    # Reports

    @property
    def reporting(self) -> "Reporting | None":
        """How reports show its cases, answers and verdicts; None for what serves any benchmark."""
        return None

    @property
    def controls(self) -> "Controls | None":
        """Its control cases; None where it has none."""
        return None
