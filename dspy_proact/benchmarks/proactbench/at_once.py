"""A handful of questions, asked at once, of which nothing is kept on disk."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from dspy_proact.errors import Halt
from dspy_proact.models import Gate, Model
from dspy_proact.runs import Failure, orderly_interrupt

T = TypeVar("T")
STOPPED = "stopped"
"""The error of what a halt left out."""


async def at_once(
    work: Sequence[Callable[[asyncio.Semaphore], Awaitable[T]]], models: Sequence[Model], gate: Gate
) -> tuple[list[T], Halt | None]:
    """What each piece of work comes to, in their order, and what stopped it; None where nothing did.

    After a limit or a fault for good, what is in flight is awaited; Ctrl-C drops it.

    Args:
        work: Waits for room before it asks, and ends with what it has when it is stopped or cancelled.
        models: That it asks; they are closed.
        gate: Of the models.

    Raises:
        UsageError: A key is missing.
        Interrupted: Ctrl-C came twice.
    """
    for model in models:
        model.require_key()
    room = asyncio.Semaphore(gate.concurrency)
    tasks = [asyncio.ensure_future(piece(room)) for piece in work]

    def drop() -> None:
        for task in tasks:
            task.cancel()

    with orderly_interrupt(gate.switch, drop):
        try:
            return await asyncio.gather(*tasks), gate.switch.halt
        finally:
            for model in models:
                await model.aclose()


def told(came: T | Failure) -> tuple[T | None, str | None]:
    """What came, or why nothing did, beginning with a short word."""
    if isinstance(came, Failure):
        return None, f"{came.reason}: {came.detail}" if came.detail else came.reason
    return came, None
