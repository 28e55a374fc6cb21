"""The files of a made corpus: tasks in the official layout, and what only its makers read, beside them.

An input holds what a solver may know and nothing else: of an item its kind, content and times, drawn alike for
all. Plans, reasons, reviews and proofs stand in files of their own.
"""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from dspy_proact.audit.check import AuditCheck, Finding
from dspy_proact.benchmarks.probe.corpus_report.task_datasheet import datasheet
from dspy_proact.benchmarks.probe.corpus_report.task_page import corpus_page
from dspy_proact.benchmarks.probe.corpus_report.task_summary import TaskSummary
from dspy_proact.benchmarks.probe.gates import gates_of
from dspy_proact.benchmarks.probe.generation.brief import ProbeBrief, brief_text
from dspy_proact.benchmarks.probe.generation.corpus import TaskCorpus, proof_of
from dspy_proact.benchmarks.probe.generation.made import MadeItem, MadePerson, MadeTask
from dspy_proact.benchmarks.probe.official import read_task
from dspy_proact.errors import CorpusError
from dspy_proact.files.rows import JsonFile
from dspy_proact.generation.maker import Kept, Made, Proof
from dspy_proact.publish.markdown import canary_of
from dspy_proact.report.numbers import counted
from dspy_proact.runs import Case

TASKS, DISTRACTORS, AUDITS = "tasks", "distractors.jsonl", "audits.jsonl"
INPUT, OUTPUT = "input", "output"
_LONGEST_NAME = 60
"""Characters of a person's name in that of a file, which may have 255."""
BRIEF, DATASHEET, PAGE = "brief.toml", "datasheet.md", "corpus.html"


def corpus_of(
    brief: ProbeBrief, made: Made, level: Proof, prompts: Mapping[str, str], key: Callable[[MadePerson], str]
) -> TaskCorpus:
    """What all files are written from.

    Args:
        brief: What the corpus was made from.
        made: What came of it.
        level: How far it was proved.
        prompts: sha256 of what a stage says to its model, by stage.
        key: Names a person.
    """
    tester = ", ".join(identity.name for identity in made.models.get("tester", ()))
    corpus = TaskCorpus(
        brief=brief,
        made=made,
        level=level,
        prompts=prompts,
        proof=None if level == "none" else proof_of([kept.item for kept in made.kept], tester),
        keys={
            (kept.slot, task.number): f"bottleneck_{kept.slot:03d}_{task.number:02d}_{_slug(kept.item.world.full_name)}"
            for kept in made.kept
            for task in kept.item.tasks
            if task.published
        },
        people={kept.slot: key(kept.item) for kept in made.kept},
    )
    return replace(corpus, gates=_gates(corpus))


def _gates(corpus: TaskCorpus) -> list[AuditCheck]:
    """What checks without a model show of the files as they are read, and which of them cannot be."""
    texts, cases, faults = {(key, side): text for key, side, text in _tasks(corpus)}, list[Case](), list[Finding]()
    for key in corpus.keys.values():
        try:
            source, right = (JsonFile.of(f"{key}_{side}.json", texts[key, side]) for side in (INPUT, OUTPUT))
            cases.append(read_task(key, source, right, Counter()))
        except CorpusError as error:
            faults.append(Finding(key=key, problem=f"{error}."))
    sentence = f"{len(cases)} of {counted(len(corpus.keys), 'task')} can be read from files."
    readable = AuditCheck.judged("readable files", sentence, len(corpus.keys), faults)
    return [readable, *gates_of(cases)] if corpus.keys else []


def files_of(corpus: TaskCorpus) -> dict[str, str]:
    """Names and contents of the tasks, of the private side, of the brief, of the datasheet and of the page."""
    texts = {f"{TASKS}/{key}_{side}.json": text for key, side, text in _tasks(corpus)}
    others, audits = list[Any](), list[Any]()
    for kept in corpus.made.kept:
        person, id_ = kept.item, corpus.people[kept.slot]
        for task in person.tasks:
            key = corpus.keys.get((kept.slot, task.number))
            audits.append({"task": key, "person": id_, **_audits(person, task)})
        audits += [{"task": None, "person": id_, **lost.model_dump()} for lost in person.lost]
        for item in person.distractors:
            order = item.order.model_dump(include={"strategy", "near"})
            others.append({"item": item.id, "person": id_, **order, "why_not": item.why_not})
    summary = TaskSummary(corpus)
    page = corpus_page(summary, canary_of(corpus.made.identity))
    texts |= {DISTRACTORS: _lines(others), AUDITS: _lines(audits)}
    return {**texts, BRIEF: brief_text(corpus.brief), DATASHEET: datasheet(summary), PAGE: page}


