"""Synchronous callers of asynchronous engines: one event loop of the process, in a thread of its own, calls for them.

So retries, limits and the number in flight are written once, for asynchronous code, and hold over all threads.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Coroutine, Generator
from concurrent.futures import CancelledError, wait
from typing import Any, TypeVar

from dspy._vendor.lm15.types import StreamEvent
from dspy.lm15 import Request, Response

from dspy_proact.errors import Interrupted
from dspy_proact.switch import HEARTBEAT

T = TypeVar("T")


_starting = threading.Lock()
_loops: list[asyncio.AbstractEventLoop] = []


def wait_for(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that runs in the process's loop, in the context of the caller.

    Raises:
        Interrupted: It was cancelled.
    """
    future = asyncio.run_coroutine_threadsafe(coroutine, _loop())
    try:
        while not wait([future], HEARTBEAT).done:
            pass
        return future.result()
    except CancelledError:
        raise Interrupted("interrupted: what was in flight is dropped") from None
    except BaseException:
        future.cancel()
        raise


def one_by_one(values: AsyncGenerator[T]) -> Generator[T]:
    """What an asynchronous generator yields, none of it None, each waited for; closed early, it is closed too.

    Raises:
        BaseException: What it raises.
        Interrupted: It was cancelled.
    """
    try:
        while (value := wait_for(_next(values))) is not None:
            yield value
    finally:
        wait_for(values.aclose())


async def _next(values: AsyncGenerator[T]) -> T | None:
    return await anext(values, None)


def _loop() -> asyncio.AbstractEventLoop:
    """The loop, which runs from its first use to the end of the process."""
    with _starting:
        if not _loops:
            loop = asyncio.new_event_loop()
            loop.set_task_factory(_Kept())
            threading.Thread(target=loop.run_forever, name="dspy-proact calls", daemon=True).start()
            _loops.append(loop)
        return _loops[0]


class _Kept:
    """Makes the tasks of a loop and keeps them until they end: the loop itself forgets those that wait.

    litellm forgets a task of its own in this loop when another one calls it, and the collector would complain of it.
    """

    def __init__(self) -> None:
        self._tasks = set[asyncio.Task[Any]]()

    def __call__(
        self, loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, T] | Generator[Any, None, T], **named: Any
    ) -> asyncio.Task[T]:
        task = asyncio.Task(coroutine, loop=loop, **named)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


class BlockingEngine:
    """The synchronous face of an asynchronous engine."""

    def __init__(self, engine: Any):
        self.engine = engine
        self.supports_response_schema: bool = engine.supports_response_schema
        self.supports_function_calling: bool = engine.supports_function_calling
        self.supports_reasoning: bool = engine.supports_reasoning
        self.supported_params: set[str] = engine.supported_params

    def complete(self, request: Request) -> Response:
        """The answer to one request; raises what the engine raises."""
        return wait_for(self.engine.complete(request))

    def stream(self, request: Request) -> Generator[StreamEvent]:
        """The answer event by event; raises what the engine raises."""
        events: AsyncGenerator[StreamEvent] = self.engine.stream(request)
        return one_by_one(events)
