"""The proactive assistant: a program that writes the response at a trigger.

The names of `Reply`'s fields are a file format: their order and types are part of a compiled program's hash.
"""

from typing import Any

import dspy

from dspy_proact.errors import ContentError
from dspy_proact.programs.asking import Asking, ask, ask_now, run_now
from dspy_proact.programs.bare_chat import BareChat
from dspy_proact.programs.fingerprint import fingerprint, rendered
from dspy_proact.types import Response, Turn
from dspy_proact.views import AssistantView

LONGEST_RESPONSE = 1_000_000
"""Characters; no token limit in use allows so many, and to have them judged would cost a fortune."""


class Reply(dspy.Signature):
    """"""  # noqa: D419 - uncompiled, the assistant is told nothing: no docstring at all would give DSPy's default text

    history: list[Turn] = dspy.InputField()
    user_message: str = dspy.InputField()
    response: str = dspy.OutputField()


class Assistant(dspy.Module):
    """Answers the user's last message. Uncompiled it sends the bare chat and is the model under test itself."""

    name = "bare"

    def __init__(self) -> None:
        super().__init__()
        self.reply = dspy.Predict(Reply)
        self.adapter = BareChat()

    def forward(self, history: list[Turn], user_message: str) -> dspy.Prediction:
        """A prediction with `response`, and whether it is `truncated`; raises a `StageError` when there is none."""
        return run_now(self._replied(ask_now, history, user_message))

    async def aforward(self, history: list[Turn], user_message: str) -> dspy.Prediction:
        """The same, awaited."""
        return await self._replied(ask, history, user_message)

    async def respond(self, view: AssistantView) -> Response:
        """The response to what the view shows."""
        prediction = await self.acall(history=list(view.history), user_message=view.user_message)
        return Response(text=prediction.response, truncated=prediction.truncated)

    def messages(self, view: AssistantView) -> list[dict[str, Any]]:
        """What `respond` sends."""
        inputs = {"history": list(view.history), "user_message": view.user_message}
        return rendered(self.reply, self.adapter, inputs)

    def fingerprint(self) -> str:
        """Hash of what it says to its model."""
        return fingerprint((self.reply, self.adapter))

    async def _replied(self, asking: Asking, history: list[Turn], user_message: str) -> dspy.Prediction:
        answered = await asking(self.reply, self.adapter, history=history, user_message=user_message)
        return dspy.Prediction(response=usable(answered.prediction.response), truncated=answered.truncated)


def usable(text: str) -> str:
    """The text of a response that can be judged; raises `ContentError` when there is nothing in it, or far too much."""
    if not text.strip():
        raise ContentError("empty", "the model answered with blanks only")
    if len(text) > LONGEST_RESPONSE:
        raise ContentError("oversized", f"{len(text):,} characters, beyond any token limit")
    return text
