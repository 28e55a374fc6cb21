"""Requests that cannot be rendered again, in `messages.jsonl`: each message once, by its hash.

A request is kept as hashes: of what it has beside its messages (model, system text, tools and parameters), and of each
message in its order.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from dspy_proact.errors import RunError
from dspy_proact.kept.log import Log, read_log
from dspy_proact.plain_text import encodable_all
from dspy_proact.types import Frozen

MESSAGES = "messages.jsonl"
"""In the folder of a run."""
Request = Mapping[str, Any]
"""As DSPy words it: model, system text, `messages`, tools and parameters; of an image its name and sha256."""


class StoredMessage(Frozen):
    """One line of `messages.jsonl`."""

    sha256: str
    """Of its JSON with sorted names."""
    message: dict[str, Any]


class MessageLog(Log[StoredMessage]):
    """The one writer of `messages.jsonl`."""

    def __init__(self, path: Path):
        super().__init__(path, StoredMessage)
        self._known = {line.sha256 for line in self}

    def keep(self, message: StoredMessage) -> None:
        """Keep a message of another log, unless it is there; raises a `RunError` where it cannot be kept."""
        if message.sha256 not in self._known:
            self.append(message)
            self._known.add(message.sha256)

    def add(self, request: Request) -> tuple[str, ...]:
        """Keep a request and return its hashes; raises a `RunError` where it cannot be kept."""
        pieces = [{name: value for name, value in request.items() if name != "messages"}, *request["messages"]]
        messages = encodable_all(json.loads(json.dumps(pieces, default=str), parse_constant=str))
        hashes = tuple(map(_sha256, messages))
        for sha256, message in zip(hashes, messages, strict=True):
            self.keep(StoredMessage(sha256=sha256, message=message))
        return hashes


def read_messages(path: Path) -> Iterator[StoredMessage]:
    """The messages of a log; raises a `RunError` where one is not as it was written, and as `read_log` does."""
    for number, line in enumerate(read_log(path, StoredMessage), start=1):
        if line.sha256 != _sha256(line.message):
            raise RunError(f"{path}, line {number}: was changed; restore it")
        yield line


def read_requests(path: Path, wanted: Iterable[Collection[str]]) -> list[Request | str]:
    """Requests by their hashes, in their order; why, in place of one of which a message is not as it was written."""
    requests = [tuple(hashes) for hashes in wanted]
    needed = {sha256 for hashes in requests for sha256 in hashes}
    messages, damage = dict[str, dict[str, Any]](), ""
    try:
        messages.update((line.sha256, line.message) for line in read_log(path, StoredMessage) if line.sha256 in needed)
    except RunError as error:  # what stands before the damaged line was read
        damage = str(error)

    def request(first: str, *rest: str) -> Request | str:
        for sha256 in (first, *rest):
            if sha256 not in messages or _sha256(messages[sha256]) != sha256:
                fault = "was changed" if sha256 in messages else "is not in it"
                return damage or f"{path}: the message {sha256[:12]} {fault}; restore it"
        return messages[first] | {"messages": [messages[sha256] for sha256 in rest]}

    return [request(*hashes) for hashes in requests]


def _sha256(message: Mapping[str, Any]) -> str:
    canonical = json.dumps(message, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8", "replace")).hexdigest()
