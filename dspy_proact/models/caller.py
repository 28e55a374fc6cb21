"""Who calls: what the gate and the reading of faults must know of a model."""

from dataclasses import dataclass, field
from typing import Any

from dspy_proact.calls import Price


@dataclass(frozen=True)
class Caller:
    """A model in a role."""

    role: str
    """By which its calls are counted."""
    flag: str
    """The command line's name of the role, for messages."""
    model: str
    endpoint: str | None = None
    """None for the provider's own."""
    key_variables: tuple[str, ...] = ()
    sent: tuple[str, ...] = ()
    """Names of the decoding parameters."""
    extensions: dict[str, Any] = field(default_factory=dict)
    """Parameters that go into the body of the request as they are."""
    completion_limit: int | None = None
    """The most tokens of an answer, as sent."""
    price: Price = field(default_factory=Price)
    secrets: tuple[str, ...] = ()
    """What must not be repeated, though a provider says it."""
    cache_apart: bool = False
    """Whether the provider counts cached prompt tokens beside the others (Anthropic) instead of among them."""
    reasoning_apart: bool = False
    """Whether it counts reasoning tokens beside the others (Gemini, xAI)."""
