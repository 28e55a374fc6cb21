from collections.abc import Awaitable
from typing import TypeVar

from dspy_proact.errors import StageError
from dspy_proact.runs.event import Failure

T = TypeVar("T")


async def attempted(stage: Awaitable[T]) -> T | Failure:
    """What a stage of a case came to; the one border at which whatever befalls a case becomes its failure.

    A halt and a cancellation go through: they end more than a case.
    """
    try:
        return await stage
    except StageError as error:
        return Failure(kind=error.kind, reason=error.reason, detail=error.detail)
    except Exception as error:
        return Failure(kind="provider", reason="unexpected", detail=f"{type(error).__name__}: {error}")
