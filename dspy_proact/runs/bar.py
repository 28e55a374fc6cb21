"""A progress bar in notebooks, for a run or compile to which no observer was given."""

import sys
from typing import Any

from dspy_proact.runs.ledger import Event
from dspy_proact.runs.runner import Observer


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    module = sys.modules.get("IPython")
    return hasattr(module and module.get_ipython(), "kernel")


class Bar:
    """A tqdm bar on the standard error of the moment it is made, since compiles silence it later."""

    def __init__(self, unit: str):
        self._unit, self._file, self._bar = unit, sys.stderr, None

    def move(self, done: int, total: int) -> None:
        """Show how far it is; the first call draws the bar."""
        if self._bar is None:
            from tqdm import tqdm

            self._bar: Any = tqdm(total=total, initial=done, unit=self._unit, file=self._file)
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        """End its line."""
        if self._bar is not None:
            self._bar.close()


class RunBar(Observer):
    """Shows the cases that are done."""

    def __init__(self) -> None:
        self._bar, self._done, self._asked = Bar(" cases"), 0, 0
        self.close = self._bar.close

    def started(self, todo: int, asked: int) -> None:
        """Draw the bar."""
        self._done, self._asked = asked - todo, asked
        self._bar.move(self._done, asked)

    def ended(self, event: Event, last: bool) -> None:  # noqa: ARG002 - an observer's
        """Move it."""
        self._done += last
        self._bar.move(self._done, self._asked)
