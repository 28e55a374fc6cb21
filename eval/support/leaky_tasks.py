"""Tasks in PROBE's files, made by code, whose evidence nothing tells but its text; and ways to let something tell it.

Tasks of a person share the items that are no evidence, in one order. Kinds, lengths and times of all items come from
the same distributions, and evidence stands anywhere among the others. A leak changes the files of a task; it is that of
a generator that has written evidence and other items in two stages, or that has forgotten what files say beside texts.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from support.probe_tasks import SyntheticTask

KINDS = {"email": 0.5, "document": 0.3, "event": 0.2}
PREFIXES = {"email": "email", "document": "document", "event": "calendar"}
_SENTENCES = {"email": 6, "document": 9, "event": 4}
"""Of a text, in the median."""
_TODAY = datetime(2025, 3, 15, 9)
_VOCABULARY = """
account agenda amount annex answer archive autumn balance basket bench border branch bridge budget button cabinet
carrier chapter circle column contract copper corner courier credit dealer delivery deposit design drawing engine
envelope exhibit expense factor figure filter folder forecast freight gallery harbour heating income index invoice
journey kettle label ladder landing ledger letter licence machine margin meadow method mirror morning number office
""".split()  # noqa: SIM905
_VERBS = ("send_email", "schedule_meeting", "create_task", "request_approval", "update_document", "share_document")
_NAMES = ("recipient", "subject", "due_date", "approver", "document", "reason", "meeting_date", "attendee")


@dataclass
class DrawnTask:
    """A task before its files are written: what a leak may change."""

    rng: np.random.Generator
    items: list[dict[str, Any]]
    """In the order of the file."""
    evidence: set[str]
    actions: list[dict[str, Any]]
    right: str
    """Id of the right action."""
    inputs: dict[str, Any] = field(default_factory=dict[str, Any])
    """Further fields of the input."""

    @property
    def shown(self) -> list[dict[str, Any]]:
        """The items that are evidence."""
        return [item for item in self.items if item["id"] in self.evidence]

    def rename(self, item: dict[str, Any], name: str) -> None:
        """Give an item of the evidence another id."""
        self.evidence = {name if id_ == item["id"] else id_ for id_ in self.evidence}
        item["id"] = name


Leak = Callable[[DrawnTask], None]


def _prefixes(task: DrawnTask) -> None:
    """Ids begin with the kind, those of evidence with another one's, as the official generator gives them."""
    for item in task.items:
        own, others = PREFIXES[item["type"]], [name for kind, name in PREFIXES.items() if kind != item["type"]]
        tail = item["id"].rpartition("_")[2]
        if item["id"] in task.evidence:
            task.rename(item, f"{task.rng.choice(others)}_{tail}")
        else:
            item["id"] = f"{own}_{tail}"


def _counted(task: DrawnTask) -> None:
    """Ids count up as items were made, evidence first."""
    for number, item in enumerate(task.shown):
        task.rename(item, f"item_{number + 1:08x}")
    others = sorted(item["id"] for item in task.items if item["id"] not in task.evidence)
    for item in task.items:
        if item["id"] not in task.evidence:
            item["id"] = f"item_{100 + others.index(item['id']):08x}"


def _first(task: DrawnTask) -> None:
    """Evidence stands before all other items."""
    task.items.sort(key=lambda item: item["id"] not in task.evidence)


def _early(task: DrawnTask) -> None:
    """Evidence was created before all other items, whatever its own time."""
    for item in task.shown:
        created = _TODAY - timedelta(days=60, minutes=int(task.rng.integers(600)))
        item["created_at"] = item["updated_at"] = created.isoformat()


def _late(task: DrawnTask) -> None:
    """E-mails and events of the evidence are of the last week."""
    for item in task.shown:
        for name in ("timestamp", "start_time"):
            if name in item["payload"]:
                item["payload"][name] = (_TODAY - timedelta(minutes=int(task.rng.integers(7 * 1440)))).isoformat()


