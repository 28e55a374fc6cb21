"""Single calls to models, what they cost, and the contextvar that collects them.

The gate appends one `Call` an attempt, repairs and retries included; the runner opens a collection
around each stage, so that a failed stage has its usage too.
"""

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from dspy_proact.types import Frozen

MOST_TOKENS = 10**8
"""Of one call: a count above it is none."""
Tokens = Annotated[int, Field(ge=0, le=MOST_TOKENS)]
Dollars = Annotated[float, Field(ge=0, le=10**6)]


class Call(Frozen):
    """One attempt to call a model."""

    role: str
    """`assistant`, `judge`, `proposer` or `embedder`."""
    started: float
    """Seconds since the epoch."""
    latency: float
    """Seconds until the answer or the failure."""
    prompt_tokens: Tokens | None = None
    """All tokens of the prompt, cached ones included; None when the provider did not say."""
    completion_tokens: Tokens | None = None
    """All tokens written, reasoning included; None when the provider did not say."""
    cached_tokens: Tokens | None = None
    """Those of `prompt_tokens` that the provider read from its cache; None when it did not say."""
    finish_reason: str | None = None
    """`stop`, `length`, `content_filter`, `tool_call` or `error`; None when the call failed."""
    error: str | None = None
    """What failed, in a word; None when it answered."""


@dataclass(frozen=True)
class FailedCall:
    """One attempt that failed, for whoever watches."""

    who: str
    """Option and name of the model, such as `--judge openai/gpt-5.4`."""
    word: str
    """What failed."""
    detail: str
    """The same in a sentence."""
    number: int
    """Which attempt at this call it was, counted from 1."""
    attempts: int
    """How many are made at most."""
    wait: float | None
    """Seconds until the next one; None where none is made."""


class CallObserver:
    """Notified of attempts that fail, from any thread; this one ignores them."""

    def failed(self, call: FailedCall) -> None:
        """An attempt failed."""


class Price(Frozen):
    """US dollars per token of one model; unknown is None with the reason, never 0."""

    prompt: Dollars | None = None
    completion: Dollars | None = None
    cached: Dollars | None = None
    """For prompt tokens that the provider reads from its cache; None where there is no price of its own for them."""
    reason: str | None = None
    """Why it is not known, or where it is from."""

    def of(self, prompt: int, completion: int, cached: int = 0) -> float | None:
        """US dollars for so many tokens, the cached ones among those of the prompt; None where it is not known."""
        if self.prompt is None or self.completion is None:
            return None
        read = self.prompt if self.cached is None else self.cached
        return (prompt - cached) * self.prompt + cached * read + completion * self.completion


@dataclass(frozen=True)
class Usage:
    """What one role has used, every attempt counted."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    usd: float | None
    """US dollars; None where it cannot be known."""
    reason: str | None
    """Why `usd` is None."""

    @classmethod
    def of(cls, calls: Iterable[Call], price: Price) -> "Usage":
        """What calls of one role have used; the cost is not known where an answer came without token counts."""
        tally = CallTally()
        for call in calls:
            tally.add(call)
        return tally.usage(price)

    def __add__(self, other: "Usage") -> "Usage":
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
            usd,
            "; ".join(dict.fromkeys(filter(None, (self.reason, other.reason)))) or None,
        )


@dataclass
class CallTally:
    """Calls of one role, counted one by one."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    answered: int = 0
    silent: int = 0
    """Answers that came without token counts."""

    def add(self, call: Call) -> None:
        """Count one more."""
        self.calls += 1
        self.prompt_tokens += call.prompt_tokens or 0
        self.completion_tokens += call.completion_tokens or 0
        self.cached_tokens += call.cached_tokens or 0
        if call.error is None:
            self.answered += 1
            self.silent += call.prompt_tokens is None or call.completion_tokens is None

    def usage(self, price: Price) -> Usage:
        """What they have used; the cost is not known where an answer came without token counts."""
        usd, reason = price.of(self.prompt_tokens, self.completion_tokens, self.cached_tokens), price.reason
        if usd is not None and self.silent:
            usd, reason = None, f"{self.silent} of {self.answered} answers came without token counts"
        tokens = (self.prompt_tokens, self.completion_tokens, self.cached_tokens)
        return Usage(self.calls, *tokens, usd, reason if usd is None else None)


_collected: ContextVar[list[Call] | None] = ContextVar("dspy_proact_calls", default=None)


@contextmanager
def collect_calls() -> Generator[list[Call]]:
    """Collect the calls made inside, in the order in which they ended. A collection around this one gets them too."""
    outer = _collected.get()
    calls: list[Call] = []
    token = _collected.set(calls)
    try:
        yield calls
    finally:
        _collected.reset(token)
        if outer is not None:
            outer.extend(calls)


def record_call(call: Call) -> None:
    """Add a call to the open collection; without one it is forgotten."""
    calls = _collected.get()
    if calls is not None:
        calls.append(call)
