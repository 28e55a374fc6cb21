"""The log of the batches of a run: what was submitted to a provider, written before anything else is awaited.

The same command waits for these batches in place of submitting their requests again, on this machine or another one. It
holds the provider's ids, and no key and no address.
"""

import shutil
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from dspy_proact.calls import Price
from dspy_proact.errors import RunError
from dspy_proact.kept.claim import BATCHES
from dspy_proact.kept.log import Log, read_log
from dspy_proact.types import Frozen

_BATCH_FILES = "batches"
"""Folder beside it, with the requests until they are submitted and the results until they are read."""


def _optional(default: Any = None) -> Any:
    return Field(default=default, exclude_if=lambda value: not value)


class BatchRecord(Frozen):
    """One line: what is known of a batch from then on."""

    batch: int
    """Its number in this log, counted from 1."""
    state: Literal["prepared", "created", "ended", "collected"]
    """About to be created at the provider; created; ended there; its results are used, or it never was created."""
    time: float
    """Seconds since the epoch."""
    role: str = _optional("")
    model: str = _optional("")
    """These two, the file, the requests and the price are of the first line of a batch."""
    file: str | None = _optional()
    """The provider's id of the file of its requests."""
    requests: tuple[str, ...] = _optional(())
    """Names of its requests, in their order; of a collected one those that are not waited for, all where empty."""
    price: Price | None = _optional()
    """At which it was reserved against the limits."""
    id: str | None = _optional()
    """The provider's id of the batch, once it is created."""


@dataclass
class KeptBatch:
    """A batch as the log has it."""

    number: int
    role: str
    model: str
    requests: tuple[str, ...]
    file: str | None
    since: float
    """When it was about to be created, in seconds since the epoch."""
    id: str | None = None
    ended: bool = False
    collected: set[str] = field(default_factory=set[str])
    """Requests whose results are used, or that it never had."""

    @property
    def is_running(self) -> bool:
        """Whether the provider may still be at it, as far as is known."""
        return not self.ended and len(self.collected) < len(self.requests)


class BatchLog:
    """The batches of a run; threads may share it.

    Raises a `RunError` where the log is damaged or cannot be written.

    Args:
        folder: Of the run.
    """

    def __init__(self, folder: Path):
        self.path, self._files = folder / BATCHES, folder / _BATCH_FILES
        self._turn, self._count = threading.Lock(), 0
        self.batches = {batch.number: batch for batch in read_batches(folder)}
        self._holding = {name: batch for batch in self.batches.values() for name in batch.requests}
        if self._files.is_symlink():
            raise RunError(f"{self._files}: is a link, and what it leads to would be deleted; remove the link")
        shutil.rmtree(self._files, ignore_errors=True)  # of a command that was killed

    def holding(self, request: str) -> KeptBatch | None:
        """The last batch that this request was put into; None where its result is used, or it was put into none."""
        batch = self._holding.get(request)
        return None if batch is None or request in batch.collected else batch

    def prepare(
        self, role: str, model: str, requests: Sequence[str], file: str | None, price: Price | None
    ) -> KeptBatch:
        """Keep that a batch is about to be created."""
        with self._turn:
            number, now, names = len(self.batches) + 1, time.time(), tuple(requests)
            shape = {"role": role, "model": model, "file": file, "requests": names, "price": price}
            self._append(BatchRecord(batch=number, state="prepared", time=now, **shape))
            batch = KeptBatch(number, role, model, names, file, now)
            self.batches[number] = batch
            self._holding.update(dict.fromkeys(names, batch))
            return batch

    def created(self, batch: KeptBatch, batch_id: str) -> None:
        """Keep that the provider has created a batch."""
        with self._turn:
            self._append(BatchRecord(batch=batch.number, state="created", time=time.time(), id=batch_id))
            batch.id = batch_id

    def ended(self, batch: KeptBatch) -> None:
        """Keep that a batch has ended."""
        with self._turn:
            self._append(BatchRecord(batch=batch.number, state="ended", time=time.time()))
            batch.ended = True

    def collected(self, batch: KeptBatch, requests: Collection[str] = ()) -> None:
        """Keep that a batch is not waited for any more with these requests, with none of them where there are none."""
        names = tuple(requests)
        with self._turn:
            self._append(BatchRecord(batch=batch.number, state="collected", time=time.time(), requests=names))
            batch.collected |= {*(names or batch.requests)}

    def new_file(self) -> Path:
        """A file for requests or results, in a folder that is there."""
        with self._turn:
            self._files.mkdir(exist_ok=True)
            self._count += 1
            return self._files / f"{self._count}.jsonl"

    def close(self) -> None:
        """Delete the files of requests and results."""
        shutil.rmtree(self._files, ignore_errors=True)

    def _append(self, record: BatchRecord) -> None:
        with Log(self.path, BatchRecord) as log:
            log.append(record)


def read_batches(folder: Path) -> Iterator[KeptBatch]:
    """The batches in the log of a run, in the order of their creation; raises a `RunError` where it is damaged."""
    batches = dict[int, KeptBatch]()
    for line, record in enumerate(read_log(folder / BATCHES, BatchRecord), start=1):
        if record.state == "prepared":
            of = (record.role, record.model, record.requests, record.file, record.time)
            batches[record.batch] = KeptBatch(record.batch, *of)
            continue
        if (batch := batches.get(record.batch)) is None:
            raise RunError(f"{folder / BATCHES}, line {line}: the first line of batch {record.batch} is missing")
        batch.id, batch.ended = record.id or batch.id, batch.ended or record.state == "ended"
        if record.state == "collected":
            batch.collected |= {*(record.requests or batch.requests)}
    return iter(batches.values())
