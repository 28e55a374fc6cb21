"""Summaries of runs and results files, on standard output."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dspy_proact.cli.views.message import print_json, print_more

if TYPE_CHECKING:
    from dspy_proact.report import Summary


def is_results(path: Path) -> bool:
    """Whether a path is a results file, and not a run; raises `UsageError` where it is neither."""
    from dspy_proact.errors import UsageError
    from dspy_proact.kept import Kind, place_of

    place = place_of(path)
    if place.kind in (Kind.RUN, Kind.FILE):
        return place.kind is Kind.FILE
    problem = place.problem("the folder of a run or a results file", Kind.RUNS)
    raise UsageError(f"{path}: no run here and no results file: {problem}")


def summary_of(path: Path) -> "Summary":
    """The summary of a run's folder or of a results file; raises `UsageError` as `is_results` does."""
    from dspy_proact.benchmarks.registry import benchmark_named
    from dspy_proact.cli.options.benchmark import DEFAULT
    from dspy_proact.report import summarize
    from dspy_proact.runs import RunFolder

    if not is_results(path):
        return summarize(RunFolder(path))
    return benchmark_named(DEFAULT).read_results(path).summary


def print_summaries(summaries: "Sequence[Summary]", as_json: bool, alone: bool = True) -> None:
    """Print summaries in their order; as JSON a list, unless no more than one was asked for (`alone`)."""
    from rich.console import Console

    from dspy_proact.report import print_summary, summary_document

    if as_json and (summaries or not alone):
        documents = [summary_document(summary) for summary in summaries]
        print_json(documents[0] if alone else documents)
        return
    for summary in summaries:
        print_summary(summary, Console(soft_wrap=False))
    if summaries:
        print_more("dspy-proact report RUN ")
