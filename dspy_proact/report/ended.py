"""What counts of a run's events, read one by one: the events of a large run would take several times its room."""

import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dspy_proact.calls import CallTally, Price, Usage
from dspy_proact.runs import Event


@dataclass(frozen=True, slots=True)
class GivenResponse:
    """A response stage that ended."""

    text: str | None
    """None where there is none."""
    truncated: bool
    """Whether it was cut at the token limit."""
    failure: str | None
    """Why there is none, in a word."""


@dataclass(frozen=True, slots=True)
class GivenVerdict:
    """One verdict on a response."""

    judge: str | None
    """Its name; None where the benchmark grades by itself."""
    judge_epoch: int
    """Which of this judge's verdicts on the response, counted from 1."""
    label: str
    score: float
    """In [0, 1], higher is better."""
    verified: bool | None
    """Whether a quote stands in the response; None where there is nothing to check."""
    detail: Mapping[str, Any]
    """The benchmark's own model of the grading, as JSON."""
    parts: Mapping[str, float] = field(default_factory=dict[str, float])
    """Named numbers beside the score, of which measures are made."""


class Ended:
    """The last event of each stage, without its calls; these are counted.

    Args:
        events: In the order of ending; read once.

    Attributes:
        responses: By case and epoch; None where the run was halted in the middle.
        verdicts: By case, epoch, judge and its epoch; of one that failed the reason.
        tried_again: Stages that had failed and were asked for once more.
    """

    def __init__(self, events: Iterable[Event]):
        self.responses: dict[tuple[str, int], GivenResponse | None] = {}
        self.verdicts: dict[tuple[str, int, str | None, int], GivenVerdict | str | None] = {}
        self.tried_again = 0
        self._span: tuple[float, float] | None = None
        self._tallies = defaultdict[tuple[str, str | None], CallTally](CallTally)
        for event in events:
            self._note(event)

    @property
    def cases(self) -> set[str]:
        """Keys of the cases that there are events of."""
        return {key[0] for key in (*self.responses, *self.verdicts)}

    @property
    def seconds(self) -> float | None:
        """From the first call to the last event; None without events."""
        return round(self._span[1] - self._span[0], 1) if self._span else None

    @property
    def roles(self) -> list[str]:
        """All that were called, in the order of their names."""
        return sorted({role for role, _ in self._tallies})

    def usage(self, role: str, price: Price, judge: str | None = None) -> Usage:
        """What a role used; of judges, the one of this name."""
        return self._tallies[role, judge].usage(price)

    def _note(self, event: Event) -> None:
        key, failure = event.key, event.failure and event.failure.reason
        case, judge = sys.intern(key.case), key.judge and sys.intern(key.judge)
        began = min([event.time, *(call.started for call in event.calls)])
        first, last = self._span or (began, event.time)
        self._span = min(first, began), max(last, event.time)
        for call in event.calls:
            self._tallies[call.role, judge if call.role == "judge" else None].add(call)
        if key.stage == "response":
            before = self.responses.get((case, key.epoch))
            self.tried_again += before is not None and before.failure is not None
            self.responses[case, key.epoch] = _response(event, failure)
        else:
            place = (case, key.epoch, judge, key.judge_epoch)
            self.tried_again += isinstance(self.verdicts.get(place), str)
            self.verdicts[place] = _verdict(event) if event.grade else failure


def _response(event: Event, failure: str | None) -> GivenResponse | None:
    if event.answer is None:
        return GivenResponse(None, False, failure) if failure else None
    return GivenResponse(event.text, bool(event.answer.get("truncated")), failure)


def _verdict(event: Event) -> GivenVerdict:
    key, grade = event.key, event.grade
    assert grade is not None, "a verdict with its result"
    label = sys.intern(grade.label)
    return GivenVerdict(key.judge, key.judge_epoch, label, grade.score, grade.verified, grade.detail, grade.parts)
