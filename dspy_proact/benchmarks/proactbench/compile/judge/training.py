"""A training set of the judge: rated items, and what people said of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import dspy

from dspy_proact.benchmarks.proactbench.compile.judge.case_guard import CaseGuard
from dspy_proact.benchmarks.proactbench.compile.judge.cuts import PLAIN
from dspy_proact.benchmarks.proactbench.compile.judge.labels import LEVELS, Labelled
from dspy_proact.benchmarks.proactbench.compile.judge.metric import AgreementMetric
from dspy_proact.benchmarks.proactbench.programs import Judge
from dspy_proact.benchmarks.proactbench.types import Grade, Phase
from dspy_proact.compile.training import Proposal, Training
from dspy_proact.evidence import locate_quotes
from dspy_proact.programs.artefact import Cuts


class ProposeInstruction(dspy.Signature):
    """Improve the instruction of a judge that grades an assistant's responses, so that it agrees more with people.

    Keep what works and the fields of its answer. State principles; do not mention single conversations or responses.
    """

    instruction: str = dspy.InputField(desc="what the judge is told now")
    shortfalls: list[str] = dspy.InputField(desc="verdicts of the judge, and how people graded the same responses")
    tip: str = dspy.InputField(desc="what to try")
    improved_instruction: str = dspy.OutputField()


PROPOSAL = Proposal(
    ProposeInstruction,
    (
        "Say what a judge should look for that it misses now.",
        "Say what a judge should not be taken in by.",
        "Draw the line between neighbouring grades more clearly.",
    ),
)


@dataclass(frozen=True)
class JudgeTraining(Training[Judge]):
    """Rated items to learn from and to compare on."""

    items: Mapping[str, Labelled]
    """The training set, by key."""
    metric: AgreementMetric
    """By its labels."""
    answers: Sequence[dspy.Example]
    """The examples to learn from, as a judge that agrees with people would have answered them."""
    cuts: Mapping[Phase, Cuts] = field(default_factory=lambda: PLAIN)
    """Of the start."""
    guard: CaseGuard | None = None

    @property
    def labelled(self) -> Sequence[dspy.Example]:
        """By people's grades."""
        return self.answers

    @cached_property
    def right_at_start(self) -> frozenset[str]:
        """Worked cases that the student gets right; none without a guard."""
        return self.guard.right(self.guard.given(self.student), self.cuts) if self.guard else frozenset()

    def broken(self, program: Judge) -> tuple[str, ...]:
        """The guard, where the program loses a worked case that the student gets right."""
        if self.guard is None:
            return ()
        lost = self.right_at_start - self.guard.right(self.guard.given(program), self.cuts)
        return ("cases",) if lost else ()

    def score(self, example: dspy.Example, prediction: dspy.Prediction) -> float:
        """Agreement with people beyond what a constant answer earns."""
        return self.metric.score(self.items[example.key], Grade(prediction.grade))

    def is_worth_showing(self, example: dspy.Example, prediction: dspy.Prediction) -> bool:
        """Whether the verdict is nearer to its own label than to those of others."""
        return self.score(example, prediction) > 0.5

    def feedback(self, example: dspy.Example, prediction: dspy.Prediction) -> str:
        """What people said of a response, and what the judge said; never a word of the rubric's."""
        item = self.items[example.key]
        counts = ", ".join(f"{sum(r.grade is grade for r in item.ratings)} {grade}" for grade in reversed(LEVELS))
        reasons = [f"- {rating.grade}: {rating.reason.strip()}" for rating in item.ratings if rating.reason.strip()]
        found = any(quote.start is not None for quote in locate_quotes(prediction.evidence, item.response))
        lines = [
            f"People graded this response: {counts}.",
            *(["Their reasons:", *reasons] if reasons else []),
            f"The judge said {prediction.grade}: {prediction.reasoning}",
            f"Its quote {'stands' if found else 'does not stand'} in the response.",
        ]
        return "\n".join(lines)
