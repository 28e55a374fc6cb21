"""`..._input.json`: a person's world, what lies scattered in it, and what can be done."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field

from dspy_proact.benchmarks.probe.corpus.official.repeated import repeated
from dspy_proact.benchmarks.probe.corpus.task import (
    Action,
    Document,
    Email,
    Event,
    Item,
    Organisation,
    Relationship,
    World,
)
from dspy_proact.files.part import Id, Name, RawPart

_STAMPS = {"metadata", "created_at", "updated_at", "tags"}
"""What an item may say of itself beside what it holds."""


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
            relationships=tuple(Relationship(**each.known()) for each in self.relationships),
            organisation=Organisation(**self.organizational_structure.known()),
            **self.personal_context.known(),
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
        return Email(id=self.id, stamps=self.stamps(), **self.payload.known())


class RawEvent(RawItem):
    """An event."""

    type: Literal["event"]
    payload: RawEventPayload

    def item(self) -> Event:
        """The item with its stamps."""
        given = {name: value for name, value in self.payload.known().items() if value is not None}
        return Event(id=self.id, stamps=self.stamps(), **given)


class RawDocument(RawItem):
    """A document."""

    type: Literal["document"]
    payload: RawDocumentPayload

    def item(self) -> Document:
        """The item with its stamps."""
        return Document(id=self.id, stamps=self.stamps(), **self.payload.known())


AnyRawItem = Annotated[RawEmail | RawEvent | RawDocument, Field(discriminator="type")]


class RawInput(RawPart):
    """`..._input.json`."""

    world_model: RawWorld
    data_points: Annotated[list[AnyRawItem], Field(min_length=1)]
    annotation_instructions: object = None
    """Hidden: what the official annotation tool adds."""

    def misfits(self) -> Iterator[tuple[str, str]]:
        """Field and problem wherever two items or two actions have one id."""
        yield from repeated("data_points", [each.id for each in self.data_points])
        yield from repeated("world_model.available_actions", [each.id for each in self.world_model.available_actions])

    def items(self) -> tuple[Item, ...]:
        """The items in the order of the file, with their stamps."""
        return tuple(each.item() for each in self.data_points)

    def actions(self) -> tuple[Action, ...]:
        """The actions in the order of the file."""
        return tuple(each.action() for each in self.world_model.available_actions)
