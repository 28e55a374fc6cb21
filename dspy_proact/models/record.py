"""The record of a compile: every answer of a model, so that a compile continues where it stopped.

An optimizer cannot be stopped in the middle and continued. It can be run again: the record maps each request to its
answer, so that a repeated request is answered from it, in any order, and only new requests are sent and paid for. Equal
requests at the same time are sent once. A request that is to have several answers has a rollout for each.
"""

import asyncio
import hashlib
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Self

import dspy
from dspy.lm15 import Request, Response
from pydantic import model_validator

from dspy_proact.calls import Call, collect_calls, record_call
from dspy_proact.errors import ContentError, Halt, Interrupted, ProviderDown, ProviderError, RunError, StorageFault
from dspy_proact.kept import Log
from dspy_proact.models.dspy_internals import async_engine_of, request_to_dict, response_from_dict, response_to_dict
from dspy_proact.models.engine import BlockingEngine, Described, GatedEngine, wait_for
from dspy_proact.plain_text import encodable_all
from dspy_proact.types import Frozen


class RecordedAnswer(Frozen):
    """One line of the record: the outcome of one request."""

    request: str
    """sha256 over role, endpoint, model, request and rollout."""
    response: dict[str, Any] | None = None
    """The answer, in DSPy's own form."""
    refused: tuple[str, str] | None = None
    """Reason and detail, where the provider refuses this request for good."""
    calls: tuple[Call, ...]

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.response is None) == (self.refused is None):
            raise ValueError("must hold either an answer or a refusal")
        return self

    def replayed(self) -> Response:
        """The answer once more, with the calls that it took; raises as `usable_response` does."""
        for call in self.calls:
            record_call(call)
        return self.usable_response()

    def usable_response(self) -> Response:
        """The answer; raises `ContentError` where there is none to use."""
        if self.refused:
            raise ContentError(*self.refused)
        try:
            response = response_from_dict(self.response or {})
        except Exception as error:  # whatever a reader raises at what somebody has edited there
            mend = "delete its line, and it is requested again"
            raise StorageFault(f"the record's answer to request {self.request} cannot be read; {mend}") from error
        if response.finish_reason == "content_filter":
            raise ContentError("filtered", "the provider's content filter cut the answer")
        return response


class Record:
    """The answers of one compile; use as a context manager. One process writes it.

    Attributes:
        answers: By request.
        sending: Requests in flight.
        paid: Requests that were sent by this process.
        on_answer: Called after each of them, in any thread.
        closed: Whether nothing can be kept any more.

    Raises a `RunError` where it is damaged, in use, or cannot be written.
    """

    def __init__(self, path: Path):
        self.path = path
        self.on_answer: Callable[[RecordedAnswer], None] = lambda _: None
        self.answers: dict[str, RecordedAnswer] = {}
        self.paid = 0
        self.closed = False
        self.sending: dict[str, asyncio.Future[RecordedAnswer]] = {}

    def __enter__(self) -> Self:
        self._log = Log(self.path, RecordedAnswer)
        try:
            self.answers = {recorded.request: recorded for recorded in self._log}
        except RunError:
            self._log.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.closed = True
        self._log.__exit__()

    async def settled(self) -> None:
        """Wait until nothing is in flight: DSPy leaves threads behind where it is ended, and their answers are paid."""
        while self.sending:
            await asyncio.wait(list(self.sending.values()))

    async def once(self, request: str, send: Callable[[], Coroutine[Any, Any, RecordedAnswer]]) -> RecordedAnswer:
        """The outcome of `send`; equal requests meanwhile wait for it in `sending`."""
        sending = self.sending[request] = asyncio.get_running_loop().create_future()
        try:
            recorded = await send()
        except asyncio.CancelledError:
            sending.cancel()
            raise
        except BaseException as error:
            sending.set_exception(error)
            sending.exception()  # whoever waits gets it; nobody may wait
            raise
        else:
            sending.set_result(recorded)
            return recorded
        finally:
            del self.sending[request]

    def add(self, recorded: RecordedAnswer) -> RecordedAnswer:
        """Keep the outcome of a request that was just sent.

        Raises a `StorageFault` where it cannot be kept, so that nothing further may be paid for.
        """
        try:
            self._log.append(recorded)
        except RunError as error:
            raise StorageFault(str(error)) from error
        self.answers[recorded.request] = recorded
        self.paid += 1
        self.on_answer(recorded)
        return recorded


