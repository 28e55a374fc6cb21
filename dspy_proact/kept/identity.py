"""What makes two commands the same run or compile."""

import hashlib
import json
from typing import Any, cast

from dspy_proact.types import Frozen


class Identified(Frozen):
    """What must be equal for two commands to do the same."""

    def digest(self) -> str:
        """sha256 in hexadecimal."""
        return hashlib.sha256(_canonical(self.model_dump(mode="json")).encode()).hexdigest()

    def differences(self, other: "Identified") -> dict[str, tuple[str | None, str | None]]:
        """The fields in which two identities differ, by dotted name: JSON of this one's value and of the other's.

        None stands for a missing value.
        """
        mine, theirs = _leaves(self.compared(other)), _leaves(other.compared(self))
        paths = [path for path in sorted(mine.keys() | theirs.keys()) if mine.get(path) != theirs.get(path)]
        inner = {path[:length] for path in paths for length in range(len(path))}
        return {".".join(path): (mine.get(path), theirs.get(path)) for path in paths if path not in inner}

    def compared(self, other: "Identified") -> dict[str, Any]:  # noqa: ARG002 - for those that are named by both
        """The fields under the names by which a person is told that they differ from another's, as JSON."""
        return self.model_dump(mode="json")


def _leaves(value: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], str]:
    """The canonical JSON of everything in a JSON value that is not an object with fields, by its path."""
    if not isinstance(value, dict) or not value:
        return {path: _canonical(value)}
    leaves: dict[tuple[str, ...], str] = {}
    for name, inner in cast("dict[str, Any]", value).items():
        leaves |= _leaves(inner, (*path, name))
    return leaves


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
