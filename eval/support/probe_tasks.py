"""Tasks of the published size in the official layout, made as fast as a disk takes them.

They say nothing about anybody: their sentences are words drawn by chance. What is in them is enough to see that a
corpus of that size is read, planned and run: evidence that tells who waits for whom, for what and until when, every
value of the right parameters in it, and other items that are like it in length, time and form.
"""

import json
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from dspy_proact.kept import replacing, write_file

KINDS = {"email": 0.5, "document": 0.3, "event": 0.2}
"""Of the items."""
EVIDENCE = (3, 6)
"""Fewest and most items of a task that are evidence."""
TASKS_A_PERSON = 4
_SENTENCES = 4000
"""From which texts are drawn."""
_DAY = datetime(2025, 3, 15)
_ENGLISH = """
account address advice agenda amount annex answer archive arrival article autumn average badge balance basket bench
border branch bridge budget building button cabinet calendar carrier ceiling chapter circle client coffee column comment
contract copper corner counter courier credit current damage dealer debate delivery deposit design detail dinner
discount district drawing driver edition engine envelope estimate evening exhibit expense factor feature figure filter
finance folder forecast fountain freight garage gallery glass habit handle harbour heating holiday hospital income index
invoice island journey junction kettle kitchen label ladder landing leader lecture letter library licence limit machine
"""
"""With made words in the same number a text has about four characters a token, as English has."""
_ONSETS, _NUCLEI = "b d f g k l m n p r s t v br dr fl gr kl pr st tr", "a e i o u ai ea ou"
_VERBS = ("send_email", "schedule_meeting", "create_task", "request_approval", "update_document", "share_document")
_NAMES = ("recipient", "subject", "due_date", "approver", "document", "reason", "meeting_date", "attendee")
_ZIPS = {"input": "synthetic_inputs.zip", "output": "synthetic_outputs.zip"}


@dataclass(frozen=True)
class Size:
    """How large tasks are; as published, unless it is said otherwise."""

    items: int = 80
    """More than evidence has."""
    words: int = 740
    """Of an item's text; with these a task has about 108,000 tokens in 450 kB."""
    actions: int = 25
    """At least 2."""


@dataclass(frozen=True)
class SyntheticTask:
    """The two files of a task, as they are written."""

    key: str
    inputs: dict[str, Any]
    right: dict[str, Any]


def synthetic_tasks(seed: int, count: int, size: Size = Size(), leaks: bool = False) -> Iterator[SyntheticTask]:
    """Tasks one at a time, four a person; the same arguments give the same tasks, and more of them begin with fewer.

    Args:
        seed: Where chance comes from.
        count: Number of tasks.
        size: Of each.
        leaks: Whether evidence comes first, is older than all else, and has ids that begin with another kind.

    Raises:
        ValueError: The size has no room for evidence and something else, or for a wrong action.
    """
    if size.items <= EVIDENCE[1] or size.actions < 2 or size.words < 1:
        raise ValueError(f"a task has more than {EVIDENCE[1]} items, 2 actions and 1 word, not {size!r}")
    pool = _Pool(seed)
    return (_Writer(pool, seed, number, size, leaks).task() for number in range(count))


