"""What a benchmark says of its compiles: items, worked examples, GEPA's feedback; every default suits any benchmark."""

from collections import Counter
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from types import coroutine
from typing import Any, ClassVar

import dspy
from pydantic import BaseModel

from dspy_proact.errors import UsageError
from dspy_proact.evaluation.ask import Ask
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.people import graded_levels, parts_of
from dspy_proact.evaluation.ratings import RatedItem
from dspy_proact.programs.artefact import ProgramRole
from dspy_proact.programs.asking import ask_now
from dspy_proact.runs import Case, Scored, Settings

NO_VERDICT = 0.5
"""Score of an answer whose verdict cannot be read: the judge's failure is not the assistant's."""


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


@dataclass(frozen=True)
class Proposal:
    """What the candidates of a compile are made of."""

    signature: type[dspy.Signature]
    """How a search asks for instructions: inputs `instruction`, `shortfalls` and `tip`, output
    `improved_instruction`."""
    tips: Sequence[str]
    """What each further candidate is to try."""
    demos: bool = True
    """Whether worked examples may be shown; without them `search` and `gepa` alone are of use."""
    teacher: Callable[[Any], Any] | None = None
    """Makes of the student the program whose answers are shown as worked examples; None for the student's own."""


TIPS = (
    "Say what a good answer must have that these lack.",
    "Say what to leave out, and when to hold back.",
    "Say how to go about it, step by step.",
)
JUDGE_TIPS = (
    "Say what a judge should look for that it misses now.",
    "Say what a judge should not be taken in by.",
    "Draw the line between neighbouring grades more clearly.",
)


def proposals_of(
    assistant: Sequence[str] = TIPS, judge: Sequence[str] = JUDGE_TIPS, demos: bool = True
) -> Mapping[ProgramRole, Proposal]:
    """What candidates are made of by these tips, by role."""
    return {"assistant": Proposal(ProposeProgram, assistant, demos), "judge": Proposal(ProposeJudge, judge, demos)}


@dataclass(frozen=True)
class CardRows:
    """Which declared measures a card gives, and what its rows are called."""

    measures: Sequence[str] | None = None
    """None for all of them."""
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    """Other names of the rows `controls` and `strata`, by which guards name them too."""
    titles: Mapping[str, str] = field(default_factory=dict[str, str])
    """Other titles of rows, by name."""


@dataclass(frozen=True)
class Feedback:
    """What an optimizer learns of one answer."""

    text: str
    """For a proposer that sees the answer; nothing hidden."""
    shortfall: str
    """The same for a proposer that has not seen the answer."""
    score: float | None = None
    """What it raises, in [0, 1], higher is better; None for a judge, which is scored by its agreement with people."""
    withheld: tuple[int, int] = (0, 0)
    """How many sentences of the judge's reasons are left out of the text, and how many there are."""


@dataclass(frozen=True)
class ScoredPrediction:
    """One verdict of a judge that is tuned, and the grading that follows."""

    prediction: dspy.Prediction
    scored: Scored[Any]


@dataclass(frozen=True)
class JudgeQuestion:
    """The one question that `grade` puts to a judge about an answer."""

    inputs: dict[str, Any]
    """Of the judge."""
    read: Callable[[dspy.Prediction], Scored[Any]]
    """The grading by what the judge answers; raises a `StageError` where that cannot be read."""


