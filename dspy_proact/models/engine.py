"""Engines behind the gate, which try again, answer whole or in pieces, and their synchronous face.

Retries, limits and the number of calls in flight are written once, for asynchronous code. Synchronous callers share one
event loop, in a thread of its own, so that these hold over all threads.
"""

import asyncio
import os
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterable
from concurrent.futures import CancelledError, wait
from contextlib import aclosing, nullcontext
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from dspy.lm15 import Config, Request, Response, Usage

from dspy_proact.call_observer import CallObserver
from dspy_proact.calls import FINISHES, MOST_TOKENS, Call, record_call
from dspy_proact.errors import AppError, Interrupted, SetupFault, chain
from dspy_proact.models.budget import Cost, Limits, most_of
from dspy_proact.models.dspy_internals import StreamEvent
from dspy_proact.models.faults import Caller, ElsewhereError, Fault, understand
from dspy_proact.models.gate import Gate
from dspy_proact.models.pacing import Pace
from dspy_proact.models.prompt_cache import PromptCache
from dspy_proact.models.redaction import redacted
from dspy_proact.models.replies import StreamedReply, failure_in, finish_of, read
from dspy_proact.models.request_form import RequestForm
from dspy_proact.models.slots import Lane
from dspy_proact.models.spec import COMPLETION_LIMIT, LIMIT, SCHEMA
from dspy_proact.models.tokens import characters_of, images_of
from dspy_proact.switch import HEARTBEAT, Switch

T = TypeVar("T")
USD, STEPS = "usd", "steps"
"""Where the data of an application's reply has what it says that it cost, and what it did before."""
_PATIENCE_TO_CONNECT = 8.0
"""Seconds of attempts at a call, while no connection to the model has been made."""


