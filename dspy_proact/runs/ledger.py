"""What of a run has ended, and what is still to do."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dspy_proact.runs.benchmark import Case
from dspy_proact.runs.event import Event, Stage, StageKey
from dspy_proact.runs.folder import latest


@dataclass(frozen=True)
class Work:
    """A case in an epoch."""

    case: Case
    epoch: int


class Ledger:
    """The stages that have ended.

    A stage with a result is never open again. One that failed for the provider's sake is; one whose answer could not
    be used is only when that is asked for, since asking again until an answer suits is a bias.

    Args:
        events: Of the run so far.
        judge: Name under which verdicts are kept.
        retry_content: Whether stages that failed for their content are open too.
    """

    def __init__(self, events: Iterable[Event], judge: str, retry_content: bool = False):
        self.judge, self.retry_content = judge, retry_content
        self._ended = latest(events)
        self._tried: set[StageKey] = set()

    def add(self, event: Event) -> None:
        """Note a stage that ended just now; it is not open again in this process, however it ended."""
        self._ended[event.key] = event
        self._tried.add(event.key)

    def key(self, work: Work, stage: Stage) -> StageKey:
        """The key of a stage."""
        judge = self.judge if stage == "verdict" else None
        return StageKey(case=work.case.key, epoch=work.epoch, stage=stage, judge=judge)

    def result(self, work: Work, stage: Stage) -> Event | None:
        """The event of a stage that ended with a result."""
        ended = self._ended.get(self.key(work, stage))
        return ended if ended and (ended.answer is not None or ended.grade is not None) else None

    def is_open(self, work: Work, stage: Stage) -> bool:
        """Whether a stage is to be done now."""
        key = self.key(work, stage)
        if key in self._tried or (stage == "verdict" and self.result(work, "response") is None):
            return False
        if self.result(work, stage) is not None:
            return False
        ended = self._ended.get(key)
        content = ended is not None and ended.failure is not None and ended.failure.kind == "content"
        return self.retry_content or not content

    def open_work(self, cases: Sequence[Case], epochs: int) -> list[Work]:
        """Cases x epochs with a stage to do, in the order of the cases."""
        asked = [Work(case, epoch) for epoch in range(1, epochs + 1) for case in cases]
        return [work for work in asked if self.is_open(work, "response") or self.is_open(work, "verdict")]

    def unscored(self, cases: Sequence[Case], epochs: int) -> int:
        """How many of these cases x epochs were tried and have no grade."""
        keys = {(case.key, epoch) for case in cases for epoch in range(1, epochs + 1)}
        failed = {(key.case, key.epoch) for key, event in self._ended.items() if event.failure}
        return len(keys & failed)
