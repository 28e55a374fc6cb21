"""How people review tasks of PROBE: what they read and may change, and the files that follow from their reviews.

A task is one item: its two official files. What is held up, the evidence and the right parameters can be edited. The
action that resolves it cannot: another action has other parameters, so whoever finds the wrong one rejects the task.
An edit is carried to wherever the same text stands: the description in the steps of the checklist, and the same item
in the other tasks of the person.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from dspy_proact.benchmarks.probe.corpus import pairs_at
from dspy_proact.benchmarks.probe.official import EXECUTION, read_task
from dspy_proact.benchmarks.probe.stated import stands
from dspy_proact.benchmarks.probe.task import Document, Email, Event, Item, ProbeView, Support
from dspy_proact.errors import CorpusError
from dspy_proact.evaluation.reporting import PageSection, terms_of
from dspy_proact.evaluation.reviewing import KeptQuote, Review, ReviewField, ReviewItem, settle, value_text
from dspy_proact.files.rows import JsonFile, lines_in, lines_of, read_bytes, text_of

AUDITS, DISTRACTORS = "audits.jsonl", "distractors.jsonl"
"""Of a made corpus, a line a task and a line an item."""
RawFile = dict[str, Any]
TEXTS: Mapping[str, tuple[str, str]] = {
    "email": ("subject", "body"),
    "event": ("title", "description"),
    "document": ("title", "content"),
}
"""Fields of a payload that can be edited, by the kind of the item: its title and its text."""
_FACETS = {
    "who_blocked": "Who is blocked",
    "who_blocker": "Who or what blocks",
    "what_task": "What task",
    "why_root_cause": "Why",
    "when_deadline": "By when",
    "where_system": "Where",
    "how_mechanism": "How",
    "impact_scope": "With what impact",
}
_WORLD = (
    "today",
    "occupation",
    "about",
    "work_style",
    "communication_preferences",
    "current_priorities",
    "pain_points",
)


def reviewing() -> "TaskReviewing":
    """What the declaration names."""
    return TaskReviewing()


class TaskReviewing:
    """Reviews of tasks, of a folder of the official files."""

    def items(self, corpus: Path) -> tuple[ReviewItem, ...]:
        """A task each, in the order of their keys."""
        return tuple(_TaskFiles(key, sides).item() for key, sides in _sides_at(corpus).items())

    def apply(self, corpus: Path, reviews: Sequence[Review]) -> Mapping[str, str]:
        """Both files of every task that stays, and what is said of tasks and people in a made corpus."""
        tasks = {key: _TaskFiles(key, sides) for key, sides in _sides_at(corpus).items()}
        items = tuple(task.item() for task in tasks.values())
        settled = settle(items, reviews, str(corpus))
        settled.require_resolved(len(items))
        texts = dict[str, str]()
        shared = dict[tuple[str, str], tuple[RawFile, Mapping[str, str]]]()
        for key, edits in settled.edited.items():
            for id_, changes in _of_items(edits).items():
                now = tasks[key].payload(id_), changes
                if shared.setdefault((tasks[key].person, id_), now) != now:
                    raise CorpusError(f"the item {id_!r} is edited in another way in another task", source=key)
        kept = {key: task for key, task in tasks.items() if key not in settled.rejected}
        for key, task in kept.items():
            texts |= task.files(settled.edited.get(key, {}), shared)
        # What was planned and tested of a task is of its text; what is no evidence is of a person.
        of_file = {AUDITS: ("task", {*settled.rejected, *settled.edited}), DISTRACTORS: ("person", set[str]())}
        of_file[DISTRACTORS][1].update(
            {task.person for task in tasks.values()} - {task.person for task in kept.values()}
        )
        for name, (field, left_out) in of_file.items():
            if (path := corpus / name).is_file():
                lines = lines_in(lines_of(read_bytes(str(path), "a corpus"), str(path)), str(path))
                texts[name] = "".join(line.text for line in lines if line.parse().get(field) not in left_out)
        return texts


Sides = Mapping[str, tuple[str, str]]
"""By side, `input` and `output`: the name of a file in the corpus, and its text."""
Shared = Mapping[tuple[str, str], tuple[RawFile, Mapping[str, str]]]
"""By person and item: the payload as it was, and its changed fields."""


def _sides_at(corpus: Path) -> dict[str, Sides]:
    """The two files of each task; raises a `CorpusError` where one is missing or cannot be read."""
    sides = dict[str, Sides]()
    for key, files in pairs_at(str(corpus)).items():
        if missing := {"input", "output"} - files.keys():
            raise CorpusError(f"there is no {missing.pop()} file for it", source=next(iter(files.values()))[0])
        of_task = dict[str, tuple[str, str]]()
        for side, (source, read) in files.items():
            path = Path(source)
            inside = path.is_file() and path.is_relative_to(corpus)  # and in no zip
            name = path.relative_to(corpus).as_posix() if inside else f"{key}_{side}.json"
            of_task[side] = name, text_of(read(), source)
        sides[key] = of_task
    return sides


def _of_items(edits: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The changed fields of payloads, by the id of the item."""
    changes = dict[str, dict[str, str]]()
    for name, text in edits.items():
        kind, _, rest = name.partition(".")
        if kind == "evidence":
            id_, _, field = rest.rpartition(".")
            changes.setdefault(id_, {})[field] = text
    return changes


