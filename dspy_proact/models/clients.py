"""DSPy's and litellm's HTTP clients, held to what an endpoint may answer.

A redirect is not followed: the key would go where the server points, and another server's answer would count. An
attempt sends one request, whatever litellm or an SDK under it would try again. A body is read up to a bound, also while
it is unpacked, so that an endless one takes no memory. Usage that is no count, which self-hosted servers send, is left
out; both clients would refuse the whole body.
"""

import json
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing
from contextvars import ContextVar
from dataclasses import replace
from functools import wraps
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, TypeVar
from urllib.request import getproxies

import httpx
from dspy.lm15 import Config, ProviderError, Request, Response, RouterConfig

from dspy_proact.models.dspy_internals import (
    AsyncLiteLLMEngine,
    AsyncLM15Engine,
    StdlibAsyncTransport,
    StreamEvent,
    validate_request,
)
from dspy_proact.models.replies import ended_as_meant

CONNECT = 8.0
"""Seconds to connect; within them the system tries several times."""
LONGEST = 16 * 2**20
"""Bytes of a body: five times what the longest answer that a model writes takes in JSON."""
_PIECE = 2**16
_USAGE_KEYS = ("usage", "usageMetadata")
"""Where the providers that DSPy reads itself put usage, at the top of a body."""
T = TypeVar("T")
_posted: ContextVar[set[str] | None] = ContextVar("dspy_proact_posted", default=None)
"""Addresses to which the attempt that goes on by litellm has sent a request; a provider's log-in has its own."""


class WireError(Exception):
    """An answer was refused. The clients wrap it in errors of their own."""


class RedirectError(WireError):
    """The server redirects."""


def _refuse_redirect(status: int, location: str | None) -> None:
    if 300 <= status < 400:
        raise RedirectError(f"the endpoint redirects to {location!r} (HTTP {status}); redirects are not followed")


def _not_unpacked(encoding: str) -> WireError:
    return WireError(f"the server sent a body as {encoding!r}, which was not asked for and cannot be unpacked")


async def _bounded(chunks: AsyncIterator[bytes], most: int | None = None) -> AsyncGenerator[bytes]:
    """The chunks of a body; raises `WireError` where they have more bytes than that, or than `LONGEST`."""
    size, most = 0, LONGEST if most is None else most
    async for chunk in chunks:
        size += len(chunk)
        if size > most:
            raise WireError(f"the server sent more than {most // 2**20} MiB in one answer; the rest was not read")
        yield chunk


async def _unpacked(chunks: AsyncIterator[bytes], encoding: str) -> AsyncGenerator[bytes]:
    """The chunks of a gzip or zlib body, unpacked in pieces: a small one may become a thousand times as long."""
    unpack = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
    try:
        async for packed in chunks:
            yield unpack.decompress(packed, _PIECE)
            while unpack.unconsumed_tail:
                yield unpack.decompress(unpack.unconsumed_tail, _PIECE)
        yield unpack.flush()
    except zlib.error as error:
        raise _not_unpacked(encoding) from error


class LeanLM15(AsyncLM15Engine):
    """DSPy's asynchronous engine; it routes without a thread, and without a proxy lookup where there is no proxy.

    Its keys are given when it is made, so that routing never waits. A `transport` is in place of the network. Who
    asks limits the time of an answer, or of each event: a limit of each step, a task of its own, would end no sooner.
    """

    def __init__(self, config: RouterConfig, transport: Any = None):
        options = {**config.transport_kwargs(), "read_timeout": None, "write_timeout": None}
        self._transport = transport or _BoundedTransport(**options, trust_env=bool(getproxies()))
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

    async def _open(self, *args: Any, **options: Any) -> Any:
        connection: Any = await super()._open(*args, **options)
        connection.writer = _GatheringWriter(connection.writer)
        return connection

    async def _do_stream(self, request: Any) -> Any:
        response = await super()._do_stream(request)
        try:
            _refuse_redirect(response.status, response.header("location"))
        except RedirectError:
            await response.aclose()
            raise
        response._chunks = _bounded(response._chunks)
        return response


class _GatheringWriter:
    """A connection's writer, which sends what is written up to a `drain` at once: DSPy writes head and body apart."""

    def __init__(self, writer: Any):
        self._writer, self._pieces = writer, list[bytes]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._writer, name)

    def write(self, piece: bytes) -> None:
        """Keep a piece of a request until it is complete."""
        self._pieces.append(piece)

    async def drain(self) -> None:
        """Send the pieces."""
        request, self._pieces = b"".join(self._pieces), []
        self._writer.write(request)
        await self._writer.drain()


