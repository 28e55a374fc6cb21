"""The adapter under the assistant: the chat messages as they are, and nothing of DSPy's own formatting."""

import json
from typing import Any

import dspy

from dspy_proact.plain_text import encodable
from dspy_proact.types import Turn


class BareChat(dspy.Adapter):
    """Sends the conversation turn by turn and takes the whole answer as the response.

    A system message goes out only where there is something to say in it: an instruction that is not the one
    DSPy makes up for a signature without any, or demos, which are worked examples inside it and never fake turns.
    """

    def format(self, signature: type[dspy.Signature], demos: list[dict[str, Any]], inputs: dict[str, Any]) -> list[Any]:
        """The chat messages of one call."""
        examples = [_example(demo) for demo in demos if demo.get("response")]
        parts = [part for part in (_instruction(signature), *examples) if part]
        messages = [{"role": "system", "content": "\n\n".join(parts)}] if parts else []
        for turn in _turns(inputs["history"]):
            messages += [{"role": "user", "content": turn.user}, {"role": "assistant", "content": turn.assistant}]
        return [*messages, {"role": "user", "content": inputs["user_message"]}]

    def parse(self, signature: type[dspy.Signature], completion: str) -> dict[str, Any]:
        """The answer, as it came, as the signature's only output."""
        return {next(iter(signature.output_fields)): encodable(completion)}


def _instruction(signature: type[dspy.Signature]) -> str:
    inputs = ", ".join(f"`{name}`" for name in signature.input_fields)
    outputs = ", ".join(f"`{name}`" for name in signature.output_fields)
    text = signature.instructions.strip()
    # DSPy falls back to this sentence whenever it rebuilds a signature whose instruction is empty.
    return "" if text == f"Given the fields {inputs}, produce the fields {outputs}." else text


def _example(demo: dict[str, Any]) -> str:
    conversation = [turn.model_dump() for turn in _turns(demo["history"])]
    shown = {"conversation": conversation, "user_message": demo["user_message"], "response": demo["response"]}
    return f"A worked example:\n{json.dumps(shown, ensure_ascii=False, indent=1)}"


def _turns(history: list[Any]) -> list[Turn]:
    return [turn if isinstance(turn, Turn) else Turn.model_validate(turn) for turn in history]
