"""A local OpenAI-compatible server that records what it is sent and answers as a test scripts it.

Two endpoints: `server.assistant` and `server.judge` are bases for --model-api-base and --judge-api-base, so that
a test tells the roles apart by the path. Anything that a test does not script is answered as a healthy model would.
"""

import asyncio
import base64
import hashlib
import json
import random
import re
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from aiohttp import web

GRADES = ("PASS", "PARTIAL", "FAIL")


@dataclass(frozen=True)
class Sent:
    """One request as it arrived."""

    role: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    query: dict[str, str] = field(default_factory=dict)

    @property
    def messages(self) -> list[dict[str, Any]]:
        return self.body["messages"]

    @property
    def rows(self) -> list[Any]:
        """Model, temperature and messages: of each its role and its texts, or of an image the sha256 of its bytes."""
        parts = [(m["role"], [m["content"]] if isinstance(m["content"], str) else m["content"]) for m in self.messages]
        rows = [(role, [part if isinstance(part, str) else _shown(part) for part in of]) for role, of in parts]
        return [self.body["model"], self.body.get("temperature"), *rows]

    @property
    def wire(self) -> str:
        """Role and body: equal for equal requests."""
        return json.dumps([self.role, self.body], sort_keys=True)

    @property
    def text(self) -> str:
        """Everything that was sent, for reading canaries in it."""
        return json.dumps({"path": self.path, "headers": self.headers, "body": self.body}, ensure_ascii=False)


def _shown(part: dict[str, Any]) -> str:
    if part["type"] == "text":
        return part["text"]
    return hashlib.sha256(base64.b64decode(part["image_url"]["url"].partition(",")[2])).hexdigest()


def rows_of(request: Mapping[str, Any]) -> list[Any]:
    """The same of a request of a transcript."""
    named, chat = request["model"].partition("/")[2], request["messages"]
    rows = [("system", [request["system"]])] if request.get("system") else []
    rows += [(m["role"], [part.get("text") or part["sha256"] for part in m["parts"]]) for m in chat]
    return [named, request.get("config", {}).get("temperature"), *rows]


@dataclass
class Answer:
    """What to send back, in pieces where a stream is asked for; `raw` replaces the whole body."""

    content: str | None = ""
    finish_reason: str = "stop"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    usage: dict[str, Any] | None = field(default_factory=lambda: {"prompt_tokens": 11, "completion_tokens": 7})
    delay: float = 0.0
    turns: int = 0
    """Of the server's loop that pass before it is sent: others overtake it, and no clock is asked."""
    pieces: tuple[str, ...] | None = None
    """Of a stream; None for the words of `content`."""
    broken: Literal["lost", "ended", "silent", "idle"] | None = None
    """How a stream breaks off after its pieces: the connection is lost, ends without a word, says nothing more, or
    is kept alive with comments only."""


def shuffled(script: Callable[[Sent], Answer], seed: int = 0) -> Callable[[Sent], Answer]:
    """The script's answers, of those in flight in an order that chance decides."""
    draw = random.Random(seed)
    return lambda sent: replace(script(sent), turns=draw.randrange(300))


def error(status: int, message: str = "no", turns: int = 0, **headers: str) -> Answer:
    """An error in OpenAI's form."""
    raw = json.dumps({"error": {"message": message}}).encode()
    return Answer(status=status, raw=raw, headers=headers, turns=turns)


def verdict(grade: str = "PASS", evidence: Any = (), reasoning: str = "because") -> str:
    """A verdict as a judge writes it."""
    return json.dumps({"reasoning": reasoning, "evidence": list(evidence), "grade": grade})


def offers(*quotes: str, asked_for: bool = False, grounded: bool = False, reasoning: str = "because") -> str:
    """What a response offers, as a detector writes it."""
    results = [{"quote": quote, "grounded": grounded, "asked_for": asked_for} for quote in quotes]
    return json.dumps({"reasoning": reasoning, "offers": results})


def is_about_offers(sent: Sent) -> bool:
    """Whether a request asks what a response offers, and not for a grade."""
    return str(sent.messages[0]["content"]).startswith("List what a response offers")


def healthy(sent: Sent) -> Answer:
    """A deterministic assistant, judge and detector: the same request is always answered alike."""
    digest = hashlib.sha256(json.dumps(sent.messages).encode()).hexdigest()
    if sent.role == "assistant":
        return Answer(f"You could label the boxes today, number {digest[:8]}.")
    if is_about_offers(sent):
        return Answer(offers(*["label the boxes today"][: int(digest, 16) % 2]))
    return Answer(verdict(GRADES[int(digest, 16) % 3], ["label the boxes today"]))


def vectors(sent, widths=None):
    """A vector a text: how often it says "permit", and 1; of the texts in the other order; cut to widths if given."""
    numbers = [[float(text.count("permit")), 1.0] for text in sent.body["input"]]
    numbers = [number[:width] for number, width in zip(numbers, widths or [2] * len(numbers), strict=False)]
    rows = [{"object": "embedding", "index": index, "embedding": number} for index, number in enumerate(numbers)]
    document = {"object": "list", "model": "any", "data": rows[::-1], "usage": {"prompt_tokens": 7, "total_tokens": 7}}
    return Answer(raw=json.dumps(document).encode())


Script = Callable[[Sent], Answer | Awaitable[Answer]]
"""What is answered to each request, at once or when the script will."""


