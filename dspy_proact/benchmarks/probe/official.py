"""The two official files of a task: `..._input.json` holds what is given, `..._output.json` what is right.

Field names are the files', but `facets` and `supported_by` are ours. Known fields that are dropped unread are listed,
so that they are not counted as unknown.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, Strict, ValidationError

from dspy_proact.benchmarks.probe.task import (
    Action,
    Difficulty,
    Document,
    Email,
    Event,
    Facets,
    Gold,
    Item,
    Organisation,
    ProbeView,
    Relationship,
    World,
)
from dspy_proact.files.rows import Id, JsonFile, Name, RawPart, Text, misfit
from dspy_proact.plain_text import shown
from dspy_proact.runs import Case

_STAMPS = ("created_at", "metadata", "tags", "updated_at")
"""What an item may say of itself besides its content."""
_STEP = "checklist.required_steps"
_DROPPED = {
    "annotation_instructions",
    "world_model.available_actions.solves_bottleneck",
    *(f"data_points.{name}" for name in _STAMPS),
    "bottleneck.searchable_artifacts",
    "checklist.checklist_id",
    "checklist.description",
    "distractor_ids",
    *(f"{_STEP}.{name}" for name in ("checklist_idx", "description", "evidence_required", "previous_action_idx")),
    *(f"{_STEP}.success_criteria.{name}" for name in ("expected_sources", "required_items")),
    *(f"{_STEP}.success_criteria.{name}" for name in ("target_problem", "problem_description")),
}
_EXECUTION = "task_execution"
"""The step of the checklist that names the action."""
_KINDS = {"email": Email, "event": Event, "document": Document}


def read_task(key: str, given: JsonFile, right: JsonFile, ignored: Counter[str]) -> Case:
    """Read a task from its two files, and count the fields that the format does not know in `ignored`.

    Raises:
        CorpusError: A field is missing or malformed, or the two files do not fit together.
    """
    source, output = _Input.of(given), _Output.of(right)
    world, person = source.world_model, source.world_model.persona_id
    for name in _Person.model_fields:
        here, there = getattr(output.world_model, name), getattr(world, name)
        if here != there:
            problem = f"{shown(here)}, while the input is of {shown(there)}; the two are no pair"
            raise right.error(problem, f"world_model.{name}")
    unknown = source.unknown_fields() + output.unknown_fields()
    items = tuple(_item(given, place, raw, unknown) for place, raw in enumerate(source.data_points))
    view = ProbeView(
        world=world.world(_newest(items)),
        items=items,
        actions=tuple(action.action() for action in world.available_actions),
        gold=output.gold(),
    )
    _require_known(view, output.criteria[0], right)
    ignored.update({name: count for name, count in unknown.items() if name not in _DROPPED})
    written_by = {"generator": output.metadata.model} if output.metadata.model else {}
    return Case(key, person, world.context_difficulty, view, {"person": person, **written_by})


def _item(given: JsonFile, place: int, raw: "_Item", unknown: Counter[str]) -> Item:
    """An item of ours, whose fields are those of the payload; raises a `CorpusError` where they do not fit."""
    kind, extra = _KINDS[raw.type], raw.model_extra or {}
    content = {name: value for name, value in raw.payload.items() if value is not None}
    known = content.keys() & (kind.model_fields.keys() - {"id", "kind", "stamps"})
    unknown.update(f"data_points.payload.{name}" for name in content.keys() - known)
    stamps = {name: extra[name] for name in _STAMPS if name in extra}
    try:
        return kind(id=raw.id, stamps=stamps, **{name: content[name] for name in known})
    except ValidationError as error:
        field, problem = misfit(error)
        raise given.error(problem, f"data_points[{place}].payload.{field}") from None


def _newest(items: Iterable[Item]) -> str:
    """Day and weekday of the newest e-mail, which no file gives otherwise; empty where no e-mail has a date."""
    days = list[date]()
    for item in items:
        if isinstance(item, Email):
            with suppress(ValueError):  # the format of a time is free
                days.append(date.fromisoformat(item.timestamp[:10]))
    return f"{max(days):%A %Y-%m-%d}" if days else ""


def _require_known(view: ProbeView, criteria: str, right: JsonFile) -> None:
    """Raise a `CorpusError` where gold names an item, an action or a parameter that does not exist."""
    gold, ids, actions = view.gold, {item.id for item in view.items}, {action.id for action in view.actions}
    items, supported = f"the input's {len(ids)} items", (gold.supported_by or {}).items()
    named = [(f"true_positive_ids[{index}]", id_, ids, items) for index, id_ in enumerate(gold.evidence)]
    named.append((f"{criteria}.correct_action", gold.action, actions, f"the input's {len(actions)} actions"))
    for name, item in supported:
        named.append((f"{criteria}.supported_by", name, {*gold.parameters}, "the parameters"))
        named.append((f"{criteria}.supported_by", item, ids, items))
    for field, id_, known, those in named:
        if id_ not in known:
            raise right.error(f"{shown(id_)} is none of {those}", field)


def _repeated(path: str, ids: list[str], field: str = ".id") -> Iterator[tuple[str, str]]:
    """Field and problem wherever an id of a list occurs again; `field` is its own path in an element."""
    first: dict[str, int] = {}
    for index, id_ in enumerate(ids):
        if (before := first.setdefault(id_, index)) != index:
            yield f"{path}[{index}]{field}", f"{shown(id_)} is at [{before}] already; an id stands once"


class _Relationship(Relationship, RawPart):
    name: Name
    type: Name
    relationship_context: str = ""


class _PersonalContext(RawPart):
    work_style: str = ""
    communication_preferences: list[str] = Field(default=[])
    current_priorities: list[str] = Field(default=[])
    pain_points: list[str] = Field(default=[])


class _Organisation(Organisation, RawPart):
    key_meetings: Annotated[tuple[str, ...], Strict(False)] = ()


class _ParametersSchema(RawPart):
    required: list[Name] = Field(default=[])


class _Action(RawPart):
    id: Id
    type: Name
    description: str | None = None
    constraints: list[str] = Field(default=[])
    params_schema: _ParametersSchema = _ParametersSchema()

    def action(self) -> Action:
        known = self.known() | {"description": self.description or "", "required": self.params_schema.required}
        return Action(**{name: value for name, value in known.items() if name != "params_schema"})


class _Person(RawPart):
    """What the world model of either file says of whose it is."""

    persona_id: Id
    persona_full_name: Name


class _World(_Person):
    persona_occupation: str
    persona_about: str
    relationships: list[_Relationship] = Field(default=[])
    personal_context: _PersonalContext = _PersonalContext()
    organizational_structure: _Organisation
    available_actions: Annotated[list[_Action], Field(min_length=1)]
    context_difficulty: Difficulty

    def world(self, today: str) -> World:
        return World(
            today=today,
            person=self.persona_full_name,
            occupation=self.persona_occupation,
            about=self.persona_about,
            relationships=tuple(Relationship(**raw.known()) for raw in self.relationships),
            organisation=Organisation(**self.organizational_structure.known()),
            **self.personal_context.known(),
        )


class _Item(RawPart):
    # The official ids of events begin with another word than their type, such as `calendar_1a2b3c4d`.
    id: Id
    type: Literal["email", "event", "document"]
    payload: dict[str, Any]


class _Input(RawPart):
    world_model: _World
    data_points: Annotated[list[_Item], Field(min_length=1)]

    def misfits(self) -> Iterator[tuple[str, str]]:
        yield from _repeated("data_points", [item.id for item in self.data_points])
        yield from _repeated(
            "world_model.available_actions", [action.id for action in self.world_model.available_actions]
        )


class _Bottleneck(RawPart):
    description: Text
    facets: Facets | None = None


class _Criteria(RawPart):
    correct_action: Id | None = None
    correct_parameters: dict[str, Any] | None = None
    supported_by: dict[str, str] | None = None


class _Step(RawPart):
    step_type: str
    success_criteria: _Criteria = _Criteria()


class _Checklist(RawPart):
    required_steps: list[_Step]


class _Copy(_Person):
    """The whole of the input's world model again, and which action solves what, which is not read."""

    model_config = ConfigDict(extra="ignore")


