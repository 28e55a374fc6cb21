"""Synchronous callers of asynchronous runs, also where an event loop is running already, as in a notebook."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from threading import Event
from typing import Any, TypeVar, cast

from dspy_proact.models.blocking import HEARTBEAT
from dspy_proact.runs import signals_heard

T = TypeVar("T")


def run_to_end(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine, in a loop of its own and in the context of the caller.

    Where a loop is running in this thread, the other one runs in a thread of its own, and this one waits for its end;
    then Ctrl-C reaches the coroutine by `orderly_interrupt`, and cancels it while it is not in that.

    Raises:
        KeyboardInterrupt: It was cancelled so.
        BaseException: What the coroutine raises.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    begun, dropped = Future[asyncio.Task[T]](), Event()

    async def known() -> T:
        task = cast("asyncio.Task[T]", asyncio.current_task())
        begun.set_result(task)
        return await coroutine

    def drop() -> None:
        dropped.set()
        begun.add_done_callback(_cancel)

    with signals_heard(unheard=drop), ThreadPoolExecutor(1, "dspy-proact run") as pool:
        ended = pool.submit(copy_context().run, asyncio.run, known())
        while not wait([ended], HEARTBEAT).done:
            pass
    try:
        return ended.result()
    except asyncio.CancelledError:
        if dropped.is_set():
            raise KeyboardInterrupt from None
        raise


def _cancel(begun: Future[asyncio.Task[T]]) -> None:
    task = begun.result()
    task.get_loop().call_soon_threadsafe(task.cancel)
