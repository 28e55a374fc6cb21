"""The log of the calls of a run or compile, from which what was broken off continues.

Neither an agent nor an optimizer can be stopped in the middle and continued. They can be run again: a request that has
its reply in the log is answered from it, and only new requests are sent and paid for. Equal requests that are to have
several replies are told apart by their rollout. In a compile one request is one reply, whoever asks; equal ones in
flight are sent once. In a run it is one of its stage, and only stages without a result are held in memory.
"""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from dspy_proact.calls import LoggedCall, StageKey
from dspy_proact.errors import RunError, StorageFault
from dspy_proact.kept.log import Log, LogLine, as_text, mark_of, marked, read_lines
from dspy_proact.kept.messages import MESSAGES, MessageLog, Request

OPEN_STAGES = "open"
"""Folder beside the log, with the replies that are kept for stages that have not ended."""
_Stage = tuple[StageKey | None, int]
"""A stage and which beginning of it."""


class CallLog:
    """The one writer of a log of calls; use as a context manager.

    Args:
        path: The file.
        owner: Digest of the run or compile whose log it is.
        replays: Whether a request that was logged so is answered from the log.
        keeps_thoughts: Whether thoughts and steps are written; what is replayed later has none otherwise.
        stored: Roles whose requests are kept too, in `messages.jsonl` beside it.
        single_use: Whether no request is made twice by this process: what is replayed, or made, is not held in memory.
        salt: Tells the conversations of this log from those of another one of the same owner.

    Attributes:
        answered: Whether anything in it can be replayed.
        sending: Requests in flight.
        paid: Requests that were sent by this process.
        on_call: Called after each of them, in any thread.
        closed: Whether nothing can be kept any more.

    Raises:
        RunError: It is damaged, in use, or cannot be written.
    """

    def __init__(
        self,
        path: Path,
        owner: str,
        replays: Callable[[LoggedCall], bool],
        *,
        keeps_thoughts: bool = True,
        stored: Collection[str] = (),
        single_use: bool = False,
        salt: str = "",
    ):
        self._salt = salt
        self.path, self._owner, self._replays, self._keeps_thoughts = path, owner, replays, keeps_thoughts
        self._stored, self._single_use = stored, single_use
        self._messages: MessageLog | None = None
        self.on_call: Callable[[LoggedCall], None] = lambda _: None
        self.paid = 0
        self.closed = self.answered = False
        self.sending: dict[str, asyncio.Future[LoggedCall]] = {}
        self._kept: dict[_Stage, dict[str, LoggedCall]] = {}
        self._briefs = set(open_stage_files(path))

    def __enter__(self) -> Self:
        self._log = Log(self.path, LoggedCall)
        try:
            brief = {(call.key, call.begun, call.request): call for call in self._brief_calls()}
            for call in read_calls(self.path, self._owner):
                self._remember(call)
                brief.pop((call.key, call.begun, call.request), None)
            for call in brief.values():  # killed between the two lines
                self._log.append_text(marked(as_text(_without_response(call)), self._owner))
            if self._stored:
                self._messages = MessageLog(self.path.with_name(MESSAGES))
        except RunError:
            self._log.__exit__()
            raise
        return self

    def _brief_calls(self) -> Iterator[LoggedCall]:
        """The replies that are kept for open stages; a file that was left behind by another stage is deleted."""
        if (folder := self.path.with_name(OPEN_STAGES)).is_symlink():
            raise RunError(f"{folder}: is a link, and what it leads to would be deleted; remove the link")
        for path in list(self._briefs):
            calls = [call for call in read_calls(path, self._owner) if self._replays(call)]
            for call in calls:
                self._remember(call)
            if not calls:
                path.unlink()
                self._briefs.remove(path)
            yield from calls

    def __exit__(self, *_: object) -> None:
        self.closed = True
        with suppress(OSError):  # it is not there, or stages are open
            self.path.with_name(OPEN_STAGES).rmdir()
        if self._messages:
            self._messages.__exit__()
        self._log.__exit__()

    def reply(self, request: str, key: StageKey | None = None, begun: int = 1) -> LoggedCall | None:
        """The call that answers a request; None where it has to be sent."""
        kept = self._kept.get((key, begun), {})
        return kept.pop(request, None) if self._single_use else kept.get(request)

    @property
    def replies(self) -> list[LoggedCall]:
        """Everything that can be replayed."""
        return [call for calls in self._kept.values() for call in calls.values()]

    def add(self, call: LoggedCall, request: Callable[[], Request] = dict, *, briefly: bool = False) -> LoggedCall:
        """Keep a call that was just made.

        Args:
            call: With its reply or failure.
            request: Gives the request as JSON, for roles whose requests are kept.
            briefly: Whether its reply is of use to its stage alone, such as vectors: it is kept until that has ended.

        Raises:
            StorageFault: It cannot be kept, so that nothing more may be paid for.
        """
        if not self._keeps_thoughts and call.response:
            call = call.model_copy(update={"response": _without_thoughts(call.response), "steps": ()})
        kept = _without_response(call) if briefly and call.key else call
        try:
            if kept is not call:
                self._write_brief(call)
            elif self._messages and call.role in self._stored:
                call = kept = call.model_copy(update={"messages": self._messages.add(request())})
            self._log.append_text(marked(as_text(kept), self._owner))
        except (RunError, OSError) as error:
            raise StorageFault(str(error)) from error
        self._remember(call, made=True)
        self.paid += not call.reused
        self.on_call(call)
        return call

    async def once(self, request: str, send: Callable[[], Coroutine[Any, Any, LoggedCall]]) -> LoggedCall:
        """The call that `send` makes; equal requests meanwhile wait for it in `sending`."""
        sending = self.sending[request] = asyncio.get_running_loop().create_future()
        try:
            call = await send()
        except asyncio.CancelledError:
            sending.cancel()
            raise
        except BaseException as error:
            sending.set_exception(error)
            sending.exception()  # whoever waits gets it; nobody may wait
            raise
        else:
            sending.set_result(call)
            return call
        finally:
            del self.sending[request]

    async def settled(self) -> None:
        """Wait until nothing is in flight: DSPy leaves threads behind where it is ended, and their replies are paid."""
        while self.sending:
            await asyncio.wait(list(self.sending.values()))

    @contextmanager
    def stage(self, key: StageKey, begun: int) -> Generator["StageCalls"]:
        """Inside, calls are those of a stage of a run, of this beginning of it."""
        stage = StageCalls(self, key, begun)
        with stage.opened():
            yield stage

    def conversation(self, key: StageKey, begun: int) -> str:
        """What identifies this beginning of a stage to whoever is asked in it, and tells nothing else."""
        return conversation_of(self._owner, self._salt, key, begun)

    def forget(self, key: StageKey, begun: int, *, again: bool = False) -> None:
        """Forget the calls of a stage that has ended; one that is tried `again` finds them in its files."""
        self._kept.pop((key, begun), None)
        if not again and self._briefs and (path := self._brief(key)) in self._briefs:
            path.unlink(missing_ok=True)
            self._briefs.remove(path)

    def _brief(self, key: StageKey) -> Path:
        """The file of a stage's replies that are kept until it has ended."""
        name = hashlib.sha256(key.model_dump_json().encode("utf-8", "replace")).hexdigest()[:32]
        return self.path.with_name(OPEN_STAGES) / f"{name}.jsonl"

    def _write_brief(self, call: LoggedCall) -> None:
        assert call.key is not None, "of a run"
        path = self._brief(call.key)
        path.parent.mkdir(exist_ok=True)
        self._briefs.add(path)
        with Log(path, LoggedCall) as log:
            log.append_text(marked(as_text(call), self._owner))

    def _remember(self, call: LoggedCall, *, made: bool = False) -> None:
        if not self._replays(call):
            return
        self.answered = True
        if not (made and self._single_use):
            self._kept.setdefault((call.key, call.begun), {})[call.request] = call


