"""Usage that is no count, which servers of one's own send: it is left out, and the answer stands.

Both clients take the whole body for broken there.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from dspy._vendor.lm15.types import StreamEvent
from dspy.lm15 import Request, Response

_PLACES = ("usage", "usageMetadata")
"""Where the providers that DSPy reads itself tell usage, at the top of a body."""
_UNREADABLE = (TypeError, ValueError, AttributeError)
"""What DSPy's readers raise where a count is none."""
T = TypeVar("T")


class LenientReader:
    """One of DSPy's clients as a reader of bodies that leaves out what is no count in their usage.

    Args:
        reader: What this one is in everything else.
    """

    def __init__(self, reader: Any):
        self._reader = reader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)

    def parse_response(self, request: Request, response: Any) -> Response:
        """The answer in a body."""
        return _leniently(
            lambda body: self._reader.parse_response(request, replace(response, body=body)), response.body
        )

    def parse_stream_events(self, request: Request, event: Any) -> Iterator[StreamEvent]:
        """What one event of a stream says."""
        read = self._reader.parse_stream_events
        return iter(_leniently(lambda data: list(read(request, replace(event, data=data))), event.data))


def _leniently(read: Callable[[Any], T], body: bytes | str) -> T:
    """What is read in a body, or else in the same with counts alone in its usage."""
    try:
        return read(body)
    except _UNREADABLE:
        return read(counted(body))


def counted(body: bytes | str) -> Any:
    """A body in JSON with counts alone in its usage; any other one as it is."""
    try:
        whole = json.loads(body)
    except ValueError:
        return body
    told = {place: whole[place] for place in _PLACES if place in whole} if isinstance(whole, dict) else {}
    counts = {place: _counts(usage) for place, usage in told.items()}
    if counts == told:
        return body
    text = json.dumps(whole | counts)
    return text if isinstance(body, str) else text.encode()


def _counts(usage: Any) -> dict[str, Any]:
    """What is a count in usage and in its details."""
    named = usage.items() if isinstance(usage, dict) else ()
    counts = {name: _counts(value) if name.endswith("_details") else _count(value) for name, value in named}
    return {name: count for name, count in counts.items() if count is not None}


def _count(value: Any) -> int | None:
    """A whole number, also one that is written as a text or with a point; None for anything else."""
    try:
        whole = int(value) if isinstance(value, str) or float(value).is_integer() else None
    except (TypeError, ValueError, OverflowError):
        return None
    return None if isinstance(value, bool) or whole is None or whole < 0 else whole
