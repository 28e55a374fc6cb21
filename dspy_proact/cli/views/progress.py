import sys
import time
from typing import Self

import click
from rich.console import Console
from rich.progress import Progress, ProgressColumn

from dspy_proact.calls import FailedCall
from dspy_proact.plain_text import printable

_SECONDS = 30.0
"""After which a model's failures are told anew from the first attempt on."""


class ProgressOnStderr:
    """How far something is, on standard error as it was at first: a bar on a terminal, lines elsewhere.

    Args:
        columns: Of the bar.
    """

    def __init__(self, *columns: str | ProgressColumn):
        self._stream = sys.stderr
        self._failures: dict[str, tuple[int, float]] = {}
        console = Console(file=self._stream)
        self._bar = Progress(*columns, console=console) if console.is_terminal else None

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

    def _say(self, text: str) -> None:
        click.echo(printable(text), file=self._stream)
