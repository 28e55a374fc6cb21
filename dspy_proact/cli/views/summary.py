"""Summaries of runs and results files, on standard output."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from dspy_proact.report import PeoplesRatings, Summary


def is_results(path: Path) -> bool:
    """Whether it is to be read as a results file, and not as a run; raises `UsageError` where it can be neither."""
    from dspy_proact.errors import UsageError
    from dspy_proact.kept import Kind, place_of

    place = place_of(path)
    if place.kind in (Kind.RUN, Kind.FILE):
        return place.kind is Kind.FILE
    told = place.problem("the folder of a run or a results file", Kind.RUNS)
    raise UsageError(f"{path}: no run here and no results file: {told}")


def summary_of(path: Path) -> "Summary":
    """The summary of a run's folder or of a results file; raises `UsageError` as `is_results` does."""
    from dspy_proact.report import summarize
    from dspy_proact.runs import RunFolder

    if not is_results(path):
        return summarize(RunFolder(path))
    from dspy_proact.benchmarks.proactbench.corpus import read_results
    from dspy_proact.benchmarks.proactbench.report import summarize_results

    return summarize_results(read_results(path))


def print_summaries(
    summaries: "Sequence[Summary]",
    as_json: bool,
    alone: bool = True,
    by: Sequence[str] = (),
    explain: bool | None = None,
    ratings: "PeoplesRatings | None" = None,
) -> None:
    """Print them; JSON of what is not alone is a list.

    Args:
        summaries: In their order.
        as_json: Instead of text.
        alone: Whether no more than one was asked for.
        by: Keys of metadata to break down by.
        explain: Whether what the numbers rest on is printed; None where the command has no option for it.
        ratings: Of responses of a single one, which then is corrected by them.
    """
    from rich.console import Console

    from dspy_proact.cli.views.explain import print_more
    from dspy_proact.report import Corrected, corrected_document, print_corrected, print_summary, summary_document

    corrected = Corrected(summaries[0], ratings) if ratings else None
    if as_json and (summaries or not alone):
        documents = [summary_document(summary, by) for summary in summaries]
        if corrected:
            documents[0]["corrected"] = corrected_document(corrected)
        click.echo(json.dumps(documents[0] if alone else documents, indent=2, allow_nan=False))
        return
    for summary in summaries:
        print_summary(summary, Console(soft_wrap=False), by, bool(explain))
    if corrected:
        print_corrected(corrected, Console(soft_wrap=False), bool(explain))
    if summaries and not explain:
        print_more("dspy-proact report RUN " if explain is None else "")
