"""Files of compiled programs whose content was changed, and the sentence with which one is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dspy_proact.errors import UsageError


def at(content: Any, path: str) -> Any:
    """What stands in a content at a path such as `state.demos.0`; the whole where it is empty."""
    for part in path.split(".") if path else []:
        content = content[int(part)] if part.isdecimal() else content[part]
    return content


def refusal(read: Callable[[Path], object], file: Path, contents: Any) -> str:
    """One line that names the file, by what reads it; contents are bytes or JSON."""
    file.write_bytes(contents if isinstance(contents, bytes) else json.dumps(contents).encode())
    with pytest.raises(UsageError) as caught:
        read(file)
    said = str(caught.value)
    assert said.startswith(f"{file}: ")
    assert "\n" not in said
    return said
