"""The log of the batches of a run: what was submitted to a provider, written before anything else is awaited.

The same command waits for these batches in place of submitting their requests again, on this machine or another one. It
holds the provider's ids, and no key and no address.
"""

import hashlib
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
from dspy_proact.kept.log import Log, read_log, unwritable
from dspy_proact.types import Frozen

_BATCH_FILES = "batches"
"""Folder beside it, with the requests until they are submitted and the results until they are read."""
_State = Literal["prepared", "created", "ended", "collected"]


def _optional(default: Any = None) -> Any:
    return Field(default=default, exclude_if=lambda value: not value)


class BatchRecord(Frozen):
    """One line: what is known of a batch from then on."""

    batch: int
    """Its number in this log, counted from 1."""
    state: _State
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
    guessed: bool = _optional(False)
    """Whether that is the id of a batch that looks like it, since the answer to its creation was lost."""


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
    guessed: bool = False
    """As in `BatchRecord`."""
    ended: bool = False
    collected: set[str] = field(default_factory=set[str])
    """Requests whose results are used, or that it never had."""
    ids: set[str] = field(default_factory=set[str])
    """Its id, and those of others that were taken for it."""

    @property
    def is_open(self) -> bool:
        """Whether it has, or may get, results that are not used yet."""
        return len(self.collected) < len(self.requests)

    @property
    def is_running(self) -> bool:
        """Whether the provider may still be at it, as far as is known."""
        return not self.ended and self.is_open

    def note(self, record: BatchRecord) -> None:
        """A further line of the log is of it."""
        if record.state == "created" and record.id:
            self.id, self.guessed, self.ended = record.id, record.guessed, False
            self.ids.add(record.id)
        elif record.state == "ended":
            self.ended = True
        elif record.state == "collected":
            self.collected |= {*(record.requests or self.requests)}


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
            number, names = max(self.batches, default=0) + 1, tuple(requests)
            shape = {"role": role, "model": model, "file": file, "requests": names, "price": price}
            record = self._append(number, "prepared", **shape)
            batch = self.batches[number] = KeptBatch(number, role, model, names, file, record.time)
            self._holding.update(dict.fromkeys(names, batch))
            return batch

    def created(self, batch: KeptBatch, batch_id: str, *, guessed: bool = False) -> None:
        """Keep that the provider has created a batch."""
        with self._turn:
            batch.note(self._append(batch.number, "created", id=batch_id, guessed=guessed))

    def ended(self, batch: KeptBatch) -> None:
        """Keep that a batch has ended."""
        with self._turn:
            batch.note(self._append(batch.number, "ended"))

    def collected(self, batch: KeptBatch, requests: Collection[str]) -> None:
        """Keep that a batch is not waited for any more with these of its requests."""
        names = () if {*requests} >= {*batch.requests} else tuple(requests)
        with self._turn:
            batch.note(self._append(batch.number, "collected", requests=names))

    def new_file(self) -> Path:
        """A file for requests or results, in a folder that is there; raises a `RunError` where it cannot be."""
        with self._turn:
            try:
                self._files.mkdir(exist_ok=True)
            except OSError as error:
                raise RunError(unwritable(self._files, error)) from error
            self._count += 1
            return self._files / f"{self._count}.jsonl"

    def add_line(self, path: Path, line: bytes) -> None:
        """Write a further line into a file of requests; raises a `RunError` where it cannot be."""
        try:
            with path.open("ab") as file:
                file.write(line + b"\n")
        except OSError as error:
            raise RunError(unwritable(path, error)) from error

    def close(self) -> None:
        """Delete the files of requests and results."""
        shutil.rmtree(self._files, ignore_errors=True)

    def _append(self, number: int, state: _State, **fields: Any) -> BatchRecord:
        record = BatchRecord(batch=number, state=state, time=time.time(), **fields)
        with Log(self.path, BatchRecord) as log:
            log.append(record)
        return record


def name_in_batch(conversation: str, request: str) -> str:
    """The name of a request in its batch, by its conversation and its name in the log of calls."""
    # Anthropic takes at most 64 letters and digits. A request is in the log under its stage: equal ones of other
    # epochs and verdicts have the same name of their own.
    return hashlib.sha256(f"{conversation} {request}".encode("utf-8", "surrogatepass")).hexdigest()


def read_batches(folder: Path) -> Iterator[KeptBatch]:
    """The batches in the log of a run, in the order of their creation; raises a `RunError` where it is damaged."""
    batches = dict[int, KeptBatch]()
    for line, record in enumerate(read_log(folder / BATCHES, BatchRecord), start=1):
        if record.state == "prepared":
            of = (record.role, record.model, record.requests, record.file, record.time)
            batches[record.batch] = KeptBatch(record.batch, *of)
        elif batch := batches.get(record.batch):
            batch.note(record)
        else:
            raise RunError(f"{folder / BATCHES}, line {line}: the first line of batch {record.batch} is missing")
    return iter(batches.values())
