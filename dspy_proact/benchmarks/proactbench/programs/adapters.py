"""The adapters under ProactBench's programs: the assistant's, with demos in its system message, and the judge's.

`BareChat`, under the assistant, sends a dialogue as `PlainChat` does, its system text in the system message.

`IndentedText`, under the judge and the detector of offers, sends plain text, in which what others wrote is indented:

    Conversation
    Turn 1, user:
        I move on Friday.
    Turn 1, assistant:
        Good luck.

Each line of a text that is not empty has four blanks before it, and no line of ours has. So no text can end early or
pass for a line of ours, and a table or a list keeps its form. A field's description is its heading. The system message
is the instruction alone; the system text of a dialogue stands before the conversation, indented like it. The shape of
the answer is said once: by a schema where the model takes one, else by a last line, or where its answer could not be
used.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal, cast, get_args, get_origin

import dspy
from pydantic import BaseModel, TypeAdapter
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from dspy_proact.benchmarks.proactbench.conversation import history_of
from dspy_proact.benchmarks.proactbench.types import Phase, Rubric, Turn
from dspy_proact.plain_text import encodable
from dspy_proact.programs.asking import SYSTEM, rendered
from dspy_proact.programs.chat import PlainChat
from dspy_proact.programs.fenced_json import FencedJSON
from dspy_proact.programs.program import Program

MARGIN = "    "
_SYSTEM_HEADING = "Rules and data that the assistant was given"
"""Over the system text of a dialogue, in the judge's and the detector's questions."""
_NAMES_OTHERS = re.compile(r"user agent|evaluator|planner|judge|quot(?:e|ing)|cite(?<!\wcite)")
"""In small letters, each choice with a letter first: a search for any case or a boundary takes six times as long."""
_ADDRESSEES = (
    'Here a "User Agent" who says, knows or receives something is the user; one who grades or quotes is you, as is an '
    "evaluator or planner. What it bids you name, state or quote is for your reasoning, not the response."
)
"""With a rubric that speaks to others, as those of the published corpus do."""
_EXAMPLES_SYSTEM = "rules and data of this example alone"
"""Names the system text of a worked example, which holds in no other conversation."""
_CONVERSATION = TypeAdapter(list[Turn])
_SHAPES = {str: "string", bool: "true | false"}
_STAND_INS: dict[str, Any] = {
    "conversation": [Turn(user="{user}", assistant="{assistant}"), Turn(user="{user}", assistant=None)],
    "evidence": ["{evidence}"],
    "grade": "PASS",
    "history": [Turn(user="{user}", assistant="{assistant}")],
    "reasoning": "{reasoning}",
    "response": "{response}",
    "rubric": Rubric(
        phase=Phase.EMERGENT, pass_criteria="Quote {pass}", partial_criteria="{partial}", fail_criteria="{fail}"
    ),
    "user_message": "{user}",
}
"""Inputs that a fingerprint is taken with; the rubric speaks to others."""


def fingerprint(program: Program, *further: tuple[dspy.Predict, dspy.Adapter]) -> str:
    """sha256 of the messages of a program for stand-in inputs, and of `further` questions in another wording."""
    questions = [*((predictor, program.wording()) for predictor in program.predictors()), *further]
    messages = [rendered(predictor, adapter, _STAND_INS) for predictor, adapter in questions]
    return hashlib.sha256(json.dumps(messages, ensure_ascii=False, sort_keys=True).encode()).hexdigest()


class BareChat(PlainChat):
    """Sends the conversation turn by turn; the dialogue's own system text ends the system message."""

    def chat(self, inputs: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
        """The system text of the dialogue, and its messages."""
        messages: list[dict[str, Any]] = []
        for turn in history_of(inputs["history"]).turns:
            messages += [{"role": "user", "content": turn.user}, {"role": "assistant", "content": turn.assistant}]
        return inputs.get(SYSTEM) or "", [*messages, {"role": "user", "content": inputs["user_message"]}]

    def example(self, demo: Mapping[str, Any]) -> dict[str, Any]:
        """The dialogue's system text, its turns and the last message."""
        example: dict[str, Any] = {_EXAMPLES_SYSTEM: demo[SYSTEM]} if demo.get(SYSTEM) else {}
        example["conversation"] = [turn.model_dump() for turn in history_of(demo.get("history")).turns]
        return example | ({"user_message": demo["user_message"]} if demo.get("user_message") is not None else {})


class IndentedText(FencedJSON):
    """Renders a question as indented text, and reads one JSON object as `FencedJSON` does.

    The `note` ends the request, such as with what was wrong with the answer before; texts of others are indented in it.
    Where a schema of the answer is sent beside the messages, they say nothing of its shape unless there is a note.
    """

    def __init__(self, note: str = ""):
        super().__init__(note=note)

    def format(self, signature: type[dspy.Signature], demos: list[dict[str, Any]], inputs: dict[str, Any]) -> list[Any]:
        """The messages of one call; a lone surrogate, which no provider takes, is replaced."""
        # A provider may take a schema and pay no heed to it.
        shape = _shape_line(cast("Any", signature)) if self.note or not self.has_schema else ""
        messages = [
            {"role": "system", "content": signature.instructions},
            # DSPy would call an example of a dialogue without a system text incomplete.
            *self.format_demos(signature, [{SYSTEM: "", **demo} for demo in demos]),
            {"role": "user", "content": "\n\n".join(filter(None, [*_sections(signature, inputs), shape, self.note]))},
        ]
        return [{**message, "content": encodable(message["content"])} for message in messages]

    def format_user_message_content(
        self, signature: type[dspy.Signature], inputs: dict[str, Any], prefix: str = "", *_: Any, **__: Any
    ) -> str:
        """The inputs of a demo; those that it lacks are left out, under a first line of DSPy's that says so."""
        return "\n\n".join(filter(None, [prefix, *_sections(signature, inputs)]))

    def format_assistant_message_content(
        self, signature: type[dspy.Signature], outputs: dict[str, Any], missing_field_message: str | None = None
    ) -> str:
        """The answer of a demo; in place of an output that it lacks stands DSPy's sentence for it."""
        answer = {
            name: missing_field_message if (value := outputs.get(name)) is None else value
            for name in signature.output_fields
        }
        return json.dumps(to_jsonable_python(answer), ensure_ascii=False)


def indented(text: str) -> str:
    """The text with a margin before each line that is not empty."""
    return "\n".join(MARGIN + line if line else "" for line in text.splitlines() or [""])


@lru_cache(maxsize=64)
def _shape_line(signature: type[dspy.Signature]) -> str:
    return f"Answer with one JSON object: {_shape(cast('Mapping[str, FieldInfo]', signature.output_fields))}"


def _shape(form: Any) -> str:
    """A type, or the fields of an object, as the line writes it."""
    if isinstance(form, Mapping):
        return "{" + ", ".join(f'"{name}": {_shape(field.annotation)}' for name, field in form.items()) + "}"
    if get_origin(form) is Literal:
        return " | ".join(json.dumps(value) for value in get_args(form))
    if get_origin(form) is list:
        return f"[{_shape(get_args(form)[0])}]"
    if isinstance(form, type) and issubclass(form, BaseModel):
        return _shape(form.model_fields)
    return _SHAPES[form]


def _sections(signature: type[dspy.Signature], inputs: Mapping[str, Any]) -> Iterator[str]:
    fields = cast("Mapping[str, Any]", signature.input_fields)
    if system := inputs.get(SYSTEM):
        yield f"{_SYSTEM_HEADING}:\n{indented(system)}"
    for name, field in fields.items():
        if name == SYSTEM or inputs.get(name) is None:
            continue
        heading = field.json_schema_extra["desc"]
        if field.annotation is Rubric:
            rubric = Rubric.model_validate(inputs[name])
            criteria = {"PASS": rubric.pass_criteria, "PARTIAL": rubric.partial_criteria, "FAIL": rubric.fail_criteria}
            texts = [f"{grade}:\n{indented(text)}" for grade, text in criteria.items()]
            note = f" {_ADDRESSEES}" if _NAMES_OTHERS.search("\n".join(criteria.values()).lower()) else ""
            yield "\n".join([f"{heading}, {rubric.phase}.{note}", *texts])
        elif field.annotation == list[Turn]:
            texts = [heading]
            for number, turn in enumerate(_CONVERSATION.validate_python(inputs[name]), start=1):
                texts.append(f"Turn {number}, user:\n{indented(turn.user)}")
                if turn.assistant is not None:
                    texts.append(f"Turn {number}, assistant:\n{indented(turn.assistant)}")
            yield "\n".join(texts)
        else:
            yield f"{heading}:\n{indented(inputs[name])}"
