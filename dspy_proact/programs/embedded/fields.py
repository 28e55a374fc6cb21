"""How the embedded model reads a request in fields: which are asked for, and what those say that are shown."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

_HEADER = re.compile(r"^\[\[ ## (\w+) ## \]\]\n", re.MULTILINE)
_OUTPUTS = re.compile(r"^Your output fields are:\n((?:\d+\. .*\n?)+)", re.MULTILINE)


def outputs_of(system: str) -> list[str]:
    """Names of the fields that a system message asks for; empty where it asks for none."""
    listed = _OUTPUTS.search(system)
    return re.findall(r"^\d+\. `(\w+)`", listed.group(1), re.MULTILINE) if listed else []


def requested_json(system: str, fields: Mapping[str, Any]) -> str:
    """The fields that a system message asks for, or else all, as JSON; one that is not there is empty."""
    return json.dumps({name: fields.get(name, "") for name in outputs_of(system) or fields}, ensure_ascii=False)


def fields_of(content: str) -> dict[str, str]:
    """The fields of a request, by name. Only headers at the beginning of a line count; fenced lines have none."""
    parts = _HEADER.split(content)
    return {name: text.strip("\n") for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def request_fields(messages: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The fields of the last message; none where there is no message."""
    return fields_of(messages[-1][1]) if messages else {}


def value_of(text: str | None, otherwise: Any) -> Any:
    """The JSON value that a field begins with, or another where it is none of that type."""
    try:
        value, _ = json.JSONDecoder().raw_decode((text or "null").lstrip())
    except (ValueError, RecursionError):
        return otherwise
    return value if isinstance(value, type(otherwise)) else otherwise


def unfenced(text: str) -> str:
    """What stands in a fence, without its marks."""
    return "\n".join(line.removeprefix("| ") for line in text.split("\n") if line.startswith("|"))


def strictness(system: str) -> int:
    """1 where the instruction in a system message asks to be strict, -1 where to be lenient, else 0."""
    instruction = system.partition("your objective is:")[2]
    strict, lenient = (bool(re.search(rf"\bbe {word}\b", instruction, re.IGNORECASE)) for word in ("strict", "lenient"))
    return strict - lenient