class _Made(RawPart):
    """How a task was made."""

    model_config = ConfigDict(extra="ignore")
    model: str | None = None


class _Output(RawPart):
    metadata: _Made = _Made()
    world_model: _Copy
    bottleneck: _Bottleneck
    checklist: _Checklist
    true_positive_ids: Annotated[list[Id], Field(min_length=1)]

    def misfits(self) -> Iterator[tuple[str, str]]:
        yield from _repeated("true_positive_ids", self.true_positive_ids, field="")
        kinds = [step.step_type for step in self.checklist.required_steps]
        if (count := kinds.count(_EXECUTION)) != 1:
            yield _STEP, f"one step of type {_EXECUTION!r} is expected, not {count}"
            return
        for name in ("correct_action", "correct_parameters"):
            path, criteria = self.criteria
            if getattr(criteria, name) is None:
                yield f"{path}.{name}", "the field is missing"

    @property
    def criteria(self) -> tuple[str, _Criteria]:
        """Those of the step that names the action, and their path."""
        place = [step.step_type for step in self.checklist.required_steps].index(_EXECUTION)
        return f"{_STEP}[{place}].success_criteria", self.checklist.required_steps[place].success_criteria

    def gold(self) -> Gold:
        _, criteria = self.criteria
        assert criteria.correct_action is not None, "misfits says so"
        assert criteria.correct_parameters is not None, "misfits says so"
        return Gold(
            evidence=tuple(self.true_positive_ids),
            description=self.bottleneck.description,
            facets=self.bottleneck.facets,
            action=criteria.correct_action,
            parameters=criteria.correct_parameters,
            supported_by=criteria.supported_by,
        )
