"""PROBE's files: a person's world, what lies scattered in it, and the one thing that should be done about it."""

from dspy_proact.corpus.probe.corpus import TaskCorpus, TaskEntry
from dspy_proact.corpus.probe.sanitize import sanitized
from dspy_proact.corpus.probe.spec import PROBE, load_tasks, sample_folder
from dspy_proact.corpus.probe.task import (
    Action,
    Document,
    Email,
    Event,
    Facets,
    Gold,
    Item,
    Organisation,
    Relationship,
    Task,
    World,
)

__all__ = [
    "PROBE",
    "Action",
    "Document",
    "Email",
    "Event",
    "Facets",
    "Gold",
    "Item",
    "Organisation",
    "Relationship",
    "Task",
    "TaskCorpus",
    "TaskEntry",
    "World",
    "load_tasks",
    "sample_folder",
    "sanitized",
]
