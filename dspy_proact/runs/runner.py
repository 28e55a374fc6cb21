"""Doing a benchmark: every stage that has no result yet, in parallel, each kept on disk as it ends.

A worker takes a case and epoch, has it answered, then graded by every judge; it has at most one request in flight, so
the number of workers is the limit in flight of all roles together. A result on disk is never asked for again.
"""

import asyncio
import gc
import json
import time
from collections import deque
from collections.abc import Awaitable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from pydantic import BaseModel

from dspy_proact.calls import Call, CallObserver, collect_calls
from dspy_proact.errors import Halt, StageError
from dspy_proact.runs.benchmark import CONTROL, Case, Runnable
from dspy_proact.runs.event import Event, Failure, GradeRecord, StageKey
from dspy_proact.runs.folder import RunWriter
from dspy_proact.runs.ledger import Ledger, Work
from dspy_proact.switch import Switch

T = TypeVar("T")
_THRESHOLDS = (50_000, 20, 100)
"""Of the garbage collector in a process that makes many values and few circles of them."""


class Observer(CallObserver):
    """Is told what happens in a run; this one keeps it to itself."""

    def started(self, todo: int, asked: int) -> None:
        """A run begins, with `todo` of the `asked` cases x epochs still to do."""

    def ended(self, event: Event, last: bool) -> None:
        """A stage ended and was kept; `last` when nothing more is to be done for its case and epoch."""

    def interrupted(self) -> None:
        """The person asked to stop; what is in flight is still awaited."""


class Runner:
    """Runs a benchmark into a folder.

    Args:
        benchmark: What is asked and how it is graded.
        folder: Where it is kept; open for writing.
        ledger: What has ended.
        switch: Ends the run when it is pulled.
        observer: Told of what happens.

    Attributes:
        stages: Stages that ended in this process.
    """

    def __init__(self, benchmark: Runnable, folder: RunWriter, ledger: Ledger, switch: Switch, observer: Observer):
        self.benchmark, self.folder, self.ledger = benchmark, folder, ledger
        self.switch, self.observer = switch, observer
        self.stages = 0
        self._cut_short = False

    async def run(self, cases: Sequence[Case], epochs: int, concurrency: int) -> None:
        """Do the open work, in the order of the cases.

        What is in flight when the switch is pulled is waited for and kept. A cancellation from outside drops it.

        Raises:
            Halt: The switch was pulled, and something is left to do.
        """
        queue = deque(self.ledger.open_work(cases, epochs))
        self.observer.started(len(queue), len(cases) * epochs)
        with _rare_collections():
            await self._work(queue, concurrency)
        if self._cut_short or self.ledger.open_work(cases, epochs):
            self.switch.check()

    async def _work(self, queue: deque[Work], concurrency: int) -> None:
        workers = [asyncio.create_task(self._work_off(queue)) for _ in range(min(concurrency, len(queue)))]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    async def _work_off(self, queue: deque[Work]) -> None:
        try:
            while queue and self.switch.halt is None:
                work = queue.popleft()
                for key in self.ledger.stages(work):
                    if self.switch.halt is None and self.ledger.is_open(key):
                        await self._do(work, key)
        except Halt as halt:
            self.switch.pull(halt)

    async def _do(self, work: Work, key: StageKey) -> None:
        with collect_calls() as calls:
            try:
                outcome = await self._outcome(work, key)
            except Halt:
                self._cut_short = True
                if calls:
                    self._keep(key, calls, {})
                raise
        event = self._keep(key, calls, outcome)
        self.stages += 1
        self.observer.ended(event, not any(map(self.ledger.is_open, self.ledger.stages(work))))

    async def _outcome(self, work: Work, key: StageKey) -> dict[str, Any]:
        outcome = await attempted(self._graded(work, key.judge) if key.stage == "verdict" else self._answered(work))
        return {"failure": outcome} if isinstance(outcome, Failure) else outcome

    def _keep(self, key: StageKey, calls: Sequence[Call], outcome: dict[str, Any]) -> Event:
        event = Event(key=key, calls=tuple(calls), time=time.time(), **outcome)
        self.folder.record(event)
        self.ledger.add(event)
        return event

    async def _answered(self, work: Work) -> dict[str, Any]:
        return {"answer": _as_kept(await self.benchmark.answer(work.case))}

    async def _graded(self, work: Work, judge: str | None) -> dict[str, Any]:
        kept = self.ledger.answer(work)
        assert kept is not None, "a verdict is open only after its response"
        answer = self.benchmark.answer_type.model_validate(kept)
        scored = await self.benchmark.grade(work.case, answer, judge)
        labels = self.benchmark.control_labels if work.case.stratum == CONTROL else self.benchmark.labels
        if scored.label not in labels:
            raise ValueError(f"the label {scored.label!r} is none of {self.benchmark.name}")
        detail = _as_kept(scored.detail)
        grade = GradeRecord(
            score=scored.score, label=scored.label, verified=scored.verified, parts=dict(scored.parts), detail=detail
        )
        return {"grade": grade}


async def attempted(stage: Awaitable[T]) -> T | Failure:
    """What a stage of a case came to; the one border at which whatever befalls a case becomes its failure.

    A halt and a cancellation go through: they end more than a case.
    """
    try:
        return await stage
    except StageError as error:
        return Failure(kind=error.kind, reason=error.reason, detail=error.detail)
    except Exception as error:
        return Failure(kind="provider", reason="unexpected", detail=f"{type(error).__name__}: {error}")


def _as_kept(model: BaseModel) -> dict[str, Any]:
    """A model as the disk gives it back, so that what is graded is what is kept; raises `ValueError` for a nan."""
    text = json.dumps(model.model_dump(), default=str, ensure_ascii=False, allow_nan=False)
    return json.loads(text.encode("utf-8", "replace"))


@contextmanager
def _rare_collections() -> Generator[None]:
    """Inside, what is there already is not searched for garbage, and what is new is more rarely."""
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    gc.freeze()
    if before[0]:  # a collector that a person has turned off stays off
        gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        if not frozen:
            gc.unfreeze()
