"""DSPy's and litellm's HTTP clients, held to what an endpoint may answer.

A redirect is not followed: the key would go where the server points, and another server's answer would count. A body is
read up to a bound, so that an endless one takes no memory. Usage that is no count, which self-hosted servers send, is
left out; both clients would refuse the whole body.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar
from urllib.request import getproxies

import httpx
from dspy.lm15 import Request, Response, RouterConfig

from dspy_proact.models.dspy_internals import (
    AsyncLiteLLMEngine,
    AsyncLM15Engine,
    StdlibAsyncTransport,
    StreamEvent,
    validate_request,
)

LONGEST = 16 * 2**20
"""Bytes of a body: five times what the longest answer that a model writes takes in JSON."""
_USAGE_KEYS = ("usage", "usageMetadata")
"""Where the providers that DSPy reads itself put usage, at the top of a body."""
T = TypeVar("T")


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error and its causes, the nearest first."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


class WireError(Exception):
    """An answer was refused. The clients wrap it in errors of their own."""


class OverlongError(WireError):
    """A body is longer than any answer."""

    def __init__(self) -> None:
        super().__init__(f"the server sent more than {LONGEST // 2**20} MiB in one answer; the rest was not read")


class RedirectError(WireError):
    """The server redirects."""

    def __init__(self, status: int, location: str | None):
        super().__init__(f"the endpoint redirects to {location!r} (HTTP {status}); redirects are not followed")


def _refuse_redirect(status: int, location: str | None) -> None:
    if 300 <= status < 400:
        raise RedirectError(status, location)


async def _bounded(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """The chunks of a body; raises `OverlongError` where they are more than `LONGEST`."""
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        if size > LONGEST:
            raise OverlongError
        yield chunk


class LeanLM15(AsyncLM15Engine):
    """DSPy's asynchronous engine; it routes without a thread, and without a proxy lookup where there is no proxy.

    Its keys are given when it is made, so that routing never waits.
    """

    def __init__(self, config: RouterConfig):
        self._transport = _BoundedTransport(**config.transport_kwargs(), trust_env=bool(getproxies()))
        self._targets: dict[tuple[str, bool], tuple[Any, str]] = {}
        super().__init__(replace(config, transport=self._transport, timeouts=None, max_connections=None))

    async def complete(self, request: Request) -> Response:
        """The answer to a request."""
        provider, routed = self._target(request)
        return await provider.complete(routed)

    def _target(self, request: Request, *, streaming: bool = False) -> tuple[Any, Request]:
        """The client of a request and the request as it takes it, looked up once for each model."""
        if (request.model, streaming) not in self._targets:
            provider, routed = super()._target(request, streaming=streaming)
            provider._inner = _LenientReader(provider._inner)
            self._targets[request.model, streaming] = provider, routed.model
            return provider, routed
        validate_request(request)
        provider, model = self._targets[request.model, streaming]
        return provider, replace(request, model=model)

    async def aclose(self) -> None:
        """Close the engine and its connections."""
        self._targets.clear()
        await super().aclose()
        await self._transport.aclose()


class _BoundedTransport(StdlibAsyncTransport):
    """DSPy's transport with bounded bodies; redirects are errors."""

    async def _do_stream(self, request: Any) -> Any:
        response = await super()._do_stream(request)
        try:
            _refuse_redirect(response.status, response.header("location"))
        except RedirectError:
            await response.aclose()
            raise
        response._chunks = _bounded(response._chunks)
        return response


class _LenientReader:
    """One of DSPy's readers of bodies, which leaves out usage that is no count."""

    def __init__(self, reader: Any):
        self._reader = reader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)

    def parse_response(self, request: Request, response: Any) -> Response:
        """The answer in a body."""
        read = self._reader.parse_response
        return _leniently(lambda body: read(request, replace(response, body=body)), response.body)

    def parse_stream_events(self, request: Request, event: Any) -> Iterator[StreamEvent]:
        """The events in one event of a stream."""
        read = self._reader.parse_stream_events
        return iter(_leniently(lambda data: list(read(request, replace(event, data=data))), event.data))