class GatedEngine:
    """An asynchronous engine behind the gate. Engines belong to an event loop, so one is made for each.

    No time of a call is counted before what it needs is `ready`, such as a cluster.
    """

    supports_function_calling = False
    supports_reasoning = True

    def __init__(
        self,
        make: Callable[[], Any],
        gate: Gate,
        caller: Caller,
        supports_response_schema: bool = False,
        supported_params: Iterable[str] = (),
        *,
        trusts_schema: bool = True,
        request_form: RequestForm | None = None,
        first: Callable[[], int | None] = lambda: None,
        cache: PromptCache | None = None,
        in_batches: bool = False,
        ready: Callable[[Switch, CallObserver], Awaitable[None]] | None = None,
    ):
        self.gate, self.caller, self._cache, self.in_batches = gate, caller, cache, in_batches
        self.supports_response_schema = supports_response_schema
        self.trusts_schema = trusts_schema
        self.supported_params = set(supported_params)
        self._request_form = request_form or RequestForm()
        self._make, self._first, self._ready = make, first, ready
        every = gate.concurrency
        pace = Pace(every, every, gate.timeout, queues=False) if in_batches else None
        self._lane = Lane(caller.address or caller.model, pace, paced=False) if pace else None
        self._inner: dict[asyncio.AbstractEventLoop, Any] = {}
        self._extended = deque[tuple[Config, Config]](maxlen=8)
        """Configs of requests as they were made and as they are sent: all requests of a kind share one."""
        self._leaves_openings_out = False
        """Whether a stream showed that the template of its chat opens the thoughts."""

    async def complete(self, request: Request) -> Response:
        """Answer one request, with retries; raises errors of `errors`."""
        async with self.gate.slots:
            return await self.ask(request)

    async def ask(self, request: Request) -> Response:
        """Answer one request as `complete` does, for a caller that holds a slot of the gate's."""
        if self._ready:
            await self._ready(self.gate.switch, self.gate.observer)
        with self._cache.marked(request) if self._cache else nullcontext(request) as marked:
            attempt, inner = self._attempt(marked), self._for_this_loop()
            while True:
                async with attempt, asyncio.timeout(None if self.in_batches else self.gate.timeout):
                    return attempt.completed(await inner.complete(attempt.request))
                await attempt.pause()

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        """Answer one request event by event; raises errors of `errors`.

        It is tried again only until a piece of an answer was passed on. The time limit is that of the wait for each
        event. The `Call` is recorded when the last event has come. Closed early, it counts as the most that it can
        cost, and nothing is recorded. Thoughts are passed on as such; those of a model whose replies lack their opening
        mark stand as text in its first stream, and its later ones begin when its thoughts have ended.
        """
        attempt, inner = self._attempt(request), self._for_this_loop()
        async with self.gate.slots:
            while True:
                reply = StreamedReply(request.system, self._leaves_openings_out)
                async with attempt, aclosing(inner.stream(attempt.request)) as events:
                    while True:
                        async with asyncio.timeout(self.gate.timeout):
                            event = await anext(events, None)
                        if event is None:
                            return
                        for passed in attempt.passed(event, reply):
                            yield passed
                        if event.type == "end":
                            self._leaves_openings_out = self._leaves_openings_out or reply.unopened
                await attempt.pause()

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        inner = self._inner.pop(asyncio.get_running_loop(), None)
        if inner is not None and hasattr(inner, "aclose"):
            await inner.aclose()

    def _attempt(self, request: Request) -> "_Attempt":
        """The attempts at a request, as it is sent; images that the model cannot see end a run."""
        if not self.caller.sees and images_of(request):
            self.gate.switch.pull(SetupFault(f"{self.caller.whose}: takes no images; name a model that does"))
            self.gate.switch.check()
        request, most = self._with_extensions(request), Cost(calls=1)
        # Else there is nothing to hold it against; what an application takes is known once it has answered.
        if self.gate.limits != Limits() and not self.caller.app:
            most = most_of(request, self.caller.completion_limit, self.caller.price)
        lane = self._lane or self.gate.lanes.of(self.caller, self._first)
        return _Attempt(self.gate, self.caller, most, lane, self._request_form, request)

    def _with_extensions(self, request: Request) -> Request:
        if not self.caller.extensions:
            return request
        extended = next((sent for made, sent in list(self._extended) if made is request.config), None)
        if extended is None:
            extensions = {**(request.config.extensions or {}), **self.caller.extensions}
            limit = None if {LIMIT, COMPLETION_LIMIT} & extensions.keys() else request.config.max_tokens
            extended = replace(request.config, max_tokens=limit, extensions=extensions)
            self._extended.append((request.config, extended))
        return replace(request, config=extended)

    def _for_this_loop(self) -> Any:
        for loop in [loop for loop in self._inner if loop.is_closed()]:
            del self._inner[loop]
        loop = asyncio.get_running_loop()
        if loop not in self._inner:
            self._inner[loop] = self._make()
        return self._inner[loop]


