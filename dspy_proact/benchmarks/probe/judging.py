"""The judges of PROBE: one of the description of the bottleneck, one of the parameters of the right action.

Names, order, types and descriptions of the fields are prompt text, those of `Workplace` and its like included; the
instructions are in `identification.txt` and `parameters.txt`. A verdict that cannot be read is asked for once more; one
that cannot be read then is a `StageError`, and no score.
"""

import hashlib
import json
from collections.abc import Callable
from importlib.resources import files
from typing import Any, Generic, Literal, TypeVar

import dspy

from dspy_proact.benchmarks.probe.scoring import (
    FacetGrades,
    FacetWord,
    IdentificationVerdict,
    Judgment,
    ParametersVerdict,
)
from dspy_proact.benchmarks.probe.task import Action, Facets, Gold, Organisation, ProbeView, Relationship, World
from dspy_proact.programs.asking import Asking, ask, ask_for_fields, ask_now, rendered, run_now
from dspy_proact.programs.fenced_json import FencedJSON
from dspy_proact.types import Frozen

Verdict = TypeVar("Verdict")


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


class PartJudge(dspy.Module, Generic[Verdict]):
    """Grades one part of an answer.

    Args:
        signature: What the model is asked.
        fenced: The input that an agent wrote.
        inputs: Makes the inputs out of a task and the part of the answer.
        verdict: Reads the verdict from the outputs.
    """

    def __init__(
        self,
        signature: type[dspy.Signature],
        fenced: str,
        inputs: Callable[[ProbeView, Any], dict[str, Any]],
        verdict: Callable[[dspy.Prediction], Verdict],
    ):
        super().__init__()
        self.grade = dspy.Predict(signature)
        self._fenced, self._inputs, self._verdict = fenced, inputs, verdict

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """A prediction with the outputs of the signature; raises a `StageError` where there is none."""
        return run_now(self._graded(ask_now, **inputs))

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        """Async version of `forward`."""
        return await self._graded(ask, **inputs)

    async def judge(self, view: ProbeView, answered: Any, asking: Asking | None = None) -> Verdict:
        """The verdict on a part of an answer; asks through DSPy where no other way is given."""
        inputs = self._inputs(view, answered)
        return self._verdict(await (self._graded(asking, **inputs) if asking else self.acall(**inputs)))

    def messages(self, view: ProbeView, answered: Any) -> list[dict[str, Any]]:
        """The first request of `judge`."""
        return rendered(self.grade, self._adapter(), self._inputs(view, answered))

    def _adapter(self, note: str = "") -> FencedJSON:
        return FencedJSON(self._fenced, note=note)

    async def _graded(self, asking: Asking, **inputs: Any) -> dspy.Prediction:
        return await ask_for_fields(asking, self.grade, self._adapter, **inputs)


class ProbeJudge(dspy.Module):
    """Both judges of an answer."""

    card: Any = None
    """What their compile showed; None where they are not compiled."""

    def __init__(self) -> None:
        super().__init__()
        self.name = "default"
        self.identification = PartJudge(JudgeIdentification, "description", description_inputs, identified)
        self.resolution = PartJudge(JudgeParameters, "given", parameters_inputs, resolved)

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """What the judge says whose inputs these are; raises a `StageError` when there is nothing."""
        return (self.identification if "description" in inputs else self.resolution)(**inputs)

    @property
    def instruction(self) -> str:
        """Of the judge of descriptions."""
        signature: Any = self.identification.grade.signature
        return signature.instructions

    def fingerprint(self) -> str:
        """sha256, in hexadecimal, of what they say to their model."""
        requests = [
            self.identification.messages(_PLACEHOLDER, "{description}"),
            self.resolution.messages(_PLACEHOLDER, {"{name}": "{value}"}),
        ]
        return hashlib.sha256(json.dumps(requests, ensure_ascii=False, sort_keys=True).encode()).hexdigest()


def identified(outputs: dspy.Prediction) -> IdentificationVerdict:
    """The verdict on a description."""
    facets = FacetGrades(**{name: outputs[name] for name in FacetGrades.model_fields})
    return IdentificationVerdict(facets=facets, judgment=outputs.judgment, reasoning=outputs.reasoning)


def resolved(outputs: dspy.Prediction) -> ParametersVerdict:
    """The verdict on parameters."""
    return ParametersVerdict(**{name: outputs[name] for name in ParametersVerdict.model_fields})


_PLACEHOLDER = ProbeView(
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
    gold=Gold(evidence=(), description="{bottleneck}", action="{action}", parameters={"{name}": "{expected}"}),
)
"""The task in the fingerprint."""