class _LenientReader:
    """One of DSPy's readers of bodies, which leaves out usage that is no count, and hears how a stream ended.

    Its errors keep the body as `body`.
    """

    def __init__(self, reader: Any):
        self._reader = reader
        self._plain: Request | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)

    def parse_response(self, request: Request, response: Any) -> Response:
        """The answer in a body, as text: DSPy's reader makes data of it by the schema, with the last of equal keys."""
        # Of a request, a reader needs the model and the schema; all that come this way are to one model.
        plain = self._plain = self._plain or replace(request, config=Config())
        try:
            parse = self._reader.parse_response
            return _leniently(lambda body: parse(plain, replace(response, body=body)), response.body)
        except ProviderError as error:
            _with_body(error, response.body)
            raise

    def normalize_error(self, status: int, body: str) -> ProviderError:
        """The error of a stream that was refused."""
        return _with_body(self._reader.normalize_error(status, body), body)

    def _http_error(self, response: Any) -> ProviderError:
        """The error of any other request."""
        return _with_body(self._reader._http_error(response), response.body)

    def parse_stream_events(self, request: Request, event: Any) -> Iterator[StreamEvent]:
        """The events in one event of a stream."""
        read = self._reader.parse_stream_events
        events = _leniently(lambda data: list(read(request, replace(event, data=data))), event.data)
        return (ended_as_meant(inner) if inner.type == "end" else inner for inner in events)


def _with_body(error: ProviderError, body: bytes | str) -> ProviderError:
    error.body = body  # pyright: ignore[reportAttributeAccessIssue] - the parameter that is refused is in it alone
    return error


def _leniently(read: Callable[[Any], T], body: bytes | str) -> T:
    try:
        return read(body)
    except (TypeError, ValueError, AttributeError):  # what DSPy's readers raise where a count is none
        return read(_with_counts_only(body))


def _with_counts_only(body: bytes | str) -> Any:
    """A body in JSON with nothing but counts in its usage; any other body as it is."""
    try:
        content = json.loads(body)
    except ValueError:
        return body
    usage = {key: content[key] for key in _USAGE_KEYS if key in content} if isinstance(content, dict) else {}
    counts = {key: _counts(value) for key, value in usage.items()}
    if counts == usage:
        return body
    text = json.dumps(content | counts)
    return text if isinstance(body, str) else text.encode()


def _counts(usage: Any) -> dict[str, Any]:
    named = usage.items() if isinstance(usage, dict) else ()
    counts = {name: _counts(value) if name.endswith("_details") else _count(value) for name, value in named}
    return {name: count for name, count in counts.items() if count is not None}


def _count(value: Any) -> int | None:
    """A whole number, also one written as a text or with a point; None for anything else."""
    try:
        count = int(value) if isinstance(value, str) or float(value).is_integer() else None
    except (TypeError, ValueError, OverflowError):
        return None
    return None if isinstance(value, bool) or count is None or count < 0 else count


def import_litellm() -> Any:
    """litellm, without its messages on standard output."""
    import litellm

    litellm.suppress_debug_info = True
    return litellm


def litellm_folder() -> Path:
    """Where litellm's files are, found without importing it."""
    return Path(str(distribution("litellm").locate_file("litellm")))


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

    async def complete(self, request: Request) -> Response:
        """The answer to a request, which is sent once."""
        _posted.set(set())
        return await super().complete(request)

    async def stream(self, request: Request) -> AsyncGenerator[Any]:
        """The answer event by event; the request is sent once."""
        _posted.set(set())
        async with aclosing(super().stream(request)) as events:
            async for event in events:
                yield event

    async def aclose(self) -> None:
        """Close the engine and litellm's clients."""
        await super().aclose()
        await close_litellm()


def bound_clients_of_litellm() -> None:
    """Hold litellm's asynchronous clients to the same bounds, in the whole process: it has no option for them."""
    from litellm.llms.azure.common_utils import BaseAzureLLM
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler
    from litellm.llms.openai.common_utils import BaseOpenAILLM
    from litellm.llms.openai.openai import OpenAIChatCompletion

    if AsyncHTTPHandler.single_connection_post_request is not _send_once:
        AsyncHTTPHandler.single_connection_post_request = _send_once
        AsyncHTTPHandler.create_client = _bounding(AsyncHTTPHandler.create_client)
        BaseOpenAILLM._get_async_http_client = staticmethod(_bounding(BaseOpenAILLM._get_async_http_client))
        # For several providers litellm drops its own `max_retries`; the SDK's default is two further requests.
        OpenAIChatCompletion._get_openai_client = _without_retries(OpenAIChatCompletion._get_openai_client)
        BaseAzureLLM.get_azure_openai_client = _without_retries(BaseAzureLLM.get_azure_openai_client)


