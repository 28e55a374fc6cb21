"""JSON that every reader takes."""

import json
import re
from collections.abc import Mapping
from typing import Any

_UNSAFE = re.compile("[\0\ud800-\udfff]")
_SEPARATORS = {ord(letter): f"\\u{ord(letter):04x}" for letter in "\x85\u2028\u2029"}
"""At which readers such as `str.splitlines` end a line, as escapes."""


def safe_json(value: Any) -> tuple[str, int]:
    """A value as JSON on one line, and how many NUL characters and halves of characters became U+FFFD for that."""
    text = _in_a_line(value)
    if "\\u0000" not in text and not _UNSAFE.search(text):
        return text, 0
    count = 0

    def safe(item: Any) -> Any:
        nonlocal count
        if isinstance(item, str):
            plain, replaced = _UNSAFE.subn("\ufffd", item)
            count += replaced
            return plain
        if isinstance(item, Mapping):
            return {safe(name): safe(inner) for name, inner in item.items()}
        return [safe(inner) for inner in item] if isinstance(item, list | tuple) else item

    return _in_a_line(safe(value)), count


def _in_a_line(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text if text.isascii() else text.translate(_SEPARATORS)
