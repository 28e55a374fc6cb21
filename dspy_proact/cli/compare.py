"""`dspy-proact compare`: is B better than A?"""

from pathlib import Path

import click

from dspy_proact.cli.options.benchmark import READ_BENCHMARK, Chosen
from dspy_proact.cli.options.kinds import explain_option, json_option, text_option
from dspy_proact.cli.options.labels import RATINGS, ratings_of
from dspy_proact.cli.options.verb import Heading, Section, verb
from dspy_proact.cli.views.message import print_json, print_more, say_next
from dspy_proact.cli.views.summary import summary_of
from dspy_proact.errors import UsageError


@verb(
    "compare",
    Section(
        Heading.CASES,
        text_option(
            "--ratings",
            RATINGS,
            "People's ratings of a part of the responses; give it twice: of RUN_A, then of RUN_B.",
            several=True,
        ),
    ),
    READ_BENCHMARK,
    Section(Heading.OUTPUT, explain_option(), json_option("the comparison")),
    first="--ratings --benchmark --explain --json",
    example="dspy-proact compare runs/before runs/after",
    brief="Compare two runs on the cases that they share.",
)
@click.argument("runs", nargs=-1, metavar="RUN_A RUN_B", type=click.Path(path_type=Path))
def compare(runs: tuple[Path, ...], ratings: tuple[str, ...], chosen: Chosen, explain: bool, as_json: bool) -> None:
    """Compare RUN_B with RUN_A, each the folder of a run or a results file, on the cases that they share.

    Differences are paired by case and clustered by what cases share, such as a scenario; the smallest detectable
    difference stands beside them. With --ratings of both, how much more people would have given to one of them.
    """
    from rich.console import Console

    from dspy_proact.report import (
        EACH_ITS_OWN,
        compare,
        compare_corrected,
        comparison_document,
        corrected_comparison_document,
        print_comparison,
        print_corrected_comparison,
    )
    from dspy_proact.runs import RunFolder

    if len(runs) != 2:
        others = [str(path) for path in runs if not RunFolder(path).exists] if len(runs) > 2 else []
        message = f"; these are no runs: {', '.join(others)}" if others else ""
        raise UsageError(f"compare takes RUN_A and RUN_B, and {len(runs)} are given{message}")
    if len(ratings) not in (0, 2):
        raise UsageError(
            f"--ratings is given {'once' if len(ratings) == 1 else f'{len(ratings)} times'}: {EACH_ITS_OWN}"
        )
    chosen.require(*runs)
    a, b = map(summary_of, runs)
    comparison, corrected = compare(a, b), None
    if ratings:
        corrected = compare_corrected(comparison, ratings_of(ratings[0], a), ratings_of(ratings[1], b))
    if as_json:
        whole = comparison_document(comparison)
        whole |= {"corrected": corrected_comparison_document(corrected)} if corrected else {}
        print_json(whole)
        return
    console = Console(soft_wrap=False)
    print_comparison(comparison, console, explain)
    if corrected:
        print_corrected_comparison(corrected, console, explain)
    if not explain:
        print_more()
    say_next("show", *chosen.words, runs[0], "--beside", runs[1], "--disagree")
