from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import TypeVar

from dspy_proact.errors import Halt
from dspy_proact.switch import HEARTBEAT

T = TypeVar("T")


def side_by_side(work: Sequence[Callable[[], T]], width: int) -> list[T]:
    """What each piece of work comes to, in their order; as many as the width at once, each in the caller's context.

    Where one fails no further one is begun, those that have begun are waited for, and the first failure in their order
    is raised: before all, one that is no `Halt`, for it may be why the others were ended.
    """
    if min(width, len(work)) < 2:
        return [each() for each in work]
    with ThreadPoolExecutor(min(width, len(work))) as pool:
        futures = [pool.submit(copy_context().run, each) for each in work]
        while (ended := wait(futures, HEARTBEAT, return_when=FIRST_EXCEPTION)).not_done:
            if any(future.cancelled() or future.exception() for future in ended.done):
                for future in ended.not_done:
                    future.cancel()
                wait(ended.not_done, HEARTBEAT)
    failures = [error for future in futures if not future.cancelled() and (error := future.exception())]
    if failures:
        raise min(failures, key=lambda error: isinstance(error, Halt))
    return [future.result() for future in futures]
