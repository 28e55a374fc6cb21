"""What an agent answers to a task of PROBE."""

from collections.abc import Mapping
from typing import Any, Protocol

from pydantic import Field

from dspy_proact.benchmarks.probe.view import TaskView
from dspy_proact.programs import Direct
from dspy_proact.types import Frozen

PARTS = ("evidence", "bottleneck", "action", "parameters")
"""What an answer is made of: all of them are faults of one of which nothing could be read."""


class Solution(Frozen):
    """An answer; a part that is missing or has another form stands empty, and is named among the faults."""

    evidence: tuple[str, ...] = ()
    """Ids of the items that it names as evidence, each once, in its order, those included that do not exist."""
    bottleneck: str = ""
    action: str = ""
    """Id of the action that it takes."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    touched: tuple[str, ...] = ()
    """Ids of all items that its tools returned to it, named as evidence or not; every id for an agent that was shown
    everything."""
    turns: int = 1
    """Calls that it took, without repairs."""
    faults: tuple[str, ...] = ()
    """What is missing, malformed or impossible: `evidence`, `bottleneck`, `action` (also one that there is not),
    `parameters` (also where one that the action requires is missing), `steps` (a step, a plan or a score of its own
    could not be read), `turns` (its turns or calls ran out). A malformed answer is kept and scores what its readable
    parts earn."""
    truncated: bool = False
    """Whether any of its answers was cut at the token limit."""


class Agent(Protocol):
    """A program that works a task."""

    @property
    def name(self) -> str:
        """By which a person chooses it."""
        ...

    def fingerprint(self) -> str:
        """Hash of what it says to its model."""
        ...

    async def solve(self, task: TaskView, asking: Direct | None = None) -> Solution:
        """The answer to a task.

        Args:
            task: All that it may see.
            asking: How a run asks; None for DSPy's own way, as in a compile.

        Raises:
            StageError: There is none: the provider failed, or nothing at all could be read. Answers that are readable
                in part are solutions with faults.
        """
        ...

    def expected(self, task: TaskView) -> list[Mapping[str, Any]]:
        """The messages of its first call, for a forecast."""
        ...