async def _send_once(*_: Any, **__: Any) -> httpx.Response:
    """Replaces litellm's second request after a lost connection: the failure stays."""
    raise  # noqa: PLE0704  it is called where the failure is handled


def _without_retries(make: Any) -> Any:
    @wraps(make)
    def made(*args: Any, **options: Any) -> Any:
        client = make(*args, **options)
        client.max_retries = 0
        return client

    return made


def _bounding(make: Any) -> Any:
    @wraps(make)
    def made(*args: Any, **options: Any) -> httpx.AsyncClient:
        client = make(*args, **options)
        client.headers["accept-encoding"] = "identity"
        hooks = client.event_hooks
        client.event_hooks = {"request": [*hooks["request"], _once], "response": [*hooks["response"], _bound]}
        network = client._transport_for_url
        client._transport_for_url = lambda url: _Carried(network(url))
        return client

    return made


Carrier = Callable[[str, list[tuple[str, str]], bytes], Awaitable[tuple[int, bytes]]]
"""Answers what would be posted to an address with headers and a body: the status and the body of the answer."""
carrier: ContextVar[Carrier | None] = ContextVar("dspy_proact_carrier", default=None)
"""In place of the network, for the chat requests of litellm's clients."""


class _Carried(httpx.AsyncBaseTransport):
    """The network, or the carrier that is set."""

    def __init__(self, network: httpx.AsyncBaseTransport):
        self._network = network

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        carry = carrier.get()
        if carry is None or request.method != "POST" or not request.url.path.endswith("/chat/completions"):
            return await self._network.handle_async_request(request)
        body = await request.aread()
        status, answer = await carry(str(request.url), request.headers.multi_items(), body)
        return httpx.Response(status, headers={"content-type": "application/json"}, content=answer)


async def _once(request: httpx.Request) -> None:
    """Refuse a second request of an attempt to the same address; litellm would allow all of its time for connecting."""
    limits = request.extensions.get("timeout", {})
    request.extensions["timeout"] = limits | {"connect": min(CONNECT, limits.get("connect") or CONNECT)}
    if request.method == "POST" and (posted := _posted.get()) is not None:
        if str(request.url) in posted:
            raise WireError("litellm tried to send the request again after a failure; it was not sent")
        posted.add(str(request.url))


async def bound_body(response: httpx.Response, most: int | None = None) -> None:
    """Hold what a response of httpx may answer to so many bytes, unpacked; raises `RedirectError` where it redirects.

    Reading the body raises `WireError` where it has more, or is packed in a way that was not asked for.
    """
    _refuse_redirect(response.status_code, response.headers.get("location"))
    assert isinstance(response.stream, httpx.AsyncByteStream), "of an asynchronous client"
    response.stream = _BoundedStream(response.stream, response.headers.pop("content-encoding", "identity"), most)


async def _bound(response: httpx.Response) -> None:
    await bound_body(response)
    if "json" in response.headers.get("content-type", ""):
        body = _with_counts_only(await response.aread())
        response._content = _with_error_as_known(body) if response.status_code == 200 else body


def _with_error_as_known(body: bytes) -> bytes:
    """A body whose error has a code: litellm takes one without a code, which gateways send, for a faulty request."""
    try:
        content = json.loads(body) if b'"error"' in body else None
    except ValueError:
        return body
    if not isinstance(content, dict) or "choices" in content or not (error := content.get("error")):
        return body
    fields = error if isinstance(error, dict) else {"message": error}
    return json.dumps(content | {"error": {"code": 500, **fields}}).encode()


class _BoundedStream(httpx.AsyncByteStream):
    """The body of an httpx response, unpacked and bounded."""

    def __init__(self, inner: httpx.AsyncByteStream, encoding: str, most: int | None):
        self._inner, self._encoding, self._most = inner, encoding, most

    def __aiter__(self) -> AsyncIterator[bytes]:
        chunks = aiter(self._inner)
        if self._encoding not in ("identity", "gzip", "deflate"):
            raise _not_unpacked(self._encoding)
        return _bounded(chunks if self._encoding == "identity" else _unpacked(chunks, self._encoding), self._most)

    async def aclose(self) -> None:
        """Close the body that this one reads."""
        await self._inner.aclose()
