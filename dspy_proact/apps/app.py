"""What an application under test is sent, and what it gives back."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dspy_proact.calls import MOST_DOLLARS, MOST_TOKENS
from dspy_proact.errors import AppError
from dspy_proact.files.rows import first_flaw
from dspy_proact.types import Message


@dataclass(frozen=True)
class AppRequest:
    """One question to an application."""

    messages: tuple[Message, ...]
    """The conversation, oldest first; the first may be the system text, the last is the user's."""
    conversation: str
    """Identifies the conversation: equal for all requests of one answer, other for any other; it reveals nothing."""


@dataclass(frozen=True)
class AppReply:
    """What an application answers."""

    text: str
    """What is graded: its last message."""
    steps: tuple[Message, ...] = ()
    """What it did before, such as calls of tools with their results, oldest first; they are kept and not graded.

    A call in `tool_calls` has `id` and `function` with `name` and `arguments`, a text; see `steps_in`."""
    prompt_tokens: int | None = None
    """Of all models that it called, as far as it says so."""
    completion_tokens: int | None = None
    usd: float | None = None
    """What the answer cost, in US dollars, as far as it says so."""


def token_count(value: Any) -> int | None:
    """A count of tokens as an application reports it; None where it is none that can be."""
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None


def dollars(value: Any) -> float | None:
    """A cost as an application reports it; None where it is none that can be."""
    return float(value) if type(value) in (int, float) and 0 <= value <= MOST_DOLLARS else None


def steps_in(messages: Sequence[Message]) -> tuple[Message, ...]:
    """What others have put into messages, as steps: those of the assistant and of tools, in the form of OpenAI's."""
    steps = list[Message]()
    for message in messages:
        role, content = message.get("role"), _content(message.get("content"))
        if role == "tool":
            named = {name: str(message[name]) for name in ("tool_call_id", "name") if message.get(name)}
            steps.append({"role": "tool", "content": content, **named})
        elif role == "assistant":
            calls = message.get("tool_calls")
            calls = [_tool_call(call) for call in calls] if isinstance(calls, list) else []
            steps.append({"role": "assistant", "content": content, **({"tool_calls": calls} if calls else {})})
    return tuple(steps)


def _content(value: Any) -> Any:
    """The content of a message; as a text where it holds what no reader of a run takes, such as depth without end."""
    return value if isinstance(value, str) or first_flaw(value) is None else _json(value)


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "(nested too deep to be kept)"


def _tool_call(call: Any) -> dict[str, Any]:
    fields = call if isinstance(call, Mapping) else {}
    function = fields.get("function")
    function = function if isinstance(function, Mapping) else {"arguments": call}
    arguments = function.get("arguments")
    if not isinstance(arguments, str):
        arguments = _json(arguments)
    name = str(function.get("name") or "tool")
    return {"id": str(fields.get("id") or name), "type": "function", "function": {"name": name, "arguments": arguments}}


class App(Protocol):
    """An application, ready to be asked from one event loop, many requests at a time.

    One that keeps the conversation itself, so that earlier replies in it are its own, has True as its `stateful`.
    One that cannot take every conversation may have a `require`, which is called before a run begins with the messages
    of each, and raises a `UsageError`.
    """

    @property
    def name(self) -> str:
        """As runs show it in place of a model's name, such as `bot.py:answer`; no key and no password is in it."""
        ...

    def fingerprint(self) -> str:
        """sha256, in hexadecimal, of what decides its answers as far as that is known here: its file, or its URL."""
        ...

    async def answer(self, request: AppRequest, /) -> AppReply:
        """Answer a request.

        Raises an `errors.AppError` where the application fails, a `ProviderError` where it cannot be reached, and a
        `SetupFault` where every request would fail alike. A cancelled call leaves nothing running.
        """
        ...

    async def aclose(self) -> None:
        """End what it has started."""
        ...


@dataclass(frozen=True)
class RecordedApp:
    """An application of which no more is known than a run recorded: it answers nothing."""

    name: str
    sha256: str

    def fingerprint(self) -> str:
        """As recorded."""
        return self.sha256

    async def answer(self, _request: AppRequest) -> AppReply:
        """Raise an `AppError`."""
        raise AppError("recorded", f"{self.name} is known by its name alone, and cannot be asked")

    async def aclose(self) -> None:
        """Nothing was started."""
