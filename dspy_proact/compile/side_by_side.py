"""Pieces of work at once, in threads that see the caller's context."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import TypeVar

from dspy_proact.errors import Halt
from dspy_proact.switch import HEARTBEAT

T = TypeVar("T")


def side_by_side(work: Sequence[Callable[[], T]], width: int) -> list[T]:
    """Results of the pieces of work, in their order; at most `width` run at once, each in the caller's context.

    After a failure no further piece starts, and those that run are awaited. Raises the first failure in order; one
    that is no `Halt` goes first, as it may be why the others were halted.
    """
    if min(width, len(work)) < 2:
        return [piece() for piece in work]
    with ThreadPoolExecutor(min(width, len(work))) as pool:
        futures = [pool.submit(copy_context().run, piece) for piece in work]
        while (ended := wait(futures, HEARTBEAT, return_when=FIRST_EXCEPTION)).not_done:
            if any(future.cancelled() or future.exception() for future in ended.done):
                for future in ended.not_done:
                    future.cancel()
                wait(ended.not_done, HEARTBEAT)
    failures = [error for future in futures if not future.cancelled() and (error := future.exception())]
    if failures:
        raise min(failures, key=lambda error: isinstance(error, Halt))
    return [future.result() for future in futures]
