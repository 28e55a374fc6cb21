"""A local server that speaks OpenAI's and Anthropic's batch protocols, beside the chat protocol of `server`.

What a line of a batch is answered is what the script answers to a plain request with its body.
"""

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from fakes.server import Answer, Script, Sent, Server, _completion, healthy

Fate = Callable[["FakeBatch", int, Sent], str]
"""What becomes of the request on a line of a batch: `answered`, `expired`, `canceled`, `lost`, or an HTTP status."""


@dataclass
class FakeBatch:
    """A batch as the provider has it."""

    id: str
    role: str
    number: int
    """Counted from 1."""
    lines: list[dict[str, Any]]
    file: str | None
    size: int
    """Bytes of its requests."""
    polls: int = 0
    canceled: bool = False
    results: list[dict[str, Any]] = field(default_factory=list)


class BatchServer(Server):
    """A `Server` with batch APIs.

    Attributes:
        batches: Those that were created.
        fate: What becomes of each request.
        polls: At which look at a batch, counted from 1, it has ended.
        refuse: The problem for which a batch is refused as a whole, with its code; None for none.
        most: Requests of a batch, above which its creation is refused.
        page: Batches of a page of their list.
        failing: Answers in place of the next ones to a method and path.
        event: Called in the server's thread with `upload`, `create`, `poll` or `results` when that is done, before it
            is answered.
        rewrite: Gives what is sent in place of a body of the batch API, by method, path and body.
    """

    def __init__(self, script: Script = healthy):
        super().__init__(script)
        self.files = dict[str, bytes]()
        self.batches: list[FakeBatch] = []
        self.fate: Fate = lambda batch, line, sent: "answered"
        self.polls: Callable[[FakeBatch], int] = lambda batch: 1
        self.refuse: Callable[[FakeBatch], tuple[str, str] | None] = lambda batch: None
        self.most, self.page = 50_000, 100
        self.failing: list[tuple[str, str, Answer]] = []
        self.event: Callable[[str, FakeBatch | None], None] = lambda name, batch: None
        self.rewrite: Callable[[str, bytes], bytes] = lambda path, body: body
        self.billed = 0
        """Requests that were answered."""
        self.keys = set[str]()
        self.on_http: list[str] = []

    @property
    def sizes(self) -> list[int]:
        """Requests of each batch."""
        return [len(batch.lines) for batch in self.batches]

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        rest = request.match_info["rest"].removeprefix("openai/")  # of Azure
        if rest == "messages":
            return await self._message(request)
        if rest not in ("files", "batches", "messages/batches", "batch/jobs"):
            return await super()._answer(request)
        self._note(request)
        body = await request.read()
        if answer := self._failure("POST", rest):
            return answer
        return self._rewritten(
            f"POST {rest}", await (self._upload(body) if rest == "files" else self._create(request, rest, body))
        )

    def _rewritten(self, path: str, response: web.Response) -> web.Response:
        if response.status == 200:
            contents = response.body if isinstance(response.body, bytes) else (response.text or "").encode()
            response.body = self.rewrite(path, contents)
        return response

    async def _upload(self, body: bytes) -> web.Response:
        form = re.search(rb"\r\n\r\n(\{.*?\n)\r\n--", body, re.DOTALL)
        assert form, "a file of lines"
        name = f"file-{len(self.files) + 1}"
        self.files[name] = form[1]
        await self._event("upload", None)
        return web.json_response({"id": name, "object": "file"})

    async def _create(self, request: web.Request, rest: str, body: bytes) -> web.Response:
        if rest == "batches":
            file = json.loads(body)["input_file_id"]
            lines = [json.loads(line) for line in self.files[file].splitlines()]
            size = len(self.files[file])
        elif rest == "batch/jobs":
            wanted = json.loads(body)
            file = wanted["input_files"][0]
            lines = [json.loads(line) for line in self.files[file].splitlines()]
            assert {line["body"]["model"] for line in lines} == {wanted["model"]}
            size = len(self.files[file])
        else:
            lines, file, size = json.loads(body)["requests"], None, len(body)
        if len(lines) > self.most:
            return web.json_response({"error": {"message": "too many requests in one batch"}}, status=400)
        names = [line["custom_id"] for line in lines]
        assert len({*names}) == len(names)
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names)
        number = len(self.batches) + 1
        batch = FakeBatch(f"batch_{number}", request.match_info["role"], number, lines, file, size)
        self.batches.append(batch)
        await self._event("create", batch)
        if answer := self._failure("CREATED", rest):
            return answer
        return web.json_response(self._row(batch))

    async def _message(self, request: web.Request) -> web.StreamResponse:
        """Answer a plain request of Anthropic's protocol."""
        body = _without_marks(await request.json())
        sent = Sent(request.match_info["role"], request.path, dict(request.headers), body)
        self.sent.append(sent)
        scripted = self.script(sent)
        answer = await scripted if not isinstance(scripted, Answer) else scripted
        self.billed += answer.status == 200
        if answer.raw:
            return web.Response(body=answer.raw, status=answer.status, headers=answer.headers)
        return web.json_response(as_message(_completion(sent, answer)))

    async def _document(self, request: web.Request) -> web.Response:
        path = request.match_info["rest"].removeprefix("/v1/").removeprefix("openai/")
        if path.startswith("batch/jobs"):
            return await self._job(request, path.removeprefix("batch/jobs").strip("/"))
        if not path.startswith(("files", "batches", "messages/batches")):
            return await super()._document(request)
        self._note(request)
        if answer := self._failure("GET", path):
            return answer
        return self._rewritten(f"GET {path}", await self._read(path, request.query))

    async def _read(self, path: str, query: Mapping[str, str]) -> web.Response:
        """A file, the list of batches, or one of them."""
        if file := re.fullmatch(r"files/(.*)/content", path):
            await self._event("results", self.batches[int(file[1].split("-")[1]) - 1])
            return web.Response(body=self.files[file[1]])
        if path in ("batches", "messages/batches"):
            rows = [self._row(batch) for batch in self.batches[::-1]]
            after = query.get("after") or query.get("after_id")
            begin = 1 + next((at for at, row in enumerate(rows) if row["id"] == after), -1)
            end = begin + self.page
            return web.json_response({"data": rows[begin:end], "has_more": len(rows) > end})
        return await self._look(path)

    async def _job(self, request: web.Request, batch_id: str) -> web.Response:
        """A batch of OpenAI's form as a job of Mistral's, or all of them."""
        self._note(request)
        words = {"in_progress": "RUNNING", "completed": "SUCCESS", "expired": "TIMEOUT_EXCEEDED"}
        if batch_id:
            await self._look(f"batches/{batch_id}")
        rows = [self._row(batch) for batch in self.batches if batch.id == batch_id or not batch_id]
        jobs = [
            {
                "id": row["id"],
                "status": words[row["status"]],
                "input_files": [row["input_file_id"]],
                "output_file": row.get("output_file_id"),
                "error_file": row.get("error_file_id"),
                "succeeded_requests": row["request_counts"]["completed"],
            }
            for row in rows
        ]
        return web.json_response(jobs[0] if batch_id else {"data": jobs if request.query["page"] == "0" else []})

    async def _look(self, path: str) -> web.Response:
        batch_id = path.removeprefix("messages/").split("/")[1]
        batch = next((batch for batch in self.batches if batch.id == batch_id), None)
        if batch is None:
            return web.json_response({"error": {"message": "no such batch"}}, status=404)
        if path.endswith("/results"):
            await self._event("results", batch)
            return web.Response(body="\n".join(map(json.dumps, batch.results)).encode())
        batch.polls += 1
        await self._event("poll", batch)
        if batch.polls == self.polls(batch) and not self.refuse(batch) and not batch.results:
            await self._end(batch)
        return web.json_response(self._row(batch))

    def _note(self, request: web.Request) -> None:
        self.on_http.append(f"{request.method} {request.path}")
        self.keys.add(request.headers.get("Authorization") or request.headers.get("x-api-key") or "")

    def _failure(self, method: str, path: str) -> web.Response | None:
        for at, (of, pattern, answer) in enumerate(self.failing):
            if of == method and re.fullmatch(pattern, path):
                del self.failing[at]
                return web.Response(body=answer.raw, status=answer.status, headers=answer.headers)
        return None

    async def _event(self, name: str, batch: FakeBatch | None) -> None:
        self.event(name, batch)
        await asyncio.sleep(0)

    async def _end(self, batch: FakeBatch) -> None:
        """Answer what is to be answered, the last line first."""
        good, bad, every = [], [], []
        for number, line in reversed([*enumerate(batch.lines)]):
            sent = Sent(batch.role, "batch", {}, _without_marks(line["params"] if batch.file is None else line["body"]))
            self.sent.append(sent)
            fate = self.fate(batch, number, sent)
            if fate == "lost":
                continue
            if fate == "answered":
                scripted = self.script(sent)
                answer = await scripted if not isinstance(scripted, Answer) else scripted
                self.billed += answer.status == 200
                status = answer.status
                body = json.loads(answer.raw) if answer.raw else _completion(sent, answer)
            else:
                status, body = int(fate) if fate.isdigit() else 0, {"error": {"message": f"refused by {fate}"}}
            make = _anthropic if batch.file is None else _openai
            every.append(make(line["custom_id"], status, body, fate))
            (good if status == 200 else bad).append(every[-1])
        batch.results = every
        if batch.file is not None:
            for name, rows in (("output", good), ("error", bad)):
                if rows:
                    self.files[f"{name}-{batch.number}"] = "\n".join(map(json.dumps, rows)).encode()

    def _row(self, batch: FakeBatch) -> dict[str, Any]:
        ended = batch.polls >= self.polls(batch)
        problem = self.refuse(batch)
        if batch.file is None:
            counts = {"processing": 0 if ended else len(batch.lines), "succeeded": len(batch.lines) if ended else 0}
            counts |= {"errored": 0, "canceled": 0, "expired": 0}
            status = "ended" if ended else "in_progress"
            own = {"id": batch.id, "type": "message_batch", "processing_status": status, "request_counts": counts}
            return own | {"created_at": "2099-01-01T00:00:00Z", "results_url": "http://elsewhere.invalid/results"}
        status = "completed" if ended else "in_progress"
        if ended and any("expired" in json.dumps(row.get("error")) for row in batch.results):
            status = "expired"
        counts = {"total": len(batch.lines), "completed": len(batch.results), "failed": 0}
        row = {"id": batch.id, "status": status, "input_file_id": batch.file, "request_counts": counts}
        row |= {"created_at": 4_000_000_000}
        if problem:
            return row | {"status": "failed", "errors": {"data": [{"code": problem[0], "message": problem[1]}]}}
        if ended:
            for name in ("output", "error"):
                if f"{name}-{batch.number}" in self.files:
                    row[f"{name}_file_id"] = f"{name}-{batch.number}"
        return row


