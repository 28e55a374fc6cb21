"""What a benchmark says of its compiles: items, worked examples, what a proposer is told; defaults suit any."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import dspy

from dspy_proact.errors import UsageError
from dspy_proact.evaluation.ask import Ask, first_inputs
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.people import Part, graded_levels, parts_of
from dspy_proact.evaluation.ratings import RatedItem
from dspy_proact.programs.artefact import ProgramRole
from dspy_proact.programs.asking import ask_now, run_here
from dspy_proact.runs import Case, Scored, Settings

NO_VERDICT = 0.5
"""Score of an answer whose verdict cannot be read: the judge's failure is not the assistant's."""
UNREAD = "verdict unread"
"""Kind of error of such an answer; no proposer is shown it."""


@dataclass(frozen=True)
class Proposal:
    """What the candidates of a compile are made of."""

    tips: Sequence[str]
    """What each further candidate is to try."""
    demos: bool = True
    """Whether worked examples may be shown; without them `search` and `gepa` alone are of use."""
    hints: Sequence[str] = ()
    """Instructions written by hand, which a search tries first."""
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
    return {"assistant": Proposal(assistant, demos), "judge": Proposal(judge, demos)}


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
    """What an optimizer learns of one answer, in words that reveal nothing hidden."""

    text: str
    """What was right or wrong, for a proposer that sees the answer and its inputs."""
    score: float | None = None
    """What it raises, in [0, 1], higher is better; None for a judge, which is scored by its agreement with people."""
    error: str = ""
    """The kind of error, by which errors are counted; empty for none."""


@dataclass(frozen=True)
class Aim:
    """What a proposer is told of a program, whatever it answers."""

    purpose: str
    """What it is for, and what its labels mean."""
    must_not: Sequence[str]
    """What a better score must not be paid for with, in sentences."""


def assistant_aim(declared: Benchmark[Any, Any], words: float | None, harm: float | None) -> Aim:
    """That of the program under test, by its declaration; `words` and `harm` as in `Tuning.aim`."""
    meanings = [line for part in parts_of(declared) for line in _meanings(part)]
    purpose = [
        f"The program answers one {declared.nouns.case} at a time, and its answers are graded.",
        *([f"What is measured: {declared.about}"] if declared.about else []),
        f"Labels, from best to worst: {', '.join(declared.labels)}.",
        *dict.fromkeys(meanings),
    ]
    must_not = list[str]()
    if declared.controls:
        now = "" if harm is None else f" It now loses {harm:.0%} of the score there."
        must_not.append(f"At a {declared.nouns.control} nothing is to be gained; it must do no worse there.{now}")
    if words is not None:
        must_not.append(f"Answers must not be longer than they need to be; now they have {words:.0f} words on average.")
    return Aim("\n".join(purpose), must_not)


def judge_aim(declared: Benchmark[Any, Any], parts: Sequence[Part]) -> Aim:
    """That of a judge of these parts, by its declaration."""
    briefing = declared.people.briefing if declared.people else ""
    purpose = ["The program is a judge: it grades answers of another program, and is to agree with people's grades."]
    purpose += [f"What it judges: {declared.about}"] if declared.about else []
    purpose += [f"What people were told: {briefing}"] if briefing else []
    for part in parts:
        question = f" ({part.question})" if part.question else ""
        scale = "from worst to best" if part.scale == "ordinal" else "one of"
        purpose.append(f"{part.name or 'Its grade'}{question}, {scale}: {', '.join(part.levels)}.")
    purpose += dict.fromkeys(line for part in parts for line in _meanings(part))
    constant = "a judge that always answers alike counts for nothing."
    return Aim(
        "\n".join(purpose),
        [f"It must not become stricter or more lenient throughout, unless the errors all go one way: {constant}"],
    )


def _meanings(part: Part) -> list[str]:
    return [f"{level}: {meaning}" for level, meaning in part.criteria.items()]


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

    def units(self, cases: Sequence[Case]) -> Mapping[str, str]:
        """What folds keep together, by the key of a case."""
        return {case.key: case.group for case in cases}

    def student(self, program: Any) -> Any:
        """The program as it is asked while it is compiled, with one question a predictor."""
        return program

    # What a proposer is told

    def aim(self, role: ProgramRole, predictor: str, words: float | None, harm: float | None) -> Aim:
        """What who writes the instruction of a predictor is to aim at.

        `words` and `harm` are means of what the program answers now: of its answers, and at control cases in [0, 1];
        None where they are not known.
        """
        del predictor
        if role == "judge":
            return judge_aim(self.declared, [part for part in parts_of(self.declared) if part.tuned])
        return assistant_aim(self.declared, words, harm)

    def excerpt(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Of the inputs of a question what a proposer is shown, by name, before texts are cut.

        Nothing that is not in them may be added; `outputs` are what was answered.
        """
        del outputs
        return inputs

    def feedback(self, case: Case, answer: Any, scored: Scored[Any] | None) -> Feedback:
        """What an optimizer learns of an answer and its grade; `scored` is None where the verdict cannot be read."""
        if scored is None:
            return Feedback("The judge's verdict on this answer could not be read.", NO_VERDICT, UNREAD)
        controls = self.declared.controls
        best = {self.declared.labels[0], *(controls.labels[:1] if controls else ())}
        error = "" if scored.label in best else scored.label
        return Feedback(self.declared.feedback(case, answer, scored), scored.score, error)

    def notes(self, demos: int, raters: Sequence[str]) -> Sequence[str]:
        """Sentences of the card without full stop: on `demos` worked examples, 0 for a judge, and on the raters."""
        del raters
        return [f"{demos} worked examples"] if demos else []

    # The judge

    def judge_items(self, item: RatedItem) -> Sequence[RatedItem]:
        """A rated answer as a judge is asked about it: as several where its parts are asked about one by one."""
        return [item]

    def question(self, case: Case, answer: Any) -> JudgeQuestion:
        """What `grade` asks the judge of an answer; raises a `UsageError` where it asks nothing, or several things."""

        def graded(rehearsed: _Rehearsed) -> Scored[Any]:
            return run_here(self.declared.grade(case, answer, rehearsed))

        where = f"{self.declared.name}: `grade` asks"
        inputs = first_inputs(self.declared, case, answer, self.settings)
        if inputs is None:
            raise UsageError(f"{where} no judge about the answer to {case.key!r}")
        several = f"{where} several questions about the answer to {case.key!r}; a compile of the judge tunes one"
        known = _Rehearsed(None, None, self.settings, ask_now, inputs=inputs, several=several)
        return JudgeQuestion(inputs, lambda prediction: graded(replace(known, prediction=prediction)))

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


@dataclass(frozen=True)
class _Rehearsed(Ask):
    """Answers the one question of a grading, whose inputs are known, with a prediction."""

    inputs: dict[str, Any] = field(default_factory=dict[str, Any])
    prediction: dspy.Prediction = field(default_factory=dspy.Prediction)
    several: str = ""
    """Why other inputs are refused."""

    async def __call__(self, **inputs: Any) -> dspy.Prediction:
        if inputs != self.inputs:
            raise UsageError(self.several)
        return self.prediction


def tuning_of(declared: Benchmark[Any, Any], settings: Settings) -> Tuning:
    """How a benchmark is compiled, as it declares it or by default."""
    return declared.tuning(settings) or Tuning(declared, settings)
