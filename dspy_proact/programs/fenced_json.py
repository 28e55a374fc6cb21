"""The adapter under typed questions: texts of others fenced on the way in, strict JSON on the way out."""

import json
import re
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from typing import Any, Literal, cast, get_args, get_origin

import dspy
from dspy import AdapterParseError
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from dspy_proact.models.dspy_internals import format_field_value
from dspy_proact.models.thoughts import without_thoughts
from dspy_proact.plain_text import encodable, encodable_all
from dspy_proact.programs.asking import ask_now, run_now

AN_IMAGE = "(an image)"
"""Stands for an image where only text can."""
_MARK = "| "
_LINE_ENDS = re.compile("[\x85\u2028\u2029]")
_LONGEST_LIST = 200
"""Of quotes and the like; nobody names so many, and each is looked up."""
_OBJECT = re.compile(r"\{\s*[\"'{}]")
_STRING_OR_LAST_COMMA = re.compile(r"\"(?:[^\"\\]|\\.)*+\"?|(?<=[\w\"\]}])\s*,(?=\s*[}\]])", re.DOTALL)
_MOST_MENDED = 100
"""Objects with such a comma in one answer; to look for one reads the rest of the answer."""
_TOKEN = r"(?:</?s>|<eos>|<pad>|<end_of_turn>|<\|[^|<>\s]{1,40}\|>|<\uff5c[^\uff5c<>\s]{1,40}\uff5c>|\[/INST\])"
"""What ends a message in a model's own format, where a server leaves it in the text."""
_AFTER = re.compile(rf"`{{3,}}\w*|{_TOKEN}")
_FENCE = "`[], \t\r\n"
_LAST_TOKENS = re.compile(rf"(?:{_TOKEN}\s*){{1,8}}\Z")
_STRAIGHT = str.maketrans("\u201c\u201d\u201e", '"""')
_MARKUP = " \t\r\n*_`~#.\"'\u201c\u201d\u2018\u2019"
"""What may stand around a word of a fixed choice."""


class FencedJSON(dspy.JSONAdapter):
    """Renders inputs field by field and reads one JSON object.

    A field named in `fenced` is quoted line by line, each line marked, so that nothing in it can close the fence or
    imitate a field; the other inputs are typed values and stand as one line of JSON each. An input that is an image, or
    a list of images, is sent as such at its place; no text becomes one. In the answer a key given twice, or another
    object with the same fields, is an error and not a choice. Demos are worked examples in the system message.

    Args:
        fenced: Names of inputs that somebody else wrote.
        note: A last line of the request, such as what was wrong with the answer before.

    Attributes:
        has_schema: Whether a schema of the answer is sent beside the messages, to a model that is known to take one.
    """

    schema: type[BaseModel] | None = None
    """Sent in place of the one that DSPy makes of the signature."""

    def __init__(self, *fenced: str, note: str = ""):
        super().__init__(use_native_function_calling=False)
        self.fenced, self.note, self.has_schema = fenced, note, False

    def format(self, signature: type[dspy.Signature], demos: list[dict[str, Any]], inputs: dict[str, Any]) -> list[Any]:
        """The messages of one call. DSPy's own `format` would run markers of custom types that a text may contain."""
        parts = self._parts(signature, inputs, main_request=True)
        note = [f"\n\n{self.note}"] if self.note else []
        return [
            {"role": "system", "content": _system_message(cast("Any", signature))},
            *(dict(message) for message in _worked_examples(_Demos(signature, self.fenced, repr(demos), demos))),
            {"role": "user", "content": _content([*parts, *note])},
        ]

    def format_user_message_content(
        self,
        signature: type[dspy.Signature],
        inputs: dict[str, Any],
        prefix: str = "",
        suffix: str = "",
        main_request: bool = False,
    ) -> str:
        """The inputs, each under its header; demos come this way too. Of an image it says that there is one."""
        parts = [prefix, "\n\n", *self._parts(signature, inputs, main_request), "\n\n", suffix]
        return "".join(part if isinstance(part, str) else AN_IMAGE for part in parts).strip()

    def _parts(
        self, signature: type[dspy.Signature], inputs: dict[str, Any], main_request: bool
    ) -> list[str | dspy.Image]:
        parts = list[str | dspy.Image]()
        for name, declared in signature.input_fields.items():
            if name in inputs:
                value = inputs[name]
                shown = images_in(value) or [fence(value) if name in self.fenced else str(_shown(value, declared))]
                parts += ["\n\n" if parts else "", f"[[ ## {name} ## ]]\n", *shown]
        if main_request:
            parts += ["\n\n", self.user_message_output_requirements(signature)]
        # What is left of these stands inside JSON, where an escape means the same and ends no line.
        return [
            _LINE_ENDS.sub(lambda match: f"\\u{ord(match.group()):04x}", part) if isinstance(part, str) else part
            for part in parts
        ]

    def _prepare_response_format(self, lm: Any, lm_kwargs: dict[str, Any], signature: Any) -> None:
        if "response_format" in lm.supported_params:
            lm_kwargs["response_format"] = _response_format(signature, bool(lm.supports_response_schema))
        is_schema = isinstance(lm_kwargs.get("response_format"), type)
        self.has_schema = is_schema and getattr(lm.engine, "trusts_schema", True)
        if is_schema and self.schema:
            lm_kwargs["response_format"] = self.schema

    def parse(self, signature: type[dspy.Signature], completion: str) -> dict[str, Any]:
        """The output fields of the one object in the answer; raises `AdapterParseError`."""
        outputs = signature.output_fields
        thoughts, text = without_thoughts(completion)
        try:
            if thoughts and not text:
                raise ValueError("the thoughts never end")
            answer = self.answer(text, set(outputs))
            return {name: _value(name, _plain(name, answer), field.annotation) for name, field in outputs.items()}
        except (ValueError, RecursionError) as error:
            text = str(error)
            raise AdapterParseError(
                adapter_name=type(self).__name__,
                signature=cast("Any", signature),  # annotated as an instance in DSPy, where a class is meant
                lm_response=completion,
                message=text or type(error).__name__,
            ) from error

    def answer(self, completion: str, names: set[str]) -> dict[str, Any]:
        """The object with the named fields, as it was answered; raises `ValueError` when there is not one such."""
        return only_object(completion, names)


