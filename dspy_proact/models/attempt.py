"""One attempt at a call: its reservation, its clock, and what becomes of a failure."""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

from dspy._vendor.lm15.types import StreamEvent
from dspy.lm15 import Response, Usage

from dspy_proact.calls import MOST_TOKENS, Call, record_call
from dspy_proact.models.budget import Cost
from dspy_proact.models.caller import Caller
from dspy_proact.models.fault import Fault, understand
from dspy_proact.models.gate import Gate
from dspy_proact.models.wire import chain


@dataclass
class Attempt:
    """One attempt, as a context manager around it: its reservation, its clock and its end.

    Whatever an engine raises is understood here, be it what its reader makes of a body from hell: a failure after which
    it is worth trying again is swallowed, any other is raised as ours of `errors`.
    """

    gate: Gate
    caller: Caller
    most: Cost
    number: int
    """Counted from 0."""
    wait: float = 0.0
    """Seconds before the next attempt; set by a failure that is swallowed."""
    started: float = field(default_factory=time.time)
    _tick: float = field(default_factory=time.perf_counter)
    _held: tuple[StreamEvent, ...] = ()
    _begun: bool = False
    _settled: bool = False

    def __enter__(self) -> "Attempt":
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        if error is None or self._settled:
            return False
        if not isinstance(error, Exception) or _is_left(error):  # on its way: it may have been answered and billed
            self._settle(self.most)
            return False
        fault = self._failed(error)
        final = self._begun or not fault.retry or self.number >= self.gate.retries
        self.wait = 0.0 if final else self.gate.wait(self.number, fault.retry_after)
        self.gate.failed(self.caller, fault, self.number, None if final else self.wait)
        if final:
            raise fault.error from error
        return True

    def answered(self, response: Response) -> Response:
        """It was answered whole."""
        self._ended(response.finish_reason, response.usage)
        return response

    def passed(self, event: StreamEvent) -> tuple[StreamEvent, ...]:
        """The events of a stream to pass on now that this one has come.

        The start waits for what comes after it: once anything is passed on, it is too late to try again.
        """
        if event.type == "start":
            self._held = (event,)
            return ()
        if event.type == "end":
            self._ended(event.finish_reason, event.usage or Usage())
        held, self._held, self._begun = self._held, (), True
        return (*held, event)

    def _ended(self, finish_reason: str | None, usage: Usage) -> None:
        caller = self.caller
        apart = (usage.cache_read_tokens or 0) + (usage.cache_write_tokens or 0) if caller.cache_apart else 0
        reasoning = (usage.reasoning_tokens or 0) if caller.reasoning_apart else 0
        # A prompt of no tokens is a count that was not given: litellm fills in zeros.
        counted = usage.input_tokens or None
        prompt = _sum(counted, apart)
        completion = _sum(usage.output_tokens, reasoning) if counted else None
        cached = _sum(usage.cache_read_tokens, 0)
        self._record(
            prompt_tokens=prompt, completion_tokens=completion, cached_tokens=cached, finish_reason=finish_reason
        )
        self._settle(self._spent(prompt, completion))
        self.gate.succeeded(caller)

    def _failed(self, error: Exception) -> Fault:
        fault = understand(error, self.caller)
        # A provider that refuses bills nothing; one whose answer was lost on the way may have written all of it.
        self._settle(self.most if fault.may_be_billed or self._begun else Cost(calls=1))
        self._record(error=fault.word)
        return fault

    def _spent(self, prompt: int | None, completion: int | None) -> Cost:
        """What an answer cost by its own count; the most where it does not say."""
        if prompt is None or completion is None:
            return self.most
        return Cost(calls=1, tokens=prompt + completion, usd=self.caller.price.of(prompt, completion) or 0.0)

    def _settle(self, actual: Cost) -> None:
        self._settled = True
        self.gate.budget.settle(self.most, actual)

    def _record(self, **outcome: Any) -> None:
        latency = time.perf_counter() - self._tick
        record_call(Call(role=self.caller.role, started=self.started, latency=latency, **outcome))


def _is_left(error: Exception) -> bool:
    """Whether a client failed over being cancelled, or closed by its reader."""
    task = asyncio.current_task()
    cancelled = task is not None and task.cancelling() > 0
    return cancelled or any(isinstance(each, GeneratorExit) for each in chain(error))


def _sum(tokens: int | None, more: int) -> int | None:
    """All of them; None where they were not told, or are none that a call can have."""
    return tokens + more if tokens is not None and 0 <= tokens + more <= MOST_TOKENS else None
