"""The answer of a program piece by piece, while the model writes it."""

import asyncio
import codecs
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from typing import Any

import dspy

from dspy_proact.models import one_by_one


class Pieces(AsyncIterator[str]):
    """The pieces of a text, none empty, awaited (`async for`) or waited for (`for`, also where a loop is running)."""

    def __init__(self, pieces: AsyncGenerator[str]):
        self._pieces = pieces

    def __iter__(self) -> Generator[str]:
        return one_by_one(self._pieces)

    async def __anext__(self) -> str:
        return await anext(self._pieces)

    async def aclose(self) -> None:
        """Leave the rest."""
        await self._pieces.aclose()


def streamed(program: dspy.Module, **inputs: Any) -> Pieces:
    """The response of a program in pieces, none of them empty; together they are the whole.

    The program, which asks a model once for its `response`, runs in its own task, under the settings in force at the
    first piece. The whole comes at once where nothing can be had earlier, as from a cache. Closing the generator early
    cancels the task and awaits its end. Raises what the program raises: after the last piece where it refuses the
    answer, and of the pieces right before that some may be missing.
    """
    return Pieces(_written(program, inputs))


async def _written(program: dspy.Module, inputs: dict[str, Any]) -> AsyncGenerator[str]:
    pieces: asyncio.Queue[str | None] = asyncio.Queue()
    writing = asyncio.create_task(_write(program, inputs, pieces))
    try:
        while (piece := await pieces.get()) is not None:
            yield piece
        await writing
    finally:
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)


async def _write(program: dspy.Module, inputs: dict[str, Any], pieces: asyncio.Queue[str | None]) -> None:
    """Put the pieces in the queue, and None at the end, also of a failure."""
    # As `encodable` does to the whole: halves of a surrogate pair are joined, though they come in two pieces.
    joined = codecs.getincrementaldecoder("utf-16-le")("replace")
    stream: Any = dspy.streamify(program, is_async_program=True)  # whose type in dspy is not what it returns
    begun = False
    try:
        async for value in stream(**inputs):
            last = isinstance(value, dspy.Prediction)
            text = value.response if last and not begun else _text(value)
            begun = begun or bool(text)
            if piece := joined.decode(text.encode("utf-16-le", "surrogatepass"), final=last):
                pieces.put_nowait(piece)
    finally:
        pieces.put_nowait(None)


def _text(value: Any) -> str:
    """The text in what `streamify` yields: a chunk of either client, or nothing in a status or the prediction."""
    choices = None if isinstance(value, dspy.Prediction) else getattr(value, "choices", None)
    return (choices[0].delta.content or "") if choices else ""
