"""`dspy-proact compare`: is B better than A?"""

import json
from pathlib import Path

import click

from dspy_proact.cli.options.benchmark import Chosen, benchmark_option
from dspy_proact.cli.options.output import explained


@click.command()
@click.argument("runs", nargs=-1, metavar="RUN_A RUN_B", type=click.Path(path_type=Path))
@benchmark_option
@explained
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
def compare(runs: tuple[Path, ...], benchmark: str | None, explain: bool, as_json: bool) -> None:
    """Compare RUN_B with RUN_A, each the folder of a run or a results file, on the triggers that they share.

    Differences are paired by trigger and clustered by scenario, beside those that would have been seen.
    """
    from rich.console import Console

    from dspy_proact.cli.views.explain import print_more
    from dspy_proact.cli.views.next import say_next
    from dspy_proact.cli.views.summary import summary_of
    from dspy_proact.report import compare, comparison_document, print_comparison

    run_a, run_b = _two(runs)
    chosen = Chosen(benchmark)
    chosen.require(run_a, run_b)
    comparison = compare(summary_of(run_a), summary_of(run_b))
    if as_json:
        click.echo(json.dumps(comparison_document(comparison), indent=2, allow_nan=False))
        return
    print_comparison(comparison, Console(soft_wrap=False), explain)
    if not explain:
        print_more()
    say_next("compare", *chosen.words, run_a, run_b, "--json")


def _two(given: tuple[Path, ...]) -> tuple[Path, Path]:
    """Those to compare; raises `UsageError` where it is not two, naming what a pattern of the shell took for a run."""
    from dspy_proact.errors import UsageError
    from dspy_proact.runs import RunFolder

    if len(given) == 2:
        return given[0], given[1]
    others = [str(path) for path in given if not RunFolder(path).exists]
    told = f"; no folders of runs are {', '.join(others)}" if others and len(given) > 2 else ""
    raise UsageError(f"compare takes two, RUN_A and RUN_B, and {len(given)} are given{told}")
