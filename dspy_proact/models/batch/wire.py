"""The transport under a provider's own client: an HTTP request waits in a batch for its HTTP response."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Any

import httpx
from dspy import lm15
from dspy.lm15 import Request, Response, RouterConfig

from dspy_proact.models.batch.batcher import Batcher, SendAgain
from dspy_proact.models.clients import ClosingLiteLLM, LeanLM15, carrier
from dspy_proact.models.dspy_internals import AsyncTransportResponse, TransportRequest

_name: ContextVar[str | None] = ContextVar("dspy_proact_batch_request", default=None)

_FOREVER = 10.0**7
"""Seconds that a client of litellm waits for what comes in a batch: the provider's window ends before."""


@contextmanager
def named_in_batches(name: str) -> Generator[None]:
    """Inside, a request has this name in its batch."""
    token = _name.set(name)
    try:
        yield
    finally:
        _name.reset(token)


class BatchLM15(LeanLM15):
    """DSPy's asynchronous engine, whose requests are answered in batches."""

    def __init__(self, config: RouterConfig, make: Callable[[], Batcher]):
        super().__init__(config, _BatchTransport(make()))

    async def complete(self, request: Request) -> Response:
        """The answer to a request, however often its batch turns out not to be one."""
        while True:
            try:
                return await super().complete(request)
            except SendAgain:
                await asyncio.sleep(0)


class BatchLiteLLM(ClosingLiteLLM):
    """litellm's asynchronous engine, whose requests are answered in batches."""

    def __init__(self, make: Callable[[], Batcher], **options: Any):
        options["timeout"] = _FOREVER
        super().__init__(**options)
        self._batcher = make()

    async def complete(self, request: Request) -> Response:
        """The answer to a request, however often its batch turns out not to be one."""
        while True:
            missing = list[SendAgain]()

            async def carry(
                url: str, headers: list[tuple[str, str]], body: bytes, missing: list[SendAgain] = missing
            ) -> tuple[int, bytes]:
                try:
                    reply = await self._batcher.ask(_required_name(), url, headers, body)
                except SendAgain as none:  # clients make an error of their own of it
                    missing.append(none)
                    raise
                except lm15.TransportError as error:
                    raise httpx.ReadError(str(error)) from error
                return reply.status, reply.body

            token = carrier.set(carry)
            try:
                return await super().complete(request)
            except Exception:
                if not missing:
                    raise
            finally:
                carrier.reset(token)
            await asyncio.sleep(0)

    async def aclose(self) -> None:
        """End what waits, and close litellm's clients; batches go on at the provider."""
        await self._batcher.aclose()
        await super().aclose()


def _required_name() -> str:
    name = _name.get()
    assert name is not None, "requests of runs have names"
    return name


class _BatchTransport:
    """Takes what a client would send, and gives what the provider would answer."""

    def __init__(self, batcher: Batcher):
        self._batcher = batcher

    @asynccontextmanager
    async def stream(self, request: TransportRequest) -> AsyncGenerator[AsyncTransportResponse]:
        """The response to a request."""
        body, request.body = request.body, b""  # it is kept in a file: a client holds on to its request
        waiting = self._batcher.ask(_required_name(), request.url, request.headers, body)
        del body
        reply = await waiting
        headers = [("content-type", "application/json")]
        yield AsyncTransportResponse(
            status=reply.status,
            reason="",
            headers=headers,
            http_version="1.1",
            chunks=_chunks(reply.body),
            release=_nothing,
        )

    async def aclose(self) -> None:
        """End what waits; batches go on at the provider."""
        await self._batcher.aclose()


async def _chunks(body: bytes) -> AsyncIterator[bytes]:
    yield body


async def _nothing(*_: Any) -> None:
    pass
