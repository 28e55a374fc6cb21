"""`..._output.json`: what is right of a task."""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from dspy_proact.benchmarks.probe.corpus.official.input import RawPerson
from dspy_proact.benchmarks.probe.corpus.official.repeated import repeated
from dspy_proact.benchmarks.probe.corpus.task import Facets, Gold
from dspy_proact.files.part import Id, RawPart, Text

_EXECUTION = "task_execution"
"""The step of the checklist that names the action."""


class RawFacets(RawPart):
    """`facets`, ours; null where one does not apply."""

    who_blocked: Text | None
    who_blocker: Text | None
    what_task: Text | None
    why_root_cause: Text | None
    when_deadline: Text | None = None
    where_system: Text | None = None
    how_mechanism: Text | None = None
    impact_scope: Text | None = None


class RawBottleneck(RawPart):
    """`bottleneck`."""

    description: Text
    facets: RawFacets | None = None
    searchable_artifacts: object = None
    """Hidden."""


class RawCriteria(RawPart):
    """`success_criteria` of any step."""

    correct_action: Id | None = None
    correct_parameters: dict[str, Any] | None = None
    supported_by: dict[str, str] | None = None
    """Ours: by parameter the id of the item that tells it."""
    expected_sources: object = None
    """Hidden, as are the fields that follow: what the other steps say again."""
    required_items: object = None
    target_problem: object = None
    problem_description: object = None


class RawStep(RawPart):
    """One of `required_steps`."""

    step_type: str
    success_criteria: RawCriteria = RawCriteria()
    checklist_idx: object = None
    """Hidden, as are the fields that follow."""
    description: object = None
    evidence_required: object = None
    previous_action_idx: object = None


class RawChecklist(RawPart):
    """`checklist`."""

    required_steps: list[RawStep]
    checklist_id: object = None
    """Hidden, as is the next."""
    description: object = None


class RawCopy(RawPerson):
    """`world_model` of the output: the whole of the input's again, and which action solves what, which is not read."""

    model_config = ConfigDict(extra="ignore")


class RawOutput(RawPart):
    """`..._output.json`."""

    world_model: RawCopy
    bottleneck: RawBottleneck
    checklist: RawChecklist
    true_positive_ids: Annotated[list[Id], Field(min_length=1)]
    distractor_ids: object = None
    """Hidden, as is the next."""
    metadata: object = None

    def misfits(self) -> Iterator[tuple[str, str]]:
        """Field and problem where an id is named twice, or no step names the action with its parameters."""
        yield from repeated("true_positive_ids", self.true_positive_ids, field="")
        steps = [step for step in self.checklist.required_steps if step.step_type == _EXECUTION]
        if len(steps) != 1:
            yield "checklist.required_steps", f"one step of type {_EXECUTION!r} is expected, not {len(steps)}"
            return
        for name in ("correct_action", "correct_parameters"):
            if getattr(self._criteria, name) is None:
                yield f"{self.criteria_path}.{name}", "the field is missing"

    @property
    def criteria_path(self) -> str:
        """The path of the criteria that name the action; `misfits` must be empty, as for `gold`."""
        return f"checklist.required_steps[{self._execution}].success_criteria"

    def gold(self) -> Gold:
        """What is right."""
        criteria, facets = self._criteria, self.bottleneck.facets
        assert criteria.correct_action is not None, "misfits says so"
        assert criteria.correct_parameters is not None, "misfits says so"
        return Gold(
            evidence=tuple(self.true_positive_ids),
            description=self.bottleneck.description,
            facets=Facets(**facets.known()) if facets else None,
            action=criteria.correct_action,
            parameters=criteria.correct_parameters,
            supported_by=criteria.supported_by,
        )

    @property
    def _execution(self) -> int:
        return [step.step_type for step in self.checklist.required_steps].index(_EXECUTION)

    @property
    def _criteria(self) -> RawCriteria:
        return self.checklist.required_steps[self._execution].success_criteria
