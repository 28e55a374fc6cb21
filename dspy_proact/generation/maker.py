"""What a benchmark declares that can make corpora, and the values that pass between it and the engine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

from dspy_proact.generation.attempt import Attempt, Authorship
from dspy_proact.models import Role
from dspy_proact.types import Frozen

Begun = TypeVar("Begun", bound=Frozen)
Item = TypeVar("Item", bound=Frozen)


@dataclass(frozen=True)
class Kept:
    """The item of a slot, and who wrote it."""

    slot: int
    attempt: int
    item: Any
    authors: Sequence[Authorship]


@dataclass(frozen=True)
class Dropped:
    """An attempt that failed, and why."""

    slot: int
    attempt: int
    stage: str
    reasons: Sequence[str]
    authors: Sequence[Authorship]


@dataclass(frozen=True)
class Made:
    """What came of all slots, in their order."""

    kept: Sequence[Kept]
    dropped: Sequence[Dropped]
    """All attempts that failed, those of slots that were filled later among them."""
    wanted: int


@dataclass(frozen=True)
class StageForecast:
    """The calls of one stage of an item, without repairs: as expected, from lengths that are assumed."""

    stage: str
    role: str
    calls: float
    prompt: int
    """Tokens of one."""
    completion: int


class Maker(Protocol):
    """How a benchmark makes an item; bound to a brief and its settings."""

    roles: Mapping[str, Role]
    """By the name that a person gives; `judge` among them where answers are graded."""
    usual: Mapping[str, str]
    """Of roles that are played by another role's model where a person names none: that role."""

    async def begin(self, attempt: Attempt) -> BaseModel:
        """The first stage, such as a scenario, by which items are compared; raises `RuleError` as `finish` does."""
        ...

    def text(self, begun: Any) -> str:
        """What is compared of it."""
        ...

    async def finish(self, attempt: Attempt, begun: Any) -> Any:
        """The item; raises `RuleError` where the attempt fails."""
        ...

    def forecast(self) -> Sequence[StageForecast]:
        """The calls of one item."""
        ...

    def files(self, made: Made) -> Mapping[str, str]:
        """Names and contents of what is written, apart from `calls.jsonl` and what the engine writes."""
        ...
