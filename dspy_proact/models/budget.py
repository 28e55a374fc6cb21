"""What calls cost, and may cost at most, against the limits of one command."""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from dspy.lm15 import Request

from dspy_proact.calls import Price
from dspy_proact.errors import LimitReached
from dspy_proact.models.dspy_internals import request_to_dict
from dspy_proact.models.faults import Caller
from dspy_proact.models.tokens import images_of, most_tokens
from dspy_proact.switch import Bell, Switch

_BYTES_A_MESSAGE = 32
"""More than any chat format adds to a message."""


@dataclass(frozen=True)
class Limits:
    """The most that one command may spend; None for no limit."""

    calls: int | None = None
    tokens: int | None = None
    """Prompt and completion together."""
    usd: float | None = None


@dataclass(frozen=True)
class Cost:
    """What a call costs, or may cost at most."""

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.calls + other.calls, self.tokens + other.tokens, self.usd + other.usd)

    def __sub__(self, other: "Cost") -> "Cost":
        return Cost(self.calls - other.calls, self.tokens - other.tokens, self.usd - other.usd)

    def at_least(self, other: "Cost") -> "Cost":
        """The greater of both, each unit by itself."""
        return Cost(max(self.calls, other.calls), max(self.tokens, other.tokens), max(self.usd, other.usd))


def most_of_messages(
    messages: Sequence[Mapping[str, Any]], images: int, completion_limit: int | None, price: Price
) -> Cost:
    """The most that a call with these messages and so many tokens of images can cost, before its request is made."""
    sent = json.dumps(messages, ensure_ascii=False, default=str).encode("utf-8", "replace")
    prompt, completion = len(sent) + images + _BYTES_A_MESSAGE * len(messages), completion_limit or 0
    return Cost(calls=1, tokens=prompt + completion, usd=price.most(prompt, completion) or 0.0)


def most_of(request: Request, completion_limit: int | None, price: Price) -> Cost:
    """The most that a call can cost: every byte of its texts as a token, its images, and the completion limit."""
    # No tokenizer makes more tokens than bytes. An unknown price counts 0: a limit in dollars allows none.
    sent = json.dumps(request_to_dict(request), ensure_ascii=False).encode("utf-8", "replace")
    images = images_of(request)
    texts = len(sent) - sum(len(image.data or "") for image in images)
    prompt = texts + most_tokens(request.model, images) + _BYTES_A_MESSAGE * len(request.messages)
    completion = completion_limit or 0
    return Cost(calls=1, tokens=prompt + completion, usd=price.most(prompt, completion) or 0.0)


