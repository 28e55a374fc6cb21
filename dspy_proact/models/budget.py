"""What a command may spend: reserved before a call is sent, settled when it has ended.

A call is admitted only if the most that it can cost still fits beside what is spent and what is in flight, so a limit
is never exceeded, with any number in flight, repairs and retries included. The most that a call can cost: every byte
of the request as one token of the prompt, and the completion limit that is sent.
"""

import json
from dataclasses import dataclass

from dspy._vendor.lm15.serde import request_to_dict
from dspy.lm15 import Request

from dspy_proact.calls import Price
from dspy_proact.errors import LimitReached
from dspy_proact.switch import Bell

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


class Budget:
    """What is spent and what is in flight, against the limits."""

    def __init__(self, limits: Limits, spent: Cost | None = None):
        self.limits = limits
        self.spent = spent or Cost()
        self.reserved = Cost()
        self._settled = Bell()

    def admit_now(self, most: Cost) -> None:
        """Reserve the most that a call can cost.

        Raises:
            LimitReached: It does not fit.
        """
        if named := self._exceeded(self.spent + self.reserved + most):
            raise LimitReached(f"{named} is reached: the next call might exceed it")
        self.reserved += most

    async def room(self, most: Cost) -> None:
        """Wait while calls in flight may still turn out cheaper than was reserved for them, and so leave room."""
        while self._exceeded(self.spent + self.reserved + most) and not self._exceeded(self.spent + most):
            await self._settled.wait()

    def settle(self, most: Cost, actual: Cost) -> None:
        """Replace a reservation by what the call has cost."""
        self.reserved -= most
        self.spent += actual
        self._settled.ring()

    def _exceeded(self, cost: Cost) -> str | None:
        """The flag of a limit that the cost exceeds."""
        limits = self.limits
        if limits.calls is not None and cost.calls > limits.calls:
            return f"--max-calls {limits.calls}"
        if limits.tokens is not None and cost.tokens > limits.tokens:
            return f"--max-tokens {limits.tokens}"
        if limits.usd is not None and cost.usd > limits.usd:
            return f"--max-usd {limits.usd:g}"
        return None


def most_of(request: Request, completion_limit: int | None, price: Price) -> Cost:
    """The most that a call can cost.

    Args:
        request: A byte of it is at least a token's share: no tokenizer makes more tokens than bytes.
        completion_limit: The most tokens of the answer, as sent.
        price: Of the model; unknown counts 0, which a limit in dollars does not allow.
    """
    sent = json.dumps(request_to_dict(request), ensure_ascii=False).encode("utf-8", "replace")
    prompt = len(sent) + _BYTES_A_MESSAGE * len(request.messages)
    completion = completion_limit or 0
    return Cost(calls=1, tokens=prompt + completion, usd=price.of(prompt, completion) or 0.0)
