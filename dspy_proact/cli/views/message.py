"""What the command line says beside its results: on standard error, with nothing in it that a terminal obeys."""

import click

from dspy_proact.plain_text import printable


def say(text: str) -> None:
    """Tell the person something."""
    click.echo(printable(text), err=True)


def complain(text: str) -> None:
    """Tell the person what went wrong."""
    say(f"Error: {text}")
