"""How the judges of a run on answers that people graded agree with these grades."""

import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from dspy_proact.benchmarks.benchmark import Benchmark
from dspy_proact.cli.views.explain import print_more
from dspy_proact.cli.views.summary import summary_of


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
    found = room.judge_agreements(summary, learned_on)
    if as_json:
        click.echo(json.dumps({"judges": [room.agreement_document(each) for each in found]}, indent=2, allow_nan=False))
        return
    for each in found:
        room.print_agreement(each, Console(soft_wrap=False), explain)
    if not explain:
        print_more()