def conversation_of(owner: str, salt: str, key: StageKey, begun: int) -> str:
    """What identifies a beginning of a stage, in the run or compile with this digest and salt."""
    text = f"{owner} {salt} {begun} {key.model_dump_json()}"
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def open_stage_files(path: Path) -> Iterator[Path]:
    """The files beside a log of calls with the replies that are kept for stages that have not ended."""
    return path.with_name(OPEN_STAGES).glob("[0-9a-f]" * 32 + ".jsonl")


def read_calls(path: Path, owner: str) -> Iterator[LoggedCall]:
    """The calls in the log of a run or compile with this digest; raises a `RunError` as `marked_calls` does."""
    return (call for _, call in marked_calls(path, owner))


def marked_calls(path: Path, owner: str) -> Iterator[tuple[LogLine, LoggedCall]]:
    """The calls in the log of a run or compile with this digest, each with its line.

    Raises a `RunError` where a line was changed or is of another owner, and as `read_log` does.
    """
    for line in read_lines(path, LoggedCall):
        call = line.record(LoggedCall)
        # An editor may have formatted it anew.
        if not line.is_marked(owner) and call.mark != mark_of(as_text(call.model_copy(update={"mark": ""})), owner):
            mend = "restore it, or delete it: a call without a line does not count, and is made again only if needed"
            raise RunError(f"{path}, line {line.number}: was changed, or is of another run or compile; {mend}")
        yield line, call


