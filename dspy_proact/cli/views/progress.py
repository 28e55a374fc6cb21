"""How far a command is: a bar on a terminal with what came of it below, lines elsewhere."""

import sys
import time
from collections.abc import Iterator
from typing import Self

import click
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from dspy_proact.calls import FailedCall
from dspy_proact.plain_text import printable

_SECONDS = 30.0
"""After which a model's failures are told anew from the first attempt on."""


class ProgressOnStderr:
    """How far something is, on standard error as it was at first: a bar on a terminal, lines elsewhere.

    Args:
        left: What the clock of the time that is left is called.
    """

    def __init__(self, left: str):
        self._stream = sys.stderr
        self._failures: dict[str, tuple[int, float]] = {}
        console = Console(file=self._stream)
        self._bar = _Bar(left, console) if console.is_terminal else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.stop()

    def failed(self, call: FailedCall) -> None:
        """Say of each model's failures the first at once, then every wave of further attempts."""
        number, when = self._failures.get(call.who, (0, 0.0))
        now = time.monotonic()
        if call.number <= number and now - when < _SECONDS:
            return
        self._failures[call.who] = call.number, now
        attempt = f"attempt {call.number} of {call.attempts}"
        after = "" if call.wait is None else f" The next is made in {call.wait:.0f} s."
        self._say(f"{call.who}: {attempt} failed: {call.word}: {call.detail}.{after}")

    def interrupted(self) -> None:
        """Say what happens now."""
        self._say("Stopping: what is in flight is awaited and kept. Press Ctrl-C again to drop it.")

    def _begin(self, what: str, total: int, done: int = 0) -> None:
        if self._bar:
            self._bar.add_task(what, total=total, completed=done)
            self._bar.start()

    def _move(self, done: int, told: str) -> None:
        """Show how much is done, and what came of it."""
        if self._bar:
            self._bar.told = told
            self._bar.update(self._bar.task_ids[0], completed=done)

    def _say(self, text: str) -> None:
        click.echo(printable(text), file=self._stream)


class _Bar(Progress):
    """A bar with its two clocks, and a line below."""

    def __init__(self, left: str, console: Console):
        self.told = ""
        clocks = (TextColumn("so far"), TimeElapsedColumn(), TextColumn(left), TimeRemainingColumn())
        columns = (TextColumn("{task.description}"), BarColumn(16), MofNCompleteColumn(), *clocks)
        # A compile silences both streams meanwhile; rich would put its own in their place and not find them again.
        super().__init__(*columns, console=console, redirect_stdout=False, redirect_stderr=False)

    def get_renderables(self) -> Iterator[RenderableType]:
        yield from super().get_renderables()
        if self.told:
            yield Text(self.told, overflow="ellipsis", no_wrap=True)
