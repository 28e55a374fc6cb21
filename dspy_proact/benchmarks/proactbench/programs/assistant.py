"""The assistant: a program that writes the response at a trigger; its role.

The names of `Reply`'s fields are a file format: their order and types are part of a compiled program's hash.
"""

import dspy

from dspy_proact.benchmarks.proactbench import embedded
from dspy_proact.benchmarks.proactbench.conversation import History, history_of
from dspy_proact.benchmarks.proactbench.programs.adapters import BareChat, fingerprint
from dspy_proact.benchmarks.proactbench.types import Turn
from dspy_proact.models import Role
from dspy_proact.programs.asking import SYSTEM, Asking
from dspy_proact.programs.chat import ChatProgram
from dspy_proact.programs.streaming import Pieces, streamed

ASSISTANT = Role("assistant", "model", "response", embedded.assistant)
"""For whom its calls are counted, how a person names its model, and what stands in for one."""


class Reply(dspy.Signature):
    """"""  # noqa: D419 - uncompiled, the assistant is told nothing: no docstring at all would give DSPy's default text

    history: list[Turn] = dspy.InputField()
    user_message: str = dspy.InputField()
    response: str = dspy.OutputField()


class Assistant(ChatProgram):
    """Answers the user's last message. Uncompiled it sends the bare chat and is the model under test itself.

    Args:
        instruction: A system prompt; without one nothing is added to the chat.
        hint: What a teacher is told beside it (compiling).

    Attributes:
        learned_from: Marks of the conversations that it was compiled on (`views.dialogue_mark`).

    Raises:
        UsageError: The instruction is blank.
    """

    def __init__(self, instruction: str | None = None, hint: str = "") -> None:
        super().__init__(Reply, BareChat(hint), instruction)

    async def answer_by(
        self, asking: Asking, history: History, user_message: str, system: str | None = None
    ) -> dspy.Prediction:
        """A prediction with `response`, and whether it is `truncated`.

        Args:
            asking: The way to ask.
            history: The turns before, in any form of `conversation`.
            user_message: The message to answer.
            system: What holds in this conversation alone, such as rules, date and data. It comes after the program's
                own prompt, in one system message; so does a system message in the history.

        Raises:
            UsageError: The history is none.
            StageError: There is no response.
        """
        before = history_of(history)
        texts = "\n\n".join(filter(None, [before.system, system]))
        inputs = {"history": list(before.turns), "user_message": user_message} | ({SYSTEM: texts} if texts else {})
        return await super().answer_by(asking, **inputs)

    def stream(self, history: History, user_message: str, system: str | None = None) -> Pieces:
        """The response piece by piece as the model writes it, for `for` and `async for`; raises as `forward` does."""
        return streamed(self, history=history, user_message=user_message, system=system)

    def fingerprint(self) -> str:
        """Hash of what it says to its model."""
        return fingerprint(self)
