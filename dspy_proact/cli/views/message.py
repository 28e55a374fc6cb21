"""Messages on standard error, of which nothing is obeyed by a terminal, and JSON on standard output."""

import json
import logging
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dspy_proact.cli.options.arguments import flags_in_hand, with_options
from dspy_proact.errors import Halt, LimitReached
from dspy_proact.plain_text import printable

if TYPE_CHECKING:
    from rich.console import Console


def say(text: str) -> None:
    """Print a message."""
    click.echo(printable(text), err=True)


def complain(text: str) -> None:
    """Print an error."""
    say(f"Error: {text}")


def message_of(failure: BaseException) -> str:
    """What the library says of a failure, with the options of the command that runs."""
    return with_options(str(failure), flags_in_hand())


def console() -> "Console":
    """Standard output as wide as the terminal."""
    from dspy_proact.report.terminal import standard_output

    return standard_output()


def print_json(document: Any) -> None:
    """Print what scripts read."""
    click.echo(json.dumps(document, indent=2, allow_nan=False))


def say_stopped(halt: Halt, folder: Path, has_answers: bool = False) -> None:
    """Print what stopped a command, what its folder keeps, and how to go on; `has_answers` if any came."""
    say(message_of(halt))
    if not folder.exists():
        gone = f"There is no folder {folder} any more; if it was moved, name it with --out to go on."
        say(gone if has_answers else "No answer was received, and no folder was kept.")
        return
    again = " Limits count from zero again." if isinstance(halt, LimitReached) else ""
    say(f"Results so far are kept in {folder}. Repeat the command to go on.{again}")


def say_of_batches(folder: Path) -> None:
    """Say which batches of a run that was stopped go on without it."""
    from dspy_proact.kept import read_batches

    batches = [batch for batch in read_batches(folder) if batch.is_running]
    ids = [batch.id for batch in batches if batch.id]
    requests = sum(len(batch.requests) for batch in batches if batch.id)
    if ids:
        named = ", ".join(ids[:3]) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")
        number = f"{len(ids)} batch{'es' if len(ids) > 1 else ''} with {requests:,} requests"
        say(f"{number} had not ended at the last look ({named}): they go on at the provider, and are billed.")
    if len(batches) > len(ids):
        say(f"Of {len(batches) - len(ids)} more it is not known whether the provider created them.")
    if batches:
        say("The same command waits for them and pays for none of their requests twice, also on a copy of the folder.")


def print_more(explained: bool | None = False, command: str = "", besides: str = "") -> None:
    """Say how to read the details unless they are `explained`: by a command, with a blank at its end, or this one."""
    from dspy_proact.report.terminal import show

    if not explained:
        show(console(), f"Details{besides}: {command}--explain")


class SafeRecord(logging.LogRecord):
    """A log record of a library, which may quote a provider: escaped, with only the last line of a traceback."""

    def __init__(self, *args: Any, **named: Any):
        super().__init__(*args, **named)
        if self.exc_info and self.exc_info[0]:
            last = "".join(traceback.format_exception_only(*self.exc_info[:2])).strip()
            self.msg, self.args = f"{super().getMessage()}: {last}", ()
        self.exc_info = None

    def getMessage(self) -> str:  # noqa: N802 - logging's name
        """The message, with nothing in it that a terminal obeys."""
        return printable(super().getMessage())
