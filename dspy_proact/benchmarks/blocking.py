"""Synchronous callers of asynchronous runs, also where an event loop is running already, as in a notebook."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import Any, TypeVar

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
    begun = Future[asyncio.Task[Any]]()

    async def known() -> T:
        task = asyncio.current_task()
        assert task is not None, "a coroutine is run by a task"
        begun.set_result(task)
        return await coroutine

    with signals_heard(), ThreadPoolExecutor(1, "dspy-proact run") as pool:
        ended = pool.submit(copy_context().run, asyncio.run, known())
        try:
            while not wait([ended], HEARTBEAT).done:
                pass
        except BaseException:
            task = begun.result()
            task.get_loop().call_soon_threadsafe(task.cancel)
            raise
        return ended.result()
