"""Anthropic's Message Batches.

    POST /messages/batches              the requests and their batch at once
    GET  /messages/batches, .../ID      what there is, and how far it is
    GET  /messages/batches/ID/results   one line a request

Nothing marks a batch whose creation was not confirmed: it is found by its time and its number of requests, and its
results show whether it is the one. https://platform.claude.com/docs/en/build-with-claude/batch-processing
"""

import json
from collections.abc import AsyncIterator, Iterable
from datetime import datetime
from pathlib import Path

from dspy_proact.kept import KeptBatch
from dspy_proact.models.batch.batch_client import BatchClient, count, part, pieces, text
from dspy_proact.models.batch.batching import UNSENT, BatchState, LineReply

_HEAD, _TAIL = b'{"requests": [', b"]}"
_COUNTS = ("succeeded", "errored", "canceled", "expired")
_PAGES = 20
"""Pages of batches that are searched, each of 100."""
_SLACK = 60.0
"""Seconds by which two clocks may differ."""
_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""HTTP status of an error by its type, as Anthropic documents it."""


class AnthropicBatches:
    """The batch API beside the endpoint of messages.

    Args:
        url: Of the endpoint of messages.
        headers: Of a plain request.
        timeout: Seconds for each wait.
    """

    most_requests, most_bytes = 100_000, 256 * 10**6 - 100

    def __init__(self, url: str, headers: Iterable[tuple[str, str]], timeout: float):
        self._client = BatchClient(f"{url.partition('?')[0]}/batches", headers, timeout)

    def line(self, name: str, body: bytes) -> bytes:
        """A request as a line of the file."""
        return b'{"custom_id": "' + name.encode() + b'", "params": ' + body.replace(b"\n", b" ") + b"}"

    async def upload(self, path: Path) -> None:
        """Nothing: the requests are sent with the creation."""

    async def create(self, path: Path, file: str | None) -> str:  # noqa: ARG002 - of the protocol
        """Create a batch of the requests in a file; its id."""
        # A comma stands for the end of each line but the last.
        size = len(_HEAD) + path.stat().st_size - 1 + len(_TAIL)
        headers = {"content-type": "application/json", "content-length": str(size)}
        return text(await self._client.json("POST", "", content=_document(path), headers=headers), "id")

    async def find(self, batch: KeptBatch, others: set[str]) -> str | None:
        """The id of a batch of as many requests, of several the one that was created nearest to that time."""
        near, after = dict[str, float](), dict[str, str]()
        for _ in range(_PAGES):
            page = await self._client.json("GET", "", params={"limit": "100", **after})
            rows = [row for row in page.get("data") or () if isinstance(row, dict)]
            created = [datetime.fromisoformat(text(row, "created_at")).timestamp() - batch.since for row in rows]
            for row, seconds in zip(rows, created, strict=True):
                number = count(row.get("request_counts"), "processing", *_COUNTS)
                if seconds >= -_SLACK and number == len(batch.requests) and row.get("id") not in others:
                    near[text(row, "id")] = abs(seconds)
            if not rows or not page.get("has_more") or created[-1] < -_SLACK:
                break
            after = {"after_id": text(rows[-1], "id")}
        return min(near, key=lambda name: near[name], default=None)

    async def state(self, batch_id: str) -> BatchState:
        """How far a batch is."""
        row = await self._client.json("GET", f"/{part(batch_id)}")
        word = text(row, "processing_status")
        return BatchState(batch_id, word, word == "ended", count(row.get("request_counts"), *_COUNTS), (batch_id,))

    async def download(self, state: BatchState, path: Path) -> None:
        """Write the results into a file."""
        # Not from the address that the answer names: the key would go where it points.
        await self._client.download([f"/{part(state.id)}/results"], path)

    def read(self, line: bytes) -> tuple[str, LineReply]:
        """The name of a request and its reply."""
        row = json.loads(line)
        result = row["result"]
        if result["type"] == "succeeded":
            return row["custom_id"], LineReply(200, json.dumps(result["message"]).encode())
        if result["type"] == "errored":
            kind = result["error"].get("error", result["error"]).get("type")
            return row["custom_id"], LineReply(_STATUSES.get(kind, 500), json.dumps(result["error"]).encode())
        sentence = f"the request was not sent to the model: {result['type']}"
        body = {"type": "error", "error": {"type": result["type"], "message": sentence}}
        return row["custom_id"], LineReply(UNSENT.get(result["type"], 500), json.dumps(body).encode())

    async def aclose(self) -> None:
        """Close its connections."""
        await self._client.aclose()


async def _document(path: Path) -> AsyncIterator[bytes]:
    """The document of a creation, of the lines in a file, the last of which has its end too."""
    yield _HEAD
    held = b""
    async for piece in pieces(path):
        # A body is JSON without a line end, so that each one ends a request.
        yield held
        held = piece.replace(b"\n", b",")
    yield held[:-1]
    yield _TAIL