class Budget:
    """What is spent and what is in flight, against the limits.

    A call is admitted only if the most that it can cost fits beside what is spent and what is in flight, so that no
    limit is exceeded, with any number of calls in flight, repairs and retries included. A case is begun only if what it
    needs fits beside that and what the cases that were begun still need: what is begun can be finished. A call more
    than was expected of a case, such as a repair, takes only what the others leave.
    """

    def __init__(self, limits: Limits, spent: Cost | None = None):
        self.limits = limits
        self.spent = spent or Cost()
        self.reserved = Cost()
        self.expected = Cost()
        """What cases that were begun still need."""
        self._begun = self._held_up = 0
        self._most_of_a_case = Cost()
        """The most that an ended case needed at once, beside what it had spent by then."""
        self._settled = Bell()

    async def reserve(self, most: Cost, switch: Switch, caller: Caller | None = None, attempt: int = 0) -> None:
        """Reserve the most that a call can cost; raises `LimitReached`, and pulls the switch, where it does not fit.

        It waits while calls in flight may still turn out cheaper than their reservations, and so leave room.
        """
        switch.check()
        if (case := _case.get()) and (more := case.expect(most, attempt)) != Cost():
            self.expected += more
            await self._room_beside_others(switch)
        while self._exceeded(self.spent + self.reserved + most) and not self._exceeded(self.spent + most):
            await self._settled.wait()
        switch.check()
        self._require(self.spent + self.reserved, most, switch, caller)
        self.reserved += most
        if case:
            self.expected -= case.reserve(most)

    async def _room_beside_others(self, switch: Switch) -> None:
        """Wait while a call that was not expected would take what another case needs that can go on."""
        self._held_up += 1
        try:
            while self._exceeded(self.spent + self.reserved + self.expected):
                # Nothing is in flight, and every case waits here: this one takes what there is.
                if not self.reserved.calls and self._held_up >= self._begun:
                    break
                await self._settled.wait()
                switch.check()
        finally:
            self._held_up -= 1

    @asynccontextmanager
    async def case(self, calls: Sequence[tuple[Caller | None, Cost]] | None, switch: Switch) -> AsyncGenerator[None]:
        """Inside, a case makes its calls; it is begun as soon as what it needs fits.

        The first case of a command is begun even if not all of them fit, so that a command always gets further; but
        not if one of them alone can never fit. Where it cannot be begun, it pulls the switch and raises `LimitReached`.

        `calls` are who makes each call and the most that it can cost; None where that is not known: it needs as much as
        any such case so far, of which the first is done alone.
        """
        if self.limits == Limits():
            yield
            return
        while True:
            need = self._most_of_a_case if calls is None else sum((most for _, most in calls), Cost())
            full = self._exceeded(self.spent + self.reserved + self.expected + need)
            if not self._begun or not (full or (calls is None and need == Cost())):
                break
            switch.check()
            await self._settled.wait()
        for caller, most in calls or ():
            self._require(Cost(), most, switch, caller)
        if self.spent.calls:
            self._require(self.spent, need, switch, None)
        case = _Case(need, None if calls is None else [most for _, most in calls])
        self._begun, self.expected = self._begun + 1, self.expected + need
        token = _case.set(case)
        try:
            yield
        finally:
            _case.reset(token)
            self._begun, self.expected = self._begun - 1, self.expected - case.left
            if calls is None:
                self._most_of_a_case = self._most_of_a_case.at_least(case.most)
            self._settled.ring()

    def settle(self, most: Cost, actual: Cost) -> None:
        """Replace a reservation by what the call has cost."""
        self.reserved -= most
        self.spent += actual
        if case := _case.get():
            self.expected += case.settle(most, actual)
        self._settled.ring()

    def _require(self, before: Cost, most: Cost, switch: Switch, caller: Caller | None) -> None:
        """Pull the switch, and raise its `LimitReached`, where a cost does not fit beside the one before it."""
        if limit := self._exceeded(before + most):
            unit = limit.strip("`").removeprefix("limits.").partition("=")[0]
            costs = (self.spent, most)
            spent, needed = (f"USD {c.usd:.4g}" if unit == "usd" else f"{getattr(c, unit):,} {unit}" for c in costs)
            following = (
                f"the next call{f' of {caller.whose}' if caller else ''}" if most.calls == 1 else "the next case"
            )
            bounded = caller if caller and caller.completion_limit is not None and unit != "calls" else None
            mend = f"; `{bounded.argument}.params` max_tokens=N lowers that" if bounded else ""
            switch.pull(LimitReached(f"{limit} is reached: {spent} spent, and {following} must reserve {needed}{mend}"))
            switch.check()

    def _exceeded(self, cost: Cost) -> str | None:
        limits = self.limits
        if limits.calls is not None and cost.calls > limits.calls:
            return f"`limits.calls={limits.calls}`"
        if limits.tokens is not None and cost.tokens > limits.tokens:
            return f"`limits.tokens={limits.tokens}`"
        if limits.usd is not None and cost.usd > limits.usd:
            return f"`limits.usd={limits.usd:g}`"
        return None


class _Case:
    """What a case which was begun has used and still needs: for certain calls, or for as many as others made.

    Attributes:
        left: What it still needs, beside its calls in flight.
        most: The most that it has used at once: spent, and in flight.
    """

    def __init__(self, need: Cost, calls: list[Cost] | None):
        self.left, self._calls = need, calls
        self.most = self._used = Cost()

    def expect(self, most: Cost, attempt: int) -> Cost:
        """A call is to be made that may cost this; how much more the case needs than was expected."""
        before = self.left
        if self._calls is None:
            self.left = before.at_least(most)
        elif attempt or not self._calls:
            self._calls.insert(0, most)
            self.left += most
        return self.left - before

    def reserve(self, most: Cost) -> Cost:
        """A call is in flight; how much less the case needs."""
        self._used += most
        self.most = self.most.at_least(self._used)
        less = most if self._calls is None else self._calls.pop(0) if self._calls else Cost()
        self.left -= less
        return less

    def settle(self, most: Cost, actual: Cost) -> Cost:
        """A call has ended; how much more the case needs: its reservation was part of that of its calls together."""
        self._used += actual - most
        more = most - actual if self._calls is None else Cost()
        self.left += more
        return more


_case: ContextVar[_Case | None] = ContextVar("dspy_proact_case", default=None)
