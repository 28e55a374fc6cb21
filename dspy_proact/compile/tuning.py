"""What a benchmark says of its compiles, beside its declaration; every default suits any benchmark."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import dspy
from pydantic import BaseModel

from dspy_proact.compile.training import Proposal
from dspy_proact.errors import UsageError
from dspy_proact.evaluation.ask import Ask
from dspy_proact.evaluation.benchmark import Benchmark, HumanGrade, Part
from dspy_proact.evaluation.ratings import Ratings
from dspy_proact.plain_text import tame
from dspy_proact.programs import DataSource
from dspy_proact.programs.artefact import ProgramRole
from dspy_proact.programs.asking import ask_now, run_now
from dspy_proact.runs import Case, Scored, Settings


class ProposeProgram(dspy.Signature):
    """Write a better instruction for one question that is put to an assistant.

    Keep what works and the fields of its answer. State principles; do not mention single cases.
    """

    instruction: str = dspy.InputField(desc="the instruction of this question now")
    shortfalls: list[str] = dspy.InputField(desc="answers, and how they were graded")
    tip: str = dspy.InputField(desc="what to try")
    improved_instruction: str = dspy.OutputField(desc="the instruction alone")


class ProposeJudge(dspy.Signature):
    """Improve the instruction of a judge that grades answers, so that it agrees more with people.

    Keep what works and the fields of its answer. State principles; do not mention single answers.
    """

    instruction: str = dspy.InputField(desc="what the judge is told now")
    shortfalls: list[str] = dspy.InputField(desc="what the judge said of answers, and what people said of them")
    tip: str = dspy.InputField(desc="what to try")
    improved_instruction: str = dspy.OutputField(desc="the instruction alone")


PROPOSALS: Mapping[ProgramRole, Proposal] = {
    "assistant": Proposal(
        ProposeProgram,
        (
            "Say what a good answer must have that these lack.",
            "Say what to leave out, and when to hold back.",
            "Say how to go about it, step by step.",
        ),
    ),
    "judge": Proposal(
        ProposeJudge,
        (
            "Say what a judge should look for that it misses now.",
            "Say what a judge should not be taken in by.",
            "Draw the line between neighbouring grades more clearly.",
        ),
    ),
}


@dataclass(frozen=True)
class GradedAnswer:
    """An answer that people graded."""

    key: str
    """Opaque; examples carry it and nothing else that is not an input of the judge."""
    case: Case
    answer: Any
    unit: str
    """What folds keep together."""
    grades: Mapping[str, Sequence[HumanGrade]]
    """By part, at least one each."""

    @property
    def group(self) -> str:
        """What items share that are not independent."""
        return self.case.group

    def consensus(self, part: Part) -> str:
        """The commonest grade; ties go as `Part.ties` has it."""
        return max(part.ties, key=[each.grade for each in self.grades[part.name]].count)


@dataclass(frozen=True)
class GradedAnswers:
    """Answers with people's grades, and where they are from."""

    source: DataSource
    items: tuple[GradedAnswer, ...]

    @property
    def raters(self) -> int:
        """How many people graded them."""
        return len({each.rater for item in self.items for grades in item.grades.values() for each in grades})