@dataclass
class _Attempt:
    """The attempts at a call, each as a context manager around it: its reservation, its clock and its outcome.

    Whatever an engine raises is classified here, errors of its readers of bodies included: a failure that a further
    attempt may mend is swallowed, any other is raised as one of `errors`.
    """

    gate: Gate
    caller: Caller
    most: Cost
    lane: Lane
    form: RequestForm
    request: Request
    """As it is sent: in an attempt as far as the provider has asked for another form by then."""
    number: int = 0
    """Of this attempt, counted from 0."""
    _mended: int = 0
    """Attempts that only showed in which form the request is to be sent: none of them is a further one."""
    _omitted: str | None = None
    started: float = 0.0
    _since: float = 0.0
    _wait: float = 0.0
    _tick: float = 0.0
    _turn: int = 0
    _held: tuple[StreamEvent, ...] = ()
    _begun: bool = False
    _settled: bool = False

    async def __aenter__(self) -> "_Attempt":
        await self.gate.admit(self.caller, self.most, self.number, self.lane)
        self._held, self._settled, self._turn = (), False, self.lane.pace.turn
        has_form = self.request.config.response_format
        self.request = self.form.applied(self.request)
        if has_form and not self.request.config.response_format:
            self._omitted = SCHEMA
        self.started, self._tick = time.time(), time.perf_counter()
        self._since = self._since or self._tick
        return self

    async def __aexit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        """Decide whether a call that failed is tried again."""
        try:
            return self._swallows(error)
        finally:
            self.gate.ended(self.caller, self.lane)

    async def pause(self) -> None:
        """Wait before the next attempt, beside the calls in flight; raises the `Halt` if one comes first."""
        await self.gate.switch.pause(self._wait)
        self.number += 1

    def _swallows(self, error: BaseException | None) -> bool:
        if error is None or self._settled:
            return False
        task = asyncio.current_task()
        cancelled = task is not None and task.cancelling() > 0
        # A client may also fail because it was cancelled, or closed by its reader.
        left = cancelled or any(isinstance(cause, GeneratorExit) for cause in chain(error))
        if not isinstance(error, Exception) or left:  # in flight: it may have been answered and billed
            if self.caller.app and isinstance(error, SetupFault):
                self.gate.switch.pull(error)
            self._settle(self.most)
            return False
        fault = error.fault if isinstance(error, ElsewhereError) else understand(error, self.caller)
        # A provider that refuses bills nothing; one whose answer was lost on the way may have written all of it.
        self._settle(self.most if fault.may_be_billed or self._begun else Cost(calls=1))
        self._record(error=fault.word)
        self.lane.failed(self._turn, fault)
        if self._is_mended(error, fault):
            self._mended, self._wait = self._mended + 1, 0.0
            return True
        number = self.number - self._mended
        self._wait = self.gate.wait(number, fault.retry_after)
        if fault.retry_after is not None:
            self.lane.pause(self._wait)
        final = self._begun or not fault.retry or number >= self.gate.retries
        if fault.unreached and not self.gate.health(self.caller).responded:
            final = final or time.perf_counter() + self._wait - self._since > _PATIENCE_TO_CONNECT
        failure = self.gate.failed(self.caller, fault, number, None if final else self._wait)
        if final and failure is not error:  # an application's own goes on as it is
            raise failure from error
        return not final

    def _is_mended(self, error: Exception, fault: Fault) -> bool:
        """Whether the request is sent again at once, in another form, or apart from the one that may be at fault."""
        if isinstance(error, AppError) and error.unclear:
            return True
        change = None if self._begun else self.form.change(self.request, fault)
        if change:
            self.gate.observer.form_changed(self.caller.whose, change)
        return change is not None

    def completed(self, response: Response) -> Response:
        """The complete reply, read; raises an error of the provider's that came with it."""
        if failure := failure_in(response.provider_data):
            raise failure
        response, thoughts = read(response, self.request)
        finish = finish_of(response)
        if finish not in FINISHES:  # a word of the provider's, which may repeat a key
            finish = redacted(finish, self.caller.secrets)[:40]
        usd: Any = (response.provider_data or {}).get(USD) if self.caller.app else None
        self._ended(finish, response.usage, thoughts, usd)
        return response

    def passed(self, event: StreamEvent, reply: StreamedReply) -> list[StreamEvent]:
        """The events of a stream to pass on now that this one has come.

        The start is held until there is a further one: once anything is passed on, it is too late to try again.
        """
        if event.type == "start":
            self._held = (event,)
            return []
        if event.type == "end":
            passing = [*reply.pass_on(), event]
            self._ended(event.finish_reason, event.usage or Usage(), reply.thoughts)
        elif not (passing := reply.pass_on(event)):
            return []
        held, self._held, self._begun = self._held, (), True
        return [*held, *passing]

    def _ended(self, finish_reason: str | None, usage: Usage, thoughts: bool, usd: float | None = None) -> None:
        caller = self.caller
        cached = (usage.cache_read_tokens or 0) + (usage.cache_write_tokens or 0) if caller.adds_cached_tokens else 0
        reasoning = (usage.reasoning_tokens or 0) if caller.adds_reasoning_tokens else 0
        # A prompt of no tokens means that there is no count: litellm fills in zeros.
        counted = usage.input_tokens or None
        prompt = _sum(counted, cached)
        completion = _sum(usage.output_tokens, reasoning) if counted else None
        from_cache, written = _sum(usage.cache_read_tokens, 0), _sum(usage.cache_write_tokens, 0)
        cut = finish_reason == "length"
        self._record(
            characters=None if caller.app else characters_of(self.request),  # its tokens are of what it asks others
            images=0 if caller.app else len(images_of(self.request)),
            prompt_tokens=prompt,
            completion_tokens=completion,
            cached_tokens=from_cache,
            written_tokens=written,
            finish_reason=finish_reason,
            cut_at=min(filter(None, (completion, caller.completion_limit)), default=None) if cut else None,
            thoughts=thoughts,
            usd=usd,
        )
        spent = self.most  # where there is no count
        if caller.app:
            spent = Cost(calls=1, tokens=(prompt or 0) + (completion or 0), usd=usd or 0.0)
        elif prompt is not None and completion is not None:
            cost = caller.price.of(prompt, completion, from_cache or 0, written or 0)
            spent = Cost(calls=1, tokens=prompt + completion, usd=cost or 0.0)
        self._settle(spent)
        self.lane.answered(self._turn, caller.whose, time.perf_counter() - self._tick)
        self.gate.health(caller).succeeded()

    def _settle(self, actual: Cost) -> None:
        self._settled = True
        self.gate.budget.settle(self.most, actual)

    def _record(self, **outcome: Any) -> None:
        latency = time.perf_counter() - self._tick
        call = Call(role=self.caller.role, started=self.started, latency=latency, omitted=self._omitted, **outcome)
        record_call(call)


