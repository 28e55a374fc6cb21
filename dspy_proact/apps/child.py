"""An application in a file of one's own: a child process imports it, and answers by a socket.

One child answers all requests side by side. A request whose time is up may go on in it, since nothing ends a thread:
the child then gets no new request, finishes the others, and is ended. Where the process of a child ends while it
answers several requests, nobody knows which of them ended it: each is sent once more, alone in a child, so that only
the one that ends its process again fails.
"""

import asyncio
import json
import os
import signal
import socket
import struct
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from dspy_proact.apps.app import AppReply, AppRequest
from dspy_proact.apps.returned import reply_of
from dspy_proact.apps.sources import hash_of_sources
from dspy_proact.apps.worker import CLOSED, LONGEST
from dspy_proact.errors import AppError, SetupFault, UsageError
from dspy_proact.models.endpoint import keys_of_environment
from dspy_proact.models.redaction import redacted, spellings

_ALONE = 2
"""Children at a time that answer one request each."""
_SECONDS_TO_END = 3.0
"""For an idle child to end by itself, as it may have traces to send."""
_SECONDS_TO_STOP = 1.0
"""For an awaited request to end that was cancelled."""


class FileApp:
    """What a Python file has under a name, asked in a child process; raises a `UsageError` where there is no file.

    Attributes:
        name: What a person calls it, else file and name without the folder.
    """

    def __init__(self, path: Path, attribute: str, name: str | None = None):
        self.path, self._attribute = path.absolute(), attribute
        self.name = name or f"{path.name}:{attribute}"
        self._sha256 = self._hash()
        self._children = list["_Child"]()
        self._starting: asyncio.Task[_Child] | None = None
        self._suspects = set[int]()
        self._alone: asyncio.Semaphore | None = None

    def fingerprint(self) -> str:
        """sha256 of the file, of what it is seen to import from its folder, and of the name in it."""
        return self._sha256

    def _hash(self) -> str:
        try:
            return hash_of_sources(self.path, self._attribute)
        except OSError as error:
            raise UsageError(f"`app` {self.path}: cannot be read: {error.strerror}") from error

    async def answer(self, request: AppRequest, /) -> AppReply:
        """Answer a request in the child, which is started with the first one."""
        mark = hash(json.dumps(request.messages, sort_keys=True))
        if mark not in self._suspects:
            child = next((child for child in self._children if child.is_free and not child.alone), None)
            while child is None or not child.is_free:  # one of those that wait starts the next one
                if self._starting is None:
                    self._starting = asyncio.create_task(self._start())
                    self._starting.add_done_callback(self._end_start)
                child = await asyncio.shield(self._starting)
            return await self._ask(child, request, mark)
        self._alone = self._alone or asyncio.Semaphore(_ALONE)
        async with self._alone:
            child = next((child for child in self._children if child.alone and child.is_idle), None)
            child = child or await self._start(alone=True)
            reply = await self._ask(child, request, mark)
            self._suspects.discard(mark)
            return reply

    async def _ask(self, child: "_Child", request: AppRequest, mark: int) -> AppReply:
        try:
            outcome = await child.ask(request)
        except AppError as error:
            if error.unclear:
                self._suspects.add(mark)
            raise
        if "fault" in outcome:
            raise SetupFault(f"`app` {self.name}: {outcome['fault']}")
        if "error" in outcome:
            detail = redacted(str(outcome.get("detail", "")), spellings(keys_of_environment()))
            raise AppError(str(outcome["error"]), detail)
        return reply_of(outcome.get("value"), request)

    def _end_start(self, task: "asyncio.Task[_Child]") -> None:
        self._starting = None
        if not task.cancelled():
            task.exception()  # whoever waits gets it; nobody may wait

    async def _start(self, alone: bool = False) -> "_Child":
        if self._hash() != self._sha256:
            problem = "it, or what it imports, was changed since the run began; the same command makes another run"
            raise SetupFault(f"`app` {self.path}: {problem}")
        self._children = [child for child in self._children if not child.is_gone]
        child = await _Child.started(self.path, self._attribute, alone)
        self._children.append(child)
        if fault := await asyncio.shield(child.ready):
            raise SetupFault(f"`app` {self.name}: {redacted(fault, spellings(keys_of_environment()))}")
        return child

    async def aclose(self) -> None:
        """End every child, and what it has started."""
        if self._starting:
            self._starting.cancel()
            await asyncio.wait([self._starting])
        await asyncio.gather(*(child.end() for child in self._children))
        self._children.clear()
        self._alone = None


