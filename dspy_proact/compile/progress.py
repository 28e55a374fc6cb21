"""How far a compile is, and whoever watches it."""

import threading
import time
from dataclasses import dataclass, replace

from dspy_proact.calls import CallObserver
from dspy_proact.compile.forecast import Forecast


@dataclass(frozen=True)
class Stand:
    """How far a compile is at one moment."""

    at_most: int
    """Calls that it takes at most."""
    paid: int = 0
    """Calls that were sent by this command, retries apart."""
    kept: int = 0
    """Answers that stood in the record when it began."""
    tried: int = 0
    """Candidates, over all folds."""
    best: float | None = None
    """Highest mean score of a candidate so far, in [0, 1], on what candidates are compared on: chosen, not tested."""
    worded: int = 0
    """Other instructions than the start's among them, over all folds."""
    usd: float | None = 0.0
    """US dollars that were spent by this command; None where a price is not known."""
    seconds: float = 0.0
    """Since it began."""

    @property
    def done(self) -> int:
        """Calls that need not be made any more."""
        return self.paid + self.kept


class CompileObserver(CallObserver):
    """Is told what happens in a compile; this one keeps it to itself. It may be told by several threads, in turn."""

    def started(self, forecast: Forecast, stand: Stand) -> None:
        """A compile begins."""

    def changed(self, stand: Stand) -> None:
        """An answer came, or candidates were tried."""

    def interrupted(self) -> None:
        """The person asked to stop; what is in flight is still awaited."""


class Progress:
    """Counts what happens, for an observer.

    Args:
        observer: Is told.
        forecast: What the compile takes at most.
        kept: Answers that stand in the record.
    """

    def __init__(self, observer: CompileObserver, forecast: Forecast, kept: int):
        self._observer = observer
        self._stand = Stand(forecast.calls, kept=kept, usd=0.0 if forecast.priced else None)
        self._turn, self._begun = threading.Lock(), time.monotonic()
        observer.started(forecast, self._stand)

    def answered(self, usd: float) -> None:
        """A request was sent and its answer kept, which cost so many US dollars, where that is known."""
        with self._turn:
            known = self._stand.usd is not None
            self._tell(paid=self._stand.paid + 1, usd=(self._stand.usd or 0.0) + usd if known else None)

    def tried(self, count: int, best: float) -> None:
        """Candidates were tried, the best of which has this score."""
        with self._turn:
            before = self._stand.best
            self._tell(tried=self._stand.tried + count, best=best if before is None else max(before, best))

    def worded(self, count: int) -> None:
        """So many other instructions than the start's were proposed."""
        with self._turn:
            self._tell(worded=self._stand.worded + count)

    def _tell(self, **changes: float | None) -> None:
        self._stand = replace(self._stand, seconds=time.monotonic() - self._begun, **changes)
        self._observer.changed(self._stand)
