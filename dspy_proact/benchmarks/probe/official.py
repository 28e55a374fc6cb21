"""The two official files of a task: `..._input.json` holds what is given, `..._output.json` what is right.

Field names are the files'; `facets`, `supported_by`, `types` of parameters and `today` are ours.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import Field, Strict, ValidationError

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
    ParameterType,
    ProbeView,
    Relationship,
    Support,
    World,
)
from dspy_proact.files.rows import Id, JsonFile, Name, RawPart, Text, misfit
from dspy_proact.plain_text import shown
from dspy_proact.runs import HELD_BACK, Case

_STAMPS = ("created_at", "metadata", "tags", "updated_at")
"""What an item may say of itself besides its content."""
_DROPPED = frozenset(
    """
    annotation_instructions canary checklist_id checklist_idx created_at description distractor_ids edited
    evidence_required expected_sources metadata previous_action_idx problem_description required_items
    searchable_artifacts solves_bottleneck tags target_problem updated_at world_model
    """.split()  # noqa: SIM905 - a list of words is read as words
)
"""Known fields that are not read, by their own names. `world_model` is that of the output, the input's once more."""
_STEPS = "checklist.required_steps"
EXECUTION = "task_execution"
"""The step of the checklist that names the action."""
_KINDS = {"email": Email, "event": Event, "document": Document}


def read_task(key: str, task: JsonFile, right: JsonFile, ignored: Counter[str]) -> Case:
    """The task of two files, unknown fields counted in `ignored`; a `CorpusError` where they are bad or do not fit."""
    source, output = _Input.of(task), _Output.of(right)
    world, unknown = source.world_model, source.unknown_fields() + output.unknown_fields()
    items = tuple(_item(task, index, raw, unknown) for index, raw in enumerate(source.data_points))
    actions = tuple(action.action() for action in world.available_actions)
    gold = _gold(output, {item.id for item in items}, {action.id for action in actions}, right)
    days = list[date]()
    for item in items:
        if isinstance(item, Email):
            with suppress(ValueError):  # the format of a time is free
                days.append(date.fromisoformat(item.timestamp[:10]))
    newest = f"{max(days):%A %Y-%m-%d}" if days else ""  # official files give no other day
    view = ProbeView(world=world.world(newest), items=items, actions=actions, gold=gold, unread=source.unread())
    ignored.update({name: n for name, n in unknown.items() if name.rpartition(".")[2] not in _DROPPED})
    meta: dict[str, Any] = {"person": world.persona_id}
    generator = output.metadata.get("model")
    if isinstance(generator, str):
        meta["generator"] = generator
    if source.held_back or output.held_back:
        meta[HELD_BACK] = True
    return Case(key, world.persona_id, world.context_difficulty, view, meta)


def _item(task: JsonFile, index: int, raw: "_Item", unknown: Counter[str]) -> Item:
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
        raise task.error(problem, f"data_points[{index}].payload.{field}") from None


def _gold(output: "_Output", items: set[str], actions: set[str], right: JsonFile) -> Gold:
    """The right answer; raises a `CorpusError` where it names an item or an action that does not exist."""
    steps = [index for index, step in enumerate(output.checklist.required_steps) if step.step_type == EXECUTION]
    if len(steps) != 1:
        raise right.error(f"one step of type {EXECUTION!r} is expected, not {len(steps)}", _STEPS)
    path, criteria = (
        f"{_STEPS}[{steps[0]}].success_criteria",
        output.checklist.required_steps[steps[0]].success_criteria,
    )
    action, parameters = criteria.correct_action, criteria.correct_parameters
    if action is None or parameters is None:
        name = "correct_action" if action is None else "correct_parameters"
        raise right.error("the field is missing", f"{path}.{name}")
    there = f"the input's {len(items)} items"
    named = [(f"true_positive_ids[{index}]", id_, items, there) for index, id_ in enumerate(output.true_positive_ids)]
    named.append((f"{path}.correct_action", action, actions, f"the input's {len(actions)} actions"))
    for field, id_, known, those in named:
        if id_ not in known:
            raise right.error(f"{shown(id_)} is none of {those}", field)
    return Gold(
        evidence=tuple(dict.fromkeys(output.true_positive_ids)),
        description=output.bottleneck.description,
        facets=output.bottleneck.facets,
        action=action,
        parameters=parameters,
        supported_by={
            name: Support(item=support) if isinstance(support, str) else Support(**support.known())
            for name, support in output.checklist.required_steps[steps[0]].success_criteria.supported_by.items()
        },
    )


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


