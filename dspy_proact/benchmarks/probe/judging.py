"""The judges of PROBE: one of what was identified, one of the parameters of the right action.

Names, order, types and descriptions of the fields are prompt text, those of `Known` and its like included; the
instructions stand in `identification.txt` and `parameters.txt`. A verdict that cannot be read is asked for once more;
one that cannot be read then is a `StageError`, and no score.
"""

import hashlib
import json
from importlib.resources import files
from typing import Any, Literal

import dspy

from dspy_proact.benchmarks.probe.corpus import Action, Facets, Gold, Organisation, Relationship, World
from dspy_proact.benchmarks.probe.corpus.grade import FacetGrades, IdentificationVerdict, ParametersVerdict
from dspy_proact.benchmarks.probe.view import ProbeView
from dspy_proact.programs.asking import Asking, ask, ask_for_fields, ask_now, rendered, run_now
from dspy_proact.programs.fenced_json import FencedJSON
from dspy_proact.types import Frozen


def _instruction(name: str) -> str:
    return files("dspy_proact.benchmarks.probe").joinpath(f"{name}.txt").read_text("utf-8").strip()


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
    __doc__ = _instruction("identification")

    workplace: Workplace = dspy.InputField(desc="whose documents they are")
    expected: Expected = dspy.InputField(desc="what is really the matter; a facet that is null does not apply")
    description: str = dspy.InputField(desc="what was found; each of its lines begins with |")
    reasoning: str = dspy.OutputField(desc="what the description gets right and wrong, in one to four sentences")
    who_blocked: Literal["correct", "incorrect", "missing", "n/a"] = dspy.OutputField()
    who_blocker: Literal["correct", "incorrect", "missing", "n/a"] = dspy.OutputField()
    what_task: Literal["correct", "incorrect", "missing", "n/a"] = dspy.OutputField()
    why_root_cause: Literal["correct", "incorrect", "missing", "n/a"] = dspy.OutputField()
    when_deadline: Literal["correct", "incorrect", "missing", "n/a"] = dspy.OutputField()
    where_system: Literal["correct", "incorrect", "missing", "n/a"] = dspy.OutputField()
    how_mechanism: Literal["correct", "incorrect", "missing", "n/a"] = dspy.OutputField()
    impact_scope: Literal["correct", "incorrect", "missing", "n/a"] = dspy.OutputField()
    judgment: Literal["CORRECT", "PARTIALLY_CORRECT", "INCORRECT"] = dspy.OutputField()


class JudgeParameters(dspy.Signature):
    __doc__ = _instruction("parameters")

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
    judgment: Literal["CORRECT", "PARTIALLY_CORRECT", "INCORRECT"] = dspy.OutputField()


class IdentificationJudge(dspy.Module):
    """Grades a description of the bottleneck in eight facets."""

    def __init__(self) -> None:
        super().__init__()
        self.grade = dspy.Predict(JudgeIdentification)

    def forward(self, workplace: Workplace, expected: Expected, description: str) -> dspy.Prediction:
        """A prediction with the eight facets, `judgment` and `reasoning`; raises a `StageError` when there is none."""
        return run_now(self._graded(ask_now, workplace=workplace, expected=expected, description=description))

    async def aforward(self, workplace: Workplace, expected: Expected, description: str) -> dspy.Prediction:
        """The same, awaited."""
        return await self._graded(ask, workplace=workplace, expected=expected, description=description)

    async def judge(self, view: ProbeView, description: str, asking: Asking | None = None) -> IdentificationVerdict:
        """The verdict on a description; by way of DSPy where no other way to ask is given."""
        inputs = description_inputs(view, description)
        said = await (self._graded(asking, **inputs) if asking else self.acall(**inputs))
        facets = FacetGrades(**{name: said[name] for name in FacetGrades.model_fields})
        return IdentificationVerdict(facets=facets, judgment=said.judgment, reasoning=said.reasoning)

    def messages(self, view: ProbeView, description: str) -> list[dict[str, Any]]:
        """What `judge` sends first."""
        return rendered(self.grade, _describing(), description_inputs(view, description))

    async def _graded(self, asking: Asking, **inputs: Any) -> dspy.Prediction:
        return await ask_for_fields(asking, self.grade, _describing, **inputs)