class NoReply(BaseException):
    """A request of a stage that is answered from a log alone is not in it.

    No `Exception`, of which DSPy and agents make an answer of their own.
    """


class StageCalls:
    """The calls of one stage of a run while it is done.

    Attributes:
        images: Names of the images that were made for its requests, by the sha256 of what is sent.
        limits: By role, the limit of output under which logged requests were made, where it was another one.
    """

    limits: Mapping[str, int] = MappingProxyType({})

    def __init__(self, log: CallLog | None, key: StageKey, begun: int):
        self._log, self.key, self.begun = log, key, begun
        self.images = dict[str, str]()
        self.number = 0
        """Requests so far."""
        self._equal = Counter[str]()

    @contextmanager
    def opened(self) -> Generator[None]:
        """Inside, calls are those of this stage."""
        token = _open_stage.set(self)
        try:
            yield
        finally:
            _open_stage.reset(token)

    def next(self, request: str) -> tuple[int, int]:
        """Number and rollout of a request, by its name without the rollout."""
        self.number += 1
        self._equal[request] += 1
        return self.number, self._equal[request] - 1

    def reply(self, name: str, before: str, role: str, request: Callable[[], Request]) -> LoggedCall | None:  # noqa: ARG002
        """The logged call that answers a request of this name; None where it has to be sent.

        `before` is its name under the limit in `limits`. A replay keeps the role that is asked, and the request.
        """
        return self.log.reply(name, self.key, self.begun)

    @property
    def conversation(self) -> str:
        """What identifies it to whoever is asked in it, and tells nothing else."""
        return self.log.conversation(self.key, self.begun)

    @property
    def log(self) -> CallLog:
        """What its calls are written to."""
        assert self._log is not None, "what is replayed is not written"
        return self._log


_open_stage: ContextVar[StageCalls | None] = ContextVar("dspy_proact_stage", default=None)


def open_stage() -> StageCalls | None:
    """The stage of a run in whose context this is asked; None elsewhere."""
    return _open_stage.get()


def _without_response(call: LoggedCall) -> LoggedCall:
    return call.model_copy(update={"response": None, "mark": ""})


def _without_thoughts(response: dict[str, Any]) -> dict[str, Any]:
    message = response.get("message") or {}
    parts = [part for part in message.get("parts", ()) if part.get("type") != "thinking"]
    return {**response, "message": {**message, "parts": parts}}