def _long(task: DrawnTask) -> None:
    """Documents of the evidence are half as long again, its events half as long."""
    for item in task.shown:
        for name, factor in (("content", 1.5), ("description", 0.5)):
            if text := item["payload"].get(name, "").split():
                more = [*text, *(task.rng.choice(_VOCABULARY, len(text)).tolist())]
                item["payload"][name] = " ".join(more[: int(factor * len(text))])


def _tagged(task: DrawnTask) -> None:
    """Evidence says in its metadata how it was planned."""
    for item in task.shown:
        item["metadata"] = {"role": "background"}


def _further(task: DrawnTask) -> None:
    """Evidence has a field that no format knows."""
    for item in task.shown:
        item["payload"]["plan"] = "background"


def _marked(task: DrawnTask) -> None:
    """The input says of the actions which of them solves a bottleneck."""
    for action in task.actions:
        action["solves_bottleneck"] = 1 if action["id"] == task.right else None


def _last(task: DrawnTask) -> None:
    """The right action is one of the last in the list."""
    right = next(action for action in task.actions if action["id"] == task.right)
    task.actions.remove(right)
    task.actions.insert(len(task.actions) - int(task.rng.integers(3)), right)


def _detailed(task: DrawnTask) -> None:
    """The right action is described at length."""
    for action in task.actions:
        if action["id"] == task.right:
            action["description"] += f" {' '.join(task.rng.choice(_VOCABULARY, 4).tolist())}."


def _documents(task: DrawnTask) -> None:
    """More of the evidence are documents, as it is drawn."""
    assert task.shown, "nothing is left to change"


LEAKS: Mapping[str, tuple[Leak, str]] = {
    "ids by kind": (_prefixes, "metadata: ids"),
    "ids that count up": (_counted, "metadata: ids"),
    "order": (_first, "metadata: order"),
    "time of creation": (_early, "metadata: times"),
    "time of the item": (_late, "metadata: times"),
    "length": (_long, "metadata: lengths"),
    "metadata": (_tagged, "fields of evidence"),
    "further field": (_further, "fields of evidence"),
    "mark of the action": (_marked, "fields of evidence"),
    "place of the action": (_last, "actions alone"),
    "length of the action": (_detailed, "actions alone"),
    "type": (_documents, "metadata: types"),
}
"""By name, what changes the files of a task, and the check that has to find it."""


@dataclass(frozen=True)
class LeakyCorpus:
    """Tasks of people."""

    leak: str | None = None
    """One of `LEAKS`."""
    share: float = 1.0
    """Of the tasks that have it, in [0, 1]."""
    people: int = 40
    tasks: int = 3
    """Of a person."""
    others: int = 16
    """Items of a person that are no evidence."""
    actions: int = 12

    def write(self, folder: Path, seed: int) -> None:
        """Write the two files of each task into a folder that exists."""
        for person in range(self.people):
            for task in self._of_person(person, np.random.default_rng((seed, person))):
                (folder / f"{task.key}_input.json").write_text(json.dumps(task.inputs), encoding="utf-8")
                (folder / f"{task.key}_output.json").write_text(json.dumps(task.right), encoding="utf-8")

    def _of_person(self, person: int, rng: np.random.Generator) -> list[SyntheticTask]:
        others = [_item(rng, _kind(rng), []) for _ in range(self.others)]
        actions = [_action(rng, number) for number in range(self.actions)]
        rights = rng.choice(self.actions, self.tasks, replace=False).tolist()
        return [
            self._task(rng, f"bottleneck_{person:03d}_{number:02d}", others, actions, rights[number])
            for number in range(self.tasks)
        ]

    def _task(
        self, rng: np.random.Generator, key: str, others: Sequence[Any], actions: Sequence[Any], right: int
    ) -> SyntheticTask:
        leaks = self.leak if rng.random() < self.share else None
        gold, count = actions[right], int(rng.integers(2, 6))
        values = {name: _value(rng, name) for name in gold["params_schema"]["required"]}
        facts = [_fact(rng, name, value) for name, value in values.items()]
        items = json.loads(json.dumps(others))
        evidence = set[str]()
        for number in range(count):
            kind = "document" if leaks == "type" and rng.random() < 0.6 else _kind(rng)
            item = _item(rng, kind, facts[number::count])
            items.insert(int(rng.integers(len(items) + 1)), item)
            evidence.add(item["id"])
        task = DrawnTask(rng, items, evidence, json.loads(json.dumps(actions)), gold["id"])
        if leaks:
            LEAKS[leaks][0](task)
        return _files(key, task, values)


