"""Engines whose calls are logged and, where they are in the log already, answered from it.

A compile gives its log to its models. In a run the log comes with the stage that asks, by context. Without a log, as in
`try`, a request is just sent.
"""

import asyncio
import base64
import hashlib
import json
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

import dspy
from dspy.lm15 import Request, Response

from dspy_proact.calls import Failure, LoggedCall, collect_calls, record_call
from dspy_proact.errors import (
    ContentError,
    Halt,
    Interrupted,
    ProviderDown,
    ProviderError,
    SetupFault,
    StageError,
    StorageFault,
)
from dspy_proact.kept import CallLog, StageCalls, name_in_batch, open_stage
from dspy_proact.models.batch.wire import named_in_batches
from dspy_proact.models.dspy_internals import (
    StreamEvent,
    async_engine_of,
    request_to_dict,
    response_from_dict,
    response_to_dict,
)
from dspy_proact.models.engine import STEPS, BlockingEngine, Described, GatedEngine, wait_for
from dspy_proact.models.replies import require_text
from dspy_proact.models.spec import without_secrets
from dspy_proact.plain_text import encodable_all

_before: ContextVar[Counter[str] | None] = ContextVar("dspy_proact_equal_requests", default=None)


_rollout: ContextVar[int | None] = ContextVar("dspy_proact_rollout", default=None)


@contextmanager
def at_rollout(rollout: int) -> Generator[None]:
    """Inside, a request to a model with a log is the one of this rollout: what its provider fails is its own."""
    token = _rollout.set(rollout)
    try:
        yield
    finally:
        _rollout.reset(token)


@contextmanager
def one_answer() -> Generator[None]:
    """Inside, each of several equal requests of a compile has a reply of its own, as in one stage of a run."""
    token = _before.set(Counter())
    try:
        yield
    finally:
        _before.reset(token)


class LoggedEngine(Described):
    """A gated engine whose replies are kept, and given again where they are in the log.

    Args:
        gated: What sends.
        log: Of a compile; None where a run's comes by context, or there is none.
        rollout: Of a compile's requests.
        briefly: Whether replies are of use to the stage that asks alone.
    """

    def __init__(
        self, gated: GatedEngine, log: CallLog | None = None, rollout: int | None = None, *, briefly: bool = False
    ):
        super().__init__(gated)
        self.gated, self.log, self.rollout, self._briefly = gated, log, rollout, briefly

    async def complete(self, request: Request) -> Response:
        """The reply, from the log or from the model.

        Raises:
            ContentError: The provider refuses this request for good, its filter cut the reply, or that has no text for
                another reason that is known.
            ProviderError: It failed after all retries; in a compile `ProviderDown`, as an optimizer would count any
                other error as a wrong answer.
            StorageFault: The reply cannot be kept.
        """
        if self.log and (rollout := _rollout.get()) is not None:
            return await self._at(rollout, self.log, request)
        if self.log:  # it blocks: what an answer awaits is done in the order in which it is awaited
            return LoggedFace(self).complete(request)
        if stage := open_stage():
            return await self._in_stage(stage, request)
        with collect_calls() as attempts:
            response = await self.gated.complete(request)
        return require_text(response, attempts)

    def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        """The reply event by event, which is not logged."""
        return self.gated.stream(request)

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        await self.gated.aclose()

    def name(self, request: Request) -> str:
        """The name of a compile's request, in `one_answer` with how many equal ones came before."""
        name, before = _name(self._digest(request), self.rollout), _before.get()
        if before is None:
            return name
        before[name] += 1
        return name if before[name] == 1 else _name(name, before[name])

    async def in_compile(self, log: CallLog, name: str, request: Request) -> Response:
        """The reply to a request whose name is known, as `complete` gives it."""
        if kept := log.reply(name):
            return replayed(kept)
        if sending := log.sending.get(name):
            return replayed(await asyncio.shield(sending))
        return reply_of(await log.once(name, lambda: self._sent(log, name, request)))

    async def _at(self, rollout: int, log: CallLog, request: Request) -> Response:
        name = _name(self._digest(request), rollout)
        if kept := log.reply(name):
            return replayed(kept)
        call, response = await self._send(log, name, request, {}, rollout=rollout)
        return require_text(response, call.attempts) if response else reply_of(call)

    async def _in_stage(self, stage: StageCalls, request: Request) -> Response:
        digest = self._digest(request)
        number, rollout = stage.next(digest)
        name = before = _name(digest, rollout)
        caller, config = self.gated.caller, request.config
        if (limit := stage.limits.get(caller.role)) and config.max_tokens == caller.completion_limit:
            limited = replace(request, config=replace(config, max_tokens=limit))
            before = _name(self._digest(limited), rollout)
        if kept := stage.reply(name, before, caller.role, lambda: shown_request(request, stage.images)):
            return replayed(kept)
        line = {"key": stage.key, "begun": stage.begun, "number": number, "rollout": rollout}
        call, response = await self._send(stage.log, name, request, stage.images, **line)
        return require_text(response, call.attempts) if response else reply_of(call)

    async def _sent(self, log: CallLog, name: str, request: Request) -> LoggedCall:
        """A compile's call; any failure but that of its content ends the compile."""
        try:
            return (await self._send(log, name, request, {}, rollout=self.rollout))[0]
        except Halt:
            raise
        except Exception as error:  # of any kind: an optimizer would take it for a wrong answer
            self.gated.gate.switch.check()  # whoever ended the compile meanwhile gave the reason
            failure = error if isinstance(error, ProviderError) else f"{type(error).__name__}: {error}"
            denied = isinstance(error, ProviderError) and error.reason == "denied"
            kind = SetupFault if denied else ProviderDown
            halt = kind(f"{self._whose}: {failure}; a compile needs every answer")
            self.gated.gate.switch.pull(halt)
            raise halt from error

    async def _send(
        self, log: CallLog, name: str, request: Request, images: Mapping[str, str], **line: Any
    ) -> tuple[LoggedCall, Response | None]:
        """Send a request and log it; what failed for another reason than its content is logged and raised.

        Beside the call stands its reply, where that is what was logged.
        """
        named = nullcontext()
        if self.gated.in_batches:
            # As a conversation it is of this run: what another run asks in the same words is not its own.
            named = named_in_batches(name_in_batch(log.conversation(line["key"], line["begun"]), name))
        # The slot is held until the reply is kept, so that a kill loses no more replies than calls are in flight.
        async with self.gated.gate.slots:
            if log.closed:  # a thread that DSPy left behind
                raise Interrupted("the compile is over")
            outcome, call, response = dict[str, Any](), None, None
            with collect_calls() as attempts, named:
                try:
                    content = response_to_dict(response := await self.gated.ask(request))
                    outcome["response"] = encodable_all(content)
                    if self.gated.caller.app and (steps := (response.provider_data or {}).get(STEPS)):
                        outcome["steps"] = tuple(encodable_all(steps))
                    if outcome["response"] is not content:  # half a surrogate pair is no Unicode: what is kept is given
                        response = None
                except StageError as error:
                    # A compile answers from its log what was refused for its content, and goes on without it.
                    final = bool(line.get("key")) or self.gated.gate.health(self.gated.caller).answered
                    kind = error.kind if final or error.reason == "filtered" else "provider"
                    outcome["failure"] = Failure(kind=kind, reason=error.reason, detail=error.detail)
                    if not isinstance(error, ContentError):
                        raise
                finally:
                    if attempts or outcome:
                        role = self.gated.caller.role
                        call = LoggedCall(role=role, request=name, **line, **outcome, attempts=tuple(attempts))
                        self._keep(log, call, lambda: shown_request(request, images))
            assert call is not None, "a reply and a refusal are logged"
            return call, response

    def _keep(self, log: CallLog, call: LoggedCall, shown: Callable[[], dict[str, Any]]) -> None:
        try:
            log.add(call, shown, briefly=self._briefly)
        except Halt as halt:
            self.gated.gate.switch.pull(halt)
            raise

    @property
    def _whose(self) -> str:
        caller = self.gated.caller
        return f"{caller.role} {caller.model} {caller.endpoint or ''}".strip()

    def _digest(self, request: Request) -> str:
        """sha256 over role, model, endpoint and request."""
        content = json.dumps([self._whose, request_to_dict(request)], sort_keys=True, ensure_ascii=False, default=str)
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def shown_request(request: Request, images: Mapping[str, str]) -> dict[str, Any]:
    """A request as JSON without secrets, in which the bytes of an image are its sha256, and its name in `images`."""
    document = _without_bytes(request_to_dict(request), images)
    return document | {"config": without_secrets(document.get("config", {}))}


