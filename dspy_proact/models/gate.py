"""The gate: the one object of a run or compile through which every call to a model goes.

It wraps the engine of every model, on both routes, so that whatever holds for calls is written once:
retries with back-off, the time limit, the record of usage, finish reason and latency, and the mapping
from a provider's errors to ours. DSPy's own retries are off. Nothing here looks into a message.
"""

import asyncio
import random
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from dspy.lm15 import LM15Error, Request, Response

from dspy_proact.calls import Call, record_call
from dspy_proact.models.fault import Fault, understand
from dspy_proact.switch import Switch

_LONGEST_WAIT = 60.0


@dataclass(frozen=True)
class Caller:
    """Who calls: what the gate must know of a model."""

    role: str
    """`assistant` or `judge`."""
    flag: str
    """The command line's name of the role, for messages."""
    model: str
    key_variables: tuple[str, ...] = ()
    sent: tuple[str, ...] = ()
    """Names of the decoding parameters."""
    extensions: dict[str, Any] = field(default_factory=dict)
    """Parameters that go into the body of the request as they are."""
    cache_apart: bool = False
    """Whether the provider counts cached prompt tokens beside the others (Anthropic) instead of among them."""
    reasoning_apart: bool = False
    """Whether it counts reasoning tokens beside the others (Gemini, xAI)."""


class Gate:
    """What every call of one run shares.

    Args:
        retries: Further attempts after the first, for failures that may heal.
        timeout: Seconds for one attempt, from the first byte sent to the last received.
        backoff: Seconds before the second attempt; doubled each time, with jitter.
        switch: Pulled when the provider refuses for good; once it is pulled nothing is sent.
    """

    def __init__(self, *, retries: int = 5, timeout: float = 600.0, backoff: float = 1.0, switch: Switch | None = None):
        self.retries, self.timeout, self.backoff = retries, timeout, backoff
        self.switch = switch or Switch()
        self._jitter = random.Random()

    def wait(self, attempt: int, retry_after: float | None) -> float:
        """Seconds before the attempt after this one (counted from 0): at most a minute, whatever the provider asks."""
        floor = self.backoff * 2**attempt if retry_after is None else retry_after
        return min(_LONGEST_WAIT, floor) * self._jitter.uniform(1.0, 1.25)


@dataclass
class _Attempt:
    """One attempt on the clock."""

    caller: Caller
    started: float = field(default_factory=time.time)
    _tick: float = field(default_factory=time.perf_counter)

    def answered(self, response: Response) -> Response:
        usage, caller = response.usage, self.caller
        cached = usage.cache_read_tokens
        apart = (cached or 0) + (usage.cache_write_tokens or 0) if caller.cache_apart else 0
        reasoning = (usage.reasoning_tokens or 0) if caller.reasoning_apart else 0
        self._record(
            prompt_tokens=_plus(usage.input_tokens, apart),
            completion_tokens=_plus(usage.output_tokens, reasoning),
            cached_tokens=cached,
            finish_reason=response.finish_reason,
        )
        return response

    def failed(self, error: Exception) -> Fault:
        caller = self.caller
        fault = understand(
            error, flag=caller.flag, model=caller.model, variables=caller.key_variables, sent=caller.sent
        )
        self._record(error=fault.word)
        return fault

    def _record(self, **outcome: Any) -> None:
        latency = time.perf_counter() - self._tick
        record_call(Call(role=self.caller.role, started=self.started, latency=latency, **outcome))


class _Gated:
    """What the synchronous and the asynchronous engine have in common."""

    def __init__(self, gate: Gate, caller: Caller, supports_response_schema: bool, supported_params: Iterable[str]):
        self.gate, self.caller = gate, caller
        self.supports_response_schema = supports_response_schema
        self.supports_function_calling = False
        self.supports_reasoning = True
        self.supported_params = set(supported_params)

    def _worded(self, request: Request) -> Request:
        if not self.caller.extensions:
            return request
        config = request.config
        extensions = {**(config.extensions or {}), **self.caller.extensions}
        limit = None if "max_tokens" in extensions else config.max_tokens
        return replace(request, config=replace(config, max_tokens=limit, extensions=extensions))

    def _give_up(self, fault: Fault, attempt: int) -> bool:
        """Whether this failure is the last; a fault that ends the run pulls the switch."""
        if isinstance(fault.error, BaseException) and not isinstance(fault.error, Exception):
            self.gate.switch.pull(fault.error)
        return not fault.retry or attempt >= self.gate.retries


class GatedEngine(_Gated):
    """A synchronous engine behind the gate."""

    def __init__(self, inner: Any, *described: Any):
        super().__init__(*described)
        self._inner = inner

    def complete(self, request: Request) -> Response:
        """Answer one request, with retries; raises ours of `errors`."""
        request, attempt = self._worded(request), 0
        while True:
            self.gate.switch.check()
            clock = _Attempt(self.caller)
            try:
                return clock.answered(self._inner.complete(request))
            except (LM15Error, OSError, ValueError, TypeError) as error:
                fault = clock.failed(error)
                if self._give_up(fault, attempt):
                    raise fault.error from error
            time.sleep(self.gate.wait(attempt, fault.retry_after))
            attempt += 1


class AsyncGatedEngine(_Gated):
    """An asynchronous engine behind the gate. Engines belong to an event loop, so one is made for each."""

    def __init__(self, make: Callable[[], Any], *described: Any):
        super().__init__(*described)
        self._make = make
        self._inner: dict[asyncio.AbstractEventLoop, Any] = {}

    async def complete(self, request: Request) -> Response:
        """Answer one request, with retries; raises ours of `errors`."""
        request, attempt, inner = self._worded(request), 0, self._for_this_loop()
        while True:
            self.gate.switch.check()
            clock = _Attempt(self.caller)
            try:
                async with asyncio.timeout(self.gate.timeout):
                    return clock.answered(await inner.complete(request))
            except (LM15Error, OSError, ValueError, TypeError) as error:
                fault = clock.failed(error)
                if self._give_up(fault, attempt):
                    raise fault.error from error
            await self.gate.switch.pause(self.gate.wait(attempt, fault.retry_after))
            attempt += 1

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        inner = self._inner.pop(asyncio.get_running_loop(), None)
        if inner is not None and hasattr(inner, "aclose"):
            await inner.aclose()

    def _for_this_loop(self) -> Any:
        for loop in [loop for loop in self._inner if loop.is_closed()]:
            del self._inner[loop]
        loop = asyncio.get_running_loop()
        if loop not in self._inner:
            self._inner[loop] = self._make()
        return self._inner[loop]


def _plus(tokens: int | None, more: int) -> int | None:
    return None if tokens is None else tokens + more