class _ParameterType(ParameterType, RawPart):
    pass


class _ParametersSchema(RawPart):
    required: list[Name] = Field(default=[])
    types: dict[str, _ParameterType] = Field(default={})


class _Action(RawPart):
    id: Id
    type: Name
    description: str | None = None
    constraints: list[str] = Field(default=[])
    params_schema: _ParametersSchema = _ParametersSchema()

    def action(self) -> Action:
        types = {name: ParameterType(**raw.known()) for name, raw in self.params_schema.types.items()}
        known = self.known() | {"description": self.description or "", "required": self.params_schema.required}
        return Action(**{name: value for name, value in known.items() if name != "params_schema"}, types=types)


class _World(RawPart):
    persona_id: Id
    persona_full_name: Name
    persona_occupation: str
    persona_about: str
    relationships: list[_Relationship] = Field(default=[])
    personal_context: _PersonalContext = _PersonalContext()
    organizational_structure: _Organisation
    available_actions: Annotated[list[_Action], Field(min_length=1)]
    context_difficulty: Difficulty
    today: str = ""

    def world(self, newest: str) -> World:
        return World(
            today=self.today or newest,
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
    held_back: bool = False
    """Of a corpus that was published in part: whether it is of the part that was not; likewise in the output."""
    world_model: _World
    data_points: Annotated[list[_Item], Field(min_length=1)]

    def misfits(self) -> Iterator[tuple[str, str]]:
        lists = {"data_points": self.data_points, "world_model.available_actions": self.world_model.available_actions}
        for path, listed in lists.items():
            first: dict[str, int] = {}
            for index, part in enumerate(listed):
                if (before := first.setdefault(part.id, index)) != index:
                    yield f"{path}[{index}].id", f"{shown(part.id)} is at [{before}] already; an id stands once"

    def unread(self) -> dict[str, tuple[str, ...]]:
        """By id, and under the empty id of the input, the names of fields that are filled and not read."""
        names = {"": _filled(self.model_extra)}
        for item in self.data_points:
            fields, content = item.model_extra or {}, _KINDS[item.type].model_fields
            payload = {name: value for name, value in item.payload.items() if name not in content or name == "stamps"}
            further = {name: value for name, value in fields.items() if name not in _STAMPS}
            names[item.id] = (*_filled(further), *(f"payload.{name}" for name in _filled(payload)))
        names |= {action.id: _filled(action.model_extra) for action in self.world_model.available_actions}
        return {id_: unread for id_, unread in names.items() if unread}


def _filled(fields: dict[str, Any] | None) -> tuple[str, ...]:
    """The names of fields with something in them."""
    return tuple(name for name, value in (fields or {}).items() if value not in (None, "", [], {}))


class _Bottleneck(RawPart):
    description: Text
    facets: Facets | None = None


class _Support(Support, RawPart):
    pass


class _Criteria(RawPart):
    correct_action: Id | None = None
    correct_parameters: dict[str, Any] | None = None
    supported_by: dict[str, str | _Support] = Field(default={})


class _Step(RawPart):
    step_type: str
    success_criteria: _Criteria = _Criteria()


class _Checklist(RawPart):
    required_steps: list[_Step]


class _Output(RawPart):
    held_back: bool = False
    metadata: dict[str, Any] = Field(default={})
    bottleneck: _Bottleneck
    checklist: _Checklist
    true_positive_ids: Annotated[list[Id], Field(min_length=1)]
