from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def document(value: "DataclassInstance") -> dict[str, Any]:
    """A frozen value as JSON, each field under its name and in its order; a `reason` only where there is one."""
    return asdict(value, dict_factory=lambda told: {name: each for name, each in told if each or name != "reason"})
