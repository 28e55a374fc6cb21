"""The two files of a small task in the official layout, by hand, and ways to put them on disk."""

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

KEY = "bottleneck_000_01_ada_brook"
CANARY = "unheard-of"
"""Stands in every field that is dropped unread."""


def corpus_document(**changes: Any) -> dict[str, Any]:
    """The input: an email, an event and a document, and two actions; changes are on top."""
    return {"world_model": world(), "data_points": [email(), event(), document()], **changes}


def right(**changes: Any) -> dict[str, Any]:
    """The output: the email and the event are evidence; changes are on top."""
    return {
        "world_model": world(),
        "bottleneck": {"description": "The pump waits for a seal.", "searchable_artifacts": [CANARY]},
        "checklist": {"checklist_id": CANARY, "description": CANARY, "required_steps": steps()},
        "true_positive_ids": ["email_1", "calendar_1"],
        "distractor_ids": [CANARY],
        "metadata": {"model": "writer-1", "difficulty": CANARY},
        **changes,
    }


def steps(**criteria: Any) -> list[dict[str, Any]]:
    """`required_steps`, with criteria on top of those of the last."""
    hidden = {"description": CANARY, "evidence_required": [CANARY], "previous_action_idx": None}
    searched = {"expected_sources": [CANARY], "required_items": ["email_1", "calendar_1"]}
    fields = {"target_problem": CANARY, "problem_description": CANARY}
    done = {"correct_action": "order", "correct_parameters": {"part": "seal"}, **criteria}
    return [
        {"checklist_idx": 0, "step_type": "retrieval", "success_criteria": searched, **hidden},
        {"checklist_idx": 1, "step_type": "identification", "success_criteria": fields, **hidden},
        {"checklist_idx": 2, "step_type": "task_execution", "success_criteria": done, **hidden},
    ]


def world(**changes: Any) -> dict[str, Any]:
    """`world_model`."""
    return {
        "persona_id": "p-0",
        "persona_full_name": "Ada Brook",
        "persona_occupation": "miller",
        "persona_about": "Runs a mill.",
        "relationships": [{"name": "Bo", "type": "vendor", "department": None, "relationship_context": "Sells seals."}],
        "personal_context": {
            "work_style": "early",
            "communication_preferences": ["calls"],
            "current_priorities": ["flour"],
            "pain_points": ["dust"],
        },
        "organizational_structure": {
            "company_name": "Brook Mill",
            "department": "Mill",
            "team_size": 3,
            "reporting_to": "Cy",
            "key_meetings": ["dawn"],
        },
        "available_actions": [action("order", "part"), action("call", "whom")],
        "context_difficulty": "easy",
        **changes,
    }


def action(name: str, *required: str) -> dict[str, Any]:
    """One of `available_actions`, with the mark that tells what it solves."""
    schema = {"required": list(required)}
    return {"id": name, "type": "create_task", "description": None, "params_schema": schema, "solves_bottleneck": 1}


def email(name: str = "email_1", **payload: Any) -> dict[str, Any]:
    """An email among `data_points`."""
    sent = {"subject": "Seal", "sender": "Bo", "to": ["Ada"], "cc": [], "timestamp": "2025-03-01T08:00:00"}
    return item(name, "email", {**sent, "body": "The seal is here.", **payload})


def event(name: str = "calendar_1", **payload: Any) -> dict[str, Any]:
    """An event among them; the official ids of events begin with another word than their type."""
    when = {"start_time": "2025-03-02T08:00:00", "end_time": "2025-03-02T09:00:00"}
    fields = {"location": None, "attendees": ["Ada"], "description": "The pump stands."}
    return item(name, "event", {"title": "Pump", **when, **fields, **payload})


def document(name: str = "document_1", **payload: Any) -> dict[str, Any]:
    """A document among them."""
    return item(name, "document", {"title": "Flour", "mime": "text/csv", "content": "kind,kilos", **payload})


def item(name: str, kind: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    """One of `data_points`, with its stamps."""
    stamps = {"metadata": {}, "created_at": "2025-03-01", "updated_at": "2025-03-01", "tags": ["mill"]}
    return {"id": name, "type": kind, "payload": dict(payload), **stamps}


def files(inputs: Any = None, outputs: Any = None, key: str = KEY) -> dict[str, str]:
    """The contents of the two files by name."""
    return {
        f"{key}_input.json": json.dumps(corpus_document() if inputs is None else inputs),
        f"{key}_output.json": json.dumps(right() if outputs is None else outputs),
    }


def in_folder(folder: Path, contents: Mapping[str, str | bytes]) -> str:
    """Put files into a folder; its path."""
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(folder)


def in_zips(folder: Path, contents: Mapping[str, str | bytes]) -> str:
    """Put files into two zips in a folder, named as the official ones are; the folder's path."""
    for side in ("input", "output"):
        with zipfile.ZipFile(folder / f"sept_1000_{side}s_2025.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in contents.items():
                if name.endswith(f"_{side}.json"):
                    archive.writestr(f"{side}s/{name}", content)
    return str(folder)
