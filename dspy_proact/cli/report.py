"""`dspy-proact report`: the scores of a run or of a results file."""

import json
from collections.abc import Sequence
from pathlib import Path

import click

from dspy_proact.cli.options.benchmark import Chosen, benchmark_option
from dspy_proact.cli.options.labels import RATINGS
from dspy_proact.cli.options.output import explained
from dspy_proact.cli.options.verb import first_typed

_PAGE = b"<!doctype html"
"""Begins what a page may replace."""


@click.command(short_help="Print the scores of a run, or write its page.")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path(path_type=Path))
@click.option("--by", multiple=True, metavar="KEY", help="Break down by life_domain, turn, style, ...; repeatable.")
@click.option("--corpus", metavar="sample|proactbench[@REV]|FILE", help="What a results file answers.")
@click.option(
    "--html",
    metavar="FILE|-",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Write a page to look at, - for standard output; of several RUNs too.",
)
@click.option(
    "--ratings", metavar=RATINGS, help="Ratings of a part of the responses: what people would have given to all."
)
@benchmark_option
@explained
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def report(
    runs: tuple[Path, ...],
    by: tuple[str, ...],
    corpus: str | None,
    html: Path | None,
    ratings: str | None,
    benchmark: str | None,
    explain: bool,
    as_json: bool,
) -> None:
    """Print the scores of RUN, the folder of a finished or unfinished run, or a results file in the official format.

    Of a results file it says besides what is wrong with it, as far as that can be known without a call; with the
    --corpus that it answers, which triggers were dropped.

    With --html, one file that a browser opens from disk, with no network: the numbers at a glance, and every case to
    be read and filtered; of several RUNs side by side, each compared with the first.

    With --ratings, what people would have given to all responses, by those that they rated: all of them, or those of
    a sheet of `agree --draw`.
    """
    from dspy_proact.cli.options.labels import ratings_of
    from dspy_proact.cli.views.message import say
    from dspy_proact.cli.views.next import say_next
    from dspy_proact.cli.views.summary import is_results, print_summaries
    from dspy_proact.errors import UsageError
    from dspy_proact.report import summarize
    from dspy_proact.runs import RunFolder

    chosen = Chosen(benchmark)
    for each in runs:
        chosen.require(each)
    if html is not None:
        if flag := first_typed(("--json", "--explain", "--corpus", "--ratings")):
            raise UsageError(f"--html writes a page, which has no {flag}; leave one out")
        _write_page(runs, by, html)
        return
    run, *others = runs
    if others:
        raise UsageError(f"{len(runs)} RUNs are given; several are reported on a page: --html FILE")
    if is_results(run):
        _report_results(run, by, corpus, ratings, explain=explain, as_json=as_json)
        return
    if corpus is not None:
        raise UsageError("--corpus is for results files; a run knows its corpus")
    summary = summarize(RunFolder(run))
    given = None if ratings is None else ratings_of(ratings, summary)
    print_summaries([summary], as_json, by=by, explain=explain, ratings=given)
    if not summary.complete:
        say("The run is not complete; the command that began it goes on.")
    elif not as_json:
        say_next("report", *chosen.words, run, *(["--ratings", ratings] if ratings else []), "--json")


def _write_page(runs: Sequence[Path], by: Sequence[str], html: Path) -> None:
    from dspy_proact.cli.views.message import say
    from dspy_proact.cli.views.next import say_next
    from dspy_proact.cli.views.summary import summary_of
    from dspy_proact.errors import UsageError
    from dspy_proact.kept import refuse_overwrite, write_whole
    from dspy_proact.report.page import page

    if html == Path("-"):
        click.echo(page([summary_of(run) for run in runs], by).encode())
        return
    refuse_overwrite(html, *runs)
    if html.is_file() and html.read_bytes()[: len(_PAGE)].lower() != _PAGE:
        raise UsageError(f"{html}: is there already and no page; name another file")
    write_whole(html, page([summary_of(run) for run in runs], by))
    say(f"The page is in {html}; a browser opens it.")
    say_next(*{1: ["report", *runs, "--json"], 2: ["compare", *runs]}.get(len(runs), ["leaderboard", *runs]))


def _report_results(
    path: Path, by: Sequence[str], corpus: str | None, ratings: str | None, *, explain: bool, as_json: bool
) -> None:
    from rich.console import Console

    from dspy_proact.benchmarks.proactbench.corpus import read_results
    from dspy_proact.benchmarks.proactbench.report import check_document, check_lines, check_results, summarize_results
    from dspy_proact.cli.options.corpus import HUB, answered_corpus
    from dspy_proact.cli.options.labels import ratings_of
    from dspy_proact.cli.views.explain import print_more
    from dspy_proact.cli.views.next import say_next
    from dspy_proact.report import Corrected, corrected_document, print_corrected, print_summary, show, summary_document

    results = read_results(path)
    summary = summarize_results(results)
    answered = answered_corpus(results, corpus)
    check = check_results(results, answered)
    corrected = None if ratings is None else Corrected(summary, ratings_of(ratings, summary))
    if as_json:
        whole = summary_document(summary, by) | {"results": check_document(check)}
        whole |= {"corrected": corrected_document(corrected)} if corrected else {}
        click.echo(json.dumps(whole, indent=2, allow_nan=False))
        return
    console = Console(soft_wrap=False)
    print_summary(summary, console, by, explain)
    show(console, *check_lines(check))
    if corrected:
        print_corrected(corrected, console, explain)
    if not explain:
        print_more()
    say_next("rejudge", path, "--corpus", corpus or (HUB if answered is None else answered.name))
