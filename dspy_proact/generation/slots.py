"""The slots of a corpus, filled side by side: what becomes of one depends on the slots below it alone.

First each slot begins an item. It is compared with those of the slots below, and begun again where it is too like one.
Then it is finished. An attempt that fails is followed by the next one, which is compared with what the slots below
began with. When these have all ended, a slot is compared once more, with what has become of them.

A slot that a provider fails stops, and the others go on. What they do meanwhile stays in the log of calls.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from dspy_proact.errors import ContentError, Halt, Interrupted, ProviderDown, ProviderError
from dspy_proact.generation.attempt import Attempt, Authorship, Mend, RuleError
from dspy_proact.generation.maker import Dropped, Kept, Maker
from dspy_proact.generation.progress import CorpusProgress
from dspy_proact.stats.likeness import ALIKE, Gram, grams, overlap
from dspy_proact.switch import Switch

ATTEMPTS = 3
"""To fill a slot."""
LIKENESS, UNUSABLE = "likeness", "answer"
"""Stages of attempts that are given up for no rule of the maker's: too like an item below, an answer of no use."""
_TOO_LIKE = "It is too like an item that was made before."
_Text = frozenset[Gram]


@dataclass
class _Slot:
    number: int
    """Counted from 1."""
    opened: "asyncio.Future[_Text | None]"
    """What it began with; None where nothing could be begun."""
    ended: "asyncio.Future[_Text | None]"
    """What the item in it began with; None where there is none."""
    attempts: int = 0
    kept: Kept | None = None
    dropped: list[Dropped] = field(default_factory=list[Dropped])
    failure: ProviderError | None = None


class SlotWork:
    """Fills slots.

    Args:
        maker: Of the items.
        new_attempt: Begins an attempt, by the numbers of slot and attempt.
        progress: Is notified.
        switch: Is pulled where something else than a provider fails.
    """

    def __init__(
        self, maker: Maker, new_attempt: Callable[[int, int], Attempt], progress: CorpusProgress, switch: Switch
    ):
        self._maker, self._new_attempt, self._progress, self._switch = maker, new_attempt, progress, switch
        self._slots = list[_Slot]()

    async def run(self, wanted: int) -> tuple[list[Kept], list[Dropped]]:
        """Items and failed attempts, in the order of their slots.

        Raises:
            ProviderDown: Slots wait, since a provider failed them.
            Halt: It ended early; what was in flight is awaited.
        """
        new = asyncio.get_running_loop().create_future
        self._slots = [_Slot(number, new(), new()) for number in range(1, wanted + 1)]
        tasks = [asyncio.create_task(self._fill(slot)) for slot in self._slots]
        try:
            results = await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        failures = [error for error in results if error is not None]
        for error in sorted(failures, key=lambda error: isinstance(error, Halt)):  # any other is why all were halted
            raise error
        if waiting := [slot.failure for slot in self._slots if slot.failure]:
            count = f"{len(waiting)} of {wanted} items wait, since calls failed after all retries"
            raise ProviderDown(f"{count}, the first with {waiting[0]}; repeat the command to go on with them")
        kept = [slot.kept for slot in self._slots if slot.kept]
        return kept, [dropped for slot in self._slots for dropped in slot.dropped]

    async def _fill(self, slot: _Slot) -> None:
        below = self._slots[: slot.number - 1]
        try:
            made = await self._item(slot, [other.opened for other in below])
            ended = [other.ended for other in below]
            while made and await self._too_like(made[1], ended):
                self._progress.made(kept=-1, dropped=0)
                slot.kept = None
                self._drop(slot, made[0], LIKENESS, [_TOO_LIKE])
                made = await self._item(slot, ended)
            slot.ended.set_result(made and made[1])
            self._progress.made(kept=0, dropped=int(made is None))
        except ProviderError as error:
            slot.failure = error
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            self._switch.pull(error if isinstance(error, Halt) else Interrupted("another item failed"))
            raise
        finally:
            for future in (slot.opened, slot.ended):
                if not future.done():
                    future.set_result(None)

    async def _item(self, slot: _Slot, below: "Sequence[asyncio.Future[_Text | None]]") -> tuple[Attempt, _Text] | None:
        """Make an item that begins like none below: the attempt, and what it is compared by; None without one left."""
        while slot.attempts < ATTEMPTS:
            slot.attempts += 1
            self._switch.check()
            attempt = self._new_attempt(slot.number, slot.attempts)
            try:
                begun = await self._maker.begin(attempt)
                text = grams(self._maker.text(begun))
                if await self._too_like(text, below):
                    raise RuleError(LIKENESS, [_TOO_LIKE])
                if not slot.opened.done():
                    slot.opened.set_result(text)
                item = await self._maker.finish(attempt, begun)
            except RuleError as error:
                self._drop(slot, attempt, error.stage, error.reasons)
            except ContentError as error:
                self._drop(slot, attempt, UNUSABLE, [str(error)])
            else:
                slot.kept = Kept(slot.number, slot.attempts, item, _authors(attempt), _mends(attempt))
                self._progress.made(kept=1, dropped=0)
                return attempt, grams(self._maker.text(item))
        return None

    async def _too_like(self, text: _Text, below: "Sequence[asyncio.Future[_Text | None]]") -> bool:
        """Whether it is a near duplicate of one below, which are awaited."""
        others = [await other for other in below]
        return any(other is not None and overlap(text, other) >= ALIKE for other in others)

    def _drop(self, slot: _Slot, attempt: Attempt, stage: str, reasons: Sequence[str]) -> None:
        numbers, authors = {"slot": slot.number, "attempt": attempt.number}, _authors(attempt)
        reasons, mends = tuple(reasons), _mends(attempt)
        slot.dropped.append(Dropped(**numbers, stage=stage, reasons=reasons, authors=authors, mends=mends))
        self._progress.failed()


def _authors(attempt: Attempt) -> tuple[Authorship, ...]:
    return tuple(sorted(attempt.authors, key=lambda author: author.order))


def _mends(attempt: Attempt) -> tuple[Mend, ...]:
    """In an order that does not depend on which of several stages at once came first."""
    return tuple(sorted(attempt.mends, key=lambda mend: (mend.stage, mend.reasons)))
