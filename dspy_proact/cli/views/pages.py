"""Files that commands write for people and tools: a page, or tests, over none but a file of the same kind."""

from collections.abc import Callable, Sequence
from pathlib import Path

import click

from dspy_proact.cli.options import option
from dspy_proact.cli.views.message import say
from dspy_proact.errors import UsageError

_PAGE = b"<!doctype html"
"""Begins what a page may replace."""


def write_page(html: Path, runs: Sequence[Path], made: Callable[[], str]) -> bool:
    """Write a page, which is made once the file may be written; whether to a file, and not to standard output."""
    if written := write_over_its_like(html, runs, made):
        say(f"The page is in {html}; open it in a browser.")
    return written


def write_over_its_like(
    path: Path, runs: Sequence[Path], made: Callable[[], str], what: str = "a page", begin: bytes = _PAGE
) -> bool:
    """Write a file over none but one of its kind, which begins so; whether to a file, and not to standard output."""
    from dspy_proact.kept import write_file

    if path == option.STANDARD_OUTPUT:
        click.echo(made().encode())
        return False
    refuse_all_but(path, *runs, what=what, begin=begin)
    write_file(path, made())
    return True


def refuse_all_but(path: Path, *runs: Path, what: str = "a page", begin: bytes = _PAGE) -> None:
    """Raise a `UsageError` where a file would overwrite a run, an input, or a file of another kind than its own."""
    from dspy_proact.kept import refuse_overwrite

    refuse_overwrite(path, *runs)
    if path.is_file() and path.read_bytes()[: len(begin)].lower() != begin:
        raise UsageError(f"{path}: exists and is not {what}; name another file")
