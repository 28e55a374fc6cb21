from dataclasses import dataclass
from typing import Generic, TypeVar

Number = TypeVar("Number", int, float)


@dataclass(frozen=True)
class Figure(Generic[Number]):
    """A number without an interval, or the reason why there is none.

    Raises:
        ValueError: Both are there, or neither.
    """

    value: Number | None
    """None where nothing could be estimated."""
    reason: str | None = None
    """Why the value is missing; None where it is there."""

    def __post_init__(self):
        if (self.value is None) != bool(self.reason):
            raise ValueError(f"a figure has either a value or a reason: {self!r}")
