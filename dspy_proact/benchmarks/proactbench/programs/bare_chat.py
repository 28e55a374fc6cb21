"""The adapter under the assistant: the chat messages as they are, and nothing of DSPy's own formatting."""

import json
from typing import Any

import dspy

from dspy_proact.benchmarks.proactbench.conversation import history_of
from dspy_proact.plain_text import encodable


class BareChat(dspy.Adapter):
    """Sends the conversation turn by turn and takes the whole answer as the response.

    A system message goes out only where there is something to say in it: a hint, an instruction that is not the one
    DSPy makes up for a signature without any, or demos, which are worked examples inside it and never fake turns.

    Args:
        hint: What a teacher is told beside its instruction; its students are not.
    """

    def __init__(self, hint: str = ""):
        super().__init__()
        self.hint = hint

    def format(self, signature: type[dspy.Signature], demos: list[dict[str, Any]], inputs: dict[str, Any]) -> list[Any]:
        """The chat messages of one call."""
        system = self.system(signature, demos)
        messages = [{"role": "system", "content": system}] if system else []
        for turn in history_of(inputs["history"]).turns:
            messages += [{"role": "user", "content": turn.user}, {"role": "assistant", "content": turn.assistant}]
        return [*messages, {"role": "user", "content": inputs["user_message"]}]

    def system(self, signature: type[dspy.Signature], demos: list[dict[str, Any]]) -> str:
        """The system message; empty where none is sent."""
        examples = [_example(demo) for demo in demos if demo.get("response")]
        return "\n\n".join(part for part in (self.hint, instruction_of(signature), *examples) if part)

    def parse(self, signature: type[dspy.Signature], completion: str) -> dict[str, Any]:
        """The answer, as it came, as the signature's only output."""
        return {next(iter(signature.output_fields)): encodable(completion)}


def instruction_of(signature: type[dspy.Signature]) -> str:
    """What a signature tells a model to do; empty where that is DSPy's filler for a signature without any."""
    inputs = ", ".join(f"`{name}`" for name in signature.input_fields)
    outputs = ", ".join(f"`{name}`" for name in signature.output_fields)
    text = (signature.__doc__ or "").strip()  # `instructions` takes indentation away and turns tabs into blanks
    # DSPy falls back to this sentence whenever it rebuilds a signature whose instruction is empty.
    return "" if text == f"Given the fields {inputs}, produce the fields {outputs}." else text


def _example(demo: dict[str, Any]) -> str:
    conversation = [turn.model_dump() for turn in history_of(demo["history"]).turns]
    shown = {"conversation": conversation, "user_message": demo["user_message"], "response": demo["response"]}
    return f"A worked example:\n{json.dumps(shown, ensure_ascii=False, indent=1)}"