def _without_marks(value: Any) -> Any:
    """A body without the marks of Anthropic's prompt cache, which change no answer."""
    if isinstance(value, list):
        return [_without_marks(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    return {name: _without_marks(inner) for name, inner in value.items() if name != "cache_control"}


def _openai(name: str, status: int, body: Any, fate: str) -> dict[str, Any]:
    if status:
        return {"custom_id": name, "response": {"status_code": status, "body": body}, "error": None}
    error = {"code": {"expired": "batch_expired", "canceled": "batch_cancelled"}[fate], "message": f"it was {fate}"}
    return {"custom_id": name, "response": None, "error": error}


def _anthropic(name: str, status: int, body: Any, fate: str) -> dict[str, Any]:
    if status == 200:
        return {"custom_id": name, "result": {"type": "succeeded", "message": as_message(body)}}
    if not status:
        return {"custom_id": name, "result": {"type": fate}}
    kind = {400: "invalid_request_error", 403: "permission_error", 429: "rate_limit_error"}.get(status, "api_error")
    error = {"type": "error", "error": {"type": kind, "message": body["error"]["message"]}}
    return {"custom_id": name, "result": {"type": "errored", "error": error}}


def as_message(completion: dict[str, Any]) -> dict[str, Any]:
    """A completion of OpenAI's as a message of Anthropic's."""
    choice, usage = completion["choices"][0], completion.get("usage") or {}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "any",
        "content": [{"type": "text", "text": choice["message"]["content"]}],
        "stop_reason": {"stop": "end_turn", "length": "max_tokens"}.get(choice["finish_reason"], "end_turn"),
        "usage": {"input_tokens": usage.get("prompt_tokens", 0), "output_tokens": usage.get("completion_tokens", 0)},
    }
