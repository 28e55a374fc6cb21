"""What the roles of a corpus's making write, as typed values.

Names of fields and the docstrings under them are prompt text: a model reads them in a schema. Each role is shown only
the values of its view (`roles`).
"""

from typing import Annotated, Literal

from pydantic import Field

from dspy_proact.types import Frozen

FacetName = Literal[
    "who_blocked",
    "who_blocker",
    "what_task",
    "why_root_cause",
    "when_deadline",
    "where_system",
    "how_mechanism",
    "impact_scope",
]
ItemKind = Literal["email", "event", "document"]
ActionType = Literal[
    "send_email",
    "reply_email",
    "schedule_meeting",
    "reschedule_meeting",
    "cancel_meeting",
    "create_task",
    "delegate_task",
    "update_task_status",
    "create_document",
    "update_document",
    "share_document",
    "send_slack_message",
    "make_phone_call",
    "request_access",
    "provide_feedback",
    "request_approval",
    "escalate_to_manager",
    "create_meeting_agenda",
    "conduct_review",
    "update_project_plan",
]
Relation = Literal[
    "colleague",
    "manager",
    "direct_report",
    "client",
    "stakeholder",
    "vendor",
    "mentor",
    "mentee",
    "cross_functional_partner",
]


class Documented(Frozen, use_attribute_docstrings=True):
    """A value in whose schema the line under each field stands."""


class Colleague(Documented):
    """Somebody whom the person works with."""

    name: str
    type: Relation
    department: str | None
    """Null for somebody outside the company."""
    relationship_context: str
    """Who this is and what the two have to do with each other, in a sentence; nothing that holds work up."""


class DraftWorld(Documented):
    """A person at work, as everybody there knows them. Nothing in it says what holds work up."""

    full_name: str
    occupation: str
    about: str
    """What the person does and answers for, in two to four sentences."""
    relationships: list[Colleague]
    company_name: str
    """The organisation's; an invented one where `work` names none."""
    department: str
    team_size: int
    reporting_to: str
    """Name of one of the relationships."""
    key_meetings: list[str]
    """Regular meetings, by name."""
    work_style: str
    communication_preferences: list[str]
    current_priorities: Annotated[list[str], Field(min_length=2, max_length=6)]
    pain_points: Annotated[list[str], Field(min_length=1, max_length=6)]
    systems: Annotated[list[str], Field(min_length=2, max_length=8)]
    """Names of the systems, lists and recurring documents that are in use."""


class DraftFacets(Documented):
    """What there is to know of a bottleneck; null for a facet that does not apply."""

    who_blocked: str | None
    """Whose work is held up: a name, or a group; where it is the person's own, the person's."""
    who_blocker: str | None
    """Who or what holds it up: a name, a group or a thing; null where nothing does."""
    what_task: str
    """The work that cannot go on."""
    why_root_cause: str
    """Why it cannot."""
    when_deadline: str | None
    """By when it matters."""
    where_system: str | None
    """The system, place or document."""
    how_mechanism: str | None
    """How it comes about."""
    impact_scope: str | None
    """What it leads to."""


class LedgerEntry(Documented):
    """A date or an amount that has one value wherever it occurs."""

    id: str
    """`f1`, `f2` and so on, counted over all bottlenecks of the person."""
    what: str
    """What it is the date or the amount of, such as `last day for the survey's new date`."""
    kind: Literal["date", "amount"]
    value: str
    """A date as YYYY-MM-DD; an amount as a number and its unit, such as `84 pupils` or `1200 EUR`."""


class DraftBottleneck(Documented):
    """Work that stands still, and what would set it going."""

    id: str
    """`b1`, `b2` and so on."""
    description: str
    """Everything that the facets say, in one to three sentences."""
    facets: DraftFacets
    ledger: list[LedgerEntry]
    """Its dates and amounts: the facets' and those that the resolution needs."""
    resolution: str
    """The one thing to do that sets it going, in a sentence, with everything that whoever does it must know."""


class UnmetFacet(Documented):
    """A facet that cannot be found out."""

    bottleneck: str
    """Its id."""
    facet: FacetName
    why: str


class BottleneckAudit(Documented):
    """Whether the bottlenecks of a person can be found and resolved. Lists are empty where nothing is wrong."""

    unmet: list[UnmetFacet]
    """Facets that are not null and that no e-mail, event or document could state, that do not apply, or that contradict
    the description, the world or another facet."""
    revealed: list[str]
    """Ids of bottlenecks that can be read out of the world alone."""
    alike: list[str]
    """Ids of bottlenecks that what resolves another one would resolve, too, or that are another one in other words."""
    unresolvable: list[str]
    """Ids of bottlenecks that the person cannot resolve by one action with words, meetings, tasks or documents."""
    advice: str
    """How to mend what is wrong, in a sentence or two; empty where nothing is."""


class Parameter(Documented):
    """A parameter of an action."""

    name: str
    """Lower case with underscores."""
    kind: Literal["text", "texts", "date", "number"]
    """`texts` for a list of them, such as names."""
    description: str
    """What it takes, in a few words; no value."""


class DraftAction(Documented):
    """Something that the person's assistant can do."""

    id: str
    """Lower case with underscores, such as `move_yard_booking`."""
    type: ActionType
    description: str
    """In a sentence; no name of a person, no date, no amount."""
    constraints: list[str]
    parameters: Annotated[list[Parameter], Field(min_length=1, max_length=6)]
    resolves: str | None
    """Id of the bottleneck that it resolves; null for the others."""


