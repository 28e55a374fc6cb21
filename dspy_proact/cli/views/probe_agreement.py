"""How the judges of a run on PROBE's graded answers agree with these grades."""

import json
from pathlib import Path

import click
from rich.console import Console

from dspy_proact.benchmarks.probe.report import agreement_document, judge_agreements, print_agreement
from dspy_proact.cli.views.explain import print_more
from dspy_proact.cli.views.summary import summary_of


def show_agreement(path: Path, as_json: bool, explain: bool, learned_on: int) -> None:
    """Print it on standard output, judge by judge.

    Args:
        path: Of the run; nothing is told of one without a verdict.
        as_json: Instead of text.
        explain: Whether what the numbers rest on is told.
        learned_on: Answers of tasks that the judges' program was compiled on.
    """
    summary = summary_of(path)
    if not summary.verdicts:
        return
    found = judge_agreements(summary, learned_on)
    if as_json:
        click.echo(json.dumps({"judges": [agreement_document(each) for each in found]}, indent=2, allow_nan=False))
        return
    for each in found:
        print_agreement(each, Console(soft_wrap=False), explain)
    if not explain:
        print_more()