def _leniently(read: Callable[[Any], T], body: bytes | str) -> T:
    try:
        return read(body)
    except (TypeError, ValueError, AttributeError):  # what DSPy's readers raise where a count is none
        return read(_with_counts_only(body))


def _with_counts_only(body: bytes | str) -> Any:
    """A body in JSON with nothing but counts in its usage; any other body as it is."""
    try:
        whole = json.loads(body)
    except ValueError:
        return body
    usage = {key: whole[key] for key in _USAGE_KEYS if key in whole} if isinstance(whole, dict) else {}
    counts = {key: _counts(value) for key, value in usage.items()}
    if counts == usage:
        return body
    text = json.dumps(whole | counts)
    return text if isinstance(body, str) else text.encode()


def _counts(usage: Any) -> dict[str, Any]:
    named = usage.items() if isinstance(usage, dict) else ()
    counts = {name: _counts(value) if name.endswith("_details") else _count(value) for name, value in named}
    return {name: count for name, count in counts.items() if count is not None}


def _count(value: Any) -> int | None:
    """A whole number, also one written as a text or with a point; None for anything else."""
    try:
        whole = int(value) if isinstance(value, str) or float(value).is_integer() else None
    except (TypeError, ValueError, OverflowError):
        return None
    return None if isinstance(value, bool) or whole is None or whole < 0 else whole


def import_litellm() -> Any:
    """litellm, without its messages on standard output."""
    import litellm

    litellm.suppress_debug_info = True
    return litellm


async def close_litellm() -> None:
    """Close every client that litellm has cached; it opens new ones at its next call."""
    litellm = import_litellm()
    await litellm.close_litellm_async_clients()
    litellm.in_memory_llm_clients_cache.flush_cache()


class ClosingLiteLLM(AsyncLiteLLMEngine):
    """litellm's asynchronous engine; closing it closes litellm's clients, which the process would keep and leak.

    litellm makes up what a stream leaves out: the usage is then its own count, and a connection that ends in good order
    without a finish reason has the reason `stop`.
    """

    async def aclose(self) -> None:
        """Close the engine and litellm's clients."""
        await super().aclose()
        await close_litellm()


def bound_clients_of_litellm() -> None:
    """Hold litellm's asynchronous clients to the same bounds, in the whole process: it has no option for them."""
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler
    from litellm.llms.openai.common_utils import BaseOpenAILLM

    if AsyncHTTPHandler.single_connection_post_request is not _send_once:
        AsyncHTTPHandler.single_connection_post_request = _send_once
        AsyncHTTPHandler.create_client = _bounding(AsyncHTTPHandler.create_client)
        BaseOpenAILLM._get_async_http_client = staticmethod(_bounding(BaseOpenAILLM._get_async_http_client))


async def _send_once(*_: Any, **__: Any) -> httpx.Response:
    """Replaces litellm's second request after a lost connection, which no limit would count: the failure stays."""
    raise  # noqa: PLE0704  it is called where the failure is handled


def _bounding(make: Any) -> Any:
    @wraps(make)
    def made(*args: Any, **options: Any) -> httpx.AsyncClient:
        client = make(*args, **options)
        # A compressed body may become a thousand times as long after it was counted.
        client.headers["accept-encoding"] = "identity"
        client.event_hooks = {**client.event_hooks, "response": [*client.event_hooks.get("response", ()), _bound]}
        return client

    return made


async def _bound(response: httpx.Response) -> None:
    _refuse_redirect(response.status_code, response.headers.get("location"))
    assert isinstance(response.stream, httpx.AsyncByteStream), "of an asynchronous client"
    response.stream = _BoundedStream(response.stream)
    if "json" in response.headers.get("content-type", ""):
        response._content = _with_counts_only(await response.aread())


class _BoundedStream(httpx.AsyncByteStream):
    """The bounded body of an httpx response."""

    def __init__(self, inner: httpx.AsyncByteStream):
        self._inner = inner

    def __aiter__(self) -> AsyncIterator[bytes]:
        return _bounded(aiter(self._inner))

    async def aclose(self) -> None:
        """Close the body that this one reads."""
        await self._inner.aclose()
