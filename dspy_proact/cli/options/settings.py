"""What a benchmark can be set to, by its pydantic model: described to a person, and read from NAME=VALUE."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import ValidationError, create_model
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from dspy_proact.cli.options.verb import typed
from dspy_proact.errors import UsageError
from dspy_proact.runs import Settings
from dspy_proact.types import Frozen

_BOUNDS = {"ge": "of at least", "gt": "above", "le": "of at most", "lt": "below"}
"""Wording of the bounds of a number, by pydantic's names."""
_KINDS = {"int": "a whole number", "float": "a number", "str": "a text"}


@dataclass(frozen=True)
class Setting:
    """One thing that can be set."""

    name: str
    takes: str
    """What a value of it is, such as `int` or `a|b`, for a program."""
    wants: str
    """Its values for a person, with bounds, such as `a whole number from 1 to 9` or `a or b`."""
    default: Any
    """As a JSON value."""
    description: str

    @property
    def usual(self) -> str:
        """The default, as a person would type it."""
        return f"{self.name}={_typed(self.default)}"


def settings_of(kind: type[Settings]) -> list[Setting]:
    """All that can be set, in the order of the model."""
    usual = kind()
    return [
        Setting(
            name,
            "|".join(_words(field.annotation)),
            _wanted(field),
            plain(usual, name),
            " ".join((field.description or "").split()),
        )
        for name, field in kind.model_fields.items()
    ]


def read_settings(
    kind: type[Settings], texts: Sequence[tuple[str, str]], of: str, before: Mapping[str, Any] | None = None
) -> Settings:
    """The settings that a person gives; the others as they were before, as JSON, or by default.

    The name of the benchmark, `of`, is for messages. Raises a `UsageError` where a name is unknown or given twice, or a
    value is not what its setting takes.
    """
    values: dict[str, Any] = {}
    for name, text in texts:
        if name not in kind.model_fields:
            known = ", ".join(setting.usual for setting in settings_of(kind))
            near = get_close_matches(name, kind.model_fields, n=1)
            why = f"{of} has no setting {name!r}{f'; did you mean {near[0]}?' if near else '.'} It has {known}"
            raise UsageError(f"--set {name}={text}: {why if known else f'{of} has nothing to set; leave it out'}")
        if name in values:
            raise UsageError(f"--set {name}: given twice; give it once")
        values[name] = _read(kind, name, text)
    try:
        return kind.model_validate({**(before or {}), **values})
    except ValidationError as error:
        flags = {f"--{line['loc'][0]}" for line in error.errors() if line["loc"]} & {*typed()}  # one of its own
        raise UsageError(f"{next(iter(flags), '--set')}: {_own(error) or f'{of} cannot be set so'}") from error


def plain(settings: Settings, name: str) -> Any:
    """The value of a setting as JSON, whether it is part of the identity or not."""
    return to_jsonable_python(getattr(settings, name))


def _read(kind: type[Settings], name: str, text: str) -> Any:
    """A value as its field takes it: `none` where it may have none, words as they stand, lists as JSON."""
    field = kind.model_fields[name]
    declared: dict[str, Any] = {name: (field.annotation, field)}
    alone = create_model(name, __base__=Frozen, **declared)  # checks over several settings are for all of them
    if text.strip().lower() == "none":
        with suppress(ValidationError):
            alone.model_validate({name: None})
            return None
    try:
        return getattr(alone.model_validate_strings({name: text.strip()}), name)
    except ValidationError as error:
        try:
            return getattr(alone.model_validate({name: json.loads(text)}), name)
        except ValueError:
            (setting,) = [setting for setting in settings_of(kind) if setting.name == name]
            taken = f"{name} takes {setting.wants}, by default {_typed(setting.default)}: {setting.description}"
            own = _own(error)
            raise UsageError(f"--set {name}={text}: {f'{own}. {taken}' if own else taken}") from error


def _own(error: ValidationError) -> str:
    """The message of the first check that a benchmark raised itself; empty for checks of pydantic alone."""
    raised = (line.get("ctx", {}).get("error") for line in error.errors())
    return next((str(error) for error in raised if isinstance(error, Exception)), "")


def _typed(value: Any) -> str:
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _wanted(field: FieldInfo) -> str:
    bounds = {name: getattr(bound, name) for bound in field.metadata for name in _BOUNDS if hasattr(bound, name)}
    within = "".join(f" {_BOUNDS[name]} {bound:.15g}" for name, bound in bounds.items())
    if {"ge", "le"} <= bounds.keys():
        within = f" from {bounds['ge']:.15g} to {bounds['le']:.15g}"
    wanted = [
        _KINDS.get(word, word) + (within if word in ("int", "float") else "") for word in _words(field.annotation)
    ]
    *others, last = wanted
    return f"{', '.join(others)} or {last}" if others else last


def _words(annotation: Any) -> list[str]:
    origin = get_origin(annotation)
    if origin in (Union, UnionType):
        return list(dict.fromkeys(word for part in get_args(annotation) for word in _words(part)))
    if origin is Literal:
        return list(dict.fromkeys(map(str, get_args(annotation))))
    if annotation is bool:
        return ["true", "false"]
    if annotation is type(None):
        return ["none"]
    return ["JSON" if origin else getattr(annotation, "__name__", str(annotation))]
