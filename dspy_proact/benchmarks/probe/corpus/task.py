"""One task of PROBE: a person's world, the items in it, what can be done, and what is known to be right.

Names of fields are those of the official files, or what they mean where these say nothing. Gold stands apart: nothing
else in a task has a place for it.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from dspy_proact.types import Frozen


class Relationship(Frozen):
    """Somebody whom the person works with."""

    name: str
    type: str
    """Such as colleague, manager, direct_report, client, vendor."""
    department: str | None = None
    relationship_context: str


class Organisation(Frozen):
    """Where the person works."""

    company_name: str
    department: str
    team_size: int
    reporting_to: str
    key_meetings: tuple[str, ...] = ()


class World(Frozen):
    """What is known of a person before anything is read."""

    person: str
    """Full name."""
    occupation: str
    about: str
    relationships: tuple[Relationship, ...]
    work_style: str = ""
    communication_preferences: tuple[str, ...] = ()
    current_priorities: tuple[str, ...] = ()
    pain_points: tuple[str, ...] = ()
    organisation: Organisation


class Action(Frozen):
    """Something that can be done."""

    id: str
    type: str
    """Such as send_email or schedule_meeting."""
    description: str = ""
    constraints: tuple[str, ...] = ()
    required: tuple[str, ...]
    """Names of its parameters; the official files say nothing else of them."""


class _Item(Frozen):
    """Something that lies in a person's mailbox, calendar or folders."""

    id: str
    stamps: dict[str, Any] | None = None
    """What else the file says of it, such as `created_at` and `tags`, from which the answer could be told; None where
    items are cut to what they hold, and then nothing of them is written."""

    @model_serializer(mode="wrap")
    def _without_no_stamps(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written = handler(self)
        return written if self.stamps is not None else {name: written[name] for name in written if name != "stamps"}


class Email(_Item):
    """A message; times are ISO 8601."""

    kind: Literal["email"] = "email"
    subject: str
    sender: str
    to: tuple[str, ...] = ()
    cc: tuple[str, ...] = ()
    timestamp: str
    body: str


class Event(_Item):
    """An entry of the calendar; times are ISO 8601."""

    kind: Literal["event"] = "event"
    title: str
    start_time: str
    end_time: str
    location: str = ""
    attendees: tuple[str, ...] = ()
    description: str = ""


class Document(_Item):
    """A file."""

    kind: Literal["document"] = "document"
    title: str
    mime: str = "text/markdown"
    content: str


Item = Annotated[Email | Event | Document, Field(discriminator="kind")]


class Facets(Frozen):
    """What there is to know of a bottleneck; None where it does not apply."""

    who_blocked: str | None
    who_blocker: str | None
    what_task: str | None
    why_root_cause: str | None
    when_deadline: str | None = None
    where_system: str | None = None
    how_mechanism: str | None = None
    impact_scope: str | None = None


class Gold(Frozen):
    """What is right. No program that answers a task receives any of it."""

    evidence: tuple[str, ...]
    """Ids of the items that show the bottleneck."""
    description: str
    """Of the bottleneck."""
    facets: Facets | None = None
    """Of the bottleneck; None in the official files, whose judges tell them from the description."""
    action: str
    """Id of the one action that resolves it."""
    parameters: dict[str, Any]
    supported_by: dict[str, str] | None = None
    """By parameter the id of the item in which its value can be read; None in the official files."""


class Task(Frozen):
    """One bottleneck of one person."""

    key: str
    person: str
    """What tasks share that are not independent."""
    difficulty: Literal["easy", "medium", "hard"]
    world: World
    items: tuple[Item, ...]
    actions: tuple[Action, ...]
    gold: Gold
