"""Collects requests into batches, submits them, and gives each its reply.

what happens                        what follows
nothing new for a moment            all that wait are submitted; before, as soon as a file is full
a batch has ended                   its results are used at once, while others go on
a request expired, was cancelled    a failed attempt, after which the gate sends it again
a request has no result             likewise; it may have been answered, and counts as billed
a batch is refused as a whole       the run ends: nothing of it was answered, and nothing is billed
too much is queued at the provider  smaller batches, once others have ended
the run is interrupted              batches go on; the same command finds their ids in the log, and waits for them

A batch is in the log before its creation and again once it has an id. Where a command was killed in between, the
provider is asked for it, so that no request is paid for twice.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from dspy import lm15

from dspy_proact.call_observer import BatchProgress, FailedCall
from dspy_proact.errors import Halt, LimitReached, ProviderDown, RunError, SetupFault, StorageFault
from dspy_proact.kept import KeptBatch
from dspy_proact.models.batch.batching import ANSWERED, UNSENT, BatchService, BatchState, LineReply, read_results
from dspy_proact.models.faults import Caller, understand
from dspy_proact.models.gate import Gate

T = TypeVar("T")
_LAST_WAIT = 30.0
"""Seconds in which a creation that was begun is confirmed when a run ends; the next command finds it otherwise."""
_POLLS = 6
"""So many times more failures in a row end a run that waits: for a day nothing else may be needed of a network."""
_QUEUED = 6
"""The attempt whose wait, a minute, is that for room in a provider's queue."""
_YIELD = 32
"""Replies after which those who got one go on: else all of a batch would be in memory at once."""
_QUEUE_FULL = ("token_limit_exceeded", "too_many_tasks")
"""OpenAI's codes of a batch that may be created later, or smaller."""
_NO_BATCHES = "omit `gate.batch`, or name an endpoint that speaks OpenAI's or Anthropic's batches"
_GONE = (
    "use a key of the account that submitted it; if it is gone there, delete batches.jsonl in the run's folder, and "
    "what has no answer yet is submitted, and billed, anew"
)
_TOO_LARGE = b'{"error": {"message": "the request alone is larger than a file of a batch may be"}}'
_LOST = "the batch ended without a result of this request, as with a closed connection"
MakeService = Callable[[str, Iterable[tuple[str, str]], float], BatchService]
"""Makes the protocol of a provider by the address and the headers of a plain request, and a time limit."""


class SendAgain(Exception):  # noqa: N818 - no fault
    """The batch that should have had a request is none; it is to be sent as if it never was."""


@dataclass
class RequestFile:
    """A file of requests that is being written."""

    path: Path
    names: list[str] = field(default_factory=list[str])
    size: int = 0


