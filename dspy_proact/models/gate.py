"""The gate: the one object of a run or compile through which every call to a model goes.

It wraps the engine of every model, on both routes, so that whatever holds for calls is written once:
retries with back-off, the time limit, the record of usage, finish reason and latency, and the mapping
from a provider's errors to ours. DSPy's own retries are off. Nothing here looks into a message.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from dspy.lm15 import LM15Error, Request, Response

from dspy_proact.calls import Call, record_call
from dspy_proact.errors import Halt, LimitReached, ProviderDown, ProviderError, StageError
from dspy_proact.models.budget import Budget, Cost, Limits, most_of
from dspy_proact.models.caller import Caller
from dspy_proact.models.fault import Fault, understand
from dspy_proact.switch import Switch

_LONGEST_WAIT = 60.0
_ABSURD = 10**8
"""More tokens than a call can have: a count above it is no count."""


class Gate:
    """What every call of one run shares.

    Args:
        retries: Further attempts after the first, for failures that may heal.
        timeout: Seconds for one attempt, from the first byte sent to the last received.
        backoff: Seconds before the second attempt; doubled each time, with jitter.
        limits: The most that may be spent.
        patience: Calls of one model that fail for good, one after another, before its provider counts as down.
    """

    def __init__(
        self,
        *,
        retries: int = 5,
        timeout: float = 600.0,
        backoff: float = 1.0,
        limits: Limits | None = None,
        patience: int = 10,
    ):
        self.retries, self.timeout, self.backoff, self.patience = retries, timeout, backoff, patience
        self.limits = limits or Limits()
        self.switch = Switch()
        self.budget = Budget(self.limits)
        self._failures = Counter[str]()
        self._jitter = random.Random()

    def open(self, switch: Switch, spent: Cost | None = None) -> None:
        """Begin anew with a switch of its own, and with what was spent before against the same limits."""
        self.switch, self.budget = switch, Budget(self.limits, spent)
        self._failures.clear()

    def wait(self, attempt: int, retry_after: float | None) -> float:
        """Seconds before the attempt after this one (counted from 0): at most a minute, whatever the provider asks."""
        floor = self.backoff * 2**attempt if retry_after is None else max(0.0, retry_after)
        return min(_LONGEST_WAIT, floor * self._jitter.uniform(1.0, 1.25))

    def admit_now(self, most: Cost) -> None:
        """Reserve what a call may cost; a limit that is reached pulls the switch and is raised."""
        try:
            self.budget.admit_now(most)
        except LimitReached as limit:
            self.switch.pull(limit)
            raise

    async def admit(self, most: Cost) -> None:
        """The same, waiting for calls in flight while they may still leave room."""
        await self.budget.room(most)
        self.switch.check()
        self.admit_now(most)

    def succeeded(self, caller: Caller) -> None:
        """A call was answered: its provider is up."""
        self._failures[_who(caller)] = 0

    def failed_for_good(self, caller: Caller, error: StageError | Halt) -> None:
        """A call failed and is not tried again; pulls the switch when that ends the run."""
        if isinstance(error, Halt):
            self.switch.pull(error)
        elif isinstance(error, ProviderError):
            who = _who(caller)
            self._failures[who] += 1
            if self._failures[who] >= self.patience:
                down = f"{who}: down. {self.patience} calls in a row failed for good, the last: {error}"
                self.switch.pull(ProviderDown(down))


def _who(caller: Caller) -> str:
    return f"{caller.flag} {caller.model}"


UNREADABLE = (LM15Error, OSError, ValueError, TypeError, AttributeError, LookupError)
"""What an engine raises: DSPy's canonical errors, the time-out, and what its readers make of a broken body."""


@dataclass
class _Attempt:
    """One attempt: its reservation and its clock."""

    gate: Gate
    caller: Caller
    most: Cost
    started: float = field(default_factory=time.time)
    _tick: float = field(default_factory=time.perf_counter)

    def answered(self, response: Response) -> Response:
        usage, caller = response.usage, self.caller
        cached = usage.cache_read_tokens
        apart = (cached or 0) + (usage.cache_write_tokens or 0) if caller.cache_apart else 0
        reasoning = (usage.reasoning_tokens or 0) if caller.reasoning_apart else 0
        # A prompt of no tokens is a count that was not given: litellm fills in zeros.
        counted = usage.input_tokens or None
        prompt = _plus(counted, apart)
        completion = _plus(usage.output_tokens, reasoning) if counted else None
        self._settle(self._spent(prompt, completion))
        self.gate.succeeded(caller)
        self._record(
            prompt_tokens=prompt,
            completion_tokens=completion,
            cached_tokens=cached,
            finish_reason=response.finish_reason,
        )
        return response

    def failed(self, error: Exception) -> Fault:
        caller = self.caller
        fault = understand(error, caller)
        # A provider that refuses bills nothing; one whose answer was lost on the way may have written all of it.
        self._settle(self.most if fault.may_be_billed else Cost(calls=1))
        self._record(error=fault.word)
        return fault

    def dropped(self) -> None:
        """Cancelled on its way: it may have been answered and billed."""
        self._settle(self.most)

    def _spent(self, prompt: int | None, completion: int | None) -> Cost:
        """What an answer cost by its own count; the most where it does not say or says nonsense."""
        if prompt is None or completion is None or not 0 <= prompt + completion <= _ABSURD:
            return self.most
        return Cost(calls=1, tokens=prompt + completion, usd=self.caller.price.of(prompt, completion) or 0.0)

    def _settle(self, actual: Cost) -> None:
        self.gate.budget.settle(self.most, actual)

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

    def _most(self, request: Request) -> Cost:
        return most_of(request, self.caller.completion_limit, self.caller.price)

    def _last(self, fault: Fault, attempt: int) -> bool:
        """Whether no further attempt is made."""
        last = not fault.retry or attempt >= self.gate.retries
        if last:
            self.gate.failed_for_good(self.caller, fault.error)
        return last


class GatedEngine(_Gated):
    """A synchronous engine behind the gate."""

    def __init__(self, inner: Any, *described: Any):
        super().__init__(*described)
        self._inner = inner

    def complete(self, request: Request) -> Response:
        """Answer one request, with retries; raises ours of `errors`."""
        request, attempt = self._worded(request), 0
        most = self._most(request)
        while True:
            self.gate.switch.check()
            self.gate.admit_now(most)
            clock = _Attempt(self.gate, self.caller, most)
            try:
                return clock.answered(self._inner.complete(request))
            except UNREADABLE as error:
                fault = clock.failed(error)
                if self._last(fault, attempt):
                    raise fault.error from error
            except BaseException:
                clock.dropped()
                raise
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
        most = self._most(request)
        while True:
            self.gate.switch.check()
            await self.gate.admit(most)
            clock = _Attempt(self.gate, self.caller, most)
            try:
                async with asyncio.timeout(self.gate.timeout):
                    return clock.answered(await inner.complete(request))
            except UNREADABLE as error:
                fault = clock.failed(error)
                if self._last(fault, attempt):
                    raise fault.error from error
            except BaseException:
                clock.dropped()
                raise
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
