"""A progress bar in notebooks, for a run or compile to which no observer was given."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, TypeVar

from dspy_proact.runs.ledger import StageEvent
from dspy_proact.runs.runner import Observer

T = TypeVar("T")


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    module = sys.modules.get("IPython")
    return hasattr(module and module.get_ipython(), "kernel")


class Bar:
    """A tqdm bar on the standard error of the moment it is made, since compiles silence it later."""

    unit: str

    def __init__(self) -> None:
        self._file, self._bar = sys.stderr, None

    def move(self, done: int, total: int | None) -> None:
        """Show how far it is; the first call draws the bar."""
        if self._bar is None:
            from tqdm import tqdm

            self._bar: Any = tqdm(total=total, initial=done, unit=self.unit, file=self._file)
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        """End its line."""
        if self._bar is not None:
            self._bar.close()


class RunBar(Bar, Observer):
    """Shows the cases that are done."""

    unit = " cases"

    def started(self, todo: int, total: int) -> None:
        """Draw the bar."""
        self.move(total - todo, total)

    def ended(self, event: StageEvent, last: bool) -> None:  # noqa: ARG002 - an observer's
        """Move it."""
        self._bar.update(int(last))


@contextmanager
def watching(observer: T | None, silent: T, bar: T) -> Generator[T]:
    """The observer; where there is none, the bar in a notebook, which is closed at the end, else the silent one."""
    try:
        yield observer or (bar if in_notebook() else silent)
    finally:
        if isinstance(bar, Bar):
            bar.close()