def _sum(tokens: int | None, more: int) -> int | None:
    """The sum; None where there is no count, or one that no call can have."""
    return tokens + more if tokens is not None and 0 <= tokens + more <= MOST_TOKENS else None


class Described:
    """Says of an engine what DSPy asks before a call, as the engine behind it does."""

    def __init__(self, other: Any):
        self.supports_response_schema: bool = other.supports_response_schema
        self.supports_function_calling: bool = other.supports_function_calling
        self.supports_reasoning: bool = other.supports_reasoning
        self.trusts_schema: bool = other.trusts_schema
        self.supported_params: set[str] = other.supported_params


class BlockingEngine(Described):
    """The synchronous face of an asynchronous engine."""

    def __init__(self, engine: Any):
        super().__init__(engine)
        self.engine = engine

    def complete(self, request: Request) -> Response:
        """Answer one request; raises what the engine raises."""
        return wait_for(self.engine.complete(request))

    def stream(self, request: Request) -> Generator[StreamEvent]:
        """Answer one request event by event; raises what the engine raises."""
        events: AsyncGenerator[StreamEvent] = self.engine.stream(request)
        return one_by_one(events)


def wait_for(coroutine: Coroutine[Any, Any, T]) -> T:
    """A coroutine's result, in the shared loop and the caller's context; `Interrupted` where it was cancelled."""
    future = asyncio.run_coroutine_threadsafe(coroutine, _shared_loop())
    try:
        while not wait([future], HEARTBEAT).done:
            pass
        return future.result()
    except CancelledError:
        raise Interrupted("interrupted: calls in flight were dropped") from None
    except BaseException:
        future.cancel()
        raise


def one_by_one(values: AsyncGenerator[T]) -> Generator[T]:
    """Iterate over an asynchronous generator, which yields no None; closing one closes the other."""

    async def following() -> T | None:
        return await anext(values, None)

    try:
        while (value := wait_for(following())) is not None:
            yield value
    finally:
        wait_for(values.aclose())


_starting = threading.Lock()
_loops: list[asyncio.AbstractEventLoop] = []
_tasks = set[asyncio.Task[Any]]()


def _forget_the_parents() -> None:
    """In a child process: the loop's thread is the parent's alone, and its lock may have been held at the fork."""
    global _starting  # noqa: PLW0603 - a lock that was held at the fork is never released
    _starting = threading.Lock()
    _loops.clear()
    _tasks.clear()


os.register_at_fork(after_in_child=_forget_the_parents)


def _shared_loop() -> asyncio.AbstractEventLoop:
    """The loop, which runs from its first use to the end of the process."""
    with _starting:
        if not _loops:
            loop = asyncio.new_event_loop()
            loop.set_task_factory(_kept_task)
            threading.Thread(target=loop.run_forever, name="dspy-proact calls", daemon=True).start()
            _loops.append(loop)
        return _loops[0]


def _kept_task(
    loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, T] | Generator[Any, None, T], **named: Any
) -> asyncio.Task[T]:
    """A task that is kept until it ends: the loop itself forgets those that wait.

    litellm forgets a task of its own in this loop when another one calls it, and the collector would warn about it.
    """
    task = asyncio.Task(coroutine, loop=loop, **named)
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
    return task