def one_at_a_time(script: Callable[[Sent], Answer] = healthy, seconds: float = 0.02) -> Script:
    """The script's answers by a server of one slot: each takes so long, and the other requests wait in a queue."""
    slot = asyncio.Lock()

    async def answer(sent: Sent) -> Answer:
        async with slot:
            await asyncio.sleep(seconds)
            return script(sent)

    return answer


class Server:
    """Runs in a thread of its own from `with` to its end."""

    def __init__(self, script: Script = healthy, host: str = "127.0.0.1"):
        self.script, self._host = script, host
        self.sent: list[Sent] = []
        self.documents: dict[str, Any] = {"/props": {"total_slots": 1000}}
        """What a GET finds, by what follows the role in its path, such as `/v1/models`: JSON, or the answer."""
        self.visits: list[tuple[str, str | None]] = []
        """The path of each GET, and the key that came with it."""
        self.in_flight = 0
        self.most_in_flight = 0
        self.hung_up = threading.Event()
        """Set when a client goes before its stream has ended."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> "Server":
        self._thread.start()
        self.port = asyncio.run_coroutine_threadsafe(self._start(), self._loop).result()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def base(self, role: str) -> str:
        """The base of a role of any name."""
        return f"http://127.0.0.1:{self.port}/{role}/v1"

    @property
    def assistant(self) -> str:
        return self.base("assistant")

    @property
    def judge(self) -> str:
        return self.base("judge")

    @property
    def report(self) -> str:
        """Of a judge that tests what another one has tuned."""
        return self.base("report")

    @property
    def proposer(self) -> str:
        return self.base("proposer")

    def of(self, role: str) -> list[Sent]:
        """The requests of one role, in the order of arrival."""
        return [sent for sent in self.sent if sent.role == role]

    def script_roles(self, assistant: Callable[[Sent], Answer] = healthy, judge: Callable[[Sent], Answer] = healthy):
        """Script the roles apart."""
        self.script = lambda sent: assistant(sent) if sent.role == "assistant" else judge(sent)

    async def _start(self) -> int:
        application = web.Application(client_max_size=10**9)
        application.router.add_post("/{role}/v1/{rest:.*}", self._answer)
        application.router.add_get("/{role}{rest:/.*}", self._document)
        application.router.add_post("/{rest:.*}", self._nothing)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, 0)
        await site.start()
        return self._runner.addresses[0][1]

    async def _nothing(self, request: web.Request) -> web.StreamResponse:
        raise web.HTTPNotFound

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        sent = Sent(request.match_info["role"], request.path, dict(request.headers), body, dict(request.query))
        self.sent.append(sent)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            scripted = self.script(sent)
            answer = await scripted if isinstance(scripted, Awaitable) else scripted
            await asyncio.sleep(answer.delay)
            for _ in range(answer.turns):
                await asyncio.sleep(0)
        finally:
            self.in_flight -= 1
        if sent.body.get("stream") and answer.raw is None:
            return await self._stream(request, sent, answer)
        body = answer.raw if answer.raw is not None else json.dumps(_completion(sent, answer)).encode()
        kind = "text/event-stream" if sent.body.get("stream") and answer.status == 200 else "application/json"
        return web.Response(body=body, status=answer.status, headers=answer.headers, content_type=kind)

    async def _document(self, request: web.Request) -> web.Response:
        self.visits.append((request.path, request.headers.get("Authorization")))
        document = self.documents.get(request.match_info["rest"], Answer(status=404, raw=b"not here"))
        answer = document if isinstance(document, Answer) else Answer(raw=json.dumps(document).encode())
        await asyncio.sleep(answer.delay)
        return web.Response(body=answer.raw, status=answer.status, headers=answer.headers)

    async def _stream(self, request: web.Request, sent: Sent, answer: Answer) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", **answer.headers})
        await response.prepare(request)
        try:
            for event in _events(sent, answer):
                await response.write(f"data: {event}\n\n".encode())
            if answer.broken == "silent":
                await asyncio.get_running_loop().create_future()
            while answer.broken == "idle":
                await response.write(b": still here\n\n")
                await asyncio.sleep(0.05)
        except (ConnectionError, asyncio.CancelledError):
            self.hung_up.set()
            raise
        if answer.broken == "lost" and request.transport is not None:
            request.transport.abort()
        return response


def _completion(sent: Sent, answer: Answer) -> dict[str, Any]:
    message = {"role": "assistant", "content": answer.content}
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": sent.body.get("model", "m"),
        "choices": [{"index": 0, "finish_reason": answer.finish_reason, "message": message}],
        **({"usage": answer.usage} if answer.usage is not None else {}),
    }


def _events(sent: Sent, answer: Answer) -> Iterator[str]:
    """The events of a stream in OpenAI's form; those of a broken one up to its last piece."""
    frame = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": sent.body.get("model", "m")}

    def choice(finish_reason: str | None = None, **delta: str) -> str:
        return json.dumps({**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]})

    yield choice(role="assistant", content="")
    pieces = re.findall(r"\S+\s*|\s+", answer.content or "") if answer.pieces is None else answer.pieces
    yield from (choice(content=piece) for piece in pieces)
    if answer.broken:
        return
    yield choice(finish_reason=answer.finish_reason)
    if answer.usage is not None and (sent.body.get("stream_options") or {}).get("include_usage"):
        yield json.dumps({**frame, "choices": [], "usage": answer.usage})
    yield "[DONE]"
