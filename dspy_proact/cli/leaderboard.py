"""`dspy-proact leaderboard`: published scores, and one's own runs."""

from pathlib import Path

import click

from dspy_proact.cli.options.benchmark import READ_BENCHMARK, Chosen
from dspy_proact.cli.options.kinds import explain_option, json_option
from dspy_proact.cli.options.verb import Heading, Section, verb
from dspy_proact.cli.views.message import print_json, print_more, say_next
from dspy_proact.cli.views.summary import summary_of


@verb(
    "leaderboard",
    READ_BENCHMARK,
    Section(Heading.OUTPUT, explain_option(), json_option("the leaderboard")),
    first="--benchmark --explain --json",
    example="dspy-proact leaderboard runs/mine",
    brief="Rank runs among published scores.",
)
@click.argument("runs", nargs=-1, metavar="[RUN]...", type=click.Path(path_type=Path))
def leaderboard(runs: tuple[Path, ...], chosen: Chosen, explain: bool, as_json: bool) -> None:
    """Print the published scores of a benchmark in order, and each RUN with how its conditions differ.

    A run is ranked among them if it was made under their conditions; any other run, and a results file, stands below
    the line. Published scores count dropped cases as the paper did; the strict score counts them as failed.
    """
    from rich.console import Console

    from dspy_proact.report import leaderboard as put_in_order
    from dspy_proact.report import leaderboard_document, print_leaderboard

    declared = chosen.known(*runs)
    board = put_in_order([summary_of(run) for run in runs], declared)
    if as_json:
        print_json(leaderboard_document(board))
        return
    print_leaderboard(board, Console(soft_wrap=False), explain)
    if not explain:
        print_more()
    if runs:
        say_next("report", *chosen.words, runs[0])
    else:
        own = ["--model", "openai/gpt-4o", *declared.as_published]
        say_next("eval", *chosen.words, *own, before=declared.published_beside)
