"""Doing a benchmark: every stage that has no result yet, in parallel, each kept on disk as it ends.

A worker takes a case and epoch, has it answered, then graded by every judge; it has at most one request in flight, so
the number of workers is the limit in flight of all roles together. A result on disk is never asked for again. Of a
chain one case is done at a time, in turn with everything else.
"""

import asyncio
import json
import time
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from pydantic import BaseModel

from dspy_proact.call_observer import CallObserver
from dspy_proact.calls import Call, collect_calls, was_cut
from dspy_proact.errors import Halt, RefusedAlike, StageError, UnusableContent
from dspy_proact.kept import NoReply
from dspy_proact.runs.benchmark import Case, Runnable
from dspy_proact.runs.chains import Chains
from dspy_proact.runs.folder import RunWriter
from dspy_proact.runs.ledger import Failure, Ledger, StageEvent, StageKey, VerdictRecord, Work
from dspy_proact.runs.outcome import rare_collections
from dspy_proact.runs.reuse import ReuseSource
from dspy_proact.switch import Switch

T = TypeVar("T")
_FIRST = 10
"""Cases: where none of them can be used, the rest would fare alike."""
GiveUp = Callable[[StageKey, Sequence[tuple[Failure, Sequence[Call]]]], Halt]
"""Makes the halt of a run of which the first failures, which are of the kind of this stage, are all that there is."""


class Observer(CallObserver):
    """Is notified of what happens in a run; this one does nothing."""

    def started(self, todo: int, total: int) -> None:
        """A run begins, with `todo` of the `total` cases x epochs that can be done still to do."""

    def ended(self, event: StageEvent, last: bool) -> None:
        """A stage ended and was kept; `last` when nothing more is to be done for its case and epoch."""

    def interrupted(self) -> None:
        """The person asked to stop; what is in flight is still awaited."""


