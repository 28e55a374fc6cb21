import re
from typing import Self

from pydantic import Field

from dspy_proact.types import Frozen

_WRITTEN = re.compile(r"(\d{1,9})-(\d{1,9})-([0-9a-f]{8})")


class Draw(Frozen):
    """By what chance the items of a sheet were chosen from a run: enough to draw them again.

    A sheet holds it as `count-seed-mark`, which tells a rater nothing of any item.
    """

    count: int = Field(ge=1)
    """Items that were asked for."""
    seed: int = Field(ge=0)
    of: str = Field(pattern=r"^[0-9a-f]{8}$")
    """Mark of the cases and grades that they were drawn from."""

    def __str__(self) -> str:
        return f"{self.count}-{self.seed}-{self.of}"

    @classmethod
    def read(cls, text: str) -> Self | None:
        """The draw that is written so; None where it is no draw."""
        found = _WRITTEN.fullmatch(text.strip())
        return cls(count=int(found[1]), seed=int(found[2]), of=found[3]) if found and int(found[1]) else None
