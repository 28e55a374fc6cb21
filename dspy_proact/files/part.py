"""What a line of a file holds, under the names of its format: no coercion, and faults told in a sentence of ours."""

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from dspy_proact.files.line import Line, dotted
from dspy_proact.plain_text import shown


def _filled(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("blank", "Input should not be blank")
    return text


def _printable(text: str) -> str:
    if not text.isprintable():
        raise PydanticCustomError("unprintable", "Input should have no control characters")
    return text


Text = Annotated[str, AfterValidator(_filled)]
"""Text with more than white space in it."""
Name = Annotated[str, AfterValidator(_printable)]
"""Text that reports may print: no control characters."""
Id = Annotated[str, AfterValidator(_filled), AfterValidator(_printable)]
"""A name that is not blank."""


class Part(BaseModel):
    """A line of a file of ours, or a part of it; a field that we do not know is a fault."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    @classmethod
    def of(cls, line: Line) -> Self:
        """What is on a line.

        Raises:
            CorpusError: The line is not JSON, a field is missing or of the wrong type, or its parts do not fit
                together.
        """
        try:
            part = cls.model_validate(line.parse())
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise line.error(_problem(first), dotted(first["loc"])) from None
        for field, problem in part.misfits():
            raise line.error(problem, field)
        return part

    def misfits(self) -> Iterator[tuple[str, str]]:
        """Field and problem wherever parts do not fit together."""
        return iter(())


class RawPart(Part):
    """Of a public corpus: unknown fields are held apart, to be counted."""

    model_config = ConfigDict(extra="allow")

    def known(self) -> dict[str, Any]:
        """The fields that the format knows, as plain values."""
        return self.model_dump(include=set(type(self).model_fields))

    def unknown_fields(self) -> Counter[str]:
        """How often each field that the format does not know is given, by dotted name; nulls do not count."""
        return Counter(map(dotted, _unknown(self)))


def _unknown(part: RawPart, *path: str) -> Iterator[tuple[str, ...]]:
    """The paths of the unknown fields of a part and of the parts in it; those of a list all have its path."""
    yield from ((*path, name) for name, given in (part.model_extra or {}).items() if given is not None)
    for name in type(part).model_fields:
        value = getattr(part, name)
        for inner in value if isinstance(value, list) else (value,):
            if isinstance(inner, RawPart):
                yield from _unknown(inner, *path, name)
        for key, inner in value.items() if isinstance(value, dict) else ():
            if isinstance(inner, RawPart):
                yield from _unknown(inner, *path, name, key)


def _problem(error: ErrorDetails) -> str:
    """What is wrong with a field, in a sentence of ours."""
    match error["type"]:
        case "missing":
            return "the field is missing"
        case "too_short":
            return "the list should not be empty"
        case "extra_forbidden":
            return "no field of ours"
        case "union_tag_not_found":
            return f"the field {error.get('ctx', {})['discriminator']} is missing"
        case "union_tag_invalid":
            told = error.get("ctx", {})
            return f"its {told['discriminator']} is {shown(told['tag'])}, none of {told['expected_tags']}"
    expected = "Input should be an object" if error["type"] == "model_type" else error["msg"]
    return f"{expected[0].lower()}{expected[1:]}, not {shown(error['input'])}"
