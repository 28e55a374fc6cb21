"""Messages on standard error, and the command to type next.

Nothing in a message is obeyed by a terminal. What to type next is a whole command, made of what a person typed, that
does what it says when it is pasted.
"""

import json
import logging
import shlex
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import click

from dspy_proact.cli.options.arguments import flags_in_hand, with_options
from dspy_proact.cli.options.kinds import parameter
from dspy_proact.cli.options.verb import typed
from dspy_proact.errors import Halt, LimitReached
from dspy_proact.plain_text import printable

if TYPE_CHECKING:
    from rich.console import Console

_MODEL = ("", "-api-base", "-param", "-price")
"""How the options of a role end."""
_CALLS = ("--concurrency", "--timeout", "--retries", "--backend")
"""How calls are made; limits are those of one command."""


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
    from rich.console import Console

    return Console()


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


def print_more(command: str = "", besides: str = "") -> None:
    """Say on standard output how to read the details: by another command, with a blank at its end, or this one."""
    from dspy_proact.report.terminal import show

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


def say_next(*words: str | Path, before: str = "") -> None:
    """Print what to type next, after what is said before it in the same line, such as where the result is."""
    line = command(*words)
    missing = "Fill in what is [hidden] in it." if "[hidden " in line else ""
    say(" ".join(part for part in (before, missing, f"Next: {line}") if part))


def command(*words: str | Path) -> str:
    """A whole command, each word quoted for a shell."""
    # A path that begins like an option is named by its folder.
    whole = [f"./{word}" if isinstance(word, Path) and str(word).startswith("-") else str(word) for word in words]
    return shlex.join(["dspy-proact", *whole])


class Typed:
    """Options as they were typed, by flag: those of the command that runs, if none are given."""

    def __init__(self, given: Mapping[str, Sequence[str]] | None = None):
        self.given = typed() if given is None else given

    def options(self, *flags: str) -> list[str]:
        """The words of some options, of all where none is named."""
        chosen = {flag: texts for flag, texts in self.given.items() if not flags or flag in flags}
        return [word for flag, texts in chosen.items() for word in _words(flag, texts) or [flag]]

    def model(self, flag: str, default: str | None = None, as_flag: str | None = None) -> list[str]:
        """The words that name the model of a role as it was named, the last of several, else by default.

        `as_flag` is the flag of the role that it has next, if another.
        """
        parts = {end: list(self.given.get(flag + end, ())) for end in _MODEL}
        parts[""] = parts[""][-1:] or ([default] if default else [])
        return [word for end, texts in parts.items() for word in _words((as_flag or flag) + end, texts)]

    def calls(self) -> list[str]:
        """The words that say how calls are made."""
        return self.options(*_CALLS)

    def beside(self, flag: str, other: str) -> Self:
        """A copy in which `flag` takes over the options of `other` that it lacks, if both name the same model."""
        given = dict(self.given)
        own, named = given.get(flag, ()), given.get(other, ())
        if not own or own[-1:] == named[-1:]:
            given |= {flag + end: given.get(flag + end) or given.get(other + end, ()) for end in _MODEL}
        return type(self)(given)


def _words(flag: str, texts: Sequence[str]) -> list[str]:
    shown = map(_without_secrets, texts) if flag.endswith("-param") else texts
    return [word for text in shown for word in (flag, text)]


def _without_secrets(typed_parameter: str) -> str:
    """NAME=VALUE as it was typed, of a secret its mark."""
    from dspy_proact.models import without_secrets

    name, value = parameter(typed_parameter)
    shown = without_secrets({name: value})[name]
    return typed_parameter if shown == value else f"{name}={json.dumps(shown)}"
