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
    cases: tuple[int, ...]
    """Of each shard, whether the run has it or not: its cases that were asked for, control cases among them."""

    @model_validator(mode="after")
    def _require_numbers(self) -> Self:
        if [*self.numbers] != sorted({*self.numbers} & {*range(1, self.count + 1)}) or len(self.cases) != self.count:
            raise ValueError(f"shards are numbered from 1 to {self.count}, and each has its number of cases")
        return self

    @classmethod
    def asked_for(cls, shard: Shard, keys: Iterable[str]) -> Self:
        """The shard of a command; `keys` are those of all cases that it asks for without it, of chains the chain's."""
        sizes = Counter(shard_of(key, shard.count) for key in keys)
        cases = tuple(sizes[number] for number in range(1, shard.count + 1))
        return cls(count=shard.count, numbers=(shard.number,), cases=cases)

    @property
    def missing(self) -> tuple[int, ...]:
        """The shards that have cases and are none of these."""
        return tuple(number for number in self.others if self.cases[number - 1])

    @property
    def others(self) -> list[int]:
        """The shards that are none of these."""
        return sorted({*range(1, self.count + 1)} - {*self.numbers})

    def size(self, numbers: Iterable[int]) -> int:
        """Cases of some shards, whether the run has them or not."""
        return sum(self.cases[number - 1] for number in numbers)

    def named(self, numbers: Sequence[int]) -> str:
        """Some shards in words, such as `shard 3/8` or `shards 1-3, 5/8`."""
        runs = [[*run] for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])]
        spans = [f"{run[0][1]}-{run[-1][1]}" if len(run) > 1 else str(run[0][1]) for run in runs]
        return f"{'shard' if len(numbers) == 1 else 'shards'} {', '.join(spans) or 'none'}/{self.count}"

    def __str__(self) -> str:
        return self.named(self.numbers)


def joined(shards: Iterable[Shards | None]) -> Shards | None:
    """The shards of runs together; None where one of them is no shard, or nothing is missing.

    Raises a `UsageError` where they are shards of different numbers. Where shards were asked for with other limits, the
    most cases of each count.
    """
    every = [*shards]
    known = [one for one in every if one]
    if len(counts := sorted({one.count for one in known})) > 1:
        raise UsageError(f"shards of {' and of '.join(map(str, counts))} do not fit together")
    if len(known) < len(every) or not known:
        return None
    numbers = tuple(sorted({number for one in known for number in one.numbers}))
    cases = tuple(max(sizes) for sizes in zip(*(one.cases for one in known), strict=True))
    together = Shards(count=known[0].count, numbers=numbers, cases=cases)
    return together if together.others else None
