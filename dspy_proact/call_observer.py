"""Who watches calls to models, and what is noted of them while they are made."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class FailedCall:
    """One attempt that failed, for whoever watches."""

    who: str
    """Argument and name of the model, such as `` `judge` openai/gpt-5.4``."""
    word: str
    detail: str
    number: int
    """Which attempt at this call it was, counted from 1."""
    attempts: int
    wait: float | None
    """Seconds until the next one; None where none is made."""


@dataclass(frozen=True)
class Stall:
    """That no call has ended for long, for whoever watches."""

    seconds: float
    """Since the last one ended."""
    calls: Mapping[str, tuple[int, int]]
    """By endpoint, or model at its provider's own: calls in flight, and those that wait until one of them ends."""
    open: int
    """All calls, those before a further attempt included."""
    concurrency: int
    timeout: float

    def __str__(self) -> str:
        calls = [
            f"{flying} in flight{f' and {waiting} waiting' if waiting else ''} at {address}"
            for address, (flying, waiting) in self.calls.items()
        ]
        others = self.open - sum(map(sum, self.calls.values()))
        calls += [f"{others} waiting before a further attempt"] if others > 0 else []
        fewer = "`concurrency=1` for a server that answers one call at a time, or " if self.concurrency > 1 else ""
        return (
            f"No call has ended for {self.seconds:.0f} seconds: {', '.join(calls)}. A call may take "
            f"`timeout={self.timeout:g}` seconds. If that goes on, try {fewer}another `timeout`."
        )


@dataclass(frozen=True)
class BatchProgress:
    """How far the batches of one model are, for whoever watches."""

    who: str
    """As `FailedCall.who`."""
    batches: Sequence[str]
    """The provider's ids of those that are open."""
    requests: int
    """In them."""
    done: int
    """Of these, those of which the provider has a result."""
    polled: float | None
    """When the provider was last asked, in seconds since the epoch; None where it was not yet."""

    def __str__(self) -> str:
        number = len(self.batches)
        what = f"{number} batch{'es' if number != 1 else ''} with {self.requests:,} requests"
        seen = f", {self.done:,} of them done at {time.strftime('%H:%M:%S', time.localtime(self.polled))}"
        return f"{what} submitted{seen if self.polled else ''}"


class CallObserver:
    """Notified of attempts that fail, of long silence, batches and clusters, from any thread; this one ignores them."""

    def batched(self, progress: BatchProgress, news: bool) -> None:
        """A provider was asked how far its batches are; `news` that one was submitted, or has ended."""

    def failed(self, call: FailedCall) -> None:
        """An attempt failed."""

    def stalled(self, stall: Stall) -> None:
        """No call has ended for a minute, and then for each further one."""

    def cluster_ready(self, workers: int, nodes: int) -> None:
        """Requests are sent by so many workers of a cluster, on so many nodes."""

    def form_changed(self, who: str, change: str) -> None:
        """The requests of a model, named as in `FailedCall.who`, take another form from now on: a sentence."""
