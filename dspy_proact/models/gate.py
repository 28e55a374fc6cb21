"""The gate: the one object of a run or compile through which every call to a model goes.

It holds what calls share: how many are in flight, of all models and to each endpoint (`slots`), the limits of calls,
tokens and money (`budget`), how long to wait between two attempts, and how each model has fared (`health`). The loop
that tries again is in `engine`; DSPy's own retries are off.
"""

import asyncio
import random
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from weakref import WeakSet

from dspy_proact.call_observer import CallObserver, FailedCall, Stall
from dspy_proact.errors import AppError, Halt, ProviderDown, ProviderError, StageError, UsageError
from dspy_proact.kept import BatchLog
from dspy_proact.models.batch import Batching
from dspy_proact.models.budget import Budget, Cost, Limits
from dspy_proact.models.endpoint import Backend
from dspy_proact.models.faults import Caller, Fault
from dspy_proact.models.health import ModelHealth
from dspy_proact.models.ray.cluster import RayCluster
from dspy_proact.models.slots import Lane, Lanes, Slots
from dspy_proact.switch import Switch

_LONGEST_WAIT = 60.0
_TIMEOUTS = {False: 600.0, True: 900.0}
"""Seconds, without and with the flex tier."""
_IN_FLIGHT, _IN_BATCHES = 32, 1_000_000
"""Requests in flight at most, where nobody says: in batches all that can begin."""
_QUIET = 60.0
"""Seconds without the end of any call after which whoever watches is notified, and as often again."""