def _without_bytes(value: Any, images: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [_without_bytes(inner, images) for inner in value]
    if not isinstance(value, dict):
        return value
    fields = {name: _without_bytes(inner, images) for name, inner in value.items()}
    if "media_type" in fields and isinstance(data := fields.pop("data", None), str):
        fields["sha256"] = hashlib.sha256(base64.b64decode(data)).hexdigest()
        fields |= {"name": images[fields["sha256"]]} if fields["sha256"] in images else {}
    return fields


def _name(digest: str, rollout: int | None) -> str:
    return hashlib.sha256(f"{rollout} {digest}".encode()).hexdigest()


def replayed(call: LoggedCall) -> Response:
    """The reply of a logged call once more, with its attempts; raises as `reply_of` does."""
    for attempt in call.attempts or call.reused:
        record_call(attempt)
    return reply_of(call)


def reply_of(call: LoggedCall) -> Response:
    """The reply; raises `ContentError` where there is none to use."""
    if call.failure:
        raise ContentError(call.failure.reason, call.failure.detail)
    try:
        response = response_from_dict(call.response or {})
    except Exception as error:  # whatever a reader of another version raises
        mend = "delete its line, and it is requested again"
        raise StorageFault(f"the logged reply to request {call.request} cannot be read; {mend}") from error
    return require_text(response, call.attempts or call.reused)


class LoggedFace(BlockingEngine):
    """The synchronous face of a logged engine: in a compile, replies in the log need no other thread."""

    engine: LoggedEngine

    def complete(self, request: Request) -> Response:
        """The reply, as `LoggedEngine.complete` gives it."""
        if not (log := self.engine.log):
            return wait_for(self.engine.complete(request))
        name = self.engine.name(request)
        if kept := log.reply(name):
            return replayed(kept)
        return wait_for(self.engine.in_compile(log, name, request))


class LoggedLM(dspy.LM):
    """A model whose calls are logged; DSPy's caches are off. In a compile a copy under another rollout asks anew."""

    def __init__(self, model: str, engine: LoggedEngine, **config: Any):
        super().__init__(model, engine=LoggedFace(engine), async_engine=engine, num_retries=0, cache=False, **config)

    def __deepcopy__(self, _: Any) -> "LoggedLM":
        """Itself: a copy of a program asks the same models."""
        return self

    def copy(self, **changes: Any) -> dspy.LM:
        """A copy with other settings, whose rollout is part of a request's name in a compile."""
        logged: LoggedEngine = async_engine_of(self)
        if logged.log is None or "engine" in changes:
            return super().copy(**changes)
        rollout = changes.get("rollout_id", self.kwargs.get("rollout_id"))
        engine = LoggedEngine(logged.gated, logged.log, rollout)
        return super().copy(engine=LoggedFace(engine), async_engine=engine, **changes)
