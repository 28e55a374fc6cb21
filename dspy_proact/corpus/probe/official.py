"""The two official files of a task, at the border where they stop: what is given, and what is right.

Field names are the files'. What they hold beside (the plan of the evidence, the ids of the other items, who generated
what) is named here so that it is not counted as unknown, and is dropped unread. `facets` and `supported_by` are ours:
the official files have neither.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from dspy_proact.corpus.part import Id, Name, RawPart, Text
from dspy_proact.corpus.probe.task import (
    Action,
    Document,
    Email,
    Event,
    Facets,
    Gold,
    Item,
    Organisation,
    Relationship,
    World,
)
from dspy_proact.plain_text import shown

_STAMPS = {"metadata", "created_at", "updated_at", "tags"}
"""What an item may say of itself beside what it holds."""
_EXECUTION = "task_execution"
"""The step of the checklist that names the action."""


class RawRelationship(RawPart):
    """One of `relationships`."""

    name: Name
    type: Name
    department: str | None = None
    relationship_context: str = ""


class RawPersonalContext(RawPart):
    """`personal_context`."""

    work_style: str = ""
    communication_preferences: list[str] = Field(default=[])
    current_priorities: list[str] = Field(default=[])
    pain_points: list[str] = Field(default=[])


class RawOrganisation(RawPart):
    """`organizational_structure`."""

    company_name: str
    department: str
    team_size: int
    reporting_to: str
    key_meetings: list[str] = Field(default=[])


class RawParameters(RawPart):
    """`params_schema`."""

    required: list[Name] = Field(default=[])


class RawAction(RawPart):
    """One of `available_actions`."""

    id: Id
    type: Name
    description: str | None = None
    constraints: list[str] = Field(default=[])
    params_schema: RawParameters = RawParameters()
    solves_bottleneck: object = None
    """Hidden: which of the person's bottlenecks it solves."""

    def action(self) -> Action:
        """The action."""
        return Action(
            id=self.id,
            type=self.type,
            description=self.description or "",
            constraints=tuple(self.constraints),
            required=tuple(self.params_schema.required),
        )


class RawPerson(RawPart):
    """What the world model of either file says of whose it is."""

    persona_id: Id
    persona_full_name: Name


class RawWorld(RawPerson):
    """`world_model` of the input."""

    persona_occupation: str
    persona_about: str
    relationships: list[RawRelationship] = Field(default=[])
    personal_context: RawPersonalContext = RawPersonalContext()
    organizational_structure: RawOrganisation
    available_actions: Annotated[list[RawAction], Field(min_length=1)]
    context_difficulty: Literal["easy", "medium", "hard"]

    def world(self) -> World:
        """The world, without actions and difficulty."""
        return World(
            person=self.persona_full_name,
            occupation=self.persona_occupation,
            about=self.persona_about,
            relationships=tuple(Relationship(**_known(each)) for each in self.relationships),
            organisation=Organisation(**_known(self.organizational_structure)),
            **_known(self.personal_context),
        )


class RawEmailPayload(RawPart):
    """`payload` of an email."""

    subject: str
    sender: str
    to: list[str] = Field(default=[])
    cc: list[str] = Field(default=[])
    timestamp: str
    body: str


class RawEventPayload(RawPart):
    """`payload` of an event."""

    title: str
    start_time: str
    end_time: str
    location: str | None = None
    attendees: list[str] = Field(default=[])
    description: str | None = None


class RawDocumentPayload(RawPart):
    """`payload` of a document."""

    title: str
    mime: str = "text/markdown"
    content: str


class RawItem(RawPart):
    """One of `data_points`. What begins its id need not be its type: events have ids such as `calendar_1a2b3c4d`."""

    id: Id
    metadata: object = None
    created_at: object = None
    updated_at: object = None
    tags: object = None

    def stamps(self) -> dict[str, Any]:
        """What the file says of the item beside what it holds."""
        return {name: getattr(self, name) for name in sorted(self.model_fields_set & _STAMPS)}


class RawEmail(RawItem):
    """An email."""

    type: Literal["email"]
    payload: RawEmailPayload

    def item(self) -> Email:
        """The item with its stamps."""
        return Email(id=self.id, stamps=self.stamps(), **_known(self.payload))


