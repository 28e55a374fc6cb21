"""The judges of PROBE: one of the description of the bottleneck, one of the parameters of the right action.

Names, order, types and descriptions of the fields are prompt text, those of `Workplace` and its like included; the
instructions are in `identification.txt` and `parameters.txt`. A verdict that cannot be read is asked for once more; one
that cannot be read then is a `StageError`, and no score.
"""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Literal

import dspy

from dspy_proact.benchmarks.probe.scoring import (
    ESSENTIAL,
    FURTHER,
    FacetWord,
    IdentificationVerdict,
    Judgment,
    ParametersVerdict,
)
from dspy_proact.benchmarks.probe.settings import ProbeSettings
from dspy_proact.benchmarks.probe.task import Action, Facets, ProbeView, Relationship, Solution
from dspy_proact.programs.asking import Asking
from dspy_proact.programs.fenced_json import FencedJSON
from dspy_proact.programs.program import Program, Question
from dspy_proact.types import Frozen

_FOLDER = files("dspy_proact.benchmarks.probe")
_FENCED = ("description", "given")
"""What a model wrote and is graded: of the first judge, and of the second."""


class Workplace(Frozen):
    """What a judge of a description knows of the person."""

    person: str
    company: str
    department: str
    team_size: int


class Colleagues(Workplace):
    """What a judge of parameters knows."""

    relationships: tuple[Relationship, ...]


class Expected(Frozen):
    """The right bottleneck."""

    description: str
    facets: Facets | None


class JudgeIdentification(dspy.Signature):
    __doc__ = (_FOLDER / "identification.txt").read_text("utf-8").strip()

    workplace: Workplace = dspy.InputField(desc="whose documents they are")
    expected: Expected = dspy.InputField(desc="what is really the matter; a facet that is null does not apply")
    description: str = dspy.InputField(desc="what was found; each of its lines begins with |")
    reasoning: str = dspy.OutputField(desc="what the description gets right and wrong, in one to four sentences")
    who_blocked: FacetWord = dspy.OutputField()
    who_blocker: FacetWord = dspy.OutputField()
    what_task: FacetWord = dspy.OutputField()
    why_root_cause: FacetWord = dspy.OutputField()
    when_deadline: FacetWord = dspy.OutputField()
    where_system: FacetWord = dspy.OutputField()
    how_mechanism: FacetWord = dspy.OutputField()
    impact_scope: FacetWord = dspy.OutputField()
    judgment: Judgment = dspy.OutputField()


class JudgeParameters(dspy.Signature):
    __doc__ = (_FOLDER / "parameters.txt").read_text("utf-8").strip()

    workplace: Colleagues = dspy.InputField(desc="who acts, and with whom they work")
    bottleneck: Expected = dspy.InputField(desc="what is to be resolved")
    action: Action = dspy.InputField(desc="the action that was chosen, which is the right one")
    expected: str = dspy.InputField(desc="one good set of its parameters, as JSON")
    given: str = dspy.InputField(desc="its parameters as they were filled in, as JSON; each line begins with |")
    reasoning: str = dspy.OutputField(desc="what the parameters get right and wrong, in one to four sentences")
    missing: list[str] = dspy.OutputField(desc="names of expected parameters that are not given")
    incorrect: list[str] = dspy.OutputField(desc="names of parameters that are given wrongly")
    semantic_matches: list[str] = dspy.OutputField(desc="names of parameters that say the same in another form")
    would_resolve: Literal["yes", "partially", "no"] = dspy.OutputField()
    judgment: Judgment = dspy.OutputField()


def questions_of(view: ProbeView, solution: Solution, settings: ProbeSettings) -> dict[str, dict[str, Any]]:
    """By the part that it judges, what a judge is shown, if the answer has that part.

    That is a description of the agent's own, and the parameters of the right action: by our rule where it has any or
    needs none.
    """
    gold, world, at = view.gold, view.world, view.world.organisation
    workplace = Workplace(
        person=world.person, company=at.company_name, department=at.department, team_size=at.team_size
    )
    bottleneck = Expected(description=gold.description, facets=gold.facets)
    questions: dict[str, dict[str, Any]] = {}
    if settings.oracle != "bottleneck" and solution.bottleneck.strip():
        questions["description"] = {"workplace": workplace, "expected": bottleneck, "description": solution.bottleneck}
    if solution.action == gold.action and (solution.parameters or not gold.parameters or settings.upstream_rule):
        questions["parameters"] = {
            "workplace": Colleagues(**workplace.model_dump(), relationships=world.relationships),
            "bottleneck": bottleneck,
            "action": next(action for action in view.actions if action.id == gold.action),
            "expected": json.dumps(gold.parameters, ensure_ascii=False),
            "given": json.dumps(solution.parameters, ensure_ascii=False),
        }
    return questions


def verdicts(
    predictions: Mapping[str, dspy.Prediction],
) -> tuple[IdentificationVerdict | None, ParametersVerdict | None]:
    """On the description and on the parameters, from what the judges of these parts answered."""
    identified = resolved = None
    if described := predictions.get("description"):
        facets = {name: described[name] for name in (*ESSENTIAL, *FURTHER)}
        identified = IdentificationVerdict(facets=facets, judgment=described.judgment, reasoning=described.reasoning)
    if filled := predictions.get("parameters"):
        resolved = ParametersVerdict.model_validate(filled, from_attributes=True)
    return identified, resolved


class ProbeJudge(Program):
    """Both judges of an answer."""

    def __init__(self) -> None:
        super().__init__()
        self.identification = Question(JudgeIdentification, *_FENCED)
        self.resolution = Question(JudgeParameters, *_FENCED)

    def _judge(self, inputs: Mapping[str, Any]) -> Question:
        """The one whose inputs these are."""
        return self.identification if "description" in inputs else self.resolution

    async def answer_by(self, asking: Asking, **inputs: Any) -> dspy.Prediction:
        """What that one says; raises a `StageError` when there is nothing."""
        return await self._judge(inputs).answer_by(asking, **inputs)

    def first(self, inputs: Mapping[str, Any]) -> dspy.Predict:
        """The predictor whose inputs these are."""
        return self._judge(inputs).question

    def wording(self, note: str = "") -> FencedJSON:
        """That of either, since neither has an input of the other's fenced name."""
        return FencedJSON(*_FENCED, note=note)