class Gate:
    """How calls are made, and what those of one run or compile share; several runs may use it one after another.

    Raises a `UsageError` where a value is out of range.

    Args:
        concurrency: Requests in flight at most, of all models together; `pacing` says how many go to one endpoint. 32
            by default, and with `batch` all that can begin.
        timeout: Seconds for one attempt, from the first byte sent to the last received; of a stream, for each wait. 600
            by default, and 900 with `flex`, as OpenAI advises.
        retries: Further attempts after the first, for failures that may heal.
        limits: The most that one command may spend.
        backend: `litellm` forces litellm's client where DSPy has its own.
        backoff: Seconds before the second attempt; doubled each time, with jitter.
        patience: Consecutive calls of one model that fail after all retries before its provider counts as down. Where
            no connection is made, it counts as down at once.
        flex: Whether every model is asked in its provider's slower and cheaper tier (`service_tier=flex`).
        batch: Whether the answers and verdicts of a run come through its providers' batch APIs, at half the price and
            within a day; a `Batching` says how requests are collected.
        engine: `ray` has the machines of a Ray cluster send the requests, and `ray=ADDRESS` those of one that runs,
            such as `ray=auto`; this process does where None.
    """

    def __init__(
        self,
        *,
        concurrency: int | None = None,
        timeout: float | None = None,
        retries: int = 5,
        limits: Limits | None = None,
        backend: Backend = "auto",
        backoff: float = 1.0,
        patience: int = 10,
        flex: bool = False,
        batch: bool | Batching = False,
        engine: str | None = None,
    ):
        if flex and batch:
            raise UsageError("`gate.flex` and `gate.batch` are mutually exclusive: both are tiers; omit one of them")
        if engine and batch:
            raise UsageError("`gate.engine` and `gate.batch` are mutually exclusive: omit one of them")
        concurrency = (_IN_BATCHES if batch else _IN_FLIGHT) if concurrency is None else concurrency
        timeout = _TIMEOUTS[flex] if timeout is None else timeout
        if concurrency < 1 or not timeout > 0 or retries < 0:
            raise UsageError("concurrency must be 1 or more, the time limit above 0 seconds, and retries not negative")
        self.concurrency, self.timeout, self.retries = concurrency, timeout, retries
        self.backend: Backend = backend
        self.backoff, self.patience, self.flex = backoff, patience, flex
        self.batching = Batching() if batch is True else batch or None
        self.batches: BatchLog | None = None
        """Those of the run that is open; None elsewhere, and without `batch`."""
        self.cluster = RayCluster(engine, concurrency) if engine else None
        self.slots = Slots(lambda: concurrency)
        # What comes in no batch, as an embedder's vectors, is sent as in any run.
        self.lanes = Lanes(min(concurrency, _IN_FLIGHT) if batch else concurrency, timeout)
        self.quiet = _QUIET
        self.limits = limits or Limits()
        self.switch = Switch()
        self.budget = Budget(self.limits)
        self.observer = CallObserver()
        self._health = defaultdict[str, ModelHealth](ModelHealth)
        self._keep_going: bool | None = None
        self._jitter = random.Random()
        self._watched = WeakSet[asyncio.AbstractEventLoop]()
        self._ended = self._noted = 0.0

    def __repr__(self) -> str:
        calls = f"concurrency={self.concurrency}, timeout={self.timeout}, retries={self.retries}"
        how = f"backend={self.backend!r}, flex={self.flex}, batch={self.batch}"
        engine = f", engine={self.cluster.name!r}" if self.cluster else ""
        return f"Gate({calls}, limits={self.limits}, {how}{engine})"

    @property
    def batch(self) -> bool:
        """Whether requests are answered in batches."""
        return self.batching is not None

    def open(
        self,
        switch: Switch,
        spent: Cost | None = None,
        observer: CallObserver | None = None,
        *,
        answered: Iterable[Caller] = (),
        keep_going: bool | None = None,
        folder: Path | None = None,
    ) -> None:
        """Start a run with its switch and observer, and with what it has spent before against the same limits.

        The batches of a run are logged in its `folder`, which is locked. `answered` are those whose answers it has
        already. With `keep_going` no refusals of single requests end it, however many; None where nobody may choose it.
        """
        self.switch, self.budget, self.observer = switch, Budget(self.limits, spent), observer or CallObserver()
        self.batches = BatchLog(folder) if folder and self.batch else None
        self._health.clear()
        self._health.update((caller.whose, ModelHealth(answered=True)) for caller in answered)
        self._keep_going = keep_going

    def health(self, caller: Caller) -> ModelHealth:
        """How a model has fared."""
        return self._health[caller.whose]

    def wait(self, attempt: int, retry_after: float | None) -> float:
        """Seconds before the attempt after this one (counted from 0): at most a minute, whatever the provider asks."""
        floor = self.backoff * 2**attempt if retry_after is None else max(0.0, retry_after)
        return min(_LONGEST_WAIT, floor * self._jitter.uniform(1.0, 1.25))

    async def admit(self, caller: Caller, most: Cost, attempt: int, lane: Lane) -> None:
        """Wait until an attempt, counted from 0, may be made that costs so much at most; raises the `Halt` if none.

        From then on it is in flight, until it has `ended`.
        """
        self._watch()
        # In this order: who waits for money must not hold up those in flight, whose end sets some free.
        await self.budget.reserve(most, self.switch, caller, attempt)
        try:
            await lane.enter(self.switch, self.health(caller).admit)
        except BaseException:
            self.budget.settle(most, Cost())
            raise
        self.health(caller).in_flight += 1

    def ended(self, caller: Caller, lane: Lane) -> None:
        """An attempt ended, in whatever way."""
        self.health(caller).ended()
        lane.slots.release()
        self._ended = self._noted = time.monotonic()

    def _watch(self) -> None:
        """From now on it is noted when no call ends for long, while any is open; of batches that is the rule."""
        loop = asyncio.get_running_loop()
        if not self.batch and loop not in self._watched:
            self._watched.add(loop)
            self._ended = self._noted = time.monotonic()
            loop.call_later(self.quiet, self._look_after, loop)

    def _look_after(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self.slots.held:
            self._watched.discard(loop)
            return
        now = time.monotonic()
        if now - self._noted >= self.quiet:
            self._noted = now
            calls = {lane.address: (lane.slots.held, lane.slots.waiting) for lane in self.lanes if lane.slots.held}
            self.observer.stalled(Stall(now - self._ended, calls, self.slots.held, self.concurrency, self.timeout))
        loop.call_later(self._noted + self.quiet - now, self._look_after, loop)

    def failed(self, caller: Caller, fault: Fault, attempt: int, wait: float | None) -> StageError | Halt:
        """An attempt, counted from 0, failed: what to raise; pulls the switch where the failure ends the run."""
        who, health, error = caller.whose, self.health(caller), fault.error
        if isinstance(error, Halt):
            self.switch.pull(error)
        elif (fault.setup or not isinstance(error, ProviderError)) and (
            halt := health.refused(fault, caller, self._keep_going)
        ):
            self.switch.pull(halt)
            return halt
        elif isinstance(error, ProviderError | AppError) and not fault.setup:
            self.observer.failed(FailedCall(who, fault.word, error.detail, attempt + 1, self.retries + 1, wait))
            if wait is None:
                health.failures, health.last = health.failures + 1, str(error)
                if fault.unreached and not health.responded:
                    self.switch.pull(ProviderDown(f"{who}: cannot be reached, {error}"))
                elif health.failures >= self.patience:
                    failed = f"{self.patience} calls in a row failed after all retries"
                    self.switch.pull(ProviderDown(f"{who}: down. {failed}, the last with {error}"))
        return error

    def silent(self) -> str | None:
        """The last failure of each model where calls were made and no model answered any; else None."""
        if any(health.responded for health in self._health.values()):
            return None
        failures = ((who, health.last) for who, health in self._health.items() if health.last)
        return "; ".join(f"{who}: no answer. {last}" for who, last in failures) or None
