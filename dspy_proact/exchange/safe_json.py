"""JSON that every reader takes."""

import json
import re
from collections.abc import Mapping
from typing import Any

_UNSAFE = re.compile("[\0\ud800-\udfff]")


def safe_json(value: Any) -> tuple[str, int]:
    """A value as JSON on one line, and how many NUL characters and halves of characters became U+FFFD for that."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
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

    return json.dumps(safe(value), ensure_ascii=False, allow_nan=False, separators=(",", ":")), count
