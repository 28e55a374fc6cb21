"""The judges of PROBE: one of the description of the bottleneck, one of the parameters of the right action.

Names, order, types and descriptions of the fields are prompt text, those of `Workplace` and its like included; the
instructions are in `identification.txt` and `parameters.txt`. A verdict that cannot be read is asked for once more; one
that cannot be read then is a `StageError`, and no score.
"""

import json
from importlib.resources import files
from typing import Any, Literal

import dspy

from dspy_proact.benchmarks.probe.scoring import (
    FacetGrades,
    FacetWord,
    IdentificationVerdict,
    Judgment,
    ParametersVerdict,
)
from dspy_proact.benchmarks.probe.task import Action, Facets, ProbeView, Relationship, World
from dspy_proact.programs.asking import Asking, fingerprint
from dspy_proact.programs.question import Question
from dspy_proact.types import Frozen

_FOLDER = files("dspy_proact.benchmarks.probe")


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


def description_inputs(view: ProbeView, description: str) -> dict[str, Any]:
    """What the judge of a description is shown."""
    expected = Expected(description=view.gold.description, facets=view.gold.facets)
    return {"workplace": Workplace(**_workplace(view.world)), "expected": expected, "description": description}


def parameters_inputs(view: ProbeView, parameters: dict[str, Any]) -> dict[str, Any]:
    """What the judge of parameters is shown."""
    gold = view.gold
    return {
        "workplace": Colleagues(**_workplace(view.world), relationships=view.world.relationships),
        "bottleneck": Expected(description=gold.description, facets=gold.facets),
        "action": next(action for action in view.actions if action.id == gold.action),
        "expected": json.dumps(gold.parameters, ensure_ascii=False),
        "given": json.dumps(parameters, ensure_ascii=False),
    }


def _workplace(world: World) -> dict[str, Any]:
    at = world.organisation
    return {"person": world.person, "company": at.company_name, "department": at.department, "team_size": at.team_size}


def identified(outputs: dspy.Prediction) -> IdentificationVerdict:
    """The verdict on a description."""
    facets = FacetGrades(**{name: outputs[name] for name in FacetGrades.model_fields})
    return IdentificationVerdict(facets=facets, judgment=outputs.judgment, reasoning=outputs.reasoning)


def resolved(outputs: dspy.Prediction) -> ParametersVerdict:
    """The verdict on parameters."""
    return ParametersVerdict(**{name: outputs[name] for name in ParametersVerdict.model_fields})


class ProbeJudge(dspy.Module):
    """Both judges of an answer."""

    card: Any = None
    """What their compile showed; None where they are not compiled."""

    def __init__(self) -> None:
        super().__init__()
        self.name = "default"
        self.identification = Question(JudgeIdentification, "description")
        self.resolution = Question(JudgeParameters, "given")

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """What the judge says whose inputs these are; raises a `StageError` when there is nothing."""
        return (self.identification if "description" in inputs else self.resolution)(**inputs)

    async def identify(self, view: ProbeView, description: str, asking: Asking) -> IdentificationVerdict:
        """The verdict on a description; raises likewise."""
        return identified(await self.identification.answered(asking, **description_inputs(view, description)))

    async def resolve(self, view: ProbeView, parameters: dict[str, Any], asking: Asking) -> ParametersVerdict:
        """The verdict on parameters; raises likewise."""
        return resolved(await self.resolution.answered(asking, **parameters_inputs(view, parameters)))

    @property
    def instruction(self) -> str:
        """Of the judge of descriptions."""
        return self.identification.instruction

    def fingerprint(self) -> str:
        """Hash of what they say to their model."""
        parts = {part.question: part for part in (self.identification, self.resolution)}
        return fingerprint(self, lambda predictor: parts[predictor].adapter())
