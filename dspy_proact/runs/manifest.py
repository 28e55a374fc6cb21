"""What a run is: its identity, and what is recorded beside it."""

import hashlib
import json
from typing import Any, Literal, cast

from dspy_proact.types import Frozen


class RoleIdentity(Frozen):
    """What decides the answers of one role."""

    model: str
    prompt: str
    """sha256 of the program's rendered prompt."""
    decoding: dict[str, Any]
    """The parameters that are sent."""
    endpoint: str | None = None
    """Without user, password or query; None for the provider's own."""


class Identity(Frozen):
    """What must be equal for two commands to be the same run."""

    benchmark: str
    assistant: RoleIdentity
    judge: RoleIdentity
    corpus: str
    """sha256 of the validated cases."""

    def digest(self) -> str:
        """sha256 in hexadecimal."""
        return hashlib.sha256(_canonical(self.model_dump(mode="json")).encode()).hexdigest()

    def differences(self, other: "Identity") -> list[str]:
        """Dotted names of the fields in which two identities differ."""
        mine, theirs = _leaves(self.model_dump(mode="json")), _leaves(other.model_dump(mode="json"))
        paths = [path for path in sorted(mine.keys() | theirs.keys()) if mine.get(path) != theirs.get(path)]
        inner = {path[:length] for path in paths for length in range(len(path))}
        return [".".join(path) for path in paths if path not in inner]


class PricePerToken(Frozen):
    """US dollars per token of one role, as read at the start of the run."""

    prompt: float | None
    completion: float | None
    cached: float | None
    reason: str | None
    """Why it is not known, or where it is from."""


class CorpusRecord(Frozen):
    """The corpus as it was read."""

    name: str
    revision: str | None
    dialogues: int
    triggers: int
    ignored_fields: dict[str, int]


class Manifest(Frozen):
    """`manifest.json`: everything about a run but its cases and events."""

    format: Literal[1] = 1
    identity: Identity
    strata: tuple[str, ...]
    labels: tuple[str, ...]
    """From best to worst; the first is a full pass."""
    embedded: bool
    """Whether a stand-in that measures nothing took part."""
    epochs: int
    """The most that were asked for."""
    corpus: CorpusRecord
    prices: dict[str, PricePerToken]
    backend: str
    versions: dict[str, str]
    created: str
    """When the run was begun, ISO 8601, UTC."""


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