class Runner:
    """Runs a benchmark into a folder.

    Args:
        together: Whether a case waits for all its verdicts at once: as batches, each may take a day.
        give_up: Asked where the first ten cases fail because of their content, all responses or all verdicts of a
            judge, and nothing in the folder is better; None to go on all the same.

    Attributes:
        stages: Stages that ended in this process.
    """

    def __init__(
        self,
        benchmark: Runnable,
        folder: RunWriter,
        ledger: Ledger,
        switch: Switch,
        observer: Observer,
        *,
        source: ReuseSource | None = None,
        give_up: GiveUp | None = None,
        together: bool = False,
    ):
        self.benchmark, self.folder, self.ledger = benchmark, folder, ledger
        self.switch, self.observer, self._source, self._give_up = switch, observer, source, give_up
        self._together = together
        self._first = defaultdict[tuple[str, str | None], dict[str, tuple[Failure, Sequence[Call]]]](dict)
        self.stages = 0
        self._cut_short = False
        self._reused = set[StageKey]()
        self._chains = Chains((), (), (), benchmark.answer_type)

    async def run(self, cases: Sequence[Case], epochs: int, concurrency: int) -> None:
        """Do the open work, in the order of the cases; raises the `Halt` where something is left to do.

        What is in flight when the switch is pulled is waited for and kept. A cancellation from outside drops it.
        """
        todo = self.ledger.open_work(cases, epochs)
        self.observer.started(len(todo), len(cases) * epochs - self.ledger.lacking(cases, epochs))
        with rare_collections(), self.opened():
            if self._source:
                todo = await self._reuse(cases, todo, self._source)
            self._chains = Chains(cases, todo, self.folder.events(), self.benchmark.answer_type)
            await self.work_off(self._chains.ready, concurrency)
        if self.reopened() or self._cut_short or self.ledger.open_work(cases, epochs):
            self.switch.check()

    @contextmanager
    def opened(self) -> Generator[None]:
        """Inside, calls are logged, and work can be done."""
        with self.folder.call_log(self.ledger) as self._calls:
            yield

    async def work_off(self, works: Iterable[Work], concurrency: int) -> None:
        """Do work and what follows it in its chain, in this order; ends early where the switch is pulled."""
        queue, workers = deque(works), list[asyncio.Task[None]]()
        try:
            for _ in range(min(concurrency, len(queue))):
                workers.append(asyncio.create_task(self._work_off(queue)))
                await asyncio.sleep(0)  # begun together, all would write their requests before one is sent
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    def reopened(self) -> bool:
        """Open what failed again, where the run ends for a fault that is mended outside of it; whether anything was."""
        if not isinstance(self.switch.halt, RefusedAlike | UnusableContent):
            return False
        failures = self.ledger.fruitless_failures()
        for key in failures:
            self.folder.record(StageEvent(key=key, time=time.time()))
        return bool(failures)

    async def _work_off(self, queue: deque[Work]) -> None:
        try:
            while queue and self.switch.halt is None:
                work = queue.popleft()
                if self._source and work.case.chain:  # its requests have answers that are known only now
                    await self._reuse_case(work, self._source)
                response, *verdicts = self.ledger.stages(work)
                answering = self.ledger.is_open(response)
                judges = [key.judge for key in verdicts if answering or self.ledger.is_open(key)]
                kept = None if answering else self.ledger.answer(work)
                async with self.benchmark.admitted(work.case, judges, kept):
                    await self._do_in_turn(work, [response, *([] if self._together else verdicts)])
                    if self._together:
                        await self._do_together(work, verdicts)
                if following := self._chains.next_after(work):
                    queue.append(following)
        except Halt as halt:
            self.switch.pull(halt)

    async def _do_in_turn(self, work: Work, keys: Sequence[StageKey]) -> None:
        for key in keys:
            if self.switch.halt is None and self.ledger.is_open(key):
                await self._do(work, key)

    async def _do_together(self, work: Work, keys: Sequence[StageKey]) -> None:
        tasks = [asyncio.create_task(self._do_in_turn(work, [key])) for key in keys]
        try:
            if tasks:
                await asyncio.wait(tasks)
        finally:
            for task in tasks:
                task.cancel()
            ends = await asyncio.gather(*tasks, return_exceptions=True)
        if halt := next((end for end in ends if end is not None), None):
            raise halt

    async def _reuse(self, cases: Sequence[Case], todo: Sequence[Work], source: ReuseSource) -> list[Work]:
        """Take over what another run has, before anything is paid for; what is left to do."""
        self._reused.update(call.key for call in self.folder.call_usage() if call.key and call.reused)
        self._chains = Chains(cases, todo, self.folder.events(), self.benchmark.answer_type)
        left = list[Work]()
        open_chains = set[tuple[str, int]]()
        for work in todo:
            lane = (work.case.chain, work.epoch)
            if lane not in open_chains:
                await self._reuse_case(work, source)
            stages = self.ledger.stages(work)
            if work.case.chain and self.ledger.is_open(stages[0]):
                open_chains.add(lane)
            left += [work] if any(map(self.ledger.is_open, stages)) else []
        return left

    async def _reuse_case(self, work: Work, source: ReuseSource) -> None:
        response, *verdicts = self.ledger.stages(work)
        for key in (response, *verdicts):
            answered = key is response or response in self._reused or self.ledger.copied
            if not (answered and self.ledger.is_open(key) and source.qualifies(key)):
                continue
            await asyncio.sleep(0)  # Ctrl-C is handled
            self.switch.check()
            begun = self.ledger.begun(key)
            stage = source.stage(key, begun, self._calls)
            with suppress(NoReply), self._calls.stage(key, begun), stage.opened():
                outcome = await attempted(self._result(work, key))
                if not isinstance(outcome, Failure):
                    for call, request in stage.copies:
                        self._calls.add(call, request)
                    self._reused.add(key)
                    self._end(work, key, (), outcome)

    async def _do(self, work: Work, key: StageKey) -> None:
        with collect_calls() as calls, self._calls.stage(key, self.ledger.begun(key)):
            try:
                outcome = await attempted(self._result(work, key))
            except Halt:
                self._cut_short = True
                raise
        self._end(work, key, calls, outcome)

    def _end(self, work: Work, key: StageKey, calls: Sequence[Call], outcome: Failure | dict[str, Any]) -> None:
        begun = self.ledger.begun(key)
        event = self._keep(key, calls, **({"failure": outcome} if isinstance(outcome, Failure) else outcome))
        self._calls.forget(key, begun, again=event.failure is not None and event.failure.kind != "content")
        self.stages += 1
        self.observer.ended(event, not any(map(self.ledger.is_open, self.ledger.stages(work))))
        if self._give_up and event.failure and event.failure.kind == "content" and self.ledger.is_fruitless(key):
            first = self._first[key.stage, key.judge]
            first[key.case] = event.failure, calls
            if len(first) == _FIRST:
                self.switch.pull(self._give_up(key, [*first.values()]))

    def _keep(self, key: StageKey, calls: Sequence[Call], **outcome: Any) -> StageEvent:
        event = StageEvent(key=key, calls=tuple(calls), attempts=len(calls), time=time.time(), **outcome)
        self.folder.record(event.model_copy(update={"calls": ()}))  # they are in the log of calls
        self.ledger.add(event)
        self._chains.note(event)
        return event

    async def _result(self, work: Work, key: StageKey) -> dict[str, Any]:
        """The answer or the grade, as it is kept."""
        if key.stage == "response":
            with collect_calls() as calls:
                answer = as_kept(await self.benchmark.answer(work.case, self._chains.earlier(work)))
            return {"answer": answer, "truncated": was_cut(calls)}
        kept = self.ledger.answer(work)
        assert kept is not None, "a verdict is open only after its response"
        answer = self.benchmark.answer_type.model_validate(kept)
        scored = await self.benchmark.grade(work.case, answer, key.judge)
        return {"grade": VerdictRecord.of(scored, as_kept(scored.detail))}


async def attempted(stage: Awaitable[T]) -> T | Failure:
    """The result of a stage, or its failure: the one place where any exception of a case becomes its failure.

    A halt and a cancellation are raised: they end more than a case.
    """
    try:
        return await stage
    except StageError as error:
        return Failure(kind=error.kind, reason=error.reason, detail=error.detail)
    except Exception as error:
        return Failure(kind="provider", reason="unexpected", detail=f"{type(error).__name__}: {error}")


def as_kept(model: BaseModel) -> dict[str, Any]:
    """A model as it will be read from disk, so that what is graded is what is kept; raises `ValueError` for a nan."""
    text = json.dumps(model.model_dump(), default=str, ensure_ascii=False, allow_nan=False)
    return json.loads(text.encode("utf-8", "replace"))
