"""PROBE's files: a person's world, what lies scattered in it, and the one thing that should be done about it."""

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
    "World",
]
