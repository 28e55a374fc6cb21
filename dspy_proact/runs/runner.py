"""Doing a benchmark: every stage that has no result yet, in parallel, each kept on disk as it ends.

A worker takes a case and epoch, has it answered, then graded; it has at most one request in flight, so the number of
workers is the limit in flight of all roles together. A result on disk is never asked for again.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dspy_proact.calls import collect_calls
from dspy_proact.errors import Halt, StageError
from dspy_proact.runs.benchmark import Benchmark, Case
from dspy_proact.runs.event import Event, Failure, GradeRecord, Stage, StageKey
from dspy_proact.runs.folder import RunWriter, latest
from dspy_proact.switch import Switch


@dataclass(frozen=True)
class Work:
    """A case in an epoch."""

    case: Case
    epoch: int


class Runner:
    """Runs a benchmark into a folder.

    Args:
        benchmark: What is asked and how it is graded.
        folder: Where it is kept; open for writing.
        judge: Name under which verdicts are kept.
        switch: Ends the run when it is pulled.
        on_event: Called after each stage that was kept.
    """

    def __init__(
        self,
        benchmark: Benchmark[Any, Any],
        folder: RunWriter,
        judge: str,
        switch: Switch,
        on_event: Callable[[Event], None] = lambda _: None,
    ):
        self.benchmark, self.folder, self.judge, self.switch = benchmark, folder, judge, switch
        self._on_event = on_event
        self._ended = latest(folder.events())

    def work(self, cases: Iterable[Case], epochs: int) -> list[Work]:
        """What is still to do: cases without a result, or whose failure was the provider's, in corpus order."""
        asked = (Work(case, epoch) for epoch in range(1, epochs + 1) for case in cases)
        return [work for work in asked if self._open(work, "response") or self._open(work, "verdict")]

    async def run(self, work: Sequence[Work], concurrency: int) -> None:
        """Do the work; raises the `Halt` if the switch was pulled.

        What is in flight at that moment is waited for and kept. A cancellation from outside drops it.
        """
        queue = deque(work)
        workers = [asyncio.create_task(self._work_off(queue)) for _ in range(min(concurrency, len(queue)))]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        self.switch.check()

    def _open(self, work: Work, stage: Stage) -> bool:
        ended = self._ended.get(self._key(work, stage))
        if stage == "verdict" and ended is None:
            response = self._ended.get(self._key(work, "response"))
            return response is not None and response.failure is None
        return ended is None or (ended.failure is not None and ended.failure.kind == "provider")

    def _key(self, work: Work, stage: Stage) -> StageKey:
        judge = self.judge if stage == "verdict" else None
        return StageKey(case=work.case.key, epoch=work.epoch, stage=stage, judge=judge)

    async def _work_off(self, queue: deque[Work]) -> None:
        try:
            while queue and self.switch.halt is None:
                work = queue.popleft()
                for stage in ("response", "verdict"):
                    if self.switch.halt is None and self._open(work, stage):
                        await self._do(work, stage)
        except Halt as halt:
            self.switch.pull(halt)

    async def _do(self, work: Work, stage: Stage) -> None:
        key = self._key(work, stage)
        with collect_calls() as calls:
            try:
                outcome = await (self._answered(work) if stage == "response" else self._graded(work))
            except StageError as error:
                outcome = {"failure": Failure(kind=error.kind, reason=error.reason, detail=error.detail)}
            except Exception as error:  # the one border at which whatever befalls a case becomes its row
                detail = f"{type(error).__name__}: {error}"
                outcome = {"failure": Failure(kind="provider", reason="unexpected", detail=detail)}
        event = Event(key=key, calls=tuple(calls), time=time.time(), **outcome)
        self.folder.record(event)
        self._ended[key] = event
        self._on_event(event)

    async def _answered(self, work: Work) -> dict[str, Any]:
        answer = await self.benchmark.answer(work.case)
        return {"answer": answer.model_dump(mode="json")}

    async def _graded(self, work: Work) -> dict[str, Any]:
        kept = self._ended[self._key(work, "response")].answer
        scored = await self.benchmark.grade(work.case, self.benchmark.answer_type.model_validate(kept))
        detail = scored.detail.model_dump(mode="json")
        grade = GradeRecord(score=scored.score, label=scored.label, verified=scored.verified, detail=detail)
        return {"grade": grade}