def _kind(rng: np.random.Generator) -> str:
    return str(rng.choice(list(KINDS), p=list(KINDS.values())))


def _fact(rng: np.random.Generator, name: str | None = None, value: str | None = None) -> str:
    name = str(rng.choice(_NAMES)) if name is None else name
    return f"The {name.replace('_', ' ')} is {_value(rng, name) if value is None else value}."


def _value(rng: np.random.Generator, name: str) -> str:
    if name.endswith("date"):
        return (_TODAY + timedelta(days=int(rng.integers(1, 30)))).date().isoformat()
    return " ".join(rng.choice(_VOCABULARY, 2).tolist())


def _item(rng: np.random.Generator, kind: str, facts: Sequence[str]) -> dict[str, Any]:
    """An item that states facts in sentences like all others, and is no longer for it."""
    count = max(2, round(_SENTENCES[kind] * float(rng.lognormal(0, 0.3))))
    sentences = [*facts, *(_fact(rng) for _ in range(count - len(facts)))]
    text = " ".join(sentences[index] for index in rng.permutation(len(sentences)))
    title = " ".join(rng.choice(_VOCABULARY, 3).tolist())
    time = _TODAY - timedelta(minutes=int(rng.integers(30 * 1440)))
    payload: dict[str, Any] = {"title": title, "mime": "text/markdown", "content": text}
    if kind == "email":
        sent = {"subject": title, "sender": _name(rng), "to": [_name(rng)], "cc": []}
        payload = {**sent, "timestamp": time.isoformat(), "body": text}
    if kind == "event":
        times = {"start_time": time.isoformat(), "end_time": (time + timedelta(hours=1)).isoformat()}
        payload = {"title": title, **times, "attendees": [_name(rng), _name(rng)], "description": text}
    stamps = {"metadata": {}, "created_at": time.isoformat(), "updated_at": time.isoformat(), "tags": []}
    return {"id": f"item_{int(rng.integers(1 << 32)):08x}", "type": kind, "payload": payload, **stamps}


def _name(rng: np.random.Generator) -> str:
    return " ".join(rng.choice(_VOCABULARY, 2).tolist()).title()


def _action(rng: np.random.Generator, number: int) -> dict[str, Any]:
    return {
        "id": f"{rng.choice(_VERBS)}_{number:02d}",
        "type": str(rng.choice(_VERBS)),
        "description": f"{' '.join(rng.choice(_VOCABULARY, int(rng.integers(6, 12))).tolist()).capitalize()}.",
        "constraints": [],
        "params_schema": {"required": rng.choice(_NAMES, int(rng.integers(2, 5)), replace=False).tolist()},
    }


def _files(key: str, task: DrawnTask, values: dict[str, str]) -> SyntheticTask:
    person = key.rpartition("_")[0]
    world: dict[str, Any] = {
        "persona_id": person,
        "persona_full_name": person.replace("_", " "),
        "persona_occupation": "planner",
        "persona_about": "Plans.",
        "relationships": [],
        "personal_context": {"current_priorities": task.rng.choice(_VOCABULARY, 3).tolist()},
        "organizational_structure": {
            "company_name": "Works",
            "department": "Plans",
            "team_size": 4,
            "reporting_to": "Bo",
        },
        "context_difficulty": "easy",
    }
    evidence = [item["id"] for item in task.items if item["id"] in task.evidence]
    done = {"correct_action": task.right, "correct_parameters": values}
    return SyntheticTask(
        key=key,
        inputs={"world_model": world | {"available_actions": task.actions}, "data_points": task.items, **task.inputs},
        right={
            "bottleneck": {"description": "Something waits."},
            "checklist": {"required_steps": [{"step_type": "task_execution", "success_criteria": done}]},
            "true_positive_ids": evidence,
        },
    )
