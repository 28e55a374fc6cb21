"""An application behind the gate, in the place of a model: every program under test asks it as it asks a model.

It gets the messages that a model would get, and the gate holds it to the same limits: requests in flight, time, further
attempts, and the number of calls. What an answer costs is known once the application says so, if it does.
"""

import base64
from collections.abc import AsyncGenerator
from typing import Any
from uuid import uuid4

from dspy.lm15 import (
    ImagePart,
    Message,
    Request,
    Response,
    StreamDeltaEvent,
    StreamEndEvent,
    StreamStartEvent,
    TextDelta,
    TextPart,
    Usage,
)

from dspy_proact.apps.app import App, AppRequest, dollars, steps_in, token_count
from dspy_proact.calls import Price
from dspy_proact.errors import AppError, UsageError
from dspy_proact.kept import open_stage
from dspy_proact.models import Gate, Model, Role
from dspy_proact.models.dspy_internals import StreamEvent
from dspy_proact.models.engine import STEPS, USD, GatedEngine
from dspy_proact.models.faults import Caller
from dspy_proact.models.logged import LoggedEngine, LoggedLM

NO_PRICE = Price(reason="the application reports none", reported=True)


def open_app(app: App, role: Role, gate: Gate) -> Model:
    """Make an application callable in a role, behind the gate that a run shares; nothing is started.

    Raises a `UsageError` where the gate is one for batches.
    """
    if gate.batch:
        mend = "omit `gate.batch`; once its answers are there, `rejudge` grades them in batches"
        raise UsageError(f"`app` {app.name}: an application is asked one request at a time; {mend}")
    caller = Caller(role=role.name, argument="app", model=app.name, price=NO_PRICE, app=True)
    gated = GatedEngine(lambda: AppEngine(app), gate, caller)
    lm = LoggedLM(app.name, LoggedEngine(gated))
    stateful = getattr(app, "stateful", False)
    return Model(app.name, role, lm, {}, (), None, NO_PRICE, app=app.fingerprint(), stateful=stateful)


class AppEngine:
    """Answers a request of DSPy's by an application; raises what that raises."""

    def __init__(self, app: App):
        self._app = app

    async def complete(self, request: Request) -> Response:
        """The last message of the application, with its steps before it; raises an `AppError` for one without text."""
        stage = open_stage()
        conversation = stage.conversation if stage else uuid4().hex
        reply = await self._app.answer(AppRequest(tuple(chat_messages(request)), conversation))
        if not reply.text.strip():
            raise AppError("empty", "it answered an empty text")
        counts = token_count(reply.prompt_tokens), token_count(reply.completion_tokens)
        return Response(
            id=None,
            model=self._app.name,
            message=Message(role="assistant", parts=(TextPart(text=reply.text),)),
            finish_reason="stop",
            usage=Usage() if None in counts else Usage(input_tokens=counts[0], output_tokens=counts[1]),
            provider_data={USD: dollars(reply.usd), STEPS: [dict(step) for step in steps_in(reply.steps)]},
        )

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        """The text of `complete` in one piece: an application answers at once."""
        response = await self.complete(request)
        yield StreamStartEvent(model=response.model)
        text = "".join(part.text for part in response.message.parts if isinstance(part, TextPart))
        yield StreamDeltaEvent(TextDelta(text=text))
        yield StreamEndEvent(finish_reason=response.finish_reason, usage=response.usage)

    async def aclose(self) -> None:
        """End what the application has started."""
        await self._app.aclose()


def chat_messages(request: Request) -> list[dict[str, Any]]:
    """The messages of a request in the form of OpenAI's chat API; images are in their address, as data."""
    system = request.system or ()
    text = system if isinstance(system, str) else "\n".join(part.text for part in system if isinstance(part, TextPart))
    messages: list[dict[str, Any]] = [{"role": "system", "content": text}] if text else []
    for message in request.messages:
        parts = [part for part in message.parts if isinstance(part, TextPart | ImagePart)]
        content: Any = "".join(part.text for part in parts if isinstance(part, TextPart))
        if any(isinstance(part, ImagePart) for part in parts):
            content = [
                {"type": "text", "text": part.text}
                if isinstance(part, TextPart)
                else {"type": "image_url", "image_url": {"url": _address(part)}}
                for part in parts
            ]
        messages.append({"role": message.role, "content": content})
    return messages


def _address(image: ImagePart) -> str:
    if image.url:
        return image.url
    return f"data:{image.media_type};base64,{base64.b64encode(image.bytes).decode()}"
