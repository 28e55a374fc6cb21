"""How far a compile is: a bar on a terminal, a line a minute elsewhere."""

import time

from dspy_proact.cli.views.forecast import duration, forecast_text
from dspy_proact.cli.views.progress import ProgressOnStderr
from dspy_proact.compile.forecast import PROPOSALS, Forecast
from dspy_proact.compile.progress import CompileObserver, Stand
from dspy_proact.programs import Optimizer

_SECONDS = 60.0
"""Between two lines."""
_FEWEST = 20
"""Calls from which on the time that is left is worth telling."""


class CompileProgress(ProgressOnStderr, CompileObserver):
    """Shows calls, candidates, cost and time, also while the compile silences standard error."""

    def __init__(self) -> None:
        super().__init__("left at most")
        self._said = time.monotonic()
        self._last: Stand | None = None

    def started(self, forecast: Forecast, stand: Stand) -> None:
        """Say what it will take."""
        for line in forecast_text(forecast):
            self._say(line)
        self._last = stand
        if stand.kept:
            self._say(f"{stand.kept:,} answers stand in the record and are not paid for again.")
        self._begin("calls", stand.at_most, stand.kept)

    def changed(self, stand: Stand) -> None:
        """Show how far it is."""
        self._last = stand
        self._move(stand.done, stand_text(stand))
        if not self._bar and time.monotonic() - self._said >= _SECONDS:
            self._said = time.monotonic()
            self._say(f"calls {stand_text(stand)}")

    def say_unworded(self, optimizer: Optimizer) -> None:
        """Say so where a proposer was asked and no instruction of it was compared."""
        if PROPOSALS[optimizer] and self._last and not self._last.worded:
            why = "none of the proposer's could be used, or did better on a few items"
            self._say(f"No instruction but the start's was compared: {why}. Another is named by --proposer.")

    def say_reached(self) -> None:
        """Say how far it came, once it has stopped."""
        if self._last:
            self._say(f"It came to call {stand_text(self._last)}.")


def stand_text(stand: Stand) -> str:
    """Calls, candidates, the best of them, cost and time left, in a line."""
    parts = [f"{stand.done:,} of at most {stand.at_most:,}"]
    if stand.tried:
        best = "" if stand.best is None else f", best {stand.best:.2f}"
        parts.append(f"{stand.tried} candidates{best}")
    if stand.usd:
        parts.append(f"USD {stand.usd:.2f}")
    if stand.paid >= _FEWEST:
        left = max(0, stand.at_most - stand.done) * stand.seconds / stand.paid
        parts.append(f"at most {duration(left)} left")
    return "; ".join(parts)