def write_synthetic(
    folder: Path, seed: int, count: int, size: Size = Size(), *, leaks: bool = False, zipped: bool = False
) -> None:
    """Write tasks into a folder that exists: two files each, or all of them in two zips.

    Raises:
        ValueError: As `synthetic_tasks` does.
        UsageError: A file cannot be written.
    """
    tasks = synthetic_tasks(seed, count, size, leaks)
    if not zipped:
        for task in tasks:
            write_file(folder / f"{task.key}_input.json", json.dumps(task.inputs))
            write_file(folder / f"{task.key}_output.json", json.dumps(task.right))
        return
    with (
        replacing(folder / _ZIPS["input"]) as one,
        replacing(folder / _ZIPS["output"]) as two,
        zipfile.ZipFile(one, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as inputs,
        zipfile.ZipFile(two, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as outputs,
    ):
        for task in tasks:
            _add(inputs, f"{task.key}_input.json", task.inputs)
            _add(outputs, f"{task.key}_output.json", task.right)


def _add(archive: zipfile.ZipFile, name: str, content: dict[str, Any]) -> None:
    # A member of a fixed date, so that the same tasks are the same bytes.
    member = zipfile.ZipInfo(name)
    member.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(member, json.dumps(content))


class _Pool:
    """Words, names and sentences that all tasks of a seed share."""

    def __init__(self, seed: int):
        rng = np.random.default_rng((seed, 0))
        english = _ENGLISH.split()
        self.words = np.array([*english, *(self._name(rng).lower() for _ in english)], dtype=object)
        named = {f"{self._name(rng)} {self._name(rng)}" for _ in range(400)}
        self.names = np.array(sorted(named), dtype=object)
        drawn = rng.choice(self.words, (_SENTENCES, 12)).tolist()
        self.sentences = np.array([f"{' '.join(words).capitalize()}." for words in drawn], dtype=object)

    @staticmethod
    def _name(rng: np.random.Generator) -> str:
        onsets, nuclei = _ONSETS.split(), _NUCLEI.split()
        parts = (f"{rng.choice(onsets)}{rng.choice(nuclei)}" for _ in range(int(rng.integers(1, 3))))
        return f"{''.join(parts)}{str(rng.choice(onsets))[0]}".capitalize()

    def text(self, rng: np.random.Generator, words: int) -> list[str]:
        """Sentences of about so many words."""
        return list(self.sentences[rng.integers(_SENTENCES, size=max(1, words // 12))])


class _Writer:
    """One task of a person."""

    def __init__(self, pool: _Pool, seed: int, number: int, size: Size, leaks: bool):
        self._pool, self._size, self._leaks = pool, size, leaks
        self._number, self._person = number % TASKS_A_PERSON, number // TASKS_A_PERSON
        self._rng = np.random.default_rng((seed, 1, number))
        of_person = np.random.default_rng((seed, 2, self._person))
        self._names: list[str] = of_person.permutation(pool.names)[:18].tolist()
        self._company = " ".join(of_person.choice(pool.words, 2).tolist()).title()
        self._actions = self._all_actions(of_person)

    def task(self) -> SyntheticTask:
        """The task."""
        slug = self._names[0].lower().replace(" ", "_")
        key = f"bottleneck_{self._person:03d}_{self._number:02d}_{slug}"
        action = self._actions[self._number % len(self._actions)]
        values = {name: self._value(name) for name in action["params_schema"]["required"]}
        blocked, blocker, work = self._names[1], self._names[2], f"the {self._words(2)} report"
        facts = [
            f"{blocked} cannot go on with {work}.",
            f"{blocker} has had the {self._words(1)} since Monday and has not looked at it.",
            f"{work.capitalize()} is due before the month ends.",
            *(f"For the {name.replace('_', ' ')} it is {value}." for name, value in values.items()),
        ]
        items, evidence = self._items(facts)
        described = f"{blocked} cannot go on with {work}, because {blocker} has not answered."
        return SyntheticTask(
            key, {"world_model": self._world(), "data_points": items}, self._right(described, action, values, evidence)
        )

    def _items(self, facts: Sequence[str]) -> tuple[list[dict[str, Any]], list[str]]:
        """All items, and the ids of those among which the facts are dealt out."""
        rng, count = self._rng, self._size.items
        shown = int(rng.integers(EVIDENCE[0], EVIDENCE[1] + 1))
        kinds = rng.choice(list(KINDS), count, p=list(KINDS.values())).tolist()
        items = [
            self._item(kind, index, facts[index::shown] if index < shown else (), index < shown)
            for index, kind in enumerate(kinds)
        ]
        evidence = [item["id"] for item in items[:shown]]
        order = range(count) if self._leaks else rng.permutation(count).tolist()
        return [items[index] for index in order], evidence

    def _item(self, kind: str, location: int, facts: Sequence[str], shown: bool) -> dict[str, Any]:
        rng, telling = self._rng, self._leaks and shown
        text = self._pool.text(rng, self._size.words)
        for fact in facts:
            text.insert(int(rng.integers(len(text) + 1)), fact)
        age = 40 + location if telling else int(rng.integers(30))
        time = _DAY - timedelta(days=age, minutes=int(rng.integers(600)))
        prefix = {"email": "email", "event": "calendar", "document": "document"}[kind]
        if telling:
            prefix = "document" if kind != "document" else "email"
        made = {
            "id": f"{prefix}_{int(rng.integers(1 << 32)):08x}",
            "type": kind,
            "payload": self._payload(kind, " ".join(text), time),
        }
        return {**made, "metadata": {}, "created_at": time.isoformat(), "updated_at": time.isoformat(), "tags": []}

    def _payload(self, kind: str, text: str, time: datetime) -> dict[str, Any]:
        title, (one, other) = self._words(4).capitalize(), self._rng.choice(self._names, 2, replace=False).tolist()
        if kind == "email":
            sent = {"subject": title, "sender": one, "to": [other], "cc": []}
            return {**sent, "timestamp": time.isoformat(), "body": text}
        if kind == "document":
            return {"title": title, "mime": "text/markdown", "content": text}
        return {
            "title": title,
            "start_time": time.isoformat(),
            "end_time": (time + timedelta(hours=1)).isoformat(),
            "location": f"Room {int(self._rng.integers(1, 40))}",
            "attendees": [one, other],
            "description": text,
        }

    def _all_actions(self, rng: np.random.Generator) -> list[dict[str, Any]]:
        return [
            {
                "id": f"{rng.choice(_VERBS)}_{number:02d}",
                "type": str(rng.choice(_VERBS)),
                "description": " ".join(rng.choice(self._pool.words, 10).tolist()).capitalize() + ".",
                "constraints": [],
                "params_schema": {"required": rng.choice(_NAMES, 3, replace=False).tolist()},
            }
            for number in range(self._size.actions)
        ]

    def _value(self, name: str) -> str:
        if name.endswith("date"):
            return (_DAY + timedelta(days=int(self._rng.integers(1, 30)))).date().isoformat()
        if name in {"recipient", "approver", "attendee"}:
            return str(self._rng.choice(self._names))
        return self._words(2)

    def _world(self) -> dict[str, Any]:
        first, manager, *others = self._names
        kinds = ("colleague", "client", "vendor", "mentor", "stakeholder")
        known = {"department": None, "relationship_context": "They work together."}
        return {
            "persona_id": f"synthetic-{self._person:03d}",
            "persona_full_name": first,
            "persona_occupation": f"{self._pool.words[self._person % len(self._pool.words)].capitalize()} planner",
            "persona_about": f"{first} plans the work of {self._company}.",
            "relationships": [{"name": name, "type": kinds[index % 5], **known} for index, name in enumerate(others)],
            "personal_context": {
                "work_style": "One thing after the other.",
                "communication_preferences": ["Short messages"],
                "current_priorities": [f"The {self._pool.words[self._person % len(self._pool.words)]} plan"],
                "pain_points": ["Many tools"],
            },
            "organizational_structure": {
                "company_name": self._company,
                "department": "Planning",
                "team_size": 12,
                "reporting_to": manager,
                "key_meetings": ["Monday round"],
            },
            "available_actions": self._actions,
            "context_difficulty": "hard",
        }

    def _right(
        self, described: str, action: dict[str, Any], values: dict[str, str], evidence: list[str]
    ) -> dict[str, Any]:
        criteria = (
            ("retrieval", {"expected_sources": [], "required_items": evidence}),
            ("identification", {"target_problem": described, "problem_description": described}),
            ("task_execution", {"correct_action": action["id"], "correct_parameters": values}),
        )
        steps = [
            {"checklist_idx": number, "step_type": kind, "description": kind, "success_criteria": item}
            for number, (kind, item) in enumerate(criteria)
        ]
        return {
            "world_model": self._world(),
            "bottleneck": {"description": described, "searchable_artifacts": []},
            "checklist": {"checklist_id": "synthetic", "description": "", "required_steps": steps},
            "true_positive_ids": evidence,
            "distractor_ids": [],
            "metadata": {"model": "synthetic", "difficulty": "hard"},
        }

    def _words(self, count: int) -> str:
        return " ".join(self._rng.choice(self._pool.words, count).tolist())
