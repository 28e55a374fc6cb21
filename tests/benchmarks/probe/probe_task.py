"""Small tasks of PROBE, made in code: Mira waits for a key that Tom has; with planted words; and who plays models."""

from pathlib import Path
from typing import Any

import dspy
from builders.assistants import prompt_of
from fakes.server import Answer, Sent

from dspy_proact import Case, CaseSet, Evaluation, Gate, RunFolder, summarize
from dspy_proact.benchmarks.probe.scoring import ESSENTIAL, FURTHER, IdentificationVerdict, ParametersVerdict
from dspy_proact.benchmarks.probe.stand_in import agent_answer, judge_answer
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
    TaskView,
    World,
)
from dspy_proact.programs.embedded import proposer

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
    evidence=("item_a1", "item_b2"), description=DESCRIPTION, facets=FACETS, action="request_key", parameters=PARAMETERS
)
GOOD = Solution(
    evidence=("item_a1", "item_b2"),
    bottleneck=DESCRIPTION,
    action="request_key",
    parameters=PARAMETERS,
    touched=tuple(item.id for item in ITEMS),
)


def view(**gold: Any) -> ProbeView:
    """What a run keeps of a task; what is said of gold is on top."""
    return ProbeView(world=WORLD, items=ITEMS, actions=ACTIONS, gold=GOLD.model_copy(update=gold))


def task(key: str = "t1", person: str = "p1", difficulty: str = "easy", **gold: Any) -> Case:
    """A task; what is said of gold is on top."""
    return Case(key, person, difficulty, view(**gold), {"person": person})


def corpus_of(*cases: Case) -> CaseSet:
    """A corpus of tasks that are held."""
    return CaseSet.of("made", cases)


def identified(judgment: Any = "CORRECT", **words: str) -> IdentificationVerdict:
    """A verdict on a description: every facet correct, but for what is said."""
    facets: Any = dict.fromkeys((*ESSENTIAL, *FURTHER), "correct") | words
    return IdentificationVerdict(facets=facets, judgment=judgment, reasoning="because")


def resolved(judgment: Any = "CORRECT", **names: tuple[str, ...]) -> ParametersVerdict:
    """A verdict on parameters."""
    named = {"missing": (), "incorrect": (), "semantic_matches": (), **names}
    return ParametersVerdict(judgment=judgment, would_resolve="yes", reasoning="because", **named)


class Scripted:
    """An agent that gives answers one after another; the last one goes on. It keeps what it has seen."""

    name = "scripted"

    def __init__(self, *values: Solution | Exception):
        self.values, self.seen = list(values or [GOOD]), list[Any]()

    def fingerprint(self) -> str:
        return "cc"

    def messages(self, inputs: Any) -> list[dict[str, str]]:
        return [{"role": "user", "content": "word " * 100}]

    def shown(self, inputs: dict[str, Any]) -> TaskView:
        """What it is asked about, which is kept."""
        task = TaskView(world=inputs["world"], items=tuple(inputs["documents"]), actions=tuple(inputs["actions"]))
        self.seen.append(task)
        return task

    async def acall(self, **inputs: Any) -> dspy.Prediction:
        self.shown(inputs)
        answer = self.values.pop(0) if len(self.values) > 1 else self.values[0]
        if isinstance(answer, Exception):
            raise answer
        return dspy.Prediction(**answer.model_dump())


CORPUS = corpus_of(task("t1", "p1"), task("t2", "p1", "hard"), task("t3", "p2"), task("t4", "p3", "hard"))

SECRET = "quokka"
"""Stands in every hidden field, and nowhere else: keys, gold, what supports a value."""


def token(person: int) -> str:
    """A word that stands in the world and in every item of one person."""
    return f"zebra{person}x"


def planted() -> CaseSet:
    """Tasks of four people with a person's word in all that an agent sees, and the secret in all that it does not."""
    return corpus_of(*(_planted(person) for person in range(4)))


def _planted(person: int) -> Case:
    word = token(person)
    titled = [(item, "subject" if hasattr(item, "subject") else "title") for item in ITEMS]
    hidden = view(
        description=f"{GOLD.description} {SECRET}{person}",
        facets=FACETS.model_copy(update={"why_root_cause": f"{FACETS.why_root_cause} {SECRET}"}),
        parameters={**GOLD.parameters, "item": f"storage room key {SECRET}"},
    )
    seen = {
        "world": WORLD.model_copy(update={"about": f"{WORLD.about} {word}"}),
        "items": tuple(item.model_copy(update={name: f"{getattr(item, name)} {word}"}) for item, name in titled),
    }
    return Case(f"{SECRET}-{person}", f"{SECRET}-person-{person}", "easy", hidden.model_copy(update=seen))


def played(sent: Sent) -> Answer:
    """The stand-in of the role, over HTTP."""
    answer = {"assistant": agent_answer, "proposer": proposer.answer}.get(sent.role, judge_answer)
    return Answer(answer(*prompt_of(sent)))


def scripted_run(path: Path, *inputs: Solution | Exception, corpus: Any = CORPUS, **options: Any) -> Any:
    """The summary of a run of an agent that gives these answers, and the agent."""
    agent = Scripted(*inputs)
    Evaluation(corpus, program=agent, gate=Gate(concurrency=1), **options, benchmark="probe").run(path)
    return summarize(RunFolder(path)), agent
