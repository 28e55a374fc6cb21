"""One line of a run's record: a stage of a case that ended, with a result or with the reason why there is none."""

import json
from typing import Any, Literal

from pydantic import Field, FiniteFloat

from dspy_proact.calls import Call
from dspy_proact.types import Frozen

Stage = Literal["response", "verdict"]


class Failure(Frozen):
    """Why a stage has no result."""

    kind: Literal["content", "provider"]
    reason: str
    detail: str = ""


class GradeRecord(Frozen):
    """The result of a verdict."""

    score: float = Field(ge=0, le=1)
    """Higher is better."""
    label: str
    verified: bool | None
    parts: dict[str, FiniteFloat] = Field(default_factory=dict[str, FiniteFloat])
    """Named numbers beside the score, of which a benchmark's measures are made."""
    detail: dict[str, Any]
    """The benchmark's own model, as JSON."""


class StageKey(Frozen):
    """What a result answers to."""

    case: str
    epoch: int
    """Counted from 1."""
    stage: Stage
    judge: str | None = None
    """Who gave a verdict; None for the benchmark itself, and for a response."""
    judge_epoch: int = 1
    """Which of this judge's verdicts on the response, counted from 1."""


class Event(Frozen):
    """A stage that ended: one of `answer`, `grade` and `failure` is given.

    None of them is where the run was halted in the middle of a stage: its calls were made and are counted, and the
    stage is still to be done.
    """

    key: StageKey
    answer: dict[str, Any] | None = None
    """The result of a response: the benchmark's own model, as JSON."""
    grade: GradeRecord | None = None
    failure: Failure | None = None
    calls: tuple[Call, ...]
    """Every call of the stage, failed attempts included."""
    time: float
    """Seconds since the epoch at its end."""

    @property
    def text(self) -> str | None:
        """The answer as a text: its own, or all of it as JSON; None where there is none, or nothing in it."""
        if not self.answer:
            return None
        return self.answer["text"] if self.in_words else json.dumps(self.answer, sort_keys=True)

    @property
    def in_words(self) -> bool:
        """Whether there is an answer that is a text of its own, to be read as it is."""
        return bool(self.answer) and "text" in self.answer