class RecordedEngine(Described):
    """A gated engine whose answers are kept and given again."""

    def __init__(self, gated: GatedEngine, record: Record, whose: str, rollout: int | None = None):
        super().__init__(gated)
        self.gated, self.record, self.whose, self.rollout = gated, record, whose, rollout

    async def complete(self, request: Request) -> Response:
        """The answer, from the record or from the model.

        Raises:
            ContentError: The provider refuses this request for good; a repeated one is refused from the record.
            ProviderDown: It failed after all retries; an optimizer would count any other error as a wrong answer.
            StorageFault: The answer cannot be kept.
        """
        return await self.answer(self.name(request), request)

    async def answer(self, name: str, request: Request) -> Response:
        """The answer to a request whose name is known, as `complete` gives it."""
        if kept := self.record.answers.get(name):
            return kept.replayed()
        if sending := self.record.sending.get(name):
            return (await asyncio.shield(sending)).replayed()
        return (await self.record.once(name, lambda: self._sent(name, request))).usable_response()

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        await self.gated.aclose()

    async def _sent(self, name: str, request: Request) -> RecordedAnswer:
        # The slot is held until the answer is kept, so that a kill loses no more answers than calls are in flight.
        async with self.gated.gate.slots:
            if self.record.closed:  # a thread that DSPy left behind
                raise Interrupted("the compile is over")
            try:
                return self.record.add(await self._outcome(name, request))
            except Halt as halt:
                self.gated.gate.switch.pull(halt)
                raise

    async def _outcome(self, name: str, request: Request) -> RecordedAnswer:
        with collect_calls() as calls:
            try:
                response = await self.gated.ask(request)
                # Half a surrogate pair is no Unicode: the answer given now is the one kept, as a replay gives it.
                kept = encodable_all(response_to_dict(response))
                return RecordedAnswer(request=name, response=kept, calls=tuple(calls))
            except ContentError as error:
                return RecordedAnswer(request=name, refused=(error.reason, error.detail), calls=tuple(calls))
            except Exception as error:  # of any kind: an optimizer would take it for a wrong answer
                self.gated.gate.switch.check()  # whoever ended the compile meanwhile gave the reason
                failure = error if isinstance(error, ProviderError) else f"{type(error).__name__}: {error}"
                raise ProviderDown(f"{self.whose}: {failure}; a compile needs every answer") from error

    def name(self, request: Request) -> str:
        """sha256 over role, model, endpoint, rollout and request."""
        content = json.dumps(
            [self.whose, self.rollout, request_to_dict(request)], sort_keys=True, ensure_ascii=False, default=str
        )
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


class RecordedFace(BlockingEngine):
    """The synchronous face of a recorded engine: recorded answers need no other thread."""

    engine: RecordedEngine

    def complete(self, request: Request) -> Response:
        """The answer, as `RecordedEngine.complete` gives it."""
        name = self.engine.name(request)
        if kept := self.engine.record.answers.get(name):
            return kept.replayed()
        return wait_for(self.engine.answer(name, request))


class RecordedLM(dspy.LM):
    """A model whose answers are recorded; DSPy's caches are off, and a copy under another rollout asks anew."""

    def __init__(self, model: str, engine: RecordedEngine, **config: Any):
        super().__init__(model, engine=RecordedFace(engine), async_engine=engine, num_retries=0, cache=False, **config)

    def copy(self, **changes: Any) -> "RecordedLM":
        """A copy with other settings, whose rollout is part of a request's name."""
        recorded: RecordedEngine = async_engine_of(self)
        rollout = changes.get("rollout_id", self.kwargs.get("rollout_id"))
        engine = RecordedEngine(recorded.gated, recorded.record, recorded.whose, rollout)
        return super().copy(engine=RecordedFace(engine), async_engine=engine, **changes)
