"""How requests are collected into batches, and what a provider's batch protocol is."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dspy_proact.errors import UsageError
from dspy_proact.kept import KeptBatch
from dspy_proact.models.clients import LONGEST

ANSWERED = 200
"""Status of an answer; any other reply is a failure."""
UNSENT: Mapping[str, int] = {"expired": 408, "cancelled": 503, "canceled": 503}
"""Status of a request that was not answered, by the provider's word for why: it is not billed, and is sent again."""


@dataclass(frozen=True)
class Batching:
    """How requests are collected, and how often a provider is asked; raises a `UsageError` where that cannot be."""

    requests: int | None = None
    """Most requests of a batch; the provider's limit where None, which is never exceeded."""
    size: int | None = None
    """Most bytes of its file, likewise."""
    quiet: float = 5.0
    """Seconds without a new request after which those that wait are submitted."""
    first_poll: float = 10.0
    """Seconds from the creation of a batch to the first look at it."""
    longest_poll: float = 300.0
    """Seconds between two looks, which grow up to that."""
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    """Waits for so many seconds."""

    def __post_init__(self) -> None:
        least = min(number for number in (self.requests, self.size, 1) if number is not None)
        if least < 1 or not (self.quiet >= 0 and self.first_poll > 0 and self.longest_poll > 0):
            raise UsageError(
                "`gate.batch`: `requests` and `size` must be 1 or more, `quiet` not negative, and the polls above 0"
            )


@dataclass(frozen=True)
class LineReply:
    """The reply to one request of a batch, as the provider would have sent it to a plain one."""

    status: int
    body: bytes


@dataclass(frozen=True)
class BatchState:
    """What a provider says of a batch."""

    id: str
    word: str
    """Its own, such as `in_progress` or `expired`."""
    ended: bool
    done: int = 0
    """Requests that have a result, failures included."""
    results: tuple[str, ...] = ()
    """Ids of the files with results."""
    problem: str = ""
    """Why it was refused as a whole, with the provider's code; empty where it was not."""


class BatchService(Protocol):
    """A provider's protocol of batches, at one endpoint with one key."""

    most_requests: int
    """Of a batch."""
    most_bytes: int
    """Of its file."""

    def line(self, name: str, body: bytes) -> bytes:
        """A request as a line of the file, without its end."""
        ...

    async def upload(self, path: Path) -> str | None:
        """Upload a file of requests; its id, None where it is sent with the creation."""
        ...

    async def create(self, path: Path, file: str | None) -> str:
        """Create a batch of a file that was uploaded, or of the one at a path; its id."""
        ...

    async def find(self, batch: KeptBatch, others: set[str]) -> str | None:
        """The id of a batch whose creation was not confirmed, none of the others; None where there is none."""
        ...

    async def state(self, batch_id: str) -> BatchState:
        """What the provider says of a batch."""
        ...

    async def download(self, state: BatchState, path: Path) -> None:
        """Write the results of a batch that has ended into a file, one a line."""
        ...

    def read(self, line: bytes) -> tuple[str, LineReply]:
        """The name of a request and its reply, by a line of results; raises a `ValueError` where it is none."""
        ...

    async def aclose(self) -> None:
        """Close its connections."""
        ...


def read_results(path: Path, service: BatchService, start: int = 0) -> Iterator[tuple[int, str, LineReply]]:
    """The results in a file from a byte on, each with its first byte and the name of its request.

    What is no result is passed over, such as an empty line or a damaged one. A status that no answer has is a server's.
    """
    with path.open("rb") as file:
        file.seek(start)
        # A line that is longer than any answer is read in pieces, of which none is a result.
        for line in iter(lambda: file.readline(LONGEST), b""):
            begin, start = start, start + len(line)
            try:
                name, reply = service.read(line)
            except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
                continue
            if isinstance(name, str):
                status = reply.status if type(reply.status) is int else 0
                usual = status == ANSWERED or 400 <= status < 600
                yield begin, name, reply if usual else LineReply(500, reply.body)