class _TaskFiles:
    """The two files of a task."""

    def __init__(self, key: str, sides: Sides):
        self.key, self._sides = key, sides
        source, output = (JsonFile.of(*sides[side]) for side in ("input", "output"))
        self._case = read_task(key, source, output, Counter())
        self._view = self._case.view_as(ProbeView)
        self.person = self._case.group
        self._input, self._output = cast("RawFile", source.parse()), cast("RawFile", output.parse())

    def payload(self, id_: str) -> RawFile:
        """That of an item."""
        return next(raw["payload"] for raw in self._input["data_points"] if raw["id"] == id_)

    def item(self) -> ReviewItem:
        """The task as it is reviewed."""
        view, gold = self._view, self._view.gold
        action = next(one for one in view.actions if one.id == gold.action)
        others = [item for item in view.items if item.id not in gold.evidence]
        sections = [
            PageSection(
                "the person",
                "terms",
                (("name", view.world.person), *terms_of(view.world.model_dump(mode="json", include={*_WORLD}))),
            ),
            PageSection(
                "whom the person works with",
                "terms",
                tuple(
                    (one.name, ", ".join(filter(None, (one.type.replace("_", " "), one.relationship_context))))
                    for one in view.world.relationships
                ),
            ),
            PageSection(
                "actions, of which one resolves it",
                "terms",
                tuple(
                    (one.id.replace("_", " "), f"{one.description}\nneeds: {', '.join(one.required)}")
                    for one in view.actions
                ),
            ),
            PageSection(
                "other items, which are no evidence",
                "terms",
                tuple((_heading(item), "\n".join(_texts(item))) for item in others),
            ),
        ]
        return ReviewItem(
            self.key,
            f"{view.world.person}: {action.description or action.id}",
            tuple(section for section in sections if section.items),
            tuple(self._fields()),
            group=self.person,
        )

    def _fields(self) -> Iterator[ReviewField]:
        gold = self._view.gold
        yield ReviewField("bottleneck.description", "Description", gold.description, "What is held up")
        if gold.facets:
            for name, label in _FACETS.items():
                if text := getattr(gold.facets, name):
                    yield ReviewField(f"bottleneck.{name}", label, text, "What is held up")
        for item in self._view.items:
            if item.id not in gold.evidence:
                continue
            keeps = tuple(
                KeptQuote(support.quote, f"the right value of {name}")
                for name, support in gold.supported_by.items()
                if support.item == item.id and support.quote
            )
            heading, (title, text), texts = f"Evidence: {_heading(item)}", TEXTS[item.kind], _texts(item)
            of_title, of_text = f"evidence.{item.id}.{title}", f"evidence.{item.id}.{text}"
            yield ReviewField(of_title, title.capitalize(), texts[0], heading, "line", keeps=keeps)
            yield ReviewField(of_text, "Text", texts[1], heading, required=bool(texts[1].strip()), keeps=keeps)
        kinds = {item.id: TEXTS[item.kind] for item in self._view.items if item.id in gold.evidence}
        for name, value in gold.parameters.items():
            support = gold.supported_by.get(name, Support(item=""))
            fields = tuple(f"evidence.{support.item}.{field}" for field in kinds.get(support.item, ()))
            kind, text = ("line", value) if _is_line(value) else ("value", value_text(value))
            yield ReviewField(
                f"parameters.{name}",
                name.replace("_", " "),
                text,
                f"Action: {gold.action.replace('_', ' ')}, with the parameters",
                kind,
                stated_in=() if support.quote else fields,
                passage=support.quote,
                states=stands,
            )

    def files(self, edits: Mapping[str, str], shared: Shared) -> dict[str, str]:
        """The texts of both files by name, with the edits of this task and of items that its person's tasks share."""
        source, output = (cast("RawFile", json.loads(json.dumps(raw))) for raw in (self._input, self._output))
        for raw in source["data_points"]:
            before, changes = shared.get((self.person, raw["id"]), ({}, {}))
            if raw["payload"] == before:
                raw["payload"].update(changes)
        bottleneck = output["bottleneck"]
        before = bottleneck["description"]
        for name, text in edits.items():
            kind, _, rest = name.partition(".")
            if name == "bottleneck.description":
                bottleneck["description"] = text
                for step in output["checklist"]["required_steps"]:
                    criteria = step.get("success_criteria") or {}
                    criteria.update({field: text for field, old in criteria.items() if old == before})
            elif kind == "bottleneck":
                bottleneck["facets"][rest] = text
            elif kind == "parameters":
                parameters = _criteria(output)["correct_parameters"]
                parameters[rest] = text if _is_line(parameters[rest]) else json.loads(text)
        if edits:
            output["edited"] = [*(output.get("edited") or []), *edits]
        texts = dict[str, str]()
        for side, now, then in (("input", source, self._input), ("output", output, self._output)):
            name, text = self._sides[side]
            texts[name] = text if now == then else _written(now, text)
        return texts


