"""What the command line says beside its results: on standard error, with nothing in it that a terminal obeys."""

import click


def say(text: str) -> None:
    """Tell the person something."""
    from dspy_proact.report.terminal import printable

    click.echo(printable(text), err=True)


def complain(text: str) -> None:
    """Tell the person what went wrong."""
    say(f"Error: {text}")
