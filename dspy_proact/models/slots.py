"""Slots for calls: of a gate over all models, and of an endpoint by its pace."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from dspy_proact.models.faults import Caller, Fault
from dspy_proact.models.pacing import Pace
from dspy_proact.switch import Switch


@dataclass
class _Line:
    held: int = 0
    waiting: deque[asyncio.Future[None]] = field(default_factory=deque[asyncio.Future[None]])


class Slots:
    """Limits what goes on in each event loop; `async with slots:` holds one, waiting in turn until one is free.

    Each loop has as many: one that waits for another, as for an embedder's answer, cannot free any of its own.

    Args:
        limit: How many there are; it may change.
    """

    def __init__(self, limit: Callable[[], int]):
        self._limit = limit
        self._lines = WeakKeyDictionary[asyncio.AbstractEventLoop, _Line]()
        self._holding = set[asyncio.Task[object]]()

    async def __aenter__(self) -> None:
        await self.acquire()
        task = asyncio.current_task()
        assert task is not None, "calls are made in tasks"
        self._holding.add(task)

    async def __aexit__(self, *_: object) -> None:
        self._holding -= {asyncio.current_task()}
        self.release()

    async def acquire(self) -> None:
        """Wait for one, in turn; `drop` leaves it alone."""
        loop = asyncio.get_running_loop()
        line = self._lines.setdefault(loop, _Line())
        if line.held < self._limit() and not line.waiting:
            line.held += 1
            return
        line.waiting.append(turn := loop.create_future())
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it was free already
                self._free(line)
            raise

    def release(self) -> None:
        """Give one back, in the loop in which it was taken."""
        self._free(self._lines[asyncio.get_running_loop()])

    def _free(self, line: _Line) -> None:
        line.held -= 1
        while line.waiting and line.held < self._limit():
            turn = line.waiting.popleft()
            if not turn.done():  # it was cancelled
                line.held += 1
                turn.set_result(None)

    @property
    def held(self) -> int:
        """How many are held, in all loops."""
        return sum(line.held for line in list(self._lines.values()))

    @property
    def waiting(self) -> int:
        """How many wait for one, in all loops."""
        return sum(not turn.done() for line in list(self._lines.values()) for turn in list(line.waiting))

    def drop(self) -> None:
        """Cancel what holds one, from any thread."""
        for task in list(self._holding):
            task.get_loop().call_soon_threadsafe(task.cancel)


class Lane:
    """The calls to one endpoint, of which a pace says how many are in flight.

    Args:
        address: For messages.
        pace: Says how many.
        paced: Whether it learns from the calls: those of a batch show nothing of how many an endpoint takes.
    """

    def __init__(self, address: str, pace: Pace, *, paced: bool = True):
        self.address, self.pace, self._paced = address, pace, paced
        self.slots = Slots(lambda: pace.limit)
        self._paused_until = 0.0

    async def enter(self, switch: Switch, until: Callable[[Switch], Awaitable[None]]) -> None:
        """Wait in turn and `until` a call may be sent, and count it as in flight; raises the `Halt` if one is first."""
        await self.slots.acquire()
        try:
            while (left := self._paused_until - time.monotonic()) > 0:
                await switch.pause(left)
            switch.check()
            await until(switch)
        except BaseException:
            self.slots.release()
            raise

    def answered(self, turn: int, kind: str, seconds: float) -> None:
        """A call in flight was answered."""
        if self._paced:
            self.pace.answered(turn, kind, seconds, self.slots.held)

    def failed(self, turn: int, fault: Fault) -> None:
        """A call in flight failed."""
        if not self._paced:
            return
        if fault.word == "rate_limit":
            self.pace.refused(turn, self.slots.held - 1)
        elif fault.word == "timeout" and not fault.unreached:
            self.pace.timed_out(turn)

    def pause(self, seconds: float) -> None:
        """Send nothing for so long: the endpoint asks for that."""
        self._paused_until = max(self._paused_until, time.monotonic() + seconds)


class Lanes:
    """The lane of each endpoint: one for a server of one's own, whose models share it, else one for each model.

    Args:
        most: Calls in flight at most.
        timeout: Seconds that a call may take.
    """

    def __init__(self, most: int, timeout: float):
        self._most, self._timeout = most, timeout
        self._lanes = dict[tuple[str | None, str], Lane]()

    def __iter__(self) -> Iterator[Lane]:
        return iter({id(lane): lane for lane in list(self._lanes.values())}.values())

    def of(self, caller: Caller, first: Callable[[], int | None]) -> Lane:
        """The lane of a model's calls; `first` looks up how many its server is sent at first, None for all allowed."""
        model = (caller.address, caller.model)
        if model not in self._lanes:
            calls = first()
            key = (urlsplit(caller.address).netloc, "") if caller.address and calls is not None else model
            pace = Pace(self._most if calls is None else calls, self._most, self._timeout, queues=calls is not None)
            self._lanes[model] = self._lanes.setdefault(key, Lane(caller.address or caller.model, pace))
        return self._lanes[model]