class RawEvent(RawItem):
    """An event."""

    type: Literal["event"]
    payload: RawEventPayload

    def item(self) -> Event:
        """The item with its stamps."""
        given = {name: value for name, value in _known(self.payload).items() if value is not None}
        return Event(id=self.id, stamps=self.stamps(), **given)


class RawDocument(RawItem):
    """A document."""

    type: Literal["document"]
    payload: RawDocumentPayload

    def item(self) -> Document:
        """The item with its stamps."""
        return Document(id=self.id, stamps=self.stamps(), **_known(self.payload))


AnyRawItem = Annotated[RawEmail | RawEvent | RawDocument, Field(discriminator="type")]


class RawInput(RawPart):
    """`..._input.json`."""

    world_model: RawWorld
    data_points: Annotated[list[AnyRawItem], Field(min_length=1)]
    annotation_instructions: object = None
    """Hidden: what the official annotation tool adds."""

    def misfits(self) -> Iterator[tuple[str, str]]:
        """Field and problem wherever two items or two actions have one id."""
        yield from _twice("data_points", [each.id for each in self.data_points])
        yield from _twice("world_model.available_actions", [each.id for each in self.world_model.available_actions])

    def items(self) -> tuple[Item, ...]:
        """The items in the order of the file, with their stamps."""
        return tuple(each.item() for each in self.data_points)

    def actions(self) -> tuple[Action, ...]:
        """The actions in the order of the file."""
        return tuple(each.action() for each in self.world_model.available_actions)


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
        yield from _twice("true_positive_ids", self.true_positive_ids, field="")
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
            facets=Facets(**_known(facets)) if facets else None,
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


def unfit(given: RawInput, right: RawOutput) -> Iterator[tuple[str, str]]:
    """Field of the output and problem wherever it does not fit its input."""
    for name in RawPerson.model_fields:
        here, there = getattr(right.world_model, name), getattr(given.world_model, name)
        if here != there:
            yield f"world_model.{name}", f"{shown(here)}, while the input is of {shown(there)}; the two are no pair"
    gold, ids = right.gold(), {each.id for each in given.data_points}
    for index, each in enumerate(gold.evidence):
        if each not in ids:
            yield f"true_positive_ids[{index}]", f"{shown(each)} is none of the input's {len(ids)} items"
    yield from _unfit_action(gold, given.actions(), ids, right.criteria_path)


def _unfit_action(gold: Gold, actions: tuple[Action, ...], ids: set[str], path: str) -> Iterator[tuple[str, str]]:
    taken = next((each for each in actions if each.id == gold.action), None)
    if taken is None:
        yield f"{path}.correct_action", f"{shown(gold.action)} is none of the input's {len(actions)} actions"
        return
    for name, item in (gold.supported_by or {}).items():
        if name not in gold.parameters:
            yield f"{path}.supported_by", f"{shown(name)} is none of the parameters"
        elif item not in ids:
            yield f"{path}.supported_by", f"{shown(item)} is none of the input's {len(ids)} items"


def foreign(given: RawInput, right: RawOutput) -> Iterator[tuple[str, str]]:
    """Field of the output and problem wherever a parameter is not of the right action; `unfit` must be empty.

    The official generator takes the action from one step and the parameters from another, and does not compare them.
    """
    gold = right.gold()
    (taken,) = [each for each in given.actions() if each.id == gold.action]
    for name in gold.parameters:
        if name not in taken.required:
            has = ", ".join(map(shown, taken.required)) or "none"
            problem = f"the action {shown(taken.id)} has no parameter {shown(name)}; it has {has}"
            yield f"{right.criteria_path}.correct_parameters", problem


def _twice(path: str, ids: list[str], field: str = ".id") -> Iterator[tuple[str, str]]:
    first: dict[str, int] = {}
    for index, each in enumerate(ids):
        if (before := first.setdefault(each, index)) != index:
            yield f"{path}[{index}]{field}", f"{shown(each)} is at [{before}] already; an id stands once"


def _known(part: RawPart) -> dict[str, Any]:
    """The fields that the format knows."""
    return part.model_dump(include=set(type(part).model_fields))