class ParametersJudge(dspy.Module):
    """Grades the parameters of the right action."""

    def __init__(self) -> None:
        super().__init__()
        self.grade = dspy.Predict(JudgeParameters)

    def forward(
        self, workplace: Colleagues, bottleneck: Expected, action: Action, expected: str, given: str
    ) -> dspy.Prediction:
        """A prediction with the fields of a `ParametersVerdict`; raises a `StageError` when there is none."""
        inputs = {"workplace": workplace, "bottleneck": bottleneck, "action": action}
        return run_now(self._graded(ask_now, **inputs, expected=expected, given=given))

    async def aforward(
        self, workplace: Colleagues, bottleneck: Expected, action: Action, expected: str, given: str
    ) -> dspy.Prediction:
        """The same, awaited."""
        inputs = {"workplace": workplace, "bottleneck": bottleneck, "action": action}
        return await self._graded(ask, **inputs, expected=expected, given=given)

    async def judge(
        self, view: ProbeView, parameters: dict[str, Any], asking: Asking | None = None
    ) -> ParametersVerdict:
        """The verdict on parameters, asked as `IdentificationJudge.judge` does."""
        inputs = parameters_inputs(view, parameters)
        said = await (self._graded(asking, **inputs) if asking else self.acall(**inputs))
        return ParametersVerdict(**{name: said[name] for name in ParametersVerdict.model_fields})

    def messages(self, view: ProbeView, parameters: dict[str, Any]) -> list[dict[str, Any]]:
        """What `judge` sends first."""
        return rendered(self.grade, _filling(), parameters_inputs(view, parameters))

    async def _graded(self, asking: Asking, **inputs: Any) -> dspy.Prediction:
        return await ask_for_fields(asking, self.grade, _filling, **inputs)


class ProbeJudge(dspy.Module):
    """Both judges of an answer."""

    card: Any = None
    """What their compile showed; None where they are not compiled."""

    def __init__(self) -> None:
        super().__init__()
        self.name = "default"
        self.identification, self.resolution = IdentificationJudge(), ParametersJudge()

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """What the judge says whose inputs these are; raises a `StageError` when there is nothing."""
        return (self.identification if "description" in inputs else self.resolution)(**inputs)

    @property
    def instruction(self) -> str:
        """What the judge of descriptions is told."""
        signature: Any = self.identification.grade.signature
        return signature.instructions

    def fingerprint(self) -> str:
        """sha256, in hexadecimal, of what they say to their model."""
        asked = [
            self.identification.messages(_STAND_IN, "{description}"),
            self.resolution.messages(_STAND_IN, {"{name}": "{value}"}),
        ]
        return hashlib.sha256(json.dumps(asked, ensure_ascii=False, sort_keys=True).encode()).hexdigest()


def description_inputs(view: ProbeView, description: str) -> dict[str, Any]:
    """What the judge of a description is shown."""
    place = _place(view.world)
    return {"workplace": Workplace(**place), "expected": _expected(view.gold), "description": description}


def parameters_inputs(view: ProbeView, parameters: dict[str, Any]) -> dict[str, Any]:
    """What the judge of parameters is shown."""
    gold, action = view.gold, next(each for each in view.actions if each.id == view.gold.action)
    return {
        "workplace": Colleagues(**_place(view.world), relationships=view.world.relationships),
        "bottleneck": _expected(gold),
        "action": action,
        "expected": json.dumps(gold.parameters, ensure_ascii=False),
        "given": json.dumps(parameters, ensure_ascii=False),
    }


def _place(world: World) -> dict[str, Any]:
    at = world.organisation
    return {"person": world.person, "company": at.company_name, "department": at.department, "team_size": at.team_size}


def _expected(gold: Gold) -> Expected:
    return Expected(description=gold.description, facets=gold.facets)


def _describing(note: str = "") -> FencedJSON:
    return FencedJSON("description", note=note)


def _filling(note: str = "") -> FencedJSON:
    return FencedJSON("given", note=note)


_STAND_IN = ProbeView(
    world=World(
        person="{person}",
        occupation="{occupation}",
        about="{about}",
        relationships=(Relationship(name="{name}", type="{type}", relationship_context="{context}"),),
        organisation=Organisation(
            company_name="{company}", department="{department}", team_size=1, reporting_to="{manager}"
        ),
    ),
    items=(),
    actions=(Action(id="{action}", type="{type}", required=("{name}",)),),
    gold=Gold(
        evidence=(),
        description="{bottleneck}",
        facets=None,
        action="{action}",
        parameters={"{name}": "{expected}"},
    ),
)
"""What judges are shown for their fingerprint."""
