"""How far the making of a corpus has come."""

import time
from dataclasses import dataclass, replace

from dspy_proact.call_observer import CallObserver
from dspy_proact.evaluation.corpus_forecast import CorpusForecast
from dspy_proact.runs import Bar


@dataclass(frozen=True)
class CorpusStand:
    """How far the making of a corpus is at one moment."""

    wanted: int
    """Items."""
    calls: int
    """That were expected of all of them."""
    kept: int = 0
    """Items that are made, and may still be too like an earlier one."""
    dropped: int = 0
    """Items that cannot be made."""
    failed: int = 0
    """Attempts that were given up."""
    paid: int = 0
    """Calls that were sent by this command, retries apart."""
    answered: int = 0
    """Of these, with a reply, or refused for good."""
    usd: float | None = 0.0
    """US dollars that were spent by this command; None where a price is not known."""
    seconds: float = 0.0
    """Since it began."""


class CorpusObserver(CallObserver):
    """Is notified of what happens while a corpus is made; this one ignores it."""

    def started(self, forecast: CorpusForecast, stand: CorpusStand) -> None:  # noqa: ARG002 - for those that override it
        """The making begins."""
        self.changed(stand)

    def changed(self, stand: CorpusStand) -> None:
        """A call ended, an attempt failed, or an item was made."""

    def interrupted(self) -> None:
        """The person asked to stop; what is in flight is still awaited."""


class CorpusBar(Bar, CorpusObserver):
    """Shows the items."""

    unit = " items"

    def changed(self, stand: CorpusStand) -> None:
        """Move the bar."""
        self.move(stand.kept + stand.dropped, stand.wanted)


class CorpusProgress:
    """Counts what happens, for an observer."""

    def __init__(self, observer: CorpusObserver, forecast: CorpusForecast, wanted: int):
        self._observer, self._begun = observer, time.monotonic()
        self._stand = CorpusStand(wanted, forecast.calls)
        observer.started(forecast, self._stand)

    def paid(self, usd: float | None, *, answered: bool) -> None:
        """A call was sent and kept; by now so much is spent, where that is known."""
        self._change(paid=self._stand.paid + 1, answered=self._stand.answered + answered, usd=usd)

    def failed(self) -> None:
        """An attempt was given up."""
        self._change(failed=self._stand.failed + 1)

    def made(self, kept: int, dropped: int) -> None:
        """So many more items were made, or cannot be made; fewer where one that was made is given up."""
        self._change(kept=self._stand.kept + kept, dropped=self._stand.dropped + dropped)

    def _change(self, **changes: float | None) -> None:
        self._stand = replace(self._stand, seconds=time.monotonic() - self._begun, **changes)
        self._observer.changed(self._stand)
