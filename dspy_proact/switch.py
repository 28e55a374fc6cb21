"""The one switch that ends a run: shared by the gate, which sends calls, and the runner, which starts stages."""

import asyncio
import threading

from dspy_proact.errors import Halt

HEARTBEAT = 0.5
"""Seconds after which a waiting thread wakes: a signal given to another thread wakes nobody, and is handled then."""


class Bell:
    """Wakes whoever waits for it, in any event loop and thread."""

    def __init__(self) -> None:
        self._waiting = dict[asyncio.Future[None], None]()  # they wake in the order in which they came
        self._lock = threading.RLock()  # a signal's handler may ring while its thread is ringing

    def ring(self) -> None:
        """Wake everybody who waits now."""
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        for future in waiting:
            future.get_loop().call_soon_threadsafe(lambda future=future: future.done() or future.set_result(None))

    async def wait(self) -> None:
        """Wait until it rings."""
        future = asyncio.get_running_loop().create_future()
        with self._lock:
            self._waiting[future] = None
        try:
            await future
        finally:
            with self._lock:
                self._waiting.pop(future, None)


class Switch:
    """Pulled once, with the reason; from then on no call is sent and no stage is started.

    Calls in flight are waited for and their answers are kept: they are paid for.
    """

    def __init__(self) -> None:
        self.halt: Halt | None = None
        self._bell = Bell()

    def pull(self, halt: Halt) -> None:
        """End the run; a second pull changes nothing."""
        if self.halt is None:
            self.halt = halt
            self._bell.ring()

    def check(self) -> None:
        """Raise the `Halt` if the switch was pulled."""
        if self.halt is not None:
            raise self.halt

    async def pause(self, seconds: float) -> None:
        """Wait, at most until the switch is pulled; then raise its `Halt`."""
        self.check()
        try:
            async with asyncio.timeout(seconds):
                await self._bell.wait()
        except TimeoutError:
            pass
        self.check()