class _Child:
    """A process that answers requests, and the socket to it.

    Attributes:
        alone: Whether it answers one request at a time.
        ready: Done once the file is imported, or why it cannot be.
        is_gone: Whether its process has ended.
    """

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        alone: bool,
    ):
        self._process, self._reader, self._writer, self.alone = process, reader, writer, alone
        self.ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._answers = dict[int, asyncio.Future[Mapping[str, Any]]]()
        self._left = set[int]()
        """Requests that nobody waits for any more, and that may go on."""
        self._count = 0
        self.is_gone = False
        self._watching = asyncio.create_task(self._watch())

    @classmethod
    async def started(cls, path: Path, attribute: str, alone: bool) -> "_Child":
        """Start the process; the file is not imported yet."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        worker = Path(__file__).with_name("worker.py")
        command = [sys.executable, "-P", str(worker), str(path), attribute, str(theirs.fileno())]
        try:
            with theirs:
                process = await asyncio.create_subprocess_exec(
                    *command,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=_standard_error(),
                    stderr=_standard_error(),
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )
            reader, writer = await asyncio.open_connection(sock=ours)
        except BaseException:
            ours.close()
            raise
        return cls(process, reader, writer, alone)

    @property
    def is_free(self) -> bool:
        """Whether it takes further requests; one that imports its file, or could not, takes none, and may be alone."""
        return self.ready.done() and not self.ready.result() and not self.is_gone and not self._left

    @property
    def is_idle(self) -> bool:
        """Whether it takes further requests, and has none."""
        return self.is_free and not self._answers

    async def ask(self, request: AppRequest) -> Mapping[str, Any]:
        """What the child says of a request; raises an `AppError` where its process ends first."""
        self._count += 1
        number = self._count
        future = self._answers[number] = asyncio.get_running_loop().create_future()
        try:
            self._send({"id": number, "messages": request.messages, "conversation": request.conversation})
            return await future
        except asyncio.CancelledError:
            if self._answers.pop(number, None) and not self.is_gone:
                self._left.add(number)
                self._send({"cancel": number})
                asyncio.get_running_loop().call_later(_SECONDS_TO_STOP, self._retire)
            raise

    def _send(self, message: Mapping[str, Any]) -> None:
        data = json.dumps(message).encode()
        with suppress(OSError, RuntimeError):  # it is gone, which `_watch` sees
            self._writer.write(struct.pack(">I", len(data)) + data)

    def _retire(self) -> None:
        """End the process where a request goes on that nobody waits for, and no other one."""
        if self._left and not self._answers:
            self._kill()

    def _kill(self) -> None:
        # Its group has its number, and is there as long as anything that it has started.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def end(self) -> None:
        """End the process: one that has nothing to do by itself, another one at once."""
        if self.is_idle:
            with suppress(OSError, RuntimeError):
                self._writer.write_eof()
            await asyncio.wait([self._watching], timeout=_SECONDS_TO_END)
        if not self.is_gone:
            self._kill()
        await self._watching

    async def _watch(self) -> None:
        """Read answers until the process ends, and fail whatever it has not answered."""
        reading, ending = asyncio.create_task(self._read()), asyncio.create_task(self._process.wait())
        try:
            await asyncio.wait({reading, ending}, return_when=asyncio.FIRST_COMPLETED)
            # What it wrote before its end is read, and one that closed its socket may be about to end.
            if ending.done() or not reading.result():
                await asyncio.wait({reading, ending}, timeout=_SECONDS_TO_STOP)
        finally:
            self.is_gone = True
            ended = ending.done()
            self._kill()
            status = await ending
            reading.cancel()
            with suppress(asyncio.CancelledError):
                await reading
            self._writer.close()
            problem = reading.result() if not reading.cancelled() else ""
            self._fail(*_end_of(status if ended else None, problem))

    def _fail(self, reason: str, why: str) -> None:
        several = len(self._answers) > 1
        for future in self._answers.values():
            if not future.done():
                among = f" while it answered {len(self._answers)} requests" if several else ""
                future.set_exception(AppError(reason, f"{why}{among}", unclear=several))
                future.exception()
        self._answers.clear()
        if not self.ready.done():
            self.ready.set_result(f"{why} before its file was imported")

    async def _read(self) -> str:
        """Take what comes until the socket closes; why it is not read on, empty where it closed."""
        while True:
            try:
                (size,) = struct.unpack(">I", await self._reader.readexactly(4))
                if size > 2 * LONGEST:
                    return "it wrote into the socket by which it answers"
                message = json.loads(await self._reader.readexactly(size))
                if not isinstance(message, dict):
                    return "it wrote into the socket by which it answers"
                self._take(message)
            except (asyncio.IncompleteReadError, OSError):
                return ""
            except (ValueError, TypeError, KeyError, RecursionError):
                return "it wrote into the socket by which it answers"

    def _take(self, message: Mapping[str, Any]) -> None:
        if "id" not in message:
            if not self.ready.done():
                self.ready.set_result(str(message.get("fault", "")))
            return
        number = message["id"]
        self._left.discard(number)  # it has ended after all
        future = self._answers.pop(number, None)
        if future and not future.done():
            future.set_result(message)
        self._retire()


def _end_of(status: int | None, problem: str) -> tuple[str, str]:
    """Reason and sentence of the end of a process, by its exit status; None for one that had to be ended."""
    if problem or status in (None, CLOSED):
        return "broken", problem or "it closed the socket by which it answers"
    if status >= 0:
        return "exited", f"its process ended with exit status {status}"
    name = signal.Signals(-status).name if -status in set(signal.Signals) else f"signal {-status}"
    memory = ", as where memory runs out" if -status == signal.SIGKILL else ""
    return "crashed", f"its process was ended by {name}{memory}"


def _standard_error() -> int:
    """Where a child prints: our standard error, if it is open."""
    try:
        os.fstat(2)
    except OSError:
        return asyncio.subprocess.DEVNULL
    return 2
