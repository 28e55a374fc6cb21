"""Tasks of PROBE with planted words, and a server that plays agents, judges and proposers by the stand-ins' rules."""

from assistants import told
from probe_task import ACTIONS, FACETS, GOLD, ITEMS, WORLD, Tasks
from server import Answer, Sent

from dspy_proact.benchmarks.probe import embedded_judge
from dspy_proact.benchmarks.probe.agents import AGENT
from dspy_proact.benchmarks.probe.task import Task
from dspy_proact.programs.embedded import proposer

SECRET = "quokka"
"""Stands in every hidden field, and nowhere else: keys, gold, what supports a value."""


def token(person: int) -> str:
    """A word that stands in the world and in every item of one person."""
    return f"zebra{person}x"


def planted(people: int = 4, each: int = 1) -> Tasks:
    """Tasks with a person's word in all that an agent sees, and the secret in all that it does not."""
    return Tasks(tuple(_task(person, number) for person in range(people) for number in range(each)))


def _task(person: int, number: int) -> Task:
    word = token(person)
    titled = [(item, "subject" if hasattr(item, "subject") else "title") for item in ITEMS]
    items = tuple(item.model_copy(update={name: f"{getattr(item, name)} {word}"}) for item, name in titled)
    gold = GOLD.model_copy(
        update={
            "description": f"{GOLD.description} {SECRET}{person}",
            "facets": FACETS.model_copy(update={"why_root_cause": f"{FACETS.why_root_cause} {SECRET}"}),
            "parameters": {**GOLD.parameters, "item": f"storage room key {SECRET}"},
            "supported_by": {"item": f"{SECRET}-item"},
        }
    )
    return Task(
        key=f"{SECRET}-{person}-{number}",
        person=f"{SECRET}-person-{person}",
        difficulty="easy" if number % 2 == 0 else "hard",
        world=WORLD.model_copy(update={"about": f"{WORLD.about} {word}"}),
        items=items,
        actions=ACTIONS,
        gold=gold,
    )


def played(sent: Sent) -> Answer:
    """The stand-in of the role, over HTTP."""
    answer = {"assistant": AGENT.stand_in, "proposer": proposer.answer}.get(sent.role, embedded_judge.answer)
    return Answer(answer(*told(sent)))
