"""`dspy-proact compare`: is B better than A?"""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dspy_proact.cli.options.benchmark import Chosen, benchmark_option
from dspy_proact.cli.options.labels import RATINGS
from dspy_proact.cli.options.output import explained

if TYPE_CHECKING:
    from dspy_proact.report import Comparison, CorrectedComparison


@click.command(short_help="Compare two runs on the cases that they share.")
@click.argument("runs", nargs=-1, metavar="RUN_A RUN_B", type=click.Path(path_type=Path))
@click.option(
    "--ratings",
    multiple=True,
    metavar=RATINGS,
    help="Ratings of a part of the responses: first those of RUN_A, and a second time those of RUN_B.",
)
@benchmark_option
@explained
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
def compare(
    runs: tuple[Path, ...], ratings: tuple[str, ...], benchmark: str | None, explain: bool, as_json: bool
) -> None:
    """Compare RUN_B with RUN_A, each the folder of a run or a results file, on the cases that they share.

    Differences are paired by case and clustered by what cases share (of ProactBench triggers and scenarios, of PROBE
    tasks and people), beside the smallest that would have been seen. With --ratings of each, how much more people would
    have given to one of them.
    """
    from rich.console import Console

    from dspy_proact.cli.views.explain import print_more
    from dspy_proact.cli.views.next import say_next
    from dspy_proact.cli.views.summary import summary_of
    from dspy_proact.report import (
        compare,
        comparison_document,
        corrected_comparison_document,
        print_comparison,
        print_corrected_comparison,
    )

    run_a, run_b = _two(runs)
    chosen = Chosen(benchmark)
    chosen.require(run_a, run_b)
    comparison = compare(summary_of(run_a), summary_of(run_b))
    corrected = _corrected(comparison, ratings) if ratings else None
    if as_json:
        whole = comparison_document(comparison)
        whole |= {"corrected": corrected_comparison_document(corrected)} if corrected else {}
        click.echo(json.dumps(whole, indent=2, allow_nan=False))
        return
    print_comparison(comparison, Console(soft_wrap=False), explain)
    if corrected:
        print_corrected_comparison(corrected, Console(soft_wrap=False), explain)
    if not explain:
        print_more()
    named = [word for each in ratings for word in ("--ratings", each)]
    say_next("compare", *chosen.words, run_a, run_b, *named, "--json")


def _corrected(comparison: "Comparison", ratings: tuple[str, ...]) -> "CorrectedComparison":
    """The same by what people gave; raises `UsageError` where not each run has ratings of its own."""
    from dspy_proact.cli.options.labels import ratings_of
    from dspy_proact.errors import UsageError
    from dspy_proact.report import EACH_ITS_OWN, compare_corrected

    if len(ratings) != 2:
        times = "once" if len(ratings) == 1 else f"{len(ratings)} times"
        raise UsageError(f"--ratings is given {times}: {EACH_ITS_OWN}")
    a, b = (ratings_of(spec, side) for spec, side in zip(ratings, (comparison.a, comparison.b), strict=True))
    return compare_corrected(comparison, a, b)


def _two(given: tuple[Path, ...]) -> tuple[Path, Path]:
    """Those to compare; raises `UsageError` where it is not two, naming what a pattern of the shell took for a run."""
    from dspy_proact.errors import UsageError
    from dspy_proact.runs import RunFolder

    if len(given) == 2:
        return given[0], given[1]
    others = [str(path) for path in given if not RunFolder(path).exists]
    told = f"; no folders of runs are {', '.join(others)}" if others and len(given) > 2 else ""
    raise UsageError(f"compare takes two, RUN_A and RUN_B, and {len(given)} are given{told}")