class Tuning:
    """How the programs of a benchmark are compiled, by its declaration and settings."""

    strata: ClassVar[Sequence[str]] = ()
    """Strata that the program under test is tuned for where a person names none; empty for all."""
    demos: ClassVar[bool] = True
    """Whether worked examples may be shown; without them `search` and `gepa` alone are of use."""
    no_answer: ClassVar[BaseModel | None] = None
    """What is graded in place of an answer that is missing or malformed; None: it scores 0 ungraded."""
    unread: ClassVar[str] = "The judge's verdict on this answer could not be read."
    measures: ClassVar[Sequence[str] | None] = None
    """Declared measures that cards give; None for all of them."""
    names: ClassVar[Mapping[str, str]] = {}
    """Other names of the rows `controls` and `strata`, by which guards name them too."""
    titles: ClassVar[Mapping[str, str]] = {}
    """Other titles of rows."""

    def __init__(self, declared: Benchmark[Any, Any], settings: Settings):
        self.declared, self.settings = declared, settings
        self.about: Sequence[str] = ()
        """What must be known of the people who graded, in sentences."""

    def require(self, role: ProgramRole) -> None:
        """Raise a `UsageError` where something is set with which the program of a role cannot be compiled."""
        if role == "assistant" and self.declared.unasked(self.settings) is not None:
            raise UsageError("there is nothing to tune: as set, no model is asked; leave the baseline out")

    def units(self, cases: Sequence[Case]) -> Mapping[str, str]:
        """What folds keep together, by the key of a case."""
        return {case.key: case.group for case in cases}

    def proposal(self, role: ProgramRole) -> Proposal:
        """How a search asks for instructions of the program of a role."""
        return PROPOSALS[role]

    def student(self, program: Any) -> Any:
        """The program as it is asked while it is compiled, with one question a predictor."""
        return program

    def teacher(self, student: Any) -> Any:  # noqa: ARG002 - for those that have one
        """Whose answers are shown as worked examples; None for the student's own."""
        return None

    def calls(self, program: Any, case: Case) -> Sequence[Any] | None:
        """The first calls of an answer, as the declaration's forecast."""
        return self.declared.forecast.answers(case, program, self.settings)

    # The program under test

    def feedback(self, case: Case, answer: Any, scored: Scored[Any]) -> str:
        """What an optimizer may be told of an answer and its grade."""
        return self.declared.feedback(case, answer, scored)

    def metric(self, scored: Scored[Any]) -> float:
        """What an optimizer raises, in [0, 1], higher is better."""
        return scored.score

    def shortfall(self, case: Case, answer: Any, told: str) -> str:  # noqa: ARG002 - for those that show it
        """An answer with what may be told of it, for a proposer that has not seen it."""
        return f"Answer: {answer.model_dump_json()}\n{told}"

    def notes(self, demos: int) -> Sequence[str]:
        """Sentences of the card of a program with so many worked examples, without their full stop."""
        return [f"{demos} worked examples"] if demos else []

    def counts(self) -> Mapping[str, tuple[int, int]]:
        """Counts of the card, each of so many."""
        return {}

    # The judge

    def graded(self, ratings: Ratings | None) -> GradedAnswers:
        """The answers that somebody rated, in the order of the ratings' items.

        Args:
            ratings: None for those that the benchmark declares, of its sample.

        Raises:
            UsageError: There are none, or none with what was rated.
        """
        declared = self.declared
        ratings = ratings or declared.ratings("sample", self.settings)
        assert ratings is not None, "the sample is a name of ratings"
        if any(not item.judgeable for item in ratings.rated):
            raise UsageError(
                f"{ratings.name}: has ratings without conversations and responses, so that no judge can be tuned to "
                "it; name ratings that come with what was rated, with `ratings`"
            )
        self.about = ratings.about
        units = self.units([item.case for item in ratings.rated])
        by_part = {part.name: ratings.of_part(part.name) for part in declared.graded_by_people if part.tuned}
        graded = tuple(
            GradedAnswer(item.key, item.case, item.answer, units[item.key], grades)
            for item in ratings.rated
            if (grades := {part: rows[item.key] for part, rows in by_part.items() if rows[item.key]})
        )
        if not graded:
            raise UsageError(f"{ratings.name}: nobody has graded anything in it to which the judge is tuned")
        data = DataSource(
            name=ratings.name,
            sha256=ratings.sha256,
            revision=ratings.source.commit,
            files=dict(ratings.source.files),
            rows=tuple(sorted({declared.mark(item.case.view) for item in graded})),
        )
        return GradedAnswers(data, graded)

    def judge_inputs(self, case: Case, answer: Any) -> dict[str, Any]:
        """The inputs of the judge: those of the one question that `grade` puts to it.

        Raises:
            UsageError: `grade` puts none to it.
        """
        try:
            run_now(self.declared.grade(case, answer, _Predicted(None, None, self.settings, ask_now)))
        except _Asked as asked:
            return asked.args[0]
        raise UsageError(f"{self.declared.name}: `grade` asks no judge about the answer to {case.key!r}")

    def verdict(self, case: Case, answer: Any, prediction: dspy.Prediction) -> Scored[Any]:
        """The grading of an answer by what the judge said; raises a `StageError` where that cannot be read."""
        return run_now(self.declared.grade(case, answer, _Predicted(prediction, None, self.settings, ask_now)))

    def worked(
        self, item: GradedAnswer, inputs: dspy.Example, before: "ScoredPrediction | None"
    ) -> dspy.Example | None:
        """An example with what a judge that agrees with people would answer; None where nobody knows.

        Args:
            item: What was graded.
            inputs: Of the judge; may be changed.
            before: The first verdict of the judge that a compile starts from.
        """
        if before is None or not (said := self.declared.graded_parts(before.scored)):
            return None
        parts = [part for part in self.declared.graded_by_people if part.name in item.grades]
        if any(said.get(part.name) != item.consensus(part) for part in parts):
            return None
        return dspy.Example(**{**inputs.toDict(), **before.prediction.toDict()}).with_inputs(*inputs.inputs().keys())

    def judge_feedback(self, item: GradedAnswer, verdict: "ScoredPrediction") -> str:
        """Where the judge and people differ, for a proposer."""
        said, lines = self.declared.graded_parts(verdict.scored), list[str]()
        for part, grades in item.grades.items():
            given = [each.grade for each in grades]
            counted = [f"{given.count(each)} {each}" for each in dict.fromkeys(given)]
            people = given[0] if len(given) == 1 else ", ".join(counted)
            if set(given) != {said.get(part)}:
                lines.append(f"{part or 'grade'}: people {people}, the judge {said.get(part)}")
        return "; ".join(lines) or "People and the judge say the same."

    def judge_shortfall(self, item: GradedAnswer, verdict: "ScoredPrediction", told: str) -> str:
        """An answer with what may be told of its verdict."""
        reasons = verdict.prediction.toDict().get("reasoning")
        because = f"\nThe judge's reasons: {reasons}" if reasons else ""
        return f"Answer: {item.answer.model_dump_json()}\n{told}{because}"


@dataclass(frozen=True)
class ScoredPrediction:
    """What a judge said of an answer, and the grading that follows."""

    prediction: dspy.Prediction
    scored: Scored[Any]


class _Asked(Exception):  # noqa: N818 - no failure: its argument is what was asked
    pass


@dataclass(frozen=True)
class _Predicted(Ask):
    """Answers with a prediction, which stands in place of the program; without one it raises what it is asked."""

    async def __call__(self, **inputs: Any) -> dspy.Prediction:
        if self.program is None:
            raise _Asked(inputs)
        return self.program


def tamed(value: Any) -> Any:
    """Inputs without the markers that DSPy would obey in a prompt."""
    match value:
        case str():
            return tame(value)
        case BaseModel():
            held = {name: getattr(value, name) for name in type(value).model_fields}
            changed = {name: new for name, old in held.items() if (new := tamed(old)) != old}
            return value.model_copy(update=changed) if changed else value
        case list() | tuple():
            return type(value)(map(tamed, value))
        case dict():
            return {name: tamed(each) for name, each in value.items()}
        case _:
            return value
