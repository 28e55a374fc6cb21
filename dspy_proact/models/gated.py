"""Engines behind the gate, which answer whole or piece by piece."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from dspy._vendor.lm15.types import StreamEvent
from dspy.lm15 import Config, Request, Response

from dspy_proact.models.attempt import Attempt
from dspy_proact.models.budget import Cost, Limits, most_of
from dspy_proact.models.caller import Caller
from dspy_proact.models.gate import Gate


class GatedEngine:
    """An asynchronous engine behind the gate. Engines belong to an event loop, so one is made for each.

    Args:
        make: Makes the engine of the running loop.
        gate: Of all models.
        caller: Whose calls they are.
        supports_response_schema: Whether an answer's JSON schema may be sent.
        supported_params: Parameters that may be.
    """

    supports_function_calling = False
    supports_reasoning = True

    def __init__(
        self,
        make: Callable[[], Any],
        gate: Gate,
        caller: Caller,
        supports_response_schema: bool = False,
        supported_params: Iterable[str] = (),
    ):
        self.gate, self.caller = gate, caller
        self.supports_response_schema = supports_response_schema
        self.supported_params = set(supported_params)
        self._make = make
        self._inner: dict[asyncio.AbstractEventLoop, Any] = {}
        self._last_config = (bare := Config(), bare)

    async def complete(self, request: Request) -> Response:
        """Answer one request, with retries; raises ours of `errors`."""
        async with self.gate.slots:
            return await self.ask(request)

    async def ask(self, request: Request) -> Response:
        """The same for one who holds a slot of the gate's already."""
        request, number, inner = self._worded(request), 0, self._for_this_loop()
        most = self._most(request)
        async with self.gate.turn(self.caller):
            while True:
                with await self._admitted(most, number) as attempt:
                    async with asyncio.timeout(self.gate.timeout):
                        return attempt.answered(await inner.complete(request))
                await self.gate.switch.pause(attempt.wait)
                number += 1

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        """Answer one request event by event; raises ours of `errors`.

        It is tried again only until a piece of an answer was passed on. The time limit is that of the wait for each
        event. The `Call` is recorded when the last event has come. Closed early, it counts as the most that it can
        cost, and nothing is recorded.
        """
        request, number, inner = self._worded(request), 0, self._for_this_loop()
        most = self._most(request)
        async with self.gate.slots, self.gate.turn(self.caller):
            while True:
                with await self._admitted(most, number) as attempt:
                    async with aclosing(inner.stream(request)) as events:
                        while event := await self._next(events):
                            for passed in attempt.passed(event):
                                yield passed
                    return
                await self.gate.switch.pause(attempt.wait)
                number += 1

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        inner = self._inner.pop(asyncio.get_running_loop(), None)
        if inner is not None and hasattr(inner, "aclose"):
            await inner.aclose()

    def _worded(self, request: Request) -> Request:
        if not self.caller.extensions:
            return request
        plain, worded = self._last_config
        if request.config is not plain:  # a run asks with one and the same
            extensions = {**(request.config.extensions or {}), **self.caller.extensions}
            limit = None if "max_tokens" in extensions else request.config.max_tokens
            worded = replace(request.config, max_tokens=limit, extensions=extensions)
            self._last_config = request.config, worded
        return replace(request, config=worded)

    def _most(self, request: Request) -> Cost:
        if self.gate.limits == Limits():
            return Cost(calls=1)  # there is nothing to hold it against
        return most_of(request, self.caller.completion_limit, self.caller.price)

    async def _admitted(self, most: Cost, number: int) -> Attempt:
        self.gate.switch.check()
        await self.gate.admit(most)
        return Attempt(self.gate, self.caller, most, number)

    async def _next(self, events: AsyncGenerator[StreamEvent]) -> StreamEvent | None:
        """The next event, or None at the end."""
        async with asyncio.timeout(self.gate.timeout):
            return await anext(events, None)

    def _for_this_loop(self) -> Any:
        for loop in [loop for loop in self._inner if loop.is_closed()]:
            del self._inner[loop]
        loop = asyncio.get_running_loop()
        if loop not in self._inner:
            self._inner[loop] = self._make()
        return self._inner[loop]
