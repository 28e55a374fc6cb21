"""What comes of a slot: a person with tasks, the items that all of these share, and what was shown of each task."""

from collections.abc import Iterable
from datetime import date
from typing import Any

from dspy_proact.benchmarks.probe.generation.values import (
    ActionAudit,
    DistractorOrder,
    DraftAction,
    DraftBottleneck,
    DraftItem,
    DraftWorld,
    EvidenceReview,
    FilledParameter,
    ItemKind,
    ListedItem,
    PlannedItem,
    Stated,
)
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
    World,
)
from dspy_proact.generation.attempt import rollout_of
from dspy_proact.types import Frozen


class MadeItem(Frozen):
    """An item with what code drew for it after it was written."""

    id: str
    """Tells nothing."""
    kind: ItemKind
    time: str
    """Of the e-mail, of the event's beginning, or of the document's last change, in ISO 8601."""
    end: str = ""
    """Of an event, likewise; empty for the others."""
    item: DraftItem
    stated: tuple[Stated, ...] = ()
    """Of evidence, what it states and where."""

    @property
    def listed(self) -> ListedItem:
        """As the adversary sees it."""
        words, people = len(self.item.text.split()), len({self.item.author, *self.item.people} - {""})
        return ListedItem(id=self.id, kind=self.kind, time=self.time, words=words, people=people)

    @property
    def shown(self) -> Item:
        """As a task has it."""
        draft = self.item
        match self.kind:
            case "email":
                people = tuple(draft.people)
                return Email(
                    id=self.id,
                    subject=draft.title,
                    sender=draft.author,
                    to=people,
                    timestamp=self.time,
                    body=draft.text,
                )
            case "event":
                return Event(
                    id=self.id,
                    title=draft.title,
                    start_time=self.time,
                    end_time=self.end,
                    location=draft.location,
                    attendees=tuple(dict.fromkeys([draft.author, *draft.people])),
                    description=draft.text,
                )
            case "document":
                return Document(id=self.id, title=draft.title, content=draft.text)


class MadeDistractor(MadeItem):
    """An item that is no evidence, shared by the tasks of its person."""

    order: DistractorOrder
    why_not: str


class TaskProof(Frozen):
    """What answers to a task showed. A share is of answers whose grade could be read; None where there is none."""

    kept: bool
    reason: str
    """Why it was not kept; empty where it was."""
    directed: tuple[bool | None, ...]
    """Whether each answer from the evidence alone solved it; these decided."""
    without: dict[str, tuple[bool | None, ...]]
    """The same from the evidence without one item, by its id."""
    alone: dict[str, tuple[bool | None, ...]]
    """The same from one item of the evidence alone; empty where there are two, of which each is without the other."""
    fresh: tuple[bool | None, ...] = ()
    """Answers from the evidence alone that decided nothing."""
    shortcut: bool | None = None
    """Whether the adversary, without any text, solved it; None where it was not asked or its answer not graded."""
    repeats: int = 0
    """Fresh answers that equal, word for word, one that decided."""


class MadeTask(Frozen):
    """A bottleneck with its evidence and its gold answer."""

    number: int
    """Among the person's bottlenecks, counted from 1."""
    bottleneck: DraftBottleneck
    action: str
    """Id of the one that resolves it."""
    audit: ActionAudit
    plan: tuple[PlannedItem, ...]
    evidence: tuple[MadeItem, ...]
    """One for each planned item."""
    parameters: tuple[FilledParameter, ...]
    review: EvidenceReview
    proof: TaskProof | None = None
    """None for a draft."""
    earlier: tuple[TaskProof, ...] = ()
    """What was shown of versions that were not kept, after which its evidence was written anew."""

    @property
    def published(self) -> bool:
        """Whether it is part of the corpus: a draft, or kept by its proof."""
        return self.proof is None or self.proof.kept


class LostTask(Frozen):
    """A bottleneck that became no task, and why."""

    number: int
    stage: str
    reasons: tuple[str, ...]


class MadePerson(Frozen):
    """A person, the tasks, and what all of these share."""

    persona: str
    """Key of the persona, the unit of clustering."""
    persona_text: str
    language: str
    difficulty: Difficulty
    today: str
    """YYYY-MM-DD."""
    world: DraftWorld
    actions: tuple[DraftAction, ...]
    """In the order of the files."""
    tasks: tuple[MadeTask, ...]
    lost: tuple[LostTask, ...] = ()
    distractors: tuple[MadeDistractor, ...] = ()
    """In the order of the files."""

    @property
    def day(self) -> str:
        """Today, with the weekday."""
        return f"{date.fromisoformat(self.today):%A %Y-%m-%d}"

    def items_of(self, task: MadeTask) -> list[MadeItem]:
        """All items of a task in the order of its files, in which the evidence stands at positions that ids decide."""
        items: list[MadeItem] = list(self.distractors)
        for item in task.evidence:
            items.insert(rollout_of("position", item.id) % (len(items) + 1), item)
        return items

    def view(self, task: MadeTask, items: Iterable[MadeItem]) -> ProbeView:
        """A task in which these items stand, in their order, such as all of them or its evidence alone."""
        draft = self.world
        world = World(
            person=draft.full_name,
            occupation=draft.occupation,
            about=draft.about,
            relationships=tuple(Relationship(**one.model_dump()) for one in draft.relationships),
            work_style=draft.work_style,
            communication_preferences=tuple(draft.communication_preferences),
            current_priorities=tuple(draft.current_priorities),
            pain_points=tuple(draft.pain_points),
            organisation=Organisation(
                company_name=draft.company_name,
                department=draft.department,
                team_size=draft.team_size,
                reporting_to=draft.reporting_to,
                key_meetings=tuple(draft.key_meetings),
            ),
            today=self.day,
        )
        gold = Gold(
            evidence=tuple(item.id for item in task.evidence),
            description=task.bottleneck.description,
            facets=Facets(**task.bottleneck.facets.model_dump()),
            action=task.action,
            parameters={filled.name: filled.value for filled in task.parameters},
        )
        actions = tuple(action_of(action) for action in self.actions)
        return ProbeView(world=world, items=tuple(item.shown for item in items), actions=actions, gold=gold)


def action_of(draft: DraftAction) -> Action:
    """An action as a task shows it: without what it was made for."""
    known: dict[str, Any] = draft.model_dump(include={"id", "type", "description"})
    required = tuple(parameter.name for parameter in draft.parameters)
    types = {one.name: ParameterType(kind=one.kind, description=one.description) for one in draft.parameters}
    return Action(**known, constraints=tuple(draft.constraints), required=required, types=types)
