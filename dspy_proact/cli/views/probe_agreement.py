"""How the judges of a run on answers that people graded agree with these grades."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from dspy_proact.benchmarks.benchmark import Benchmark
from dspy_proact.cli.views.message import print_more
from dspy_proact.cli.views.summary import summary_of
from dspy_proact.report.human_agreement import human_agreement_document, human_agreements, print_human_agreement


def show_agreement(declared: Benchmark[Any, Any], path: Path, as_json: bool, explain: bool, learned_on: int) -> None:
    """Print it on standard output, judge by judge.

    Args:
        declared: The benchmark.
        path: Of the run; nothing is printed of one without a verdict.
        as_json: Instead of text.
        explain: Whether the details are printed.
        learned_on: Answers of cases that the judges' program was compiled on.
    """
    room = declared.agreement_room()
    summary = summary_of(path)
    if not summary.verdicts:
        return
    console = Console(soft_wrap=False)
    if room is None:
        agreements = human_agreements(declared, summary, learned_on)
        documents = [human_agreement_document(each) for each in agreements]
        printed = [partial[Any](print_human_agreement, each, console, explain) for each in agreements]
    else:
        found = room.judge_agreements(summary, learned_on)
        documents = [room.agreement_document(each) for each in found]
        printed = [partial[Any](room.print_agreement, each, console, explain) for each in found]
    if as_json:
        click.echo(json.dumps({"judges": documents}, indent=2, allow_nan=False))
        return
    for show in printed:
        show()
    if not explain:
        print_more()