class Tuning:
    """How the programs of a benchmark are compiled, by its declaration and settings."""

    strata: ClassVar[Sequence[str]] = ()
    """Strata that the program under test is tuned for where a person names none; empty for all."""
    proposals: ClassVar[Mapping[ProgramRole, Proposal]] = proposals_of()
    """What candidates are made of, by role."""
    no_answer: ClassVar[BaseModel | None] = None
    """What is graded in place of a missing or malformed answer, where its parts count; None: it scores 0 ungraded."""
    rows: ClassVar[CardRows] = CardRows()
    """Of the card of the program under test."""

    def __init__(self, declared: Benchmark[Any, Any], settings: Settings):
        self.declared, self.settings = declared, settings

    def require(self, role: ProgramRole) -> None:
        """Raise a `UsageError` where something is set with which the program of a role cannot be compiled."""
        if role == "judge":
            return
        if self.declared.rule(self.settings) is not None:
            raise UsageError("there is nothing to tune: as set, no model is asked; leave the baseline out")
        if getattr(self.settings, "embedder", None):
            raise UsageError("`settings.embedder`: a compile embeds nothing; leave it out")
        if roles := " and ".join(self.declared.roles):
            raise UsageError(f"answers of {self.declared.name} take the {roles} too; a compile asks the program alone")

    def units(self, cases: Sequence[Case]) -> Mapping[str, str]:
        """What folds keep together, by the key of a case."""
        return {case.key: case.group for case in cases}

    def student(self, program: Any) -> Any:
        """The program as it is asked while it is compiled, with one question a predictor."""
        return program

    def feedback(self, case: Case, answer: Any, scored: Scored[Any] | None) -> Feedback:
        """What an optimizer learns of an answer and its grade; `scored` is None where the verdict cannot be read."""
        text = "The judge's verdict on this answer could not be read."
        if scored is not None:
            text = self.declared.feedback(case, answer, scored)
        shortfall = f"Answer: {answer.model_dump_json()}\n{text}"
        return Feedback(text, shortfall, NO_VERDICT if scored is None else scored.score)

    def notes(self, demos: int, raters: Sequence[str]) -> Sequence[str]:
        """Sentences of the card without full stop: on `demos` worked examples, 0 for a judge, and on the raters."""
        del raters
        return [f"{demos} worked examples"] if demos else []

    # The judge

    def judge_items(self, item: RatedItem) -> Sequence[RatedItem]:
        """A rated answer as a judge is asked about it: as several where its parts are asked about one by one."""
        return [item]

    def question(self, case: Case, answer: Any) -> JudgeQuestion:
        """What `grade` asks the judge of an answer; raises a `UsageError` where it asks nothing."""

        def paused() -> tuple[Coroutine[dict[str, Any], dspy.Prediction, Scored[Any]], dict[str, Any]]:
            """The grading, paused at its question, and that question's inputs."""
            grading: Any = self.declared.grade(case, answer, _Pausing(None, None, self.settings, ask_now))
            try:
                return grading, grading.send(None)
            except StopIteration:
                raise UsageError(
                    f"{self.declared.name}: `grade` asks no judge about the answer to {case.key!r}"
                ) from None

        def read(prediction: dspy.Prediction) -> Scored[Any]:
            grading, _ = paused()
            while True:
                try:
                    grading.send(prediction)
                except StopIteration as end:
                    return end.value

        grading, inputs = paused()
        grading.close()
        return JudgeQuestion(inputs, read)

    def worked(self, item: RatedItem, inputs: dspy.Example, before: ScoredPrediction | None) -> dspy.Example | None:
        """An example with what a judge that agrees with people would answer; None where nobody knows.

        `inputs` are the judge's and may be changed; `before` is the first verdict of the judge that a compile starts
        from.
        """
        if before is None or not (levels := graded_levels(self.declared, before.scored)):
            return None
        parts = [part for part in parts_of(self.declared) if part.name in item.grades]
        if any(levels.get(part.name) != item.consensus(part) for part in parts):
            return None
        return dspy.Example(**{**inputs.toDict(), **before.prediction.toDict()}).with_inputs(*inputs.inputs().keys())

    def judge_feedback(self, item: RatedItem, judgement: ScoredPrediction) -> Feedback:
        """Where the judge and people differ, for a proposer: what GEPA is given as feedback."""
        levels, lines = graded_levels(self.declared, judgement.scored), list[str]()
        for part, grades in item.grades.items():
            people = Counter(grade.grade for grade in grades)
            counted = ", ".join(f"{count} {level}" for level, count in people.items())
            if set(people) != {levels.get(part)}:
                by_people = grades[0].grade if len(grades) == 1 else counted
                lines.append(f"{part or 'grade'}: people {by_people}, the judge {levels.get(part)}")
        text = "; ".join(lines) or "People and the judge say the same."
        reasons = judgement.prediction.toDict().get("reasoning")
        because = f"\nThe judge's reasons: {reasons}" if reasons else ""
        shown = item.answer and item.answer.model_dump_json()
        return Feedback(text, f"Answer: {shown}\n{text}{because}")


@dataclass(frozen=True)
class _Pausing(Ask):
    """Pauses the caller, which gives away the inputs; it goes on with the prediction that is sent to it."""

    async def __call__(self, **inputs: Any) -> dspy.Prediction:
        return await _pause(inputs)


@coroutine
def _pause(inputs: dict[str, Any]) -> Generator[dict[str, Any], dspy.Prediction, dspy.Prediction]:
    return (yield inputs)


def tuning_of(declared: Benchmark[Any, Any], settings: Settings) -> Tuning:
    """How a benchmark is compiled, as it declares it or by default."""
    return declared.tuning(settings) or Tuning(declared, settings)
