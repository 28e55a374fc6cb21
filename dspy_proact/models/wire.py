"""What an answer may do on its way: be so long, and come from nobody but who was asked.

A redirect is not followed: the key would go where the server points, and a stranger's answer would count. A body is
read up to a bound, so that one that never ends takes no memory.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from functools import wraps
from typing import Any

import httpx
from dspy._vendor.lm15.transports import StdlibAsyncTransport

from dspy_proact.models.usage import counted

LONGEST = 16 * 2**20
"""Bytes of a body: five times what the longest answer that a model writes takes in JSON."""


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what it came of, the nearest first."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


class WireError(Exception):
    """An answer was not taken. The clients wrap it in errors of their own."""


class OverlongError(WireError):
    """More came than an answer has."""

    def __init__(self) -> None:
        super().__init__(f"the server sent more than {LONGEST // 2**20} MiB in one answer; the rest was not read")


class RedirectError(WireError):
    """The server points elsewhere."""

    def __init__(self, status: int, location: str | None):
        super().__init__(f"the endpoint redirects to {location!r} (HTTP {status}), which is not followed")


def _require_answer(status: int, location: str | None) -> None:
    if 300 <= status < 400:
        raise RedirectError(status, location)


async def bounded(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """The chunks of a body; raises `OverlongError` where they are more than an answer has."""
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        if size > LONGEST:
            raise OverlongError
        yield chunk


class BoundedTransport(StdlibAsyncTransport):
    """DSPy's transport, which follows no redirect, with bodies that end."""

    async def _do_stream(self, request: Any) -> Any:
        response = await super()._do_stream(request)
        try:
            _require_answer(response.status, response.header("location"))
        except RedirectError:
            await response.aclose()
            raise
        response._chunks = bounded(response._chunks)
        return response


class _BoundedStream(httpx.AsyncByteStream):
    """The body of an httpx response, with an end."""

    def __init__(self, inner: httpx.AsyncByteStream):
        self._inner = inner

    def __aiter__(self) -> AsyncIterator[bytes]:
        return bounded(aiter(self._inner))

    async def aclose(self) -> None:
        """Close the body that this one reads."""
        await self._inner.aclose()


async def _bound(response: httpx.Response) -> None:
    _require_answer(response.status_code, response.headers.get("location"))
    assert isinstance(response.stream, httpx.AsyncByteStream), "of an asynchronous client"
    response.stream = _BoundedStream(response.stream)
    if "json" in response.headers.get("content-type", ""):
        response._content = counted(await response.aread())


def _bounding(make: Any) -> Any:
    @wraps(make)
    def made(*args: Any, **options: Any) -> httpx.AsyncClient:
        client = make(*args, **options)
        # A compressed body may become a thousand times as long after it was counted.
        client.headers["accept-encoding"] = "identity"
        client.event_hooks = {**client.event_hooks, "response": [*client.event_hooks.get("response", ()), _bound]}
        return client

    return made


async def _send_once(*_: Any, **__: Any) -> httpx.Response:
    """In the place of litellm's second request after a lost connection, of which no limit knows: the failure stays."""
    raise  # noqa: PLE0704  it is called where the failure is handled


def bound_clients_of_litellm() -> None:
    """Let litellm's asynchronous clients have the same bounds, in the whole process: it has no option for them."""
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler
    from litellm.llms.openai.common_utils import BaseOpenAILLM

    if AsyncHTTPHandler.single_connection_post_request is not _send_once:
        AsyncHTTPHandler.single_connection_post_request = _send_once
        AsyncHTTPHandler.create_client = _bounding(AsyncHTTPHandler.create_client)
        BaseOpenAILLM._get_async_http_client = staticmethod(_bounding(BaseOpenAILLM._get_async_http_client))
