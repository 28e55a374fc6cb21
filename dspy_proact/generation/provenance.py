"""Who wrote what in a corpus, what it took, and what was repaired: `items.jsonl`, and the counts that sum it up."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from dspy_proact.generation.attempt import Authorship, Mend
from dspy_proact.generation.maker import Dropped, Made
from dspy_proact.plain_text import folded
from dspy_proact.types import Frozen

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|“[^”]*”|`[^`]*`")
_NUMBER = re.compile(r" \d+$")
"""Ends the stage of one of several parts."""


class ItemRecord(Frozen):
    """One line of `items.jsonl`: a slot, and all attempts to fill it."""

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


def item_records(made: Made, key: Callable[[Any], str]) -> Iterator[ItemRecord]:
    """All slots in their order."""
    kept = {item.slot: item for item in made.kept}
    for slot in range(1, made.wanted + 1):
        item = kept.get(slot)
        yield ItemRecord(
            key=item and key(item.item),
            slot=slot,
            seed=made.seed,
            attempt=item and item.attempt,
            authors=item.authors if item else (),
            mends=item.mends if item else (),
            failed=tuple(dropped for dropped in made.dropped if dropped.slot == slot),
        )


@dataclass(frozen=True)
class Repairs:
    """How often what was repaired how, by stage and rule, which is a reason without numbers and quotes."""

    repeated: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """Answers that broke the rule."""
    mended: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """Stages for which the one before was repeated."""
    abandoned: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """Attempts."""

    @classmethod
    def of(cls, made: Made) -> "Repairs":
        """Of all attempts."""
        repairs = cls()
        for attempt in (*made.kept, *made.dropped):
            for author in attempt.authors:
                repairs.repeated.update(_rules(author.stage, author.broken))
            for mend in attempt.mends:
                repairs.mended.update(_rules(mend.stage, mend.reasons))
        for dropped in made.dropped:
            repairs.abandoned.update(_rules(dropped.stage, dropped.reasons))
        return repairs


def _rules(stage: str, reasons: Sequence[str]) -> set[tuple[str, str]]:
    return {(_NUMBER.sub("", stage), folded(_QUOTED.sub("…", reason))) for reason in reasons}
