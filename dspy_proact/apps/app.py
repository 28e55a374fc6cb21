"""What an application under test is sent, and what it gives back."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

Message = Mapping[str, Any]
"""In the form of OpenAI's chat API: `role`, and `content` as a text or a list of parts; tool calls likewise."""


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
    """What it did before, such as calls of tools with their results, oldest first; they are kept and not graded."""
    prompt_tokens: int | None = None
    """Of all models that it called, as far as it says so."""
    completion_tokens: int | None = None
    usd: float | None = None
    """What the answer cost, in US dollars, as far as it says so."""


class App(Protocol):
    """An application, ready to be asked from one event loop, many requests at a time."""

    @property
    def name(self) -> str:
        """As runs show it in place of a model's name, such as `bot.py:answer`; no key and no password is in it."""
        ...

    def fingerprint(self) -> str:
        """sha256, in hexadecimal, of what decides its answers as far as that is known here: its file, or its URL."""
        ...

    async def answer(self, request: AppRequest) -> AppReply:
        """Answer a request.

        Raises an `errors.AppError` where the application fails, a `ProviderError` where it cannot be reached, and a
        `SetupFault` where every request would fail alike. A cancelled call leaves nothing running.
        """
        ...

    async def aclose(self) -> None:
        """End what it has started."""
        ...