class OfferedAction(Documented):
    """An action, as somebody sees it who does not know what it is for."""

    id: str
    type: ActionType
    description: str
    constraints: list[str]
    parameters: list[Parameter]


class ActionAudit(Documented):
    """Which of the actions would resolve a bottleneck."""

    reason: str
    """Which come close, and why they do or do not set the work going, in a sentence or two."""
    resolving: list[str]
    """Ids of all actions any of which, with the right values, would set the work going again; one that only passes it
    on, asks about it, or records it does not, unless that is what is missing."""


class PlannedItem(Documented):
    """What one e-mail, event or document of the evidence is to state."""

    number: int
    """Counted from 1."""
    kind: ItemKind
    role: str
    """What it is, who writes it to whom and on what occasion, in a sentence; its occasion is not the bottleneck."""
    states: str
    """What it states of the bottleneck, in a sentence or two."""
    facets: list[FacetName]
    """Those that it states."""
    parameters: list[str]
    """Names of the parameters of the action of whose values it states at least one."""


class Stated(Documented):
    """A passage that states something."""

    what: str
    """Name of the facet or parameter, or id of the ledger's entry."""
    quote: str
    """Exactly as it stands in the text."""


class DraftItem(Documented):
    """An e-mail, an event of the calendar, or a document."""

    title: str
    """Subject or title."""
    author: str
    """Name of the sender, of whoever invites, or of whoever wrote it."""
    people: list[str]
    """Names of the addressees or of those invited; empty for a document."""
    location: str
    """Of an event; empty for the others."""
    text: str
    """All of it below the title: without subject, date and addressees."""


class WrittenEvidence(Documented):
    """An item of the evidence, and where it states what it had to."""

    item: DraftItem
    stated: list[Stated]
    """One for every facet, parameter and entry of the ledger that the text states."""


class NumberedItem(Documented):
    """An item, by its number."""

    number: int
    kind: ItemKind
    item: DraftItem


class FilledParameter(Documented):
    """The right value of a parameter, and where it stands."""

    name: str
    value: str | float | list[str]
    """As the parameter's kind asks: a date as YYYY-MM-DD, a number without its unit, a list of texts."""
    item: int
    """Number of the item that states it."""
    quote: str
    """The passage of that item, exactly as it stands there, from which the value follows."""


class StatedValue(Documented):
    """What an item says a date or an amount of the ledger is."""

    entry: str
    """Id of the ledger's entry."""
    item: int
    """Number of the item."""
    value: str
    """By the item, in the form of the ledger."""
    quote: str
    """Exactly as it stands in the item."""


class ShownFacet(Documented):
    """Where a facet can be learned."""

    facet: FacetName
    item: int
    """Number of the item."""
    quote: str
    """Exactly as it stands in the item."""


class EvidenceReview(Documented):
    """What the evidence of a bottleneck shows, by somebody who did not write it."""

    shown: list[ShownFacet]
    """One for every facet that the items state."""
    sufficient_alone: list[int]
    """Numbers of items from which alone the whole bottleneck and its resolution could be learned."""
    other_problems: list[int]
    """Numbers of items that show other work that stands still and that nobody has resolved."""
    values: list[StatedValue]
    """One for every time that an item gives a date or an amount of the ledger."""
    unnatural: list[int]
    """Numbers of items that nobody would write so, or that read like part of a test."""
    advice: str
    """How to mend what is wrong, in a sentence or two; empty where nothing is."""


class DistractorOrder(Documented):
    """What one item that is no evidence is to be."""

    number: int
    kind: ItemKind
    strategy: str
    """How it misleads, or that it does not."""
    near: str | None
    """Id of the bottleneck that it resembles; null for none."""
    template: int | None
    """Number of the item among `templates` whose form it takes; null for none."""
    words: int
    """Of its text, about."""


class DraftDistractor(Documented):
    """An item that is no evidence."""

    number: int
    """Of its order."""
    item: DraftItem
    why_not: str
    """Why it shows no bottleneck that is open and could be resolved, in a sentence."""


class DistractorFault(Documented):
    """An item that is evidence after all."""

    item: int
    """Its number."""
    bottleneck: str | None
    """Id of the one that it shows, resolves or contradicts; null where it shows another one that is open."""
    kind: Literal["shows", "resolves", "contradicts", "new"]
    quote: str
    """Exactly as it stands in the item."""


class DistractorReview(Documented):
    """Whether items that should be no evidence are none. Lists are empty where nothing is wrong."""

    faults: list[DistractorFault]
    values: list[StatedValue]
    """One for every time that an item gives a date or an amount of the ledger as if it were still true."""
    unnatural: list[int]
    """Numbers of items that nobody would write so, or that read like part of a test."""


class ListedItem(Documented):
    """An item without its text."""

    id: str
    kind: ItemKind
    time: str
    words: int
    people: int


class Shortcut(Documented):
    """An answer that was made without reading."""

    evidence: list[str]
    """Ids of the items that are most likely the evidence."""
    bottleneck: str
    """What is most likely the matter, in a sentence or two."""
    action: str
    """Id of the action."""
    reason: str
    """What gave it away."""
