"""Ctrl-C in order: the first one lets what is in flight end, the second drops it.

A compile that is not awaited is interrupted by `otherwise` of `signals_handled`. Only the main thread receives
signals. It passes them on to a run in another thread while it waits for that.
"""

import asyncio
import signal
from collections import Counter
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from threading import Event
from typing import Any, TypeVar, cast

from dspy_proact.errors import Interrupted
from dspy_proact.switch import HEARTBEAT, Switch

T = TypeVar("T")

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_listeners: list[Callable[[], None]] = []
"""Called at each signal; from all threads."""
_users: Counter[asyncio.AbstractEventLoop | None] = Counter()
_before: dict[asyncio.AbstractEventLoop | None, dict[int, Any]] = {}
"""Handlers to restore, by the loop that handles signals in their place."""


@contextmanager
def orderly_interrupt(switch: Switch, on_first: Callable[[], None]) -> Generator[None]:
    """Inside, the first SIGINT or SIGTERM pulls the switch and the second cancels the task that entered: `Interrupted`.

    Signals are left alone unless this is the main thread, or the main thread is in `signals_handled`.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None, "entered from a coroutine"

    came = dropped = False

    def interrupted() -> None:
        nonlocal came, dropped
        if came:
            dropped = True
            task.cancel()
        else:
            came = True
            switch.pull(Interrupted("interrupted"))
            on_first()

    def listener() -> None:
        loop.call_soon_threadsafe(interrupted)

    _listeners.append(listener)
    try:
        with signals_handled(loop):
            yield
    except asyncio.CancelledError:
        if not dropped or task.uncancel():
            raise
        raise Interrupted("interrupted twice: what was in flight is dropped") from None
    finally:
        _listeners.remove(listener)


@contextmanager
def signals_handled(
    loop: asyncio.AbstractEventLoop | None = None, otherwise: Callable[[], None] = lambda: None
) -> Generator[None]:
    """Inside, SIGINT and SIGTERM reach every `orderly_interrupt`; does nothing in another thread than the main one.

    The loop is that of the main thread, which may enter this several times at once; None where the main thread only
    waits. Then a signal without a listener calls `otherwise`, between any two steps of the main thread.
    """

    def notify(*_: object) -> None:
        for listener in tuple(_listeners) or (otherwise,):
            listener()

    try:
        if not _users[loop]:
            before: dict[int, Any] = {number: signal.getsignal(number) for number in _SIGNALS}
            for number in _SIGNALS:
                if loop is None:
                    signal.signal(number, notify)
                else:
                    loop.add_signal_handler(number, notify)  # wakes the loop, whatever thread receives the signal
            _before[loop] = before
    except (ValueError, RuntimeError, NotImplementedError):  # not the main thread, or no signals on this system
        yield
        return
    _users[loop] += 1
    try:
        yield
    finally:
        _users[loop] -= 1
        if not _users[loop]:
            del _users[loop]
            for number, handler in _before.pop(loop).items():
                if loop is not None:
                    loop.remove_signal_handler(number)
                signal.signal(number, handler)


def run_to_end(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in an event loop of its own and in the context of the caller, and return its result.

    Where a loop is running in this thread, as in a notebook, the coroutine runs in another thread and this one waits;
    then Ctrl-C reaches it by `orderly_interrupt`; elsewhere Ctrl-C cancels it and raises a `KeyboardInterrupt`.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    begun, dropped = Future[asyncio.Task[T]](), Event()

    async def known() -> T:
        begun.set_result(cast("asyncio.Task[T]", asyncio.current_task()))
        return await coroutine

    def drop() -> None:
        dropped.set()
        begun.add_done_callback(lambda task: task.result().get_loop().call_soon_threadsafe(task.result().cancel))

    with signals_handled(otherwise=drop), ThreadPoolExecutor(1, "dspy-proact run") as pool:
        ended = pool.submit(copy_context().run, asyncio.run, known())
        while not wait([ended], HEARTBEAT).done:
            pass
    try:
        return ended.result()
    except asyncio.CancelledError:
        if dropped.is_set():
            raise KeyboardInterrupt from None
        raise
