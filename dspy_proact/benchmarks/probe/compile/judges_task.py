"""PROBE's judges as what is tuned: to answers that were graded by hand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dspy

from dspy_proact.benchmarks.probe.compile.people import folds_of
from dspy_proact.benchmarks.probe.compiled import mark_of
from dspy_proact.benchmarks.probe.graded import GradedDescription, GradedParameters
from dspy_proact.benchmarks.probe.judging import ProbeJudge, description_inputs, parameters_inputs
from dspy_proact.benchmarks.probe.scoring import JUDGMENT_SCORES, FacetGrades
from dspy_proact.benchmarks.probe.task import ProbeView
from dspy_proact.compile.candidate import Chosen
from dspy_proact.compile.folds import Fold, split
from dspy_proact.compile.training import Proposal, Training
from dspy_proact.errors import ContentError
from dspy_proact.programs import Recipe

AGREEMENT = "agreement"
DESCRIPTION_ROWS, PARAMETERS_ROWS = ("facets", "word of descriptions"), ("word of parameters",)
"""What is told beside the agreement on an answer of either kind."""
Numbers = Mapping[str, float]
"""Of one answer, by what they are about, in [0, 1], higher is better; empty where a verdict could not be read."""


class ProposeGrading(dspy.Signature):
    """Improve the instruction of a judge that grades answers about a bottleneck, so that it agrees more with people.

    Keep what works and the fields of its answer. State principles; do not mention single answers.
    """

    instruction: str = dspy.InputField(desc="what the judge is told now")
    shortfalls: list[str] = dspy.InputField(desc="what the judge said of answers, and what people said of them")
    tip: str = dspy.InputField(desc="what to try")
    improved_instruction: str = dspy.OutputField(desc="the instruction alone")


PROPOSAL = Proposal(
    ProposeGrading,
    (
        "Say what counts as the same in other words.",
        "Say what a judge should not be taken in by.",
        "Draw the line between missing, wrong and not applying more clearly.",
    ),
)


@dataclass(frozen=True)
class GradedItem:
    """An answer with the grade that was given by hand, which no example holds."""

    graded: GradedDescription | GradedParameters
    unit: str
    """The person whose task it is."""
    view: ProbeView

    @property
    def key(self) -> str:
        """Unique among both kinds."""
        return self.graded.key

    @property
    def mark(self) -> str:
        """Of its task."""
        return mark_of(self.view)

    @property
    def example(self) -> dspy.Example:
        """The inputs of its judge, and the key."""
        inputs = self.inputs
        return dspy.Example(key=self.key, **inputs).with_inputs(*inputs)

    @property
    def inputs(self) -> dict[str, Any]:
        """What its judge is shown."""
        if isinstance(self.graded, GradedDescription):
            return description_inputs(self.view, self.graded.description)
        return parameters_inputs(self.view, self.graded.parameters)

    @property
    def rows(self) -> tuple[str, ...]:
        """What is told of it beside the agreement."""
        return DESCRIPTION_ROWS if isinstance(self.graded, GradedDescription) else PARAMETERS_ROWS

    def numbers(self, said: dspy.Prediction) -> Numbers:
        """How far a judge agrees: `agreement`, and each of `rows`.

        Of a description it is the share of facets of which both say the same; of parameters 1 minus the distance of
        both words.
        """
        theirs = self.graded.verdict.judgment
        same = float(theirs == said.judgment)
        if isinstance(self.graded, GradedParameters):
            agreement, made_of = 1 - abs(JUDGMENT_SCORES[theirs] - JUDGMENT_SCORES[said.judgment]), (same,)
        else:
            facets = self.graded.verdict.facets.model_dump()
            agreement = sum(said[name] == word for name, word in facets.items()) / len(facets)
            made_of = agreement, same
        return {AGREEMENT: agreement, **dict(zip(self.rows, made_of, strict=True))}

    def told(self, said: dspy.Prediction) -> str:
        """Where both part, for a proposer."""
        words = {"judgment": self.graded.verdict.judgment}
        if isinstance(self.graded, GradedDescription):
            words |= {name: getattr(self.graded.verdict.facets, name) for name in FacetGrades.model_fields}
        apart = [f"{name}: people {word}, the judge {said[name]}" for name, word in words.items() if said[name] != word]
        return "; ".join(apart) or "People and the judge say the same."


@dataclass(frozen=True)
class JudgesTraining(Training[ProbeJudge]):
    """Graded answers to learn from and to compare on."""

    items: Mapping[str, GradedItem]
    """All of these, by key; grades of any other answer are out of reach."""

    def score(self, example: dspy.Example, prediction: dspy.Prediction) -> float:
        """The agreement on an answer."""
        return self.items[example.key].numbers(prediction)[AGREEMENT]

    def feedback(self, example: dspy.Example, prediction: dspy.Prediction) -> str:
        """Where both part."""
        return self.items[example.key].told(prediction)

    def shortfall(self, example: dspy.Example, prediction: dspy.Prediction) -> str:
        """The answer, what was expected, and where both part."""
        shown = example.description if "description" in example else f"{example.given}, expected {example.expected}"
        return f"Answer: {shown}\n{self.feedback(example, prediction)}\nThe judge's reasons: {prediction.reasoning}"


@dataclass(frozen=True)
class JudgesTask:
    """How judges are tuned.

    Args:
        start: Where tuning starts.
        items: Every answer that was graded by hand.
        recipe: Folds, seed and optimizer.
        lm: Under the judges.
        proposer_lm: Writes instructions.
        width: Answers at once.
    """

    start: ProbeJudge
    items: Sequence[GradedItem]
    recipe: Recipe
    lm: dspy.LM
    proposer_lm: dspy.LM
    width: int
    role: str = "judge"

    def folds(self) -> tuple[Fold[GradedItem], ...]:
        """As `folds_of` makes them."""
        return folds_of(self.items, self.recipe)

    def training(self, train: Sequence[GradedItem], before: Mapping[str, Numbers]) -> JudgesTraining:
        """Answers in two parts."""
        del before
        learn, compare = split(train, self.recipe.seed)
        return JudgesTraining(
            student=self.start.deepcopy(),
            learn=[item.example for item in learn],
            compare=[item.example for item in compare],
            groups={item.key: item.unit for item in train},
            task_lm=self.lm,
            proposer_lm=self.proposer_lm,
            proposal=PROPOSAL,
            width=self.width,
            items={item.key: item for item in train},
        )

    def finished(self, chosen: Chosen[ProbeJudge], training: JudgesTraining) -> ProbeJudge:
        """The judges that were chosen."""
        del training
        return chosen.program

    def test(self, tuned: ProbeJudge, item: GradedItem) -> Numbers:
        """How far they agree."""
        try:
            with dspy.context(lm=self.lm, trace=None):
                return item.numbers(tuned(**item.inputs))
        except ContentError:
            return {}

    def score(self, results: Mapping[str, Numbers], items: Sequence[GradedItem]) -> float | None:
        """Mean agreement."""
        known = [results[item.key][AGREEMENT] for item in items if results[item.key]]
        return sum(known) / len(known) if known else None
