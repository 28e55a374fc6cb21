"""What a benchmark declares that can make corpora, and the values that pass between it and the engine."""

import hashlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import BaseModel

from dspy_proact.evaluation.corpus_forecast import StageForecast
from dspy_proact.generation.attempt import Attempt, Authorship, Mend
from dspy_proact.models import Role
from dspy_proact.programs.program import Program
from dspy_proact.stats import Headline
from dspy_proact.types import Frozen, RoleIdentity

Proof = Literal["none", "light", "full"]
"""How far it is proved that an item measures something: not at all, by one sample each, or by all."""
PROOFS: tuple[Proof, ...] = ("none", "light", "full")
"""From little to much: the folder of a corpus may go on with more."""


@dataclass(frozen=True)
class Kept:
    """The item of a slot, and who wrote it."""

    slot: int
    attempt: int
    item: Any
    authors: tuple[Authorship, ...]
    """In an order that is the same each time."""
    mends: tuple[Mend, ...] = ()


class Dropped(Frozen):
    """An attempt that failed, and why."""

    slot: int
    attempt: int
    stage: str
    reasons: tuple[str, ...]
    authors: tuple[Authorship, ...]
    mends: tuple[Mend, ...] = ()


class ItemRecord(Frozen):
    """One line of `items.jsonl`: a slot, all attempts to fill it, and who wrote what."""

    key: str | None
    """Of the item; None where none could be made."""
    slot: int
    """Counted from 1."""
    seed: int
    attempt: int | None
    """That made the item, counted from 1."""
    authors: tuple[Authorship, ...]
    mends: tuple[Mend, ...]
    failed: tuple[Dropped, ...]
    """Attempts, in their order."""


@dataclass(frozen=True)
class Made:
    """What came of all slots, in their order."""

    kept: Sequence[Kept]
    dropped: Sequence[Dropped]
    """All attempts that failed, those of slots that were filled later among them."""
    wanted: int
    seed: int = 0
    identity: str = ""
    """sha256 of all that decides them, in hexadecimal."""
    models: Mapping[str, Sequence[RoleIdentity]] = field(default_factory=dict[str, Sequence[RoleIdentity]])
    """By role; of several, slot and attempt decide."""

    def records(self, key: Callable[[Any], str]) -> Iterator[ItemRecord]:
        """All slots in their order, items by their key."""
        kept = {item.slot: item for item in self.kept}
        for slot in range(1, self.wanted + 1):
            item = kept.get(slot)
            yield ItemRecord(
                key=item and key(item.item),
                slot=slot,
                seed=self.seed,
                attempt=item and item.attempt,
                authors=item.authors if item else (),
                mends=item.mends if item else (),
                failed=tuple(dropped for dropped in self.dropped if dropped.slot == slot),
            )

    @property
    def missing(self) -> int:
        """Slots without an item."""
        return self.wanted - len(self.kept)


class Maker(Protocol):
    """How a benchmark makes an item; bound to a brief and its settings.

    Its programs are made once, and do not change.
    """

    @property
    def roles(self) -> Mapping[str, Role]:
        """By the name that a person gives; `judge` among them where answers are graded."""
        ...

    @property
    def usual(self) -> Mapping[str, str]:
        """Of roles that are another role's model where a person names none: that role."""
        ...

    async def begin(self, attempt: Attempt) -> BaseModel:
        """The first stage, by which items are compared; raises `RuleError` as `finish` does."""
        ...

    def text(self, made: Any) -> str:
        """What is compared of that, or of an item, which may have been begun once more while it was finished."""
        ...

    async def finish(self, attempt: Attempt, begun: Any) -> Any:
        """The item; raises `RuleError` where the attempt fails."""
        ...

    def key(self, item: Any) -> str:
        """By which files name the item."""
        ...

    def fingerprint(self) -> str:
        """Of all that its roles may be told, however far items are proved: `joint_fingerprint` its programs."""
        ...

    def forecast(self) -> Sequence[StageForecast]:
        """The calls of one item."""
        ...

    def headline(self, made: Made) -> Headline:
        """What was shown of the items, first of all."""
        ...

    def files(self, made: Made) -> Mapping[str, str]:
        """Names and contents of what is written, apart from `calls.jsonl` and what the engine writes.

        A name may have folders, such as `tasks/x.json`.
        """
        ...


@dataclass(frozen=True)
class Making:
    """What a benchmark declares that can make corpora."""

    read: Callable[[Any, str | None], Frozen]
    """The brief that a person names, in another language where one is named: None for the bundled one, the path of a
    file, or a brief that was read, whose own files are relative to the working folder. Raises a `UsageError`."""
    maker: Callable[[Any, Proof], Maker]
    """How items are made of a brief, and how far they are proved."""
    drafter: Role | None = None
    """Who drafts a brief from a page; None where nobody does."""
    draft: Callable[[Attempt, str], Awaitable[Any]] | None = None
    """Has that role draft one from the text of a page, a `draft.Draft`; raises a `UsageError` or `RuleError`."""
    item: str = "item"
    """Noun of what one slot makes."""
    items: str = "items"
    """Its plural."""
    number: int = 20
    """Items that are made where a person does not say."""
    number_of_stand_in: int = 6
    """Likewise, where the embedded model plays all roles."""
    most: int | None = None
    """Items that there can be; None for any number."""
    logs: "LogMaking | None" = None
    """How a corpus is made of logged conversations; None where none can be."""
    publishing: Callable[[], Any] | None = None
    """Gives how corpora are published, a `publish.publishing.Publishing`; None where none can be."""
    beyond_stand_in: Callable[[Any], str | None] = lambda _: None
    """The first field of a brief that the embedded model cannot follow, such as `product.text`; None where it can."""


@dataclass(frozen=True)
class LogMaking:
    """What a benchmark declares that can make corpora of logged conversations, one in each slot."""

    making: Callable[[Path], Making]
    """Of a file or folder of logs; raises a `CorpusError` where none of it can be used. The briefs that it reads have a
    section `logs`, by which a corpus is known to be of logs."""
    publishing: Callable[[], Any] | None = None
    """Gives how such corpora are published, a `publish.publishing.Publishing`; None where none can be."""


def joint_fingerprint(programs: Iterable[Program]) -> str:
    """sha256, in hexadecimal, of what programs say to their models."""
    return hashlib.sha256(" ".join(program.fingerprint() for program in programs).encode()).hexdigest()
