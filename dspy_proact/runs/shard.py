"""Shards: a benchmark's cases in parts of about one size, each of which one process does in a run of its own.

A case is in a shard by the sha256 of its key, of its chain where it has one: neither the order of the cases nor what is
asked for beside it decides where it is.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Self

from pydantic import Field, model_validator

from dspy_proact.errors import UsageError
from dspy_proact.types import Frozen

MOST_SHARDS = 10_000
_FORM = re.compile(r"([0-9]{1,5})/([0-9]{1,5})")


def shard_of(key: str, count: int) -> int:
    """The number, from 1, of the shard of so many in which a case with this key is; of a chain, by the chain."""
    return 1 + int.from_bytes(hashlib.sha256(key.encode("utf-8", "replace")).digest()) % count


class Shard(Frozen):
    """One of several parts of a benchmark's cases."""

    number: int = Field(ge=1)
    """Counted from 1."""
    count: int = Field(ge=1, le=MOST_SHARDS)
    """Of all shards."""

    @model_validator(mode="after")
    def _require_number(self) -> Self:
        if self.number > self.count:
            raise ValueError(f"there is no shard {self.number} of {self.count}")
        return self

    @classmethod
    def of(cls, text: str) -> Self:
        """The shard of a text such as `3/8`; raises a `UsageError` where it is none."""
        number, count = map(int, form.groups()) if (form := _FORM.fullmatch(text.strip())) else (0, 0)
        if not 1 <= number <= count <= MOST_SHARDS:
            raise UsageError(f"`scope.shard={text}`: is not I/N, a shard of N, such as 1/8 to 8/8")
        return cls(number=number, count=count)

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


class Shards(Frozen):
    """The shards that a run asks for; a run that asks for all of them has no such record."""

    count: int = Field(ge=1, le=MOST_SHARDS)
    """Of all shards."""
    numbers: tuple[int, ...]
    """Those of the run, counted from 1, in order; none while a merge is not done."""
    cases: tuple[int, ...] = ()
    """Of each of all shards, the cases that it is asked for, control cases among them; empty where that is not known,
    since no command asked for all that the run has."""
    limit: int | None = None
    """With which these cases were asked for, likewise the next two; as in `Scope`."""
    strata: tuple[str, ...] = ()
    controls: bool = False

    @model_validator(mode="after")
    def _require_numbers(self) -> Self:
        if [*self.numbers] != sorted({*self.numbers} & {*range(1, self.count + 1)}):
            raise ValueError(f"shards are numbered from 1 to {self.count}")
        if len(self.cases) not in (0, self.count) or min(self.cases, default=0) < 0:
            raise ValueError(f"each of the {self.count} shards has its number of cases")
        return self

    @property
    def others(self) -> list[int]:
        """The shards that are none of these."""
        return sorted({*range(1, self.count + 1)} - {*self.numbers})

    @property
    def missing(self) -> tuple[int, ...]:
        """Those of the others that have cases, as far as it is known."""
        return tuple(number for number in self.others if not self.cases or self.cases[number - 1])

    def sized(self, keys: Iterable[str]) -> Self:
        """A copy with the cases of each shard, by the keys of all that is asked for without a shard."""
        sizes = Counter(shard_of(key, self.count) for key in keys)
        return self.model_copy(update={"cases": tuple(sizes[number] for number in range(1, self.count + 1))})

    def size(self, numbers: Iterable[int]) -> int:
        """Cases of some shards, where they are known."""
        return sum(self.cases[number - 1] for number in numbers)

    def covers(self, other: "Shards") -> bool:
        """Whether its shards were asked for every case that those of the other were asked for."""
        if other.controls > self.controls or not self.cases or not other.cases:
            return False
        if self.limit is None:
            return not self.strata or (bool(other.strata) and {*other.strata} <= {*self.strata})
        # A limit takes a prefix of one order, which depends on the strata.
        return {*other.strata} == {*self.strata} and other.limit is not None and other.limit <= self.limit

    def named(self, numbers: Sequence[int]) -> str:
        """Some shards in words, such as `shard 3/8` or `shards 1-3, 5/8`."""
        runs = [[*run] for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])]
        spans = [f"{run[0][1]}-{run[-1][1]}" if len(run) > 1 else str(run[0][1]) for run in runs]
        return f"{'shard' if len(numbers) == 1 else 'shards'} {', '.join(spans) or 'none'}/{self.count}"

    def __str__(self) -> str:
        return self.named(self.numbers)


def joined(shards: Iterable[Shards | None]) -> Shards | None:
    """The shards of runs together; None where one of them is no shard, or no shard is left.

    The cases are those of the widest scope. Raises a `UsageError` where they are shards of different numbers.
    """
    every = [*shards]
    known = [one for one in every if one]
    if len(counts := sorted({one.count for one in known})) > 1:
        raise UsageError(f"shards of {' and of '.join(map(str, counts))} do not fit together")
    if len(known) < len(every) or not known:
        return None
    numbers = tuple(sorted({number for one in known for number in one.numbers}))
    widest = next((one for one in known if all(map(one.covers, known))), known[0].model_copy(update={"cases": ()}))
    # Of answers that exist there may be more later.
    alike = [one.cases for one in known if one.covers(widest)]
    cases = tuple(max(sizes) for sizes in zip(*alike, strict=True))
    together = widest.model_copy(update={"numbers": numbers, "cases": cases})
    return together if together.others else None
