"""What a command leaves and prints."""

from dataclasses import dataclass
from pathlib import Path

import click

from dspy_proact.cli.options.kinds import path_option
from dspy_proact.cli.options.verb import Bundle, Heading, Section


@dataclass(frozen=True)
class Output:
    """Where the result is kept, and what is printed."""

    out: Path | None
    """The folder; the usual one where None."""
    dry_run: bool
    """Only what it will take."""
    as_json: bool


def json_option(what: str) -> click.Option:
    """`--json`, which prints something as JSON."""
    return click.Option(["--json", "as_json"], is_flag=True, help=f"Print {what} as JSON.")


_EXPLAIN = {"is_flag": True, "help": "Print what the numbers rest on, too."}
explained = click.option("--explain", **_EXPLAIN)
"""`--explain` of a command, which adds what a report leaves out."""


def explain_option() -> click.Option:
    """The same as an option of a section."""
    return click.Option(["--explain"], **_EXPLAIN)


def output_options(folder: str, what: str) -> Bundle:
    """The options of a command that works in a folder, which come as one `Output`.

    Args:
        folder: Whose it is, and what it is called by itself.
        what: Is printed as JSON.
    """
    options = (
        path_option("--out", f"Folder of {folder}."),
        click.Option(["--dry-run"], is_flag=True, help="Say what it will take, and make no call."),
        json_option(what),
    )
    return Bundle("output", (Section(Heading.OUTPUT, options),), Output)
