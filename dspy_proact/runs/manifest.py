"""What a run is: its identity, and what is recorded beside it."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

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
        canonical = json.dumps(self.model_dump(mode="json"), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(canonical.encode()).hexdigest()

    def differences(self, other: "Identity") -> list[str]:
        """Dotted names of the fields in which two identities differ."""
        mine, theirs = _flat(self.model_dump(mode="json")), _flat(other.model_dump(mode="json"))
        return sorted(name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name))


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

    format: int = 1
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


def _flat(value: Any, name: str = "") -> dict[str, Any]:
    if not isinstance(value, Mapping):
        return {name: value}
    fields: dict[str, Any] = {}
    for key, inner in value.items():  # pyright: ignore[reportUnknownVariableType] - any JSON object
        fields |= _flat(inner, f"{name}.{key}" if name else str(key))  # pyright: ignore[reportUnknownArgumentType]
    return fields
