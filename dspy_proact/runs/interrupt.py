"""Ctrl-C in order: the first one lets what is in flight end, the second drops it."""

import asyncio
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager

from dspy_proact.errors import Interrupted
from dspy_proact.switch import Switch

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def orderly_interrupt(switch: Switch, on_first: Callable[[], None]) -> Generator[None]:
    """Inside, the first SIGINT or SIGTERM pulls the switch and the second cancels the task that entered.

    Elsewhere than in the main thread signals are left alone.

    Args:
        switch: Of the run that is going on.
        on_first: Called at the first signal, to tell the person.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None, "entered from a coroutine"

    came = False

    def interrupted() -> None:
        nonlocal came
        if came:
            task.cancel()
        else:
            came = True
            switch.pull(Interrupted("interrupted"))
            on_first()

    before = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        for number in _SIGNALS:
            loop.add_signal_handler(number, interrupted)
    except (ValueError, RuntimeError, NotImplementedError):  # not the main thread, or no signals on this system
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)
