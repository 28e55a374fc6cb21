"""The adapter under the judge and the detector of offers: plain text, in which what others wrote is indented.

    Conversation
    Turn 1, user:
        I move on Friday.
    Turn 1, assistant:
        Good luck.

Each line of a text stands behind four blanks, empty ones apart, and no line of ours does. So nothing that a text holds
can end it or pass for a line of ours, whatever it is; a table or a list keeps its form. A field's description is its
heading. The system message is the instruction alone, and the shape of the answer is said once: by a schema where the
model takes one, by a last line where it does not, or where its answer could not be used.
"""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal, cast, get_args, get_origin

import dspy
from pydantic import BaseModel, TypeAdapter
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from dspy_proact.benchmarks.proactbench.types import Phase, Rubric, Turn
from dspy_proact.plain_text import encodable
from dspy_proact.programs.fenced_json import FencedJSON

MARGIN = "    "
_CONVERSATION = TypeAdapter(list[Turn])
_SHAPES = {str: "string", bool: "true | false"}


class IndentedText(FencedJSON):
    """Renders a question as indented text, and reads one JSON object as `FencedJSON` does.

    Args:
        rules: By phase, what is said with a rubric of it; with none of another. Demos are shown without.
        note: The end of the request, such as what was wrong with the answer before; texts of others are indented in it.

    Where a schema of the answer is sent beside the messages, they say nothing of its shape unless there is a note.
    """

    def __init__(self, rules: Mapping[Phase, str] | None = None, note: str = ""):
        super().__init__(note=note)
        self._rules = rules or {}

    def format(self, signature: type[dspy.Signature], demos: list[dict[str, Any]], inputs: dict[str, Any]) -> list[Any]:
        """The messages of one call; a lone surrogate, which no provider takes, is replaced."""
        told = not self.has_schema or self.note  # a provider may take a schema and pay no heed to it
        last = [*([shape_of(cast("Any", signature))] if told else []), *([self.note] if self.note else [])]
        messages = [
            {"role": "system", "content": signature.instructions},
            *(message for demo in demos for message in _exchange(signature, demo)),
            {"role": "user", "content": "\n\n".join([*_sections(signature, inputs, self._rules), *last])},
        ]
        return [{**message, "content": encodable(message["content"])} for message in messages]

    def _prepare_response_format(self, lm: Any, lm_kwargs: dict[str, Any], signature: Any) -> None:
        super()._prepare_response_format(lm, lm_kwargs, signature)
        self.has_schema = isinstance(lm_kwargs.get("response_format"), type)


def indented(text: str) -> str:
    """The text with a margin before each line that is not empty."""
    return "\n".join(MARGIN + line if line else "" for line in text.splitlines() or [""])


@lru_cache(maxsize=64)
def shape_of(signature: type[dspy.Signature]) -> str:
    """The line that says how to answer."""
    fields = cast("Mapping[str, FieldInfo]", signature.output_fields)
    return f"Answer with one JSON object: {_object({name: field.annotation for name, field in fields.items()})}"


def _object(fields: Mapping[str, Any]) -> str:
    return "{" + ", ".join(f'"{name}": {_shape(annotation)}' for name, annotation in fields.items()) + "}"


def _shape(annotation: Any) -> str:
    """A type as the line writes it."""
    if get_origin(annotation) is Literal:
        return " | ".join(json.dumps(value) for value in get_args(annotation))
    if get_origin(annotation) is list:
        return f"[{_shape(get_args(annotation)[0])}]"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _object({name: field.annotation for name, field in annotation.model_fields.items()})
    return _SHAPES[annotation]


def _sections(signature: type[dspy.Signature], inputs: Mapping[str, Any], rules: Mapping[Phase, str]) -> Iterator[str]:
    """The inputs, each under its heading."""
    fields = cast("Mapping[str, Any]", signature.input_fields)
    for name, field in fields.items():
        heading = field.json_schema_extra["desc"]
        if field.annotation is Rubric:
            rubric = Rubric.model_validate(inputs[name])
            said = [f"{heading}, {rubric.phase}.", *([rules[rubric.phase]] if rubric.phase in rules else [])]
            yield f"{' '.join(said)}\n{_criteria(rubric)}"
        elif field.annotation == list[Turn]:
            yield f"{heading}\n{_turns(_CONVERSATION.validate_python(inputs[name]))}"
        else:
            yield f"{heading}:\n{indented(inputs[name])}"


def _criteria(rubric: Rubric) -> str:
    graded = {"PASS": rubric.pass_criteria, "PARTIAL": rubric.partial_criteria, "FAIL": rubric.fail_criteria}
    return "\n".join(f"{grade}:\n{indented(criteria)}" for grade, criteria in graded.items())


def _turns(conversation: list[Turn]) -> str:
    said: list[str] = []
    for number, turn in enumerate(conversation, start=1):
        said.append(f"Turn {number}, user:\n{indented(turn.user)}")
        said += [] if turn.assistant is None else [f"Turn {number}, assistant:\n{indented(turn.assistant)}"]
    return "\n".join(said)


def _exchange(signature: type[dspy.Signature], demo: Mapping[str, Any]) -> list[dict[str, str]]:
    """A demo: its question, and its answer in the shape that is asked for."""
    answer = {name: to_jsonable_python(demo[name]) for name in cast("Mapping[str, Any]", signature.output_fields)}
    return [
        {"role": "user", "content": "\n\n".join(_sections(signature, demo, {}))},
        {"role": "assistant", "content": json.dumps(answer, ensure_ascii=False)},
    ]
