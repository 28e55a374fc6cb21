"""The record of a compile: every answer of a model, in the order of asking, so that a compile goes on where it stopped.

An optimizer cannot be stopped in the middle and continued. It can be run again: with the same seed and one thread it
asks the same questions in the same order, so that the n-th time that a request is asked it is given the n-th answer
that stands in the record, and only what is not there is asked of the model and paid for.
"""

import hashlib
import json
import os
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import filelock
from dspy._vendor.lm15.serde import request_to_dict, response_from_dict, response_to_dict
from dspy.lm15 import Request, Response

from dspy_proact.calls import Call, collect_calls, record_call
from dspy_proact.errors import ContentError, ProviderDown, ProviderError, RunError
from dspy_proact.plain_text import encodable_all
from dspy_proact.types import Frozen


class Answered(Frozen):
    """One line of the record: what became of one request."""

    request: str
    """sha256 over role, model, endpoint and the request."""
    response: dict[str, Any] | None = None
    """The answer, in DSPy's own form."""
    refused: tuple[str, str] | None = None
    """Reason and detail, where the provider refuses this request for good."""
    calls: tuple[Call, ...]
    """Every attempt."""


class Record:
    """The answers of one compile; use as a context manager.

    One process writes it, held by a lock that does not survive it. A torn last line is cut off.

    Raises:
        RunError: It is damaged, in use, or cannot be written.
    """

    def __init__(self, path: Path):
        self.path = path
        self.calls: list[Call] = []
        """Every attempt so far, those of the record included."""
        self.paid = 0
        """Requests that were sent by this process."""
        self._asked = Counter[str]()
        self._kept: defaultdict[str, list[Answered]] = defaultdict(list)

    def __enter__(self) -> "Record":
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = filelock.FileLock(self.path.with_name("lock"), timeout=0)
            self._lock.acquire()
            self._file = self.path.open("ab+", buffering=0)
        except filelock.Timeout:
            raise RunError(f"{self.path.parent}: another process is compiling here") from None
        except OSError as error:
            raise RunError(f"{self.path}: cannot be written: {error.strerror or error}") from error
        try:
            for answered in self._read():
                self._kept[answered.request].append(answered)
        except RunError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        os.fsync(self._file.fileno())
        self._file.close()
        self._lock.release()

    def next(self, request: str) -> Answered | None:
        """What stands in the record for this asking of a request; None when it has to be sent."""
        place = self._asked[request]
        self._asked[request] += 1
        kept = self._kept[request]
        if place >= len(kept):
            return None
        self.calls += kept[place].calls
        return kept[place]

    def add(self, answered: Answered) -> None:
        """Keep what became of a request that was just sent."""
        line = json.dumps(answered.model_dump(mode="json"), ensure_ascii=False, separators=(",", ":"))
        try:
            self._file.write(line.encode("utf-8", "replace") + b"\n")
        except OSError as error:
            raise RunError(f"{self.path}: cannot be written: {error.strerror or error}") from error
        self._kept[answered.request].append(answered)
        self.calls += answered.calls
        self.paid += 1

    def _read(self) -> list[Answered]:
        self._file.seek(0)
        content = self._file.read()
        whole = content[: content.rfind(b"\n") + 1]
        self._file.truncate(len(whole))
        try:
            return [Answered.model_validate_json(line) for line in whole.splitlines()]
        except ValueError as error:
            raise RunError(f"{self.path}: damaged; remove the folder to compile afresh") from error


class RecordedEngine:
    """A gated engine whose answers are kept and given again."""

    def __init__(self, gated: Any, record: Record, whose: str):
        self._gated, self._record, self._whose = gated, record, whose
        self.supports_response_schema: bool = gated.supports_response_schema
        self.supports_function_calling: bool = gated.supports_function_calling
        self.supports_reasoning: bool = gated.supports_reasoning
        self.supported_params: set[str] = gated.supported_params

    def complete(self, request: Request) -> Response:
        """The answer, from the record or from the model.

        Raises:
            ContentError: The provider refuses this request for good; asked again it is refused from the record.
            ProviderDown: It failed for good. An optimizer would count that as a wrong answer and go another way.
        """
        told = json.dumps([self._whose, request_to_dict(request)], sort_keys=True, ensure_ascii=False)
        name = hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()
        if kept := self._record.next(name):
            for call in kept.calls:
                record_call(call)
            return _given(kept)
        with collect_calls() as calls:
            try:
                response = self._gated.complete(request)
            except ContentError as error:
                self._record.add(Answered(request=name, refused=(error.reason, error.detail), calls=tuple(calls)))
                raise
            except ProviderError as error:
                raise ProviderDown(f"{self._whose}: {error}; a compile cannot go round it") from error
        # Half a surrogate pair is no Unicode: what is handed out is what is kept, so that a replay sees the same.
        answered = Answered(request=name, response=encodable_all(response_to_dict(response)), calls=tuple(calls))
        self._record.add(answered)
        return _given(answered)


def _given(kept: Answered) -> Response:
    if kept.refused:
        raise ContentError(*kept.refused)
    assert kept.response is not None, "answered or refused"
    return _unfiltered(response_from_dict(kept.response))


def _unfiltered(response: Response) -> Response:
    """The response; one that a filter cut raises `ContentError`, so that DSPy's memory never gives it as a whole."""
    if response.finish_reason == "content_filter":
        raise ContentError("filtered", "the provider's content filter cut the answer")
    return response
