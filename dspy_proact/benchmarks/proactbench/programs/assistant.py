"""The assistant: a program that writes the response at a trigger; its role.

The names of `Reply`'s fields are a file format: their order and types are part of a compiled program's hash.
"""

from collections.abc import Iterable
from typing import Self, cast

import dspy

from dspy_proact.benchmarks.proactbench import embedded
from dspy_proact.benchmarks.proactbench.conversation import History, history_of
from dspy_proact.benchmarks.proactbench.programs.adapters import BareChat, fingerprint, instruction_of
from dspy_proact.benchmarks.proactbench.types import Turn, usable
from dspy_proact.errors import UsageError
from dspy_proact.models import Role
from dspy_proact.programs.asking import SYSTEM, Asking
from dspy_proact.programs.program import Program
from dspy_proact.programs.streaming import Pieces, streamed

ASSISTANT = Role("assistant", "model", "response", embedded.assistant)
"""For whom its calls are counted, how a person names its model, and what stands in for one."""


class Reply(dspy.Signature):
    """"""  # noqa: D419 - uncompiled, the assistant is told nothing: no docstring at all would give DSPy's default text

    history: list[Turn] = dspy.InputField()
    user_message: str = dspy.InputField()
    response: str = dspy.OutputField()


class Assistant(Program):
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
        super().__init__()
        if instruction is not None and not instruction.strip():
            raise UsageError("the system prompt is empty; leave it out for the bare model")
        self.reply = dspy.Predict(Reply if instruction is None else Reply.with_instructions(instruction))
        self.adapter = BareChat(hint)
        self.learned_from: frozenset[str] = frozenset()
        self._filed: tuple[str, str] | None = None

    @property
    def name(self) -> str:
        """`bare`, `compiled:` with the hash of its file, or `prompt` where it says anything else to its model."""
        if self._filed and self._filed[1] == self.fingerprint():
            return f"compiled:{self._filed[0][:12]}"
        return "prompt" if self.system_prompt else "bare"

    def compiled_as(self, digest: str, learned_from: Iterable[str]) -> Self:
        """The same, named by its file for as long as it is as it stands there, with marks of what it learned from."""
        self._filed, self.learned_from = (digest, self.fingerprint()), frozenset(learned_from)
        return self

    @property
    def instruction(self) -> str:
        """What it tells its model to do; empty for nothing."""
        return instruction_of(cast("type[dspy.Signature]", self.reply.signature))

    @property
    def system_prompt(self) -> str:
        """All that it says beside the conversation, worked examples included; empty for the bare chat."""
        return self.adapter.system_message(cast("type[dspy.Signature]", self.reply.signature), self.reply.demos)

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
        answer = await asking(self.reply, self.adapter, **inputs)
        return dspy.Prediction(response=usable(answer.prediction.response), truncated=answer.truncated)

    def stream(self, history: History, user_message: str, system: str | None = None) -> Pieces:
        """The response piece by piece as the model writes it, for `for` and `async for`; raises as `forward` does."""
        return streamed(self, history=history, user_message=user_message, system=system)

    def wording(self, note: str = "") -> BareChat:
        """The adapter, which has no place for a note."""
        del note
        return self.adapter

    def fingerprint(self) -> str:
        """Hash of what it says to its model."""
        return fingerprint(self)
