"""HTTP to a provider's batch API: JSON, uploads and downloads; failures are the errors of a plain call."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
from dspy import lm15

from dspy_proact.errors import StorageFault
from dspy_proact.kept import unwritable
from dspy_proact.models.clients import CONNECT, WireError, bound_body
from dspy_proact.models.dspy_internals import map_http_error, retry_after_seconds

_LONGEST_RESULTS = 8 * 2**30
"""Bytes of a file of results: 50,000 long answers take less than one GiB."""
_OF_BODY = frozenset(
    {"content-type", "content-length", "accept", "accept-encoding", "host", "connection", "user-agent"}
)
"""Headers of a plain request that are of its body or its connection, and not of the account."""
_PIECE = 2**20


class BatchClient:
    """Sends requests to one API, with the headers of a plain request, such as its key.

    Raises errors of `lm15`, httpx and `clients`, as the engines do.

    Args:
        base: Address of the API, without a slash at its end.
        headers: Of a plain request.
        timeout: Seconds for each wait.
        query: Of every address.
    """

    def __init__(
        self, base: str, headers: Iterable[tuple[str, str]], timeout: float, query: Mapping[str, str] | None = None
    ):
        self.base = base
        kept = {name: value for name, value in headers if name.lower() not in _OF_BODY}
        kept |= {"accept-encoding": "identity"}
        limits = httpx.Timeout(timeout, connect=min(CONNECT, timeout))
        self._client = httpx.AsyncClient(headers=kept, timeout=limits, params=query, follow_redirects=False)

    async def json(self, method: str, path: str, **options: Any) -> Mapping[str, Any]:
        """The JSON object that is answered; options are those of httpx."""
        async with _failures_known(), self._client.stream(method, f"{self.base}{path}", **options) as response:
            await bound_body(response)
            body = await response.aread()
        if response.status_code >= 400:
            raise _error(response, body)
        try:
            document = json.loads(body)
        except ValueError as error:
            raise WireError(f"the batch API answered {path} with what is no JSON") from error
        if not isinstance(document, dict):
            raise WireError(f"the batch API answered {path} with what is no JSON object")
        return document

    async def download(self, paths: Iterable[str], file: Path) -> None:
        """Write what is at paths of the API into a file, each from a new line on; raises a `StorageFault` too."""
        try:
            with file.open("wb") as results:
                for path in paths:
                    async with _failures_known(), self._client.stream("GET", f"{self.base}{path}") as response:
                        if response.status_code >= 400:
                            await bound_body(response)
                            raise _error(response, await response.aread())
                        await bound_body(response, _LONGEST_RESULTS)
                        async for chunk in response.aiter_bytes():
                            results.write(chunk)
                    results.write(b"\n")
        except OSError as error:
            raise StorageFault(unwritable(file, error)) from error

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()


@asynccontextmanager
async def _failures_known() -> AsyncGenerator[None]:
    """Inside, failures of httpx are those of a plain call."""
    try:
        yield
    except httpx.TimeoutException as error:
        raise lm15.TimeoutError(f"no answer in time ({type(error).__name__})") from error
    except httpx.TransportError as error:
        raise lm15.TransportError(str(error) or type(error).__name__) from error


async def pieces(path: Path) -> AsyncIterator[bytes]:
    """The contents of a file."""
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            yield piece


def part(name: str) -> str:
    """An id as one part of an address, whatever is in it."""
    return quote(name, safe="")


def text(document: Mapping[str, Any], name: str) -> str:
    """A text in a document of a provider; raises a `WireError` where there is none."""
    value = document.get(name)
    if not isinstance(value, str) or not value:
        raise WireError(f"the batch API answered without {name!r}")
    return value


def count(document: Any, *names: str) -> int:
    """The sum of counts in a document; what is no count is 0."""
    values = [document.get(name) for name in names] if isinstance(document, Mapping) else []
    return sum(value for value in values if type(value) is int)


def _error(response: httpx.Response, body: bytes) -> lm15.ProviderError:
    """The error of a plain call with this status and body."""
    after = retry_after_seconds(response.headers.get("retry-after"))
    shown = body.decode("utf-8", "replace").strip()[:500] or f"HTTP {response.status_code}"
    error = map_http_error(response.status_code, shown, retry_after=after)
    error.body = body  # pyright: ignore[reportAttributeAccessIssue] - faults are read in it
    return error
