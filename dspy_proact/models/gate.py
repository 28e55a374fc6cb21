"""The gate: the one object of a run or compile through which every call to a model goes.

It wraps the engine of every model, on both routes, so that whatever holds for calls is written once:
retries with back-off, the time limit, the record of usage, finish reason and latency, and the mapping
from a provider's errors to ours. DSPy's own retries are off. Nothing here looks into a message.
"""

import random
from collections import defaultdict
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass

from dspy_proact.calls import CallObserver, FailedCall
from dspy_proact.errors import Halt, LimitReached, ProviderDown, ProviderError, UsageError
from dspy_proact.models.budget import Budget, Cost, Limits
from dspy_proact.models.caller import Caller
from dspy_proact.models.fault import Fault
from dspy_proact.models.route import Backend
from dspy_proact.models.slots import Slots
from dspy_proact.switch import Bell, Switch

_LONGEST_WAIT = 60.0
_AT_ONCE = nullcontext()


class Gate:
    """How calls are made, and what those of one run or compile share; one after another may have the same gate.

    Args:
        concurrency: Requests in flight, of all models together.
        timeout: Seconds for one attempt, from the first byte sent to the last received; of a stream, for each wait.
        retries: Further attempts after the first, for failures that may heal.
        limits: The most that one command may spend.
        backend: `litellm` forces litellm's client where DSPy has its own.
        backoff: Seconds before the second attempt; doubled each time, with jitter.
        patience: Calls of one model that fail for good, one after another, before its provider counts as down. The
            first of them is made alone; where not even a connection is made, it is down at once.

    Raises:
        UsageError: No call could be made so.
    """

    def __init__(
        self,
        *,
        concurrency: int = 32,
        timeout: float = 600.0,
        retries: int = 5,
        limits: Limits | None = None,
        backend: Backend = "auto",
        backoff: float = 1.0,
        patience: int = 10,
    ):
        if concurrency < 1 or not timeout > 0 or retries < 0:
            raise UsageError("concurrency must be 1 or more, the time limit above 0 seconds, and retries not negative")
        self.concurrency, self.timeout, self.retries = concurrency, timeout, retries
        self.backend: Backend = backend
        self.backoff, self.patience = backoff, patience
        self.slots = Slots(concurrency)
        self.limits = limits or Limits()
        self.switch = Switch()
        self.budget = Budget(self.limits)
        self.observer = CallObserver()
        self._standing = defaultdict[str, _Standing](_Standing)
        self._first_ended = Bell()
        self._jitter = random.Random()

    def open(self, switch: Switch, spent: Cost | None = None, observer: CallObserver | None = None) -> None:
        """Begin anew with a switch and an observer, and with what was spent before against the same limits."""
        self.switch, self.budget, self.observer = switch, Budget(self.limits, spent), observer or CallObserver()
        self._standing.clear()

    def turn(self, caller: Caller) -> AbstractAsyncContextManager[None]:
        """The turn of a call: the first one to a model is made alone, and the others wait for its end."""
        standing = self._standing[_who(caller)]
        return _AT_ONCE if standing.asked and not standing.asked_first else self._in_turn(standing)

    @asynccontextmanager
    async def _in_turn(self, standing: "_Standing") -> AsyncGenerator[None]:
        while standing.asked_first:
            await self._first_ended.wait()
        if standing.asked:
            yield
            return
        standing.asked = standing.asked_first = True
        try:
            yield
        finally:
            standing.asked_first = False
            self._first_ended.ring()

    def wait(self, attempt: int, retry_after: float | None) -> float:
        """Seconds before the attempt after this one (counted from 0): at most a minute, whatever the provider asks."""
        floor = self.backoff * 2**attempt if retry_after is None else max(0.0, retry_after)
        return min(_LONGEST_WAIT, floor * self._jitter.uniform(1.0, 1.25))

    async def admit(self, most: Cost) -> None:
        """Reserve what a call may cost, waiting for calls in flight while they may still leave room.

        Raises:
            LimitReached: It does not fit; the switch is pulled.
        """
        await self.budget.room(most)
        self.switch.check()
        try:
            self.budget.admit_now(most)
        except LimitReached as limit:
            self.switch.pull(limit)
            raise

    def succeeded(self, caller: Caller) -> None:
        """A call was answered: its provider is up."""
        standing = self._standing[_who(caller)]
        standing.answered, standing.failures = True, 0

    def failed(self, caller: Caller, fault: Fault, attempt: int, wait: float | None) -> None:
        """An attempt, counted from 0, failed, and the next is made after so many seconds, or none.

        Then the switch is pulled where the failure ends the run.
        """
        who = _who(caller)
        standing, error = self._standing[who], fault.error
        if isinstance(error, Halt):
            self.switch.pull(error)
        elif not isinstance(error, ProviderError):
            standing.answered = True  # with a refusal of this request only
        else:
            self.observer.failed(FailedCall(who, fault.word, error.detail, attempt + 1, self.retries + 1, wait))
            if wait is None:
                standing.failures, standing.last = standing.failures + 1, str(error)
                if fault.unreached and not standing.answered:
                    self.switch.pull(ProviderDown(f"{who}: cannot be reached, {error}"))
                elif standing.failures >= self.patience:
                    many = f"{self.patience} calls in a row failed for good"
                    self.switch.pull(ProviderDown(f"{who}: down. {many}, the last: {error}"))

    def silent(self) -> str | None:
        """What the models failed with last where calls were made and none of any model's was answered; else None."""
        if any(each.answered for each in self._standing.values()):
            return None
        return "; ".join(f"{who}: no answer. {each.last}" for who, each in self._standing.items() if each.last) or None


@dataclass
class _Standing:
    """How a model has fared."""

    asked: bool = False
    asked_first: bool = False
    """Whether the first call is on its way."""
    answered: bool = False
    failures: int = 0
    """For good, since it last answered."""
    last: str = ""


def _who(caller: Caller) -> str:
    return f"{caller.flag} {caller.model}"