class Batcher:
    """Answers the requests of one model in batches, in one event loop.

    Args:
        gate: Of the run.
        caller: The model.
        make: Its provider's protocol.
    """

    def __init__(self, gate: Gate, caller: Caller, make: MakeService):
        assert gate.batching is not None, "of a gate for batches"
        if gate.batches is None:
            raise SetupFault(
                f"{caller.whose}: only the answers and verdicts of runs come in batches; omit `gate.batch`"
            )
        self._gate, self._caller, self._make, self._log = gate, caller, make, gate.batches
        self._batching = gate.batching
        self._service: BatchService | None = None
        self._waiting = dict[str, asyncio.Future[LineReply]]()
        self._early = dict[str, tuple[Path, int]]()
        """Results of requests that are not waiting yet, by name: file and first byte."""
        self._followed = dict[int, KeptBatch]()
        self._finished = set[int]()
        """Batches of which every result was read."""
        self._failures = dict[int, set[str]]()
        """Requests whose failures were used, by batch: the next command does not take them for answers to its own."""
        self._replied = dict[str, int]()
        """The batch that replied to a request, while the rest of it is read: the next reply is of another one."""
        self._forming: RequestFile | None = None
        self._arrived = asyncio.Event()
        self._uploads = asyncio.Lock()
        self._tasks, self._creating = set[asyncio.Task[Any]](), set[asyncio.Task[Any]]()
        self._most: int | None = None
        """Requests of a batch at most, once the provider's queue was full."""
        self._room = asyncio.Event()
        """Set when a batch ends."""
        self._polled: float | None = None
        self._done = dict[int, int]()

    async def ask(self, name: str, url: str, headers: Iterable[tuple[str, str]], body: bytes) -> LineReply:
        """The reply to a request; raises `SendAgain`, and the `Halt` that comes first."""
        self._gate.switch.check()
        if self._service is None:
            self._service = self._make(url, headers, self._gate.timeout)
            self._start(self._collect())
            self._start(self._end_with_the_run())
        if name in self._early:
            return self._early_reply(name)
        future = self._waiting[name] = asyncio.get_running_loop().create_future()
        batch = self._log.holding(name)
        if batch is None or batch.number in self._finished or self._replied.get(name) == batch.number:
            if not self._add(name, self._service.line(name, body)):
                del self._waiting[name]
                return LineReply(413, _TOO_LARGE)
        elif batch.number not in self._followed:
            self._followed[batch.number] = batch
            self._start(self._follow(batch, self._service))
        del body
        try:
            return await future
        finally:
            self._waiting.pop(name, None)

    async def aclose(self) -> None:
        """Stop waiting; what is being created is awaited, so that its id is in the log."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._creating:
            await asyncio.wait(self._creating, timeout=_LAST_WAIT)
        for creating in self._creating:
            creating.cancel()
        await asyncio.gather(*self._creating, return_exceptions=True)
        task = asyncio.current_task()
        complete = self._gate.switch.halt is None and not (task and task.cancelling())
        for number in self._finished:
            # Answers that requests got may not be in the log of calls where a command was stopped. Those for which no
            # request came, since it was of fewer cases, are for the next one.
            batch = self._followed[number]
            used = {*batch.requests} - self._early.keys() if complete else self._failures.get(number, set())
            if used - batch.collected:
                self._log.collected(batch, used)
        if self._service is not None:
            await self._service.aclose()
            self._service = None
        self._log.close()

    # Collecting

    def _add(self, name: str, line: bytes) -> bool:
        """Write a request into the file that is being written; whether any file can hold it."""
        assert self._service is not None, "made at the first request"
        limits, service = self._batching, self._service
        most = min(filter(None, (service.most_requests, limits.requests, self._most)))
        size, length = min(service.most_bytes, limits.size or service.most_bytes), len(line) + 1
        if length > size:
            return False
        if self._forming and (len(self._forming.names) >= most or self._forming.size + length > size):
            self._send_off()
        try:
            forming = self._forming = self._forming or RequestFile(self._log.new_file())
            self._log.add_line(forming.path, line)
        except RunError as error:
            fault = StorageFault(str(error))
            self._gate.switch.pull(fault)
            raise fault from error
        forming.names.append(name)
        forming.size += length
        self._arrived.set()
        return True

    def _send_off(self) -> None:
        """Submit the file that is being written."""
        file, self._forming = self._forming, None
        if file:
            self._start(self._submit(file))

    async def _collect(self) -> None:
        """Submit what waits, whenever nothing new has come for a moment."""
        while True:
            await self._arrived.wait()
            while self._arrived.is_set():
                self._arrived.clear()
                await self._batching.sleep(self._batching.quiet)
            self._send_off()

    async def _end_with_the_run(self) -> None:
        """When the run ends, submit nothing more; only a limit that is reached leaves what is in flight to its end."""
        try:
            while True:
                await self._gate.switch.pause(3600.0)
        except Halt as halt:
            submitted = {name for batch in self._followed.values() for name in batch.requests}
            goes_on = isinstance(halt, LimitReached)
            self._fail(halt, [name for name in self._waiting if not (goes_on and name in submitted)])
            if not goes_on:
                for task in self._tasks - {asyncio.current_task()}:
                    task.cancel()

    def _fail(self, error: BaseException, names: Iterable[str]) -> None:
        for name in list(names):
            if (future := self._waiting.get(name)) and not future.done():
                future.set_exception(error)

    def _start(self, doing: Coroutine[Any, Any, None]) -> None:
        """Go on with something beside the requests; whatever ends it but its own end, ends the run."""

        async def watched() -> None:
            try:
                await doing
            except Halt as halt:
                self._gate.switch.pull(halt)
                self._fail(halt, self._waiting)
            except (RunError, OSError) as error:
                halt = StorageFault(str(error))
                self._gate.switch.pull(halt)
                self._fail(halt, self._waiting)
            except Exception as error:
                halt = ProviderDown(f"{self._caller.whose}: its batches cannot go on: {type(error).__name__}: {error}")
                self._gate.switch.pull(halt)
                self._fail(halt, self._waiting)

        task = asyncio.get_running_loop().create_task(watched())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: doing.close())  # it may have been cancelled before it began

    # Submitting

    async def _submit(self, file: RequestFile) -> None:
        assert self._service is not None, "made at the first request"
        service = self._service
        async with self._uploads:
            while self._most and any(number not in self._finished for number in self._followed):
                self._room.clear()
                await self._room.wait()
            file_id = None
            if self._gate.switch.halt is None:
                file_id = await self._surely("the upload of a batch", lambda: service.upload(file.path))
            if halt := self._gate.switch.halt:
                self._fail(halt, file.names)
                return
            caller = self._caller
            batch = self._log.prepare(caller.role, caller.model, file.names, file_id, caller.price)
            self._followed[batch.number] = batch
            # It is not cancelled: the provider would go on with it, and its id would not be in the log.
            creating = asyncio.get_running_loop().create_task(self._create(batch, file.path, service))
            self._creating.add(creating)
            creating.add_done_callback(self._creating.discard)
            creating.add_done_callback(lambda task: task.cancelled() or task.exception())  # who waits may be cancelled
            await asyncio.shield(creating)
        self._notify(news=True)
        await self._batching.sleep(self._batching.first_poll)
        await self._follow(batch, service)

    async def _create(self, batch: KeptBatch, path: Path, service: BatchService) -> None:
        tried = False

        async def create() -> tuple[str, bool]:
            nonlocal tried
            if tried and (like := await service.find(batch, self._ids)):
                return like, True  # the failure came after the creation
            tried = True
            return await service.create(path, batch.file), False

        try:
            batch_id, guessed = await self._surely("the creation of a batch", create)
        except SetupFault:
            self._log.collected(batch, batch.requests)
            raise
        self._log.created(batch, batch_id, guessed=guessed)
        path.unlink(missing_ok=True)

    async def _surely(self, what: str, send: Callable[[], Awaitable[T]], mend: str = _NO_BATCHES, times: int = 1) -> T:
        """What the provider answers, with so many times the patience that a call has.

        Raises a `SetupFault` where it refuses, `ProviderDown` where it fails on, and the `Halt` that comes before.
        """
        number, whose, patience = 0, self._caller.whose, times * self._gate.patience
        while True:
            if (halt := self._gate.switch.halt) and not isinstance(halt, LimitReached):
                raise halt
            try:
                return await send()
            except Exception as error:
                fault = understand(error, self._caller)
                if not fault.retry:
                    if getattr(error, "status", None) in (404, 405):
                        raise SetupFault(f"{whose}: its endpoint does not know {what}; {mend}") from error
                    raise fault.setup or SetupFault(f"{whose}: {what} was refused: {fault.error}") from error
                queued = fault.word == "rate_limit" and len(self._followed) - len(self._finished) > 1
                number += not queued
                if number > patience:
                    raise ProviderDown(f"{whose}: {what} failed {number} times, the last with {fault.error}") from error
                wait = self._gate.wait(_QUEUED if queued else number, fault.retry_after)
                failed = FailedCall(whose, fault.word, f"{what}: {fault.error}", number, patience, wait)
                self._gate.observer.failed(failed)
                await self._batching.sleep(wait)

    @property
    def _ids(self) -> set[str]:
        """The provider's ids of all batches in the log."""
        return {name for batch in self._log.batches.values() for name in batch.ids}

    # Following

    async def _follow(self, batch: KeptBatch, service: BatchService) -> None:
        """Wait for a batch that was submitted, by this command or one before it, and use its results."""
        while batch.number not in self._finished:
            if batch.id is None:
                like = await self._surely("the list of batches", lambda: service.find(batch, self._ids), _GONE)
                if like is None:
                    # Where there was one that looked like it, it may have been created: sent again as if it never was,
                    # its requests might be billed without end.
                    self._finish(batch, lm15.TransportError(_LOST) if batch.ids else SendAgain())
                    return
                self._log.created(batch, like, guessed=True)
            state = await self._end_of(batch, batch.id or "", service)
            if state.problem:
                self._refused(batch, state)
            else:
                await self._use(batch, state, service)

    async def _end_of(self, batch: KeptBatch, batch_id: str, service: BatchService) -> BatchState:
        wait = self._batching.first_poll
        while True:
            state = await self._surely(f"batch {batch_id}", lambda: service.state(batch_id), _GONE, _POLLS)
            self._polled, self._done[batch.number] = time.time(), max(0, min(state.done, len(batch.requests)))
            self._notify(news=state.ended)
            if state.ended:
                self._log.ended(batch)
                return state
            await self._batching.sleep(wait)
            wait = min(self._batching.longest_poll, 1.5 * wait)

    def _refused(self, batch: KeptBatch, state: BatchState) -> None:
        """A batch was refused as a whole: nothing was answered, and nothing is billed."""
        if any(code in state.problem for code in _QUEUE_FULL) and len(batch.requests) > 1:
            self._most = max(1, len(batch.requests) // 2)
            self._finish(batch, SendAgain())
            return
        self._finish(batch)
        raise SetupFault(
            f"{self._caller.whose}: batch {state.id} with {len(batch.requests):,} requests was refused as a whole, and "
            f"nothing of it was answered. The server said: {state.problem!r}"
        )

    def _finish(self, batch: KeptBatch, instead: Exception | None = None) -> None:
        """A batch is none: its requests are not waited for any more, and end otherwise, if they do."""
        held = self._held(batch)
        self._log.collected(batch, batch.requests)
        self._finished.add(batch.number)
        self._room.set()
        if instead:
            self._fail(instead, held)

    def _held(self, batch: KeptBatch) -> list[str]:
        """The requests that are in this batch, and in none after it."""
        return [name for name in batch.requests if self._log.holding(name) is batch]

    async def _use(self, batch: KeptBatch, state: BatchState, service: BatchService) -> None:
        """Give each request of a batch that has ended its reply; of one that only looks like ours, forget its id."""
        path, names = self._log.new_file(), {*self._held(batch)}
        missing, ours, of_others = set(names), {*batch.requests}, 0
        await self._surely(f"the results of batch {state.id}", lambda: service.download(state, path), _GONE)
        failures, failed = self._failures.setdefault(batch.number, set()), list[int]()
        for number, (start, name, reply) in enumerate(read_results(path, service), start=1):
            of_others += name not in ours
            if name not in missing:
                continue
            missing.discard(name)
            if reply.status == ANSWERED:
                self._give(batch, name, reply, path, start)
            else:
                failed.append(start)
            if number % _YIELD == 0:
                await asyncio.sleep(0)
        for start in failed:  # after all answers: refusals of a model that has answered nothing would end the run
            _, name, reply = next(read_results(path, service, start))
            self._give(batch, name, reply, path, start)
        if batch.guessed and of_others and missing == names:
            batch.id = None  # it is another command's: Anthropic's are searched by their time and size
            return
        self._finished.add(batch.number)
        self._room.set()
        self._replied = {name: number for name, number in self._replied.items() if number != batch.number}
        for name in missing:
            if (future := self._waiting.get(name)) and not future.done():
                failures.add(name)
                if status := UNSENT.get(state.word):
                    future.set_result(LineReply(status, json.dumps({"error": {"message": _LOST}}).encode()))
                else:  # it may have been answered and billed, as after a connection that was lost
                    future.set_exception(lm15.TransportError(_LOST))

    def _give(self, batch: KeptBatch, name: str, reply: LineReply, path: Path, start: int) -> None:
        """Give a request its reply, or keep where it is in the results until the request comes."""
        if (future := self._waiting.get(name)) and not future.done():
            if reply.status != ANSWERED:
                self._failures[batch.number].add(name)
            self._replied[name] = batch.number
            future.set_result(reply)
        else:
            self._early[name] = path, start

    def _early_reply(self, name: str) -> LineReply:
        """A reply that came before its request waited for it."""
        (path, start), batch = self._early.pop(name), self._log.holding(name)
        assert self._service is not None, "made at the first request"
        assert batch is not None, "it was read of a batch"
        _, _, reply = next(read_results(path, self._service, start))
        if reply.status != ANSWERED:
            self._failures[batch.number].add(name)
        if batch.number not in self._finished:
            self._replied[name] = batch.number
        return reply

    def _notify(self, news: bool) -> None:
        """Tell whoever watches how far the batches are."""
        open_ = [batch for batch in self._followed.values() if batch.number not in self._finished]
        counts = sum(len(batch.requests) for batch in open_), sum(self._done.get(batch.number, 0) for batch in open_)
        ids = tuple(batch.id for batch in open_ if batch.id)
        self._gate.observer.batched(BatchProgress(self._caller.whose, ids, *counts, self._polled), news)