def _criteria(output: RawFile) -> RawFile:
    """Those of the step that names the action."""
    steps = output["checklist"]["required_steps"]
    return next(step["success_criteria"] for step in steps if step["step_type"] == EXECUTION)


def _is_line(value: object) -> bool:
    """Whether a parameter is edited as it stands, and not as JSON."""
    return isinstance(value, str) and "\n" not in value


def _heading(item: Item) -> str:
    """What an item is, from whom and when."""
    match item:
        case Email():
            parts = ("e-mail", f"from {item.sender}", f"to {', '.join(item.to)}" if item.to else "", item.timestamp)
        case Event():
            with_ = f"with {', '.join(item.attendees)}" if item.attendees else ""
            parts = ("event", f"{item.start_time} to {item.end_time}", item.location, with_)
        case Document():
            parts = ("document",)
    return ", ".join(filter(None, parts))


def _texts(item: Item) -> tuple[str, str]:
    """Title and text."""
    title, text = (getattr(item, field) for field in TEXTS[item.kind])
    return title, text


def _written(value: RawFile, like: str) -> str:
    """A file's JSON, indented as it was."""
    lines = like.splitlines()
    indent = len(lines[1]) - len(lines[1].lstrip()) if len(lines) > 1 else None
    return json.dumps(value, ensure_ascii=False, indent=indent) + ("\n" if like.endswith("\n") else "")
