"""The record of single calls to models, and the contextvar that collects them.

The gate appends one `Call` an attempt, repairs and retries included; the runner opens a collection
around each stage, so that a failed stage has its usage too.
"""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from dspy_proact.types import Frozen


class Call(Frozen):
    """One attempt to call a model."""

    role: str
    """`assistant`, `judge` or `proposer`."""
    started: float
    """Seconds since the epoch."""
    latency: float
    """Seconds until the answer or the failure."""
    prompt_tokens: int | None = None
    """All tokens of the prompt, cached ones included; None when the provider did not say."""
    completion_tokens: int | None = None
    """All tokens written, reasoning included; None when the provider did not say."""
    cached_tokens: int | None = None
    """Those of `prompt_tokens` that the provider read from its cache; None when it did not say."""
    finish_reason: str | None = None
    """`stop`, `length`, `content_filter`, `tool_call` or `error`; None when the call failed."""
    error: str | None = None
    """What failed, in a word; None when it answered."""


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
