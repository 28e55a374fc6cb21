"""A task of PROBE, what each role sees of it, and what an agent answers.

    TaskView     the person's world, the items, the actions     agents
    ProbeView    the same and the gold answer                   what a run keeps; only graders read the gold

A task's key, person and difficulty are those of its `Case`.

Names of fields are those of the official files, or say what these mean. Nothing in a `TaskView` has a place for gold.

Docstrings and fields of what programs are shown are part of the hash by which a compiled program is accepted.
"""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer
from pydantic.json_schema import SkipJsonSchema

from dspy_proact.benchmarks.probe.settings import OracleName
from dspy_proact.files.rows import Text
from dspy_proact.plain_text import encodable
from dspy_proact.types import Frozen

DATA = files("dspy_proact.benchmarks.probe") / "data"
"""The sample and the published figures."""
Difficulty = Literal["easy", "medium", "hard"]
PARTS = ("evidence", "bottleneck", "action", "parameters")
"""The parts of an answer. An answer in which nothing could be read has all of them as faults."""


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
    today: str = ""
    """Day and weekday, where a file gives them, or else of the newest e-mail; empty without one."""


class ParameterType(Frozen):
    """What a parameter of an action takes."""

    kind: Literal["text", "texts", "date", "number"]
    description: str = ""


class Action(Frozen):
    """Something that can be done."""

    id: str
    type: str
    """Such as send_email or schedule_meeting."""
    description: str = ""
    constraints: tuple[str, ...] = ()
    required: tuple[str, ...]
    """Names of its parameters; the official files say nothing else about them."""
    # In no schema, and not written where it is empty, so that requests about official files stay what they are.
    types: SkipJsonSchema[dict[str, ParameterType]] = Field(
        default_factory=dict[str, ParameterType], exclude_if=lambda types: not types
    )
    """By name, of files that say it; empty for the official ones."""


class _Item(Frozen):
    """Something in a person's mailbox, calendar or folders."""

    id: str
    stamps: dict[str, Any] | None = None
    """What else the file says of the item, such as `created_at` and `tags`, which may leak the answer. None for a
    sanitized item, and then the field is not written."""

    @model_serializer(mode="wrap")
    def _leave_out_empty_stamps(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
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

    who_blocked: Text | None
    who_blocker: Text | None
    what_task: Text | None
    why_root_cause: Text | None
    when_deadline: Text | None = None
    where_system: Text | None = None
    how_mechanism: Text | None = None
    impact_scope: Text | None = None


class Support(Frozen):
    """Where the right value of a parameter can be read."""

    item: str
    """Id of the item."""
    quote: str = ""
    """The passage from which the value follows; empty where the file names the item alone."""


class Gold(Frozen):
    """The right answer. No program that answers a task receives any of it."""

    evidence: tuple[str, ...]
    """Ids of the items that show the bottleneck."""
    description: str
    """Of the bottleneck."""
    facets: Facets | None = None
    """Of the bottleneck; None in the official files, where judges derive them from the description."""
    action: str
    """Id of the one action that resolves it."""
    parameters: dict[str, Any]
    supported_by: dict[str, Support] = Field(default_factory=dict[str, Support], exclude=True)
    """By parameter; empty in the official files. Only checks of a corpus read it, and it is part of no run."""


class TaskView(Frozen):
    """What an agent sees."""

    world: World
    items: tuple[Item, ...]
    actions: tuple[Action, ...]

    @property
    def inputs(self) -> dict[str, Any]:
        """What an agent is called with."""
        return {"world": self.world, "documents": list(self.items), "actions": list(self.actions)}


class ProbeView(TaskView):
    """What a run keeps of a task."""

    gold: Gold
    unread: dict[str, tuple[str, ...]] = Field(default_factory=dict[str, tuple[str, ...]], exclude=True)
    """By id of an item or an action, the names of further fields that the file fills, and under the empty id those of
    the input. Only checks of a corpus read them, and they are part of no run."""

    @property
    def task(self) -> TaskView:
        """What an agent sees, without the gold answer."""
        return TaskView(world=self.world, items=self.items, actions=self.actions)


class Written(Frozen):
    """Parts of an answer as the official program reads them, which strips nothing and takes evidence for a set."""

    evidence: tuple[str, ...] | None = ()
    """A text is the set of its characters, an object that of its names; None where no set can be made of it, as of
    null: there the program leaves the answer out of its means."""
    action: str = ""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """Those of the solution; a text that is no JSON is one parameter."""

    @classmethod
    def of(
        cls, written: Mapping[str, Any], evidence: tuple[str, ...], action: str, parameters: dict[str, Any]
    ) -> Self | None:
        """Parts as they were `written`, of which these were read; None where the official program reads the same."""
        named, taken = written.get("evidence", evidence), written.get("action", action)
        known: tuple[str, ...] | None = None
        if isinstance(named, str | list | tuple | dict) and not any(isinstance(id_, list | dict) for id_ in named):
            texts = (encodable(id_) if isinstance(id_, str) else json.dumps(id_) for id_ in named)
            known = tuple(dict.fromkeys(texts))
        filled = written.get("parameters")
        raw = {"raw_parameters": encodable(filled)} if filled and isinstance(filled, str) and not parameters else None
        action_there = encodable(taken) if isinstance(taken, str) else ""
        own = cls(evidence=known, action=action_there, parameters=raw or parameters)
        return None if own == cls(evidence=evidence, action=action, parameters=parameters) else own


class Solution(Frozen):
    """What an agent answers. A part that is missing or malformed is empty, and named among the faults."""

    evidence: tuple[str, ...] = ()
    """Ids of the items that it names as evidence, each once, in its order; ids of no item are included."""
    bottleneck: str = ""
    action: str = ""
    """Id of the action that it takes."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    touched: tuple[str, ...] = ()
    """Ids of all items that its tools returned, named as evidence or not; every id where it was shown everything."""
    turns: int = 1
    """Calls that it took, without repairs."""
    faults: tuple[str, ...] = ()
    """What is missing, malformed or impossible: `evidence`, `bottleneck`, `action` (also an unknown one), `parameters`
    (also where a required one is missing), `steps` (a step, a plan or its own score could not be read), `turns` (its
    turns or calls ran out). A malformed answer is kept and scores what its readable parts earn."""
    truncated: bool = False
    """Whether any of its answers was cut at the token limit."""
    written: Written | None = Field(default=None, exclude_if=lambda value: value is None)
    """What the official program reads otherwise; None where it reads the same."""

    @property
    def as_published(self) -> "Solution":
        """As the official program reads it; where that leaves it out, all parts of it are faults."""
        if self.written is None:
            return self
        if self.written.evidence is None:
            return Solution(turns=self.turns, faults=PARTS, touched=self.touched, truncated=self.truncated)
        return self.model_copy(update=dict(self.written))


def shown(oracle: OracleName, view: ProbeView) -> TaskView:
    """What an agent sees under an oracle, which gives a part of the answer away to show where points are lost.

    `evidence`: only the right items, so that the search scores full. `bottleneck`: also a note that describes the
    bottleneck, so that the identification does, too.
    """
    task = view.task
    if oracle == "none":
        return task
    items = tuple(item for item in task.items if item.id in view.gold.evidence)
    if oracle == "bottleneck":
        note = Document(id="known-matter", title="What is the matter, as is known", content=view.gold.description)
        items = (note, *items)
    return task.model_copy(update={"items": items})
