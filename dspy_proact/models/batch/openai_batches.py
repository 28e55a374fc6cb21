"""OpenAI's protocol of batches, which Groq and some servers of one's own speak too.

    POST /files                 the requests, one a line
    POST /batches               a batch of such a file
    GET  /batches, /batches/ID  what there is, and how far it is
    GET  /files/ID/content      replies, and in another file failures

A batch whose creation was not confirmed is found by its file. https://developers.openai.com/api/docs/guides/batch
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from dspy_proact.kept import KeptBatch
from dspy_proact.models.batch.batch_client import BatchClient, count, part, text
from dspy_proact.models.batch.batching import UNSENT, BatchState, LineReply

PATH = "/chat/completions"
_RUNNING = ("validating", "in_progress", "finalizing", "cancelling")
_ENDED = ("completed", "failed", "expired", "cancelled", "canceled")
"""Of a batch; in any other state it goes on, unless it has results."""
_AS_OPENAI = {"success": "completed", "timeout_exceeded": "expired", "queued": "validating", "running": "in_progress"}
"""Mistral's words of a job, as OpenAI's."""
_PAGES = 20
"""Pages of batches that are searched, each of 100."""
_SLACK = 300
"""Seconds by which two clocks may differ."""


class OpenAIBatches:
    """The batch API beside a chat endpoint.

    Args:
        url: Of the chat endpoint.
        headers: Of a plain request.
        timeout: Seconds for each wait.
    """

    most_requests, most_bytes = 50_000, 200 * 10**6
    endpoint = f"/v1{PATH}"
    """Where a line is answered, as the API names it."""

    def __init__(self, url: str, headers: Iterable[tuple[str, str]], timeout: float):
        self._client = self._connected(url, headers, timeout)

    def _connected(self, url: str, headers: Iterable[tuple[str, str]], timeout: float) -> BatchClient:
        return BatchClient(url.partition("?")[0].removesuffix(PATH), headers, timeout)

    def line(self, name: str, body: bytes) -> bytes:
        """A request as a line of the file."""
        head = json.dumps({"custom_id": name, "method": "POST", "url": self.endpoint})
        return head[:-1].encode() + b', "body": ' + body.replace(b"\n", b" ") + b"}"

    async def upload(self, path: Path) -> str:
        """Upload a file of requests; its id."""
        with path.open("rb") as file:
            files = {"file": (path.name, file, "application/jsonl")}
            return text(await self._client.json("POST", "/files", files=files, data={"purpose": "batch"}), "id")

    async def create(self, path: Path, file: str | None) -> str:  # noqa: ARG002 - of the protocol
        """Create a batch of an uploaded file; its id."""
        wanted = {"input_file_id": file, "endpoint": self.endpoint, "completion_window": "24h"}
        return text(await self._client.json("POST", "/batches", json=wanted), "id")

    async def find(self, batch: KeptBatch, others: set[str]) -> str | None:  # noqa: ARG002 - of the protocol
        """The id of the batch of this file."""
        after = dict[str, str]()
        for _ in range(_PAGES):
            page = await self._client.json("GET", "/batches", params={"limit": "100", **after})
            rows = [row for row in page.get("data") or () if isinstance(row, dict)]
            for row in rows:
                if row.get("input_file_id") == batch.file:
                    return text(row, "id")
            if not rows or not page.get("has_more") or count(rows[-1], "created_at") < batch.since - _SLACK:
                break
            after = {"after": text(rows[-1], "id")}
        return None

    async def state(self, batch_id: str) -> BatchState:
        """How far a batch is."""
        row = await self._client.json("GET", f"/batches/{part(batch_id)}")
        word, counts = text(row, "status"), row.get("request_counts")
        files = [row[name] for name in ("output_file_id", "error_file_id") if isinstance(row.get(name), str)]
        errors: Any = row.get("errors")
        faults = [fault for fault in (errors or {}).get("data") or () if isinstance(fault, dict)]
        sentence = "; ".join(_sentence(fault) for fault in faults[:3])
        return _state(batch_id, word, count(counts, "completed", "failed"), files, sentence)

    async def download(self, state: BatchState, path: Path) -> None:
        """Write replies and failures into a file."""
        await self._client.download([f"/files/{part(file)}/content" for file in state.results], path)

    def read(self, line: bytes) -> tuple[str, LineReply]:
        """The name of a request and its reply."""
        row = json.loads(line)
        response, error = row.get("response"), row.get("error")
        if isinstance(response, dict) and "status_code" in response:
            body = response.get("body")
            body = {"error": error} if body is None and error else body
            return row["custom_id"], LineReply(response["status_code"], json.dumps(body).encode())
        return row["custom_id"], failed(error if isinstance(error, dict) else {"message": str(error)})

    async def aclose(self) -> None:
        """Close its connections."""
        await self._client.aclose()


class AzureBatches(OpenAIBatches):
    """The same at Azure: its files are beside the deployments, and a line names no version."""

    endpoint = PATH

    def _connected(self, url: str, headers: Iterable[tuple[str, str]], timeout: float) -> BatchClient:
        base, _, query = url.partition("?")
        return BatchClient(base.partition("/deployments/")[0], headers, timeout, dict(parse_qsl(query)))


class MistralBatches(OpenAIBatches):
    """Mistral's batch jobs, whose files are as OpenAI's.

    https://docs.mistral.ai/capabilities/batch
    """

    def line(self, name: str, body: bytes) -> bytes:
        """A request as a line of the file."""
        return b'{"custom_id": "' + name.encode() + b'", "body": ' + body.replace(b"\n", b" ") + b"}"

    async def create(self, path: Path, file: str | None) -> str:
        """Create a job of an uploaded file, for the model of its lines; its id."""
        with path.open("rb") as lines:
            model = json.loads(lines.readline())["body"]["model"]
        wanted = {"input_files": [file], "endpoint": self.endpoint, "model": model}
        return text(await self._client.json("POST", "/batch/jobs", json=wanted), "id")

    async def find(self, batch: KeptBatch, others: set[str]) -> str | None:  # noqa: ARG002 - of the protocol
        """The id of the job of this file."""
        for number in range(_PAGES):
            page = await self._client.json("GET", "/batch/jobs", params={"page_size": "100", "page": str(number)})
            rows = [row for row in page.get("data") or () if isinstance(row, dict)]
            for row in rows:
                if batch.file in (row.get("input_files") or ()):
                    return text(row, "id")
            if not rows:
                break
        return None

    async def state(self, batch_id: str) -> BatchState:
        """How far a job is."""
        row = await self._client.json("GET", f"/batch/jobs/{part(batch_id)}")
        word = text(row, "status").lower()
        files = [row[name] for name in ("output_file", "error_file") if isinstance(row.get(name), str)]
        faults = [str(fault.get("message")) for fault in row.get("errors") or () if isinstance(fault, dict)]
        done = count(row, "succeeded_requests", "failed_requests")
        return _state(batch_id, _AS_OPENAI.get(word, word), done, files, "; ".join(faults[:3]))


def _state(batch_id: str, word: str, done: int, files: Sequence[str], faults: str) -> BatchState:
    """How far a batch is, by its state, its files of results, and the faults for which it was refused, if it was."""
    ended = word in _ENDED or (bool(files) and word not in _RUNNING)
    problem = (faults or "no reason was given") if word == "failed" and not files else ""
    return BatchState(batch_id, word, ended, done, tuple(files), problem)


def failed(error: Mapping[str, Any]) -> LineReply:
    """The reply to a request that was not sent to the model, by what is said of it."""
    code = str(error.get("code"))
    status = next((status for word, status in UNSENT.items() if word in code), 500)
    return LineReply(status, json.dumps({"error": error}).encode())


def _sentence(fault: Mapping[str, Any]) -> str:
    line = f"line {fault['line']}: " if fault.get("line") else ""
    return f"{line}{fault.get('code')}: {fault.get('message')}"
