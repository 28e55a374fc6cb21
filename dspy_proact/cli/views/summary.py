"""Summaries of runs and results files, on standard output."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from dspy_proact.report import Summary


def summary_of(path: Path) -> "Summary":
    """The summary of a run's folder or of a results file."""
    from dspy_proact.corpus import read_results
    from dspy_proact.report import summarize
    from dspy_proact.report.proactbench import summarize_results
    from dspy_proact.runs import RunFolder

    return summarize_results(read_results(path)) if path.is_file() else summarize(RunFolder(path))


def print_summaries(summaries: "Sequence[Summary]", as_json: bool, alone: bool = True, by: Sequence[str] = ()) -> None:
    """Print them; JSON of what is not alone is a list.

    Args:
        summaries: In their order.
        as_json: Instead of text.
        alone: Whether no more than one was asked for.
        by: Keys of metadata to break down by.
    """
    from rich.console import Console

    from dspy_proact.report import print_summary, summary_document

    if as_json and (summaries or not alone):
        documents = [summary_document(summary, by) for summary in summaries]
        click.echo(json.dumps(documents[0] if alone else documents, indent=2, allow_nan=False))
        return
    for summary in summaries:
        print_summary(summary, Console(soft_wrap=False), by)
