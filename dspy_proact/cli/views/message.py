"""What the command line says beside its results: on standard error, with nothing in it that a terminal obeys."""

import logging
import traceback
from pathlib import Path
from typing import Any

import click

from dspy_proact.errors import Halt, LimitReached
from dspy_proact.plain_text import printable


def say(text: str) -> None:
    """Tell the person something."""
    click.echo(printable(text), err=True)


def complain(text: str) -> None:
    """Tell the person what went wrong."""
    say(f"Error: {text}")


def say_stopped(halt: Halt, folder: Path) -> None:
    """Tell the person what stopped a command, what is left of it, and how it goes on."""
    say(str(halt))
    if not folder.exists():
        say("Nothing was answered, and no folder is left.")
        return
    again = " Its limits count anew." if isinstance(halt, LimitReached) else ""
    say(f"What is done is kept in {folder}. The same command goes on.{again}")


class SafeRecord(logging.LogRecord):
    """What a library logs, which may quote a provider: shown as everything else is, an exception by its last line."""

    def __init__(self, *args: Any, **named: Any):
        super().__init__(*args, **named)
        if self.exc_info and self.exc_info[0]:
            last = "".join(traceback.format_exception_only(*self.exc_info[:2])).strip()
            self.msg, self.args = f"{super().getMessage()}: {last}", ()
        self.exc_info = None

    def getMessage(self) -> str:  # noqa: N802 - logging's name
        """The message, with nothing in it that a terminal obeys."""
        return printable(super().getMessage())