@dataclass(frozen=True)
class _Taker:
    """A model as DSPy asks what it takes."""

    supports_response_schema: bool
    supported_params: frozenset[str] = frozenset({"response_format"})


@lru_cache(maxsize=64)  # DSPy makes a class of a schema for each call, which takes longer than all else of it
def _response_format(signature: Any, schema: bool) -> Any:
    kept = dict[str, Any]()
    dspy.JSONAdapter(use_native_function_calling=False)._prepare_response_format(_Taker(schema), kept, signature)
    return kept["response_format"]


class FreeText(FencedJSON):
    """Takes a reply without the fields whole, as the last of them: a model that cannot write JSON answers all the same.

    So no repair gives it a second chance.
    """

    def parse(self, signature: type[dspy.Signature], completion: str) -> dict[str, Any]:
        """The output fields; raises `AdapterParseError` where the reply is blank, or thoughts that never end."""
        try:
            return super().parse(signature, completion)
        except AdapterParseError:
            text = _LAST_TOKENS.sub("", without_thoughts(completion)[1])
            if not text.strip():
                raise
            *others, last = signature.output_fields
            return dict.fromkeys(others, "") | {last: encodable(text)}


def images_in(value: Any) -> list[dspy.Image]:
    """The images of an input that is an image or a list of images; empty for any other input."""
    values = cast("list[Any]", value) if isinstance(value, list | tuple) else [value]
    return [*values] if all(isinstance(element, dspy.Image) for element in values) else []


def _content(parts: list[str | dspy.Image]) -> str | list[dict[str, Any]]:
    """The content of a message: a text, or a list of texts and images as OpenAI's format has it."""
    content = list[dict[str, Any]]()
    for is_text, run in groupby(parts, lambda part: isinstance(part, str)):
        if is_text:
            content.append({"type": "text", "text": "".join(map(str, run))})
        else:
            content += [{"type": "image_url", "image_url": {"url": cast("dspy.Image", image).url}} for image in run]
    return content if len(content) > 1 else content[0]["text"]


@lru_cache(maxsize=64)
def _system_message(signature: type[dspy.Signature]) -> str:
    """What DSPy says of a signature, which is the same in each of a program's requests."""
    return FencedJSON().format_system_message(signature)


@dataclass(frozen=True)
class _Demos:
    signature: type[dspy.Signature]
    fenced: tuple[str, ...]
    text: str
    demos: list[dict[str, Any]] = field(compare=False)


@lru_cache(maxsize=128)
def _worked_examples(shown: _Demos) -> tuple[dict[str, Any], ...]:
    """The messages of demos, which are the same in each of a program's requests."""
    return tuple(FencedJSON(*shown.fenced).format_demos(shown.signature, shown.demos))


