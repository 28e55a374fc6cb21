"""What people grade of answers: the parts of a grading, their grades, and what raters are told."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel

from dspy_proact.runs import Case, Scored, Settings

if TYPE_CHECKING:
    from dspy_proact.evaluation.benchmark import Benchmark
    from dspy_proact.evaluation.ratings import RatedItem, Ratings


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
    def rater_question(self) -> str:
        """What a rater is asked, a question."""
        named = self.name.replace("_", " ")
        return self.question or (f"How is “{named}” graded?" if named else "Which grade does the response earn?")

    def described(self, level: str) -> str:
        """A level with what it means, as far as that is declared."""
        return f"{level}: {self.criteria[level]}" if level in self.criteria else level

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
class StudyLayout:
    """The files of an official study, in and out."""

    items: "Callable[[bytes, str], Sequence[RatedItem]]"
    """The items to be rated in the bytes of a file, for `--items`; a `CorpusError` names the second argument, the
    source."""
    files: "Callable[[Ratings], Mapping[str, str]]"
    """Ratings as such files, by path in the folder, for `label export --official`."""


@dataclass(frozen=True)
class People:
    """How people grade the answers of a benchmark; the defaults serve any whose answers they can read."""

    grades: Callable[[], Iterable[HumanGrade]] | None = None
    """Grades of answers to cases of the sample, which `agree` and `optimize judge` take where none are named."""
    parts: Sequence[Part] = ()
    """What people grade; the labels, from worst to best, where no parts are declared."""
    briefing: str = ""
    """What a rater is to know of the grading before the first item, in sentences."""
    about: str = ""
    """What a reader must know of the people behind `grades`, in sentences."""
    scores: Mapping[str, float] = field(default_factory=dict[str, float], hash=False)
    """The score of each label, in [0, 1], where scores are of labels alone; else those of a run's verdicts are taken,
    which may lack a label."""
    levels: Callable[[Scored[Any]], Mapping[str, str]] | None = None
    """A judge's level of each part, by its name, where parts are no fields of the verdict's detail."""
    likelihoods: Callable[[Scored[Any]], Mapping[str, float]] = lambda _: {}
    """How probable a judge finds it that people give a part of two levels its best one, in [0, 1], by the part's name;
    for a judge that says how sure it is."""
    worked_cases: Callable[[], Sequence[WorkedCase]] = tuple
    """Answers whose label follows from a rule: raters practise on them, and `try` and `optimize judge` ask a judge."""
    ratings: "Callable[[Benchmark[Any, Any], str, Settings], Ratings | None] | None" = None
    """Ratings by a name of the benchmark's own or in a form of its own, in place of `grades`; None for a file of
    labels. The settings in `of_ratings` say what is read. Raises a `CorpusError` where they are not valid."""
    layout: "StudyLayout | None" = None
    """Files of the official study; None where it has none of its own."""
    study: "Callable[[Benchmark[Any, Any]], Any] | None" = None
    """A published study of how ratings vary, a `report.plan.PublishedRatings`, which `label plan` assumes."""
    pairs: Callable[[], Any] | None = None
    """A published study of preferences between two answers, a `report.pairs.PublishedPairs`, for `agree --pairs`."""


def parts_of(declared: "Benchmark[Any, Any]") -> Sequence[Part]:
    """The parts that people grade: the grading as a whole where none are declared."""
    parts = declared.people.parts if declared.people else ()
    return parts or (Part("", tuple(reversed(declared.labels))),)


def is_cut(declared: "Benchmark[Any, Any]") -> bool:
    """Whether people grade answers as a whole on an ordinal scale of three, so that cuts and kappas are made of it.

    A run applies cuts to labels, so that those of a part with a name would change scores that people did not grade.
    """
    parts = parts_of(declared)
    return len(parts) == 1 and not parts[0].name and parts[0].scale == "ordinal" and len(parts[0].levels) == 3


def is_kappa(declared: "Benchmark[Any, Any]") -> bool:
    """Whether people grade answers as a whole, on three levels or more or on a nominal scale, for kappa."""
    parts = parts_of(declared)
    return len(parts) == 1 and not parts[0].name and (parts[0].scale == "nominal" or len(parts[0].levels) >= 3)


def is_nominal(declared: "Benchmark[Any, Any]") -> bool:
    """Whether answers are graded as a whole on a nominal scale, so that no mean is made of their labels."""
    return any(not part.name and part.scale == "nominal" for part in parts_of(declared))


def graded_levels(declared: "Benchmark[Any, Any]", scored: Scored[Any]) -> Mapping[str, str]:
    """A judge's level of each part that people grade, by its name, as far as the verdict has one."""
    if declared.people and declared.people.levels:
        return declared.people.levels(scored)
    values = {part.name: getattr(scored.detail, part.name, None) for part in parts_of(declared) if part.name}
    return {"": scored.label} | {name: str(value) for name, value in values.items() if value is not None}


def worked_cases_of(declared: "Benchmark[Any, Any]") -> Sequence[WorkedCase]:
    """Answers whose label follows from a rule; none where none are declared."""
    return declared.people.worked_cases() if declared.people else ()
