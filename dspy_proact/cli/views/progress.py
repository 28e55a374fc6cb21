import sys
from typing import Self

import click
from rich.console import Console
from rich.progress import Progress, ProgressColumn

from dspy_proact.plain_text import printable


class ProgressOnStderr:
    """How far something is, on standard error as it was at first: a bar on a terminal, lines elsewhere.

    Args:
        columns: Of the bar.
    """

    def __init__(self, *columns: str | ProgressColumn):
        self._stream = sys.stderr
        console = Console(file=self._stream)
        self._bar = Progress(*columns, console=console) if console.is_terminal else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.stop()

    def interrupted(self) -> None:
        """Say what happens now."""
        self._say("Stopping: what is in flight is awaited and kept. Press Ctrl-C again to drop it.")

    def _say(self, text: str) -> None:
        click.echo(printable(text), file=self._stream)
