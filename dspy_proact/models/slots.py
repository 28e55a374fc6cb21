"""How many calls are in flight at once: one limit over all models, roles and threads."""

import asyncio
from weakref import WeakKeyDictionary


class Slots:
    """As many places as calls may be in flight; `async with slots:` holds one, waiting until one is free.

    Args:
        count: 1 or more, in each event loop that uses them.
    """

    def __init__(self, count: int):
        self._count = count
        self._free = WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore]()
        self._holding = set[asyncio.Task[object]]()

    async def __aenter__(self) -> None:
        loop = asyncio.get_running_loop()
        if loop not in self._free:
            self._free[loop] = asyncio.Semaphore(self._count)
        await self._free[loop].acquire()
        self._holding.add(_task())

    async def __aexit__(self, *_: object) -> None:
        self._holding.discard(_task())
        self._free[asyncio.get_running_loop()].release()

    def drop(self) -> None:
        """Cancel what is in flight, from whatever thread."""
        for task in list(self._holding):
            task.get_loop().call_soon_threadsafe(task.cancel)


def _task() -> asyncio.Task[object]:
    task = asyncio.current_task()
    assert task is not None, "calls are made in tasks"
    return task
