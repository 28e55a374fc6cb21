"""What decides the answers of a model."""

from typing import Any

from dspy_proact.types import Frozen


class ModelIdentity(Frozen):
    """A model as it is written down: what two commands must have alike to get the same answers."""

    model: str
    endpoint: str | None
    """None for the provider's own."""
    decoding: dict[str, Any]
    """The parameters that are sent."""
