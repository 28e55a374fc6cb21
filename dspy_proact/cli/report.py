"""`dspy-proact report`: the scores of a run or of a results file."""

import json
from collections.abc import Sequence
from pathlib import Path

import click

from dspy_proact.cli.options.benchmark import Chosen, benchmark_option
from dspy_proact.cli.options.output import explained


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--by", multiple=True, metavar="KEY", help="Break down by life_domain, turn, style, ...; repeatable.")
@click.option("--corpus", metavar="sample|proactbench[@REV]|FILE", help="What a results file answers.")
@benchmark_option
@explained
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def report(
    run: Path, by: tuple[str, ...], corpus: str | None, benchmark: str | None, explain: bool, as_json: bool
) -> None:
    """Print the scores of RUN, the folder of a finished or unfinished run, or a results file in the official format.

    Of a results file it says besides what is wrong with it, as far as that can be known without a call; with the
    --corpus that it answers, which triggers were dropped.
    """
    from dspy_proact.cli.views.message import say
    from dspy_proact.cli.views.next import say_next
    from dspy_proact.cli.views.summary import is_results, print_summaries
    from dspy_proact.errors import UsageError
    from dspy_proact.report import summarize
    from dspy_proact.runs import RunFolder

    chosen = Chosen(benchmark)
    chosen.require(run)
    if is_results(run):
        _report_results(run, by, corpus, explain, as_json)
        return
    if corpus is not None:
        raise UsageError("--corpus is for results files; a run knows its corpus")
    summary = summarize(RunFolder(run))
    print_summaries([summary], as_json, by=by, explain=explain)
    if not summary.complete:
        say("The run is not complete; the command that began it goes on.")
    elif not as_json:
        say_next("report", *chosen.words, run, "--json")


def _report_results(path: Path, by: Sequence[str], corpus: str | None, explain: bool, as_json: bool) -> None:
    from rich.console import Console

    from dspy_proact.cli.options.corpus import HUB, answered_corpus
    from dspy_proact.cli.views.explain import print_more
    from dspy_proact.cli.views.next import say_next
    from dspy_proact.corpus import read_results
    from dspy_proact.report import print_summary, show, summary_document
    from dspy_proact.report.proactbench import check_document, check_lines, check_results, summarize_results

    results = read_results(path)
    summary = summarize_results(results)
    answered = answered_corpus(results, corpus)
    check = check_results(results, answered)
    if as_json:
        whole = summary_document(summary, by) | {"results": check_document(check)}
        click.echo(json.dumps(whole, indent=2, allow_nan=False))
        return
    console = Console(soft_wrap=False)
    print_summary(summary, console, by, explain)
    show(console, *check_lines(check))
    if not explain:
        print_more()
    say_next("rejudge", path, "--corpus", corpus or (HUB if answered is None else answered.name))
