"""The embedded model's engine: plain rules behind the interface of a provider's client.

It has no weights, reads nothing but the request, answers the same request alike, and measures nothing
about any real model. What it says is its role's.
"""

import asyncio
import re
from collections.abc import AsyncGenerator
from typing import Any

from dspy._vendor.lm15.types import StreamEvent
from dspy.lm15 import Message, Request, Response, StreamDeltaEvent, StreamEndEvent, StreamStartEvent, TextDelta, Usage
from dspy.lm15 import TextPart as Text

from dspy_proact.models.role import StandIn
from dspy_proact.models.spec import EMBEDDED


class EmbeddedEngine:
    """Answers a request from its system text and its messages.

    Args:
        stand_in: What it answers.
    """

    def __init__(self, stand_in: StandIn):
        self._answer = stand_in

    async def complete(self, request: Request) -> Response:
        """The answer; tokens are counted as four characters each."""
        await asyncio.sleep(0)  # as at a provider, others go on meanwhile, and Ctrl-C is heard
        system = _text(request.system)
        messages = [(message.role, message.text or "") for message in request.messages]
        answer = self._answer(system, messages)
        prompt = len(system) + sum(len(text) for _, text in messages)
        return Response(
            id=None,
            model=EMBEDDED,
            message=Message(role="assistant", parts=(Text(text=answer),)),
            finish_reason="stop",
            usage=Usage(input_tokens=prompt // 4, output_tokens=len(answer) // 4),
        )

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        """The same answer word by word, each with the blanks after it."""
        response = await self.complete(request)
        yield StreamStartEvent(model=response.model)
        for word in re.findall(r"\S+\s*|\s+", response.text or ""):
            yield StreamDeltaEvent(TextDelta(text=word))
        yield StreamEndEvent(finish_reason=response.finish_reason, usage=response.usage)


def _text(system: Any) -> str:
    if system is None or isinstance(system, str):
        return system or ""
    return "\n".join(part.text for part in system)
