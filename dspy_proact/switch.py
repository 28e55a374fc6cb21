"""The one switch that ends a run: shared by the gate, which sends calls, and the runner, which starts stages."""

import asyncio

from dspy_proact.errors import Halt


class Switch:
    """Pulled once, with the reason; from then on no call is sent and no stage is started.

    What is already on its way is waited for and kept: it is paid for. One switch belongs to one run and its event loop.
    """

    def __init__(self) -> None:
        self.halt: Halt | None = None
        self._pulled = asyncio.Event()

    def pull(self, halt: Halt) -> None:
        """End the run; a second pull changes nothing."""
        if self.halt is None:
            self.halt = halt
            self._pulled.set()

    def check(self) -> None:
        """Raise the `Halt` if the switch was pulled."""
        if self.halt is not None:
            raise self.halt

    async def pause(self, seconds: float) -> None:
        """Wait, at most until the switch is pulled; then raise its `Halt`."""
        try:
            async with asyncio.timeout(seconds):
                await self._pulled.wait()
        except TimeoutError:
            pass
        self.check()
