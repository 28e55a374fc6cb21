"""What a benchmark can be set to, by its model: told to a person, and read from NAME=VALUE."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError, create_model
from pydantic_core import to_jsonable_python

from dspy_proact.errors import UsageError
from dspy_proact.runs import Settings
from dspy_proact.types import Frozen


@dataclass(frozen=True)
class Setting:
    """One thing that can be set."""

    name: str
    takes: str
    """What a value of it is, such as `int` or `a|b`."""
    default: Any
    """As JSON."""
    description: str

    @property
    def usual(self) -> str:
        """The default, as a person would type it."""
        return f"{self.name}={_typed(self.default)}"


def settings_of(kind: type[Settings]) -> list[Setting]:
    """All that can be set, in the order of the model."""
    usual = kind()
    return [
        Setting(name, _taken(field.annotation), plain(usual, name), " ".join((field.description or "").split()))
        for name, field in kind.model_fields.items()
    ]


def read_settings(
    kind: type[Settings], given: Sequence[tuple[str, str]], of: str, before: Mapping[str, Any] | None = None
) -> Settings:
    """The settings that a person gives, and beside them those of before, or the defaults.

    Args:
        kind: The benchmark's model.
        given: Names and values, as they were typed.
        of: Name of the benchmark, for a message.
        before: As JSON; the defaults where None.

    Raises:
        UsageError: A name is unknown or given twice, or a value is not what its setting takes.
    """
    values: dict[str, Any] = {}
    for name, text in given:
        if name not in kind.model_fields:
            raise UsageError(f"--set {name}={text}: {_unknown(name, kind, of)}")
        if name in values:
            raise UsageError(f"--set {name}: given twice; give it once")
        values[name] = _read(kind, name, text)
    try:
        return kind.model_validate({**(before or {}), **values})
    except ValidationError as error:
        raise UsageError(f"--set: {_why(error)}") from error


def plain(settings: Settings, name: str) -> Any:
    """The value of a setting as JSON, whether it is part of the identity or not."""
    return to_jsonable_python(getattr(settings, name))


def _read(kind: type[Settings], name: str, text: str) -> Any:
    """A value as its field takes it: `none` where it may have none, words as they stand, lists as JSON."""
    field = kind.model_fields[name]
    declared: dict[str, Any] = {name: (field.annotation, field)}
    alone = create_model(name, __base__=Frozen, **declared)  # what settings say of each other is for all of them
    if text.strip().lower() == "none" and _may_be_none(alone, name):
        return None
    try:
        return getattr(alone.model_validate_strings({name: text.strip()}), name)
    except ValidationError as error:
        try:
            return getattr(alone.model_validate({name: json.loads(text)}), name)
        except ValueError:
            (setting,) = [each for each in settings_of(kind) if each.name == name]
            raise UsageError(f"--set {name}={text}: {_why(error)}. {_told(setting)}") from error


def _may_be_none(alone: type[BaseModel], name: str) -> bool:
    try:
        alone.model_validate({name: None})
    except ValidationError:
        return False
    return True


def _why(error: ValidationError) -> str:
    """What is wrong first."""
    return error.errors()[0]["msg"]


def _unknown(name: str, kind: type[Settings], of: str) -> str:
    if not kind.model_fields:
        return f"{of} has nothing to set; leave it out"
    near = get_close_matches(name, kind.model_fields, n=1)
    meant = f"; did you mean {near[0]}?" if near else "."
    return f"{of} has no setting {name!r}{meant} It has {', '.join(each.usual for each in settings_of(kind))}"


def _told(setting: Setting) -> str:
    return f"{setting.name} takes {setting.takes}, by default {_typed(setting.default)}: {setting.description}"


def _typed(value: Any) -> str:
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _taken(annotation: Any) -> str:
    return "|".join(dict.fromkeys(_words(annotation)))


def _words(annotation: Any) -> Iterator[str]:
    """What stands for a type, in the words of the command line."""
    origin = get_origin(annotation)
    if origin in (Union, UnionType):
        for each in get_args(annotation):
            yield from _words(each)
    elif origin is Literal:
        yield from map(str, get_args(annotation))
    elif annotation is bool:
        yield from ("true", "false")
    elif annotation is type(None):
        yield "none"
    else:
        yield "JSON" if origin else getattr(annotation, "__name__", str(annotation))
