"""PROBE's files: a person's world, what lies scattered in it, and the one thing that should be done about it."""

from dspy_proact.benchmarks.probe.corpus.corpus import FOREIGN, TaskCorpus, TaskEntry
from dspy_proact.benchmarks.probe.corpus.sample import (
    Distractor,
    EvidenceNote,
    GradedDescription,
    GradedParameters,
    sample_distractors,
    sample_evidence,
    sample_folder,
    sample_graded_descriptions,
    sample_graded_parameters,
)
from dspy_proact.benchmarks.probe.corpus.sanitize import sanitized
from dspy_proact.benchmarks.probe.corpus.spec import PROBE, load_tasks
from dspy_proact.benchmarks.probe.corpus.task import (
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
    "FOREIGN",
    "PROBE",
    "Action",
    "Distractor",
    "Document",
    "Email",
    "Event",
    "EvidenceNote",
    "Facets",
    "Gold",
    "GradedDescription",
    "GradedParameters",
    "Item",
    "Organisation",
    "Relationship",
    "Task",
    "TaskCorpus",
    "TaskEntry",
    "World",
    "load_tasks",
    "sample_distractors",
    "sample_evidence",
    "sample_folder",
    "sample_graded_descriptions",
    "sample_graded_parameters",
    "sanitized",
]
