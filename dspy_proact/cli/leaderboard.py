"""`dspy-proact leaderboard`: the published models, and one's own runs."""

import json
from pathlib import Path

import click

from dspy_proact.cli.options.benchmark import Chosen, benchmark_option
from dspy_proact.cli.options.output import explained


@click.command(short_help="Put runs beside what was published.")
@click.argument("runs", nargs=-1, metavar="[RUN]...", type=click.Path(path_type=Path))
@benchmark_option
@explained
@click.option("--json", "as_json", is_flag=True, help="Print the leaderboard as JSON.")
def leaderboard(runs: tuple[Path, ...], benchmark: str | None, explain: bool, as_json: bool) -> None:
    """Print what was published of a benchmark in its order, and each RUN with what was done otherwise.

    Of ProactBench these are 16 models, with the dropped triggers left out and counted. A run of the full corpus is
    ranked among them if it was made as they were: judge gpt-5.4 at its provider's own endpoint with --judge-prompt
    official, the preset decoding, one answer and one verdict a trigger. Any other run, and a results file, stands below
    the line. Of PROBE they are models, agents and people, and runs stand beside them.
    """
    from rich.console import Console

    from dspy_proact.cli.views.explain import print_more
    from dspy_proact.cli.views.next import say_next
    from dspy_proact.cli.views.summary import summary_of
    from dspy_proact.report import leaderboard as put_in_order
    from dspy_proact.report import leaderboard_document, print_leaderboard

    chosen = Chosen(benchmark)
    declared = chosen.known(*runs)
    board = put_in_order([summary_of(run) for run in runs], declared)
    if as_json:
        click.echo(json.dumps(leaderboard_document(board), indent=2, allow_nan=False))
        return
    print_leaderboard(board, Console(soft_wrap=False), explain)
    if not explain:
        print_more()
    if runs:
        say_next("report", *chosen.words, runs[0])
    else:
        own = ["--model", "openai/gpt-4o", *declared.as_published]
        say_next("eval", *chosen.words, *own, before=declared.published_beside)