def _tasks(corpus: TaskCorpus) -> Iterator[tuple[str, str, str]]:
    """Key, side and content of the files of each task of the corpus."""
    for kept in corpus.made.kept:
        for task in kept.item.tasks:
            if key := corpus.keys.get((kept.slot, task.number)):
                id_ = corpus.people[kept.slot]
                yield key, INPUT, _document(input_of(kept.item, task, id_))
                yield key, OUTPUT, _document(output_of(kept, task, id_, key))


def input_of(person: MadePerson, task: MadeTask, id_: str) -> dict[str, Any]:
    """What a task gives, of a person with this id."""
    return {
        "world_model": _world(person, id_, gold=False),
        "data_points": [_point(one) for one in person.items_of(task)],
    }


def output_of(kept: Kept, task: MadeTask, id_: str, key: str) -> dict[str, Any]:
    """What is right in the task of this key."""
    person: MadePerson = kept.item
    evidence, models = [item.id for item in task.evidence], {one.role: one.model for one in kept.authors}
    description, described = task.bottleneck.description, {"evidence_required": list[str]()}
    criteria = {
        "correct_action": task.action,
        "correct_parameters": {filled.name: filled.value for filled in task.parameters},
        "supported_by": {
            filled.name: {"item": evidence[filled.item - 1], "quote": filled.quote} for filled in task.parameters
        },
    }
    steps = [
        ("retrieval", {"expected_sources": [item.kind for item in task.evidence], "required_items": evidence}),
        ("identification", {"target_problem": description, "problem_description": description}),
        ("task_execution", criteria),
    ]
    wants = (
        "Find the items that show the bottleneck.",
        "Say what the bottleneck is.",
        "Take the action that resolves it.",
    )
    return {
        "world_model": _world(person, id_, gold=True),
        "bottleneck": {
            "description": description,
            "searchable_artifacts": [],
            "facets": task.bottleneck.facets.model_dump(),
        },
        "checklist": {
            "checklist_id": key,
            "description": "Search, identify, resolve.",
            "required_steps": [
                {
                    "checklist_idx": index,
                    "step_type": name,
                    "description": want,
                    "success_criteria": wanted,
                    **(described if index else {"evidence_required": evidence}),
                    "previous_action_idx": index - 1 if index else None,
                }
                for index, ((name, wanted), want) in enumerate(zip(steps, wants, strict=True))
            ],
        },
        "true_positive_ids": evidence,
        "distractor_ids": [item.id for item in person.distractors],
        "metadata": {
            "model": models.get("writer", ""),
            "models": models,
            "difficulty": person.difficulty,
            "persona_index": kept.slot,
            "bottleneck_index": task.number,
        },
    }


def _world(person: MadePerson, id_: str, *, gold: bool) -> dict[str, Any]:
    """The world of a person; what actions resolve is `gold`."""
    draft, actions = person.world, list[Any]()
    context = ("work_style", "communication_preferences", "current_priorities", "pain_points")
    organisation = ("company_name", "department", "team_size", "reporting_to", "key_meetings")
    for action in person.actions:
        types = {one.name: one.model_dump(include={"kind", "description"}) for one in action.parameters}
        shown = action.model_dump(include={"id", "type", "description", "constraints"})
        shown |= {"params_schema": {"required": [*types], "types": types}}
        number = int(action.resolves.removeprefix("b")) if action.resolves else None
        actions.append({**shown, "solves_bottleneck": number} if gold else shown)
    return {
        "persona_id": id_,
        "persona_full_name": draft.full_name,
        "persona_occupation": draft.occupation,
        "persona_about": draft.about,
        "relationships": [one.model_dump() for one in draft.relationships],
        "personal_context": draft.model_dump(include=set(context)),
        "organizational_structure": draft.model_dump(include=set(organisation)),
        "available_actions": actions,
        "context_difficulty": person.difficulty,
        "today": person.day,
    }


def _point(made: MadeItem) -> dict[str, Any]:
    """An item as official files have it; what is no content has one form for all."""
    payload = made.shown.model_dump(mode="json", exclude={"id", "kind", "stamps"})
    stamps = {"metadata": {}, "created_at": made.time, "updated_at": made.time, "tags": []}
    return {"id": made.id, "type": made.kind, "payload": payload, **stamps}


def _audits(person: MadePerson, task: MadeTask) -> dict[str, Any]:
    """What was planned and checked of a task."""
    parts = task.model_dump(
        mode="json", include={"number", "bottleneck", "audit", "plan", "review", "proof", "earlier"}
    )
    stated = {item.id: [one.model_dump() for one in item.stated] for item in task.evidence}
    return {"persona": person.persona, **parts, "stated": stated}


def _slug(name: str) -> str:
    """A name as file names have it."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return "_".join(re.findall(r"[a-z0-9]+", plain))[:_LONGEST_NAME].strip("_") or "person"


def _document(value: Mapping[str, Any]) -> str:
    return f"{json.dumps(value, ensure_ascii=False, indent=1)}\n"


def _lines(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
