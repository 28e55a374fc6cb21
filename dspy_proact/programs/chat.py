"""Programs that are a bare chat: the model under test itself, unless they are told something beside it.

`PlainChat` sends the chat messages as they are, and nothing of DSPy's own formatting. An instruction, demos as worked
examples, and the chat's own system text make up the system message.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Self, cast

import dspy
from pydantic_core import to_jsonable_python

from dspy_proact.errors import UsageError
from dspy_proact.models.dspy_internals import default_instructions
from dspy_proact.models.thoughts import without_thoughts
from dspy_proact.plain_text import encodable
from dspy_proact.programs.asking import Asking, rendered
from dspy_proact.programs.program import Program
from dspy_proact.runs import usable


def instruction_of(signature: type[dspy.Signature]) -> str:
    """What a signature tells a model to do; empty where that is DSPy's filler for a signature without any."""
    text = (signature.__doc__ or "").strip()  # `instructions` takes indentation away and turns tabs into blanks
    # DSPy falls back to this sentence whenever it rebuilds a signature whose instruction is empty.
    return "" if text == default_instructions(signature) else text


class PlainChat(dspy.Adapter):
    """Sends a chat message by message and takes the whole answer as the response.

    A system message goes out only where there is something to say in it: a hint, an instruction that is not the one
    DSPy makes up for a signature without any, or demos, which are worked examples inside it and never fake turns. The
    `hint` is what a teacher is told beside its instruction; its students are not. The inputs are `messages`, each with
    a role and a content; another form is for a subclass to say.
    """

    def __init__(self, hint: str = ""):
        super().__init__()
        self.hint = hint

    def chat(self, inputs: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
        """The system text of the chat itself, and its other messages."""
        messages: list[dict[str, Any]] = to_jsonable_python(inputs["messages"])
        system = [message["content"] for message in messages if message["role"] == "system"]
        return "\n\n".join(system), [message for message in messages if message["role"] != "system"]

    def example(self, demo: Mapping[str, Any]) -> dict[str, Any]:
        """What a worked example shows before its response, by name."""
        return {"messages": to_jsonable_python(demo.get("messages") or [])}

    def format(self, signature: type[dspy.Signature], demos: list[dict[str, Any]], inputs: dict[str, Any]) -> list[Any]:
        """The chat messages of one call: the chat's own system text ends the system message."""
        own, messages = self.chat(inputs)
        system = "\n\n".join(filter(None, [self.system_message(signature, demos), own]))
        return [*([{"role": "system", "content": system}] if system else []), *messages]

    def system_message(self, signature: type[dspy.Signature], demos: list[dict[str, Any]]) -> str:
        """Hint, instruction and demos, the program's own part of it; empty where there are none."""
        return "\n\n".join(filter(None, [self.hint, instruction_of(signature), *map(self._worked, demos)]))

    def _worked(self, demo: Mapping[str, Any]) -> str:
        """A demo as the system message has it, with the fields that it has; empty where it shows no response."""
        if not demo.get("response"):
            return ""
        example = {**self.example(demo), "response": demo["response"]}
        return f"A worked example:\n{json.dumps(example, ensure_ascii=False, indent=1)}"

    def parse(self, signature: type[dspy.Signature], completion: str) -> dict[str, Any]:
        """The answer, as it came but without thoughts, as the signature's only output."""
        return {next(iter(signature.output_fields)): encodable(without_thoughts(completion)[1])}


class ChatProgram(Program):
    """Answers the last message of a chat. Uncompiled it sends the bare chat and is the model under test itself.

    Args:
        signature: Its inputs, and `response`; its instruction is empty.
        adapter: Sends the inputs as chat messages.
        instruction: A system prompt; without one nothing is added to the chat.

    Attributes:
        learned_from: Marks of what it was compiled on.

    Raises:
        UsageError: The instruction is blank.
    """

    def __init__(self, signature: type[dspy.Signature], adapter: PlainChat, instruction: str | None = None) -> None:
        super().__init__()
        if instruction is not None and not instruction.strip():
            raise UsageError("the system prompt is empty; leave it out for the bare model")
        self.reply = dspy.Predict(signature if instruction is None else signature.with_instructions(instruction))
        self.adapter = adapter
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
        """All that it says beside the chat, worked examples included; empty for the bare chat."""
        return self.adapter.system_message(cast("type[dspy.Signature]", self.reply.signature), self.reply.demos)

    async def answer_by(self, asking: Asking, *_: Any, **inputs: Any) -> dspy.Prediction:
        """A prediction with `response`, and whether it is `truncated`; a `StageError` where there is no response."""
        answer = await asking(self.reply, self.adapter, **inputs)
        return dspy.Prediction(response=usable(answer.prediction.response), truncated=answer.truncated)

    def wording(self, note: str = "") -> PlainChat:
        """The adapter, which has no place for a note."""
        del note
        return self.adapter

    def fingerprint(self) -> str:
        """Hash of what it says to its model."""
        chat = [{"role": "user", "content": "{user}"}, {"role": "assistant", "content": "{assistant}"}]
        messages = rendered(self.reply, self.adapter, {"messages": [*chat, chat[0]]})
        return hashlib.sha256(json.dumps(messages, ensure_ascii=False, sort_keys=True).encode()).hexdigest()
