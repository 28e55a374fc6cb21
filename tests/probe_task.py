"""Small tasks of PROBE, made in code: Mira waits for a key that Tom has."""

from dataclasses import dataclass, field
from typing import Any

from dspy_proact.benchmarks.probe.scoring import FacetGrades
from dspy_proact.benchmarks.probe.task import (
    Action,
    Document,
    Email,
    Event,
    Facets,
    Gold,
    Organisation,
    ProbeView,
    Relationship,
    Solution,
    Task,
    World,
)

FACETS = Facets(
    who_blocked="Mira Solberg, archive",
    who_blocker="Tom Brandt, facilities",
    what_task="scanning the harbour maps",
    why_root_cause="the storage room key was never handed over",
    when_deadline="Friday 14 March",
    where_system=None,
    how_mechanism=None,
    impact_scope=None,
)
DESCRIPTION = (
    "Mira Solberg of the archive cannot go on scanning the harbour maps by Friday 14 March, for Tom Brandt of "
    "facilities never handed over the storage room key."
)
PARAMETERS = {"to": ["Tom Brandt"], "due": "2025-03-12", "item": "storage room key"}
WORLD = World(
    person="Mira Solberg",
    occupation="archivist",
    about="keeps the town's maps",
    relationships=(Relationship(name="Tom Brandt", type="colleague", relationship_context="holds the keys"),),
    current_priorities=("scanning the harbour maps",),
    organisation=Organisation(company_name="Town archive", department="maps", team_size=4, reporting_to="Ines Falk"),
)
ITEMS = (
    Email(id="item_a1", subject="Maps", sender="mira", timestamp="2025-03-10T09:00:00", body="The maps are waiting."),
    Document(id="item_b2", title="Keys", content="Key 12, storage room: with T. Brandt until further notice."),
    Event(id="item_c3", title="Lunch", start_time="2025-03-11T12:00:00", end_time="2025-03-11T13:00:00"),
    Email(id="item_d4", subject="Urgent", sender="press", timestamp="2025-03-10T10:00:00", body="Reply today, asap!"),
    Email(id="item_e5", subject="Boiler", sender="tom", timestamp="2025-03-09T10:00:00", body="It is mended. " * 20),
)
ACTIONS = (
    Action(id="request_key", type="request_access", required=("to", "due", "item")),
    Action(id="send_note", type="send_email", required=("to", "body")),
)
GOLD = Gold(
    evidence=("item_a1", "item_b2"),
    description=DESCRIPTION,
    facets=FACETS,
    action="request_key",
    parameters=PARAMETERS,
)
GOOD = Solution(
    evidence=("item_a1", "item_b2"),
    bottleneck=DESCRIPTION,
    action="request_key",
    parameters=PARAMETERS,
    touched=tuple(item.id for item in ITEMS),
)


def task(key: str = "t1", person: str = "p1", difficulty: Any = "easy", **gold: Any) -> Task:
    """A task; what is said of gold is on top."""
    right = GOLD.model_copy(update=gold)
    return Task(key=key, person=person, difficulty=difficulty, world=WORLD, items=ITEMS, actions=ACTIONS, gold=right)


def view(**gold: Any) -> ProbeView:
    """What a run keeps of a task."""
    return ProbeView.of(task(**gold))


def facet_grades(**words: str) -> FacetGrades:
    """Everything correct, but for what is said."""
    return FacetGrades.model_validate(dict.fromkeys(FacetGrades.model_fields, "correct") | words)


@dataclass(frozen=True)
class Tasks:
    """A corpus of tasks that are held."""

    held: tuple[Task, ...]
    name: str = "made"
    revision: str | None = None
    ignored_fields: dict[str, int] = field(default_factory=dict[str, int])
    left_out: tuple[str, ...] = ()
    sha256: str = "ab" * 32
    sanitize: bool = True
    seed: int = 0

    @property
    def entries(self) -> tuple[Task, ...]:
        return self.held

    def task(self, key: str) -> Task:
        return next(each for each in self.held if each.key == key)


CORPUS = Tasks((task("t1", "p1"), task("t2", "p1", "hard"), task("t3", "p2"), task("t4", "p3", "hard")))
