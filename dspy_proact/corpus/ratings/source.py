import hashlib
from collections.abc import Mapping
from typing import Self

from dspy_proact.types import Frozen


class RatingsSource(Frozen):
    """What a study was read from."""

    origin: str
    """A path, or the address of a repository."""
    commit: str | None = None
    """Of the repository; None for files, which have none."""
    files: Mapping[str, str]
    """64 hex digits over the bytes of each file that was read, by its name."""

    @classmethod
    def of(cls, origin: str, contents: Mapping[str, bytes], commit: str | None = None) -> Self:
        """The source that these contents came from."""
        return cls(origin=origin, commit=commit, files={name: sha256(data) for name, data in contents.items()})


def sha256(data: bytes) -> str:
    """64 hex digits."""
    return hashlib.sha256(data).hexdigest()
