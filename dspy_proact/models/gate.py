"""The gate: the one object of a run or compile through which every call to a model goes.

It wraps the engine of every model, on both routes, so that whatever holds for calls is written once:
retries with back-off, the time limit, the record of usage, finish reason and latency, and the mapping
from a provider's errors to ours. DSPy's own retries are off. Nothing here looks into a message.
"""

import random
from collections import Counter

from dspy_proact.errors import Halt, LimitReached, ProviderDown, ProviderError, StageError, UsageError
from dspy_proact.models.budget import Budget, Cost, Limits
from dspy_proact.models.caller import Caller
from dspy_proact.models.route import Backend
from dspy_proact.models.slots import Slots
from dspy_proact.switch import Switch

_LONGEST_WAIT = 60.0


class Gate:
    """How calls are made, and what those of one run or compile share; one after another may have the same gate.

    Args:
        concurrency: Requests in flight, of all models together.
        timeout: Seconds for one attempt, from the first byte sent to the last received; of a stream, for each wait.
        retries: Further attempts after the first, for failures that may heal.
        limits: The most that one command may spend.
        backend: `litellm` forces litellm's client where DSPy has its own.
        backoff: Seconds before the second attempt; doubled each time, with jitter.
        patience: Calls of one model that fail for good, one after another, before its provider counts as down.

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
