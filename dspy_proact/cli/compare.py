"""`dspy-proact compare`: is B better than A?"""

import json
from pathlib import Path

import click


@click.command()
@click.argument("run_a", type=click.Path(path_type=Path))
@click.argument("run_b", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
def compare(run_a: Path, run_b: Path, as_json: bool) -> None:
    """Compare RUN_B with RUN_A, each the folder of a run or a results file, on the triggers that they share.

    Differences are paired by trigger and clustered by scenario, beside the smallest that could have been seen.
    """
    from rich.console import Console

    from dspy_proact.cli.views.next import say_next
    from dspy_proact.cli.views.summary import summary_of
    from dspy_proact.report import compare, comparison_document, print_comparison

    comparison = compare(summary_of(run_a), summary_of(run_b))
    if as_json:
        click.echo(json.dumps(comparison_document(comparison), indent=2, allow_nan=False))
        return
    print_comparison(comparison, Console(soft_wrap=False))
    say_next("compare", run_a, run_b, "--json")