def _as_meant(value: Any, annotation: Any) -> Any:
    """A word of a fixed choice as the choice has it, whatever its case, bold or quoted; an object in a text, read."""
    if not isinstance(value, str):
        return value
    if get_origin(annotation) is Literal:
        words = {str(word).casefold(): word for word in get_args(annotation)}
        folded = value.casefold()
        return words.get(folded.strip(), words.get(folded.strip(_MARKUP), value))
    if get_origin(annotation) is dict:
        with suppress(ValueError, RecursionError):
            return _DECODER.decode(value)
    return value


@lru_cache(maxsize=64)
def _reader(annotation: Any) -> TypeAdapter[Any]:
    return TypeAdapter[Any](annotation or Any)


_MOST_FAULTS = 5
"""In a value, that are named."""


def _value(name: str, value: Any, annotation: Any) -> Any:
    """A value as its field is annotated; raises a `ValueError` that names the first faults in it by their paths."""
    try:
        return _reader(annotation).validate_python(_as_meant(value, annotation))
    except ValidationError as error:
        faults = [(".".join(map(str, (name, *fault["loc"]))), fault["msg"]) for fault in error.errors()]
        shown = "; ".join(f"{path}: {message}" for path, message in faults[:_MOST_FAULTS])
        more = len(faults) - _MOST_FAULTS
        raise ValueError(f"{shown}; and {more} more" if more > 0 else shown) from error


def _shown(value: Any, declared: FieldInfo) -> Any:
    """A value as DSPy shows it; text and numbers, and our own values as JSON, without a schema a call."""
    values = cast("list[Any]", value) if isinstance(value, list) else [value]
    if values and all(isinstance(element, BaseModel) for element in values):
        return json.dumps(to_jsonable_python(value), ensure_ascii=False)
    return value if isinstance(value, str | int) else format_field_value(declared, value)


def fence(text: str) -> str:
    """The text with every line marked."""
    return "\n".join(_MARK + line for line in text.splitlines() or [""])


def only_object(text: str, names: set[str]) -> dict[str, Any]:
    """The one object in an answer that has fields of ours; what stands before it may lead to it.

    Where something that begins like an object is broken, where another object differs, or where words follow, which
    might take the verdict back, nothing is trusted: a `ValueError` says what is wrong. Read all the same is what can
    only mean one thing: the same object twice, line breaks and tabs in a string, a comma after the last element,
    typographic quotation marks where there are no others, and special tokens at the end.
    """
    if '"' not in text:
        text = text.translate(_STRAIGHT)
    objects = dict[str, dict[str, Any]]()
    after, end, mended = "", 0, 0
    while begin := _OBJECT.search(text, end):
        after += text[end : begin.start()] if objects else ""
        try:
            value, end = _DECODER.raw_decode(text, begin.start())
        except json.JSONDecodeError:
            mended += 1
            rest = text[begin.start() :]
            without = _STRING_OR_LAST_COMMA.sub(lambda m: m[0] if m[0][0] == '"' else " " * len(m[0]), rest)
            if mended > _MOST_MENDED or rest == without:
                raise
            value, length = _DECODER.raw_decode(without)
            end = begin.start() + length
        if names & value.keys():
            objects[json.dumps(value, sort_keys=True)] = value
    if len(objects) != 1:
        count = f"{len(objects)} different ones" if objects else "none"
        raise ValueError(f"one JSON object was asked for, {count} found")
    if _AFTER.sub("", after + text[end:]).strip(_FENCE):
        raise ValueError("words follow the JSON object")
    (answer,) = objects.values()
    if missing := sorted(names - answer.keys()):
        raise ValueError(f"the field {missing[0]!r} is missing")
    return answer


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a field is given twice")
    return dict(pairs)


_DECODER = json.JSONDecoder(object_pairs_hook=_unrepeated, strict=False)


def _plain(name: str, answer: dict[str, Any]) -> Any:
    """Liberties that change no meaning: a lone quote for a list of one, null for none."""
    value = answer[name]
    if isinstance(value, str):
        value = encodable(value)
        return [value] if name == "evidence" else value
    if name == "evidence" and value is None:
        return []
    if isinstance(value, list) and len(value) > _LONGEST_LIST:
        raise ValueError(f"more than {_LONGEST_LIST} entries")
    return encodable_all(value)


def ask_plainly(predictor: dspy.Predict, **inputs: Any) -> dspy.Prediction:
    """One question to a predictor, asked for JSON, that no input can break out of; a `StageError` without an answer."""
    return run_now(ask_now(predictor, FencedJSON(), **inputs)).prediction
