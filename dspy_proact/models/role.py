"""A role in which a model is called."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

StandIn = Callable[[str, Sequence[tuple[str, str]]], str]
"""What the embedded model answers: of the system text and the messages, each with who said it."""
Writes = Literal["response", "verdict"]
"""What a role writes: a response at any length that a person reads, or a verdict, which may need thought."""


@dataclass(frozen=True)
class Role:
    """A role: all that calling a model must know of what it is called for."""

    name: str
    """By which its calls are counted, such as `judge`; two roles may share it."""
    flag: str
    """By which a person names its model, such as `--judge`."""
    writes: Writes
    """Which decoding presets hold."""
    stand_in: StandIn
    """What the embedded model answers in it."""
