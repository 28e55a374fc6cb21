"""`dspy-proact report`: the scores of a run or of a results file."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dspy_proact.cli.options.benchmark import DEFAULT, READ_BENCHMARK, Chosen
from dspy_proact.cli.options.cases import ANSWERED_CORPUS
from dspy_proact.cli.options.kinds import STANDARD_OUTPUT, explain_option, json_option, text_option
from dspy_proact.cli.options.labels import RATINGS, ratings_of
from dspy_proact.cli.options.verb import Heading, Section, first_typed, verb
from dspy_proact.cli.views.message import print_json, print_more, say, say_next
from dspy_proact.cli.views.summary import is_results, summary_of
from dspy_proact.errors import UsageError

if TYPE_CHECKING:
    from dspy_proact.benchmarks.benchmark import ResultsCheck
    from dspy_proact.report import Summary

_PAGE = b"<!doctype html"
"""Begins what a page may replace."""


@verb(
    "report",
    READ_BENCHMARK,
    ANSWERED_CORPUS,
    Section(
        Heading.SHOWN,
        text_option("--by", "KEY", "Break down by a key of metadata; repeatable.", several=True),
        text_option(
            "--ratings",
            RATINGS,
            "People's ratings of a part of the responses: estimate what they would have given to all.",
        ),
    ),
    Section(
        Heading.OUTPUT,
        click.Option(
            ["--html"],
            metavar="FILE|-",
            type=click.Path(path_type=Path, allow_dash=True),
            help="Write a page for a browser, of several RUNs too; - for standard output.",
        ),
        explain_option(),
        json_option("the report"),
    ),
    first="--by --corpus --html --ratings --benchmark --explain --json",
    example="dspy-proact report runs/mine --html report.html",
    brief="Print the scores of a run, or write its page.",
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path(path_type=Path))
def report(
    runs: tuple[Path, ...],
    chosen: Chosen,
    corpus: str | None,
    by: tuple[str, ...],
    ratings: str | None,
    html: Path | None,
    explain: bool,
    as_json: bool,
) -> None:
    """Print the scores of RUN: the folder of a run, finished or not, or a results file in the official format.

    A results file is checked as well, as far as possible without a call; with its --corpus, for dropped cases.

    --html writes one file that works without a network: the numbers, and every case to be read and filtered. Several
    RUNs stand side by side, each compared with the first.
    """
    chosen.require(*runs)
    if html is not None:
        if flag := first_typed(("--json", "--explain", "--corpus", "--ratings")):
            raise UsageError(f"--html and {flag} are mutually exclusive")
        _write_page(runs, by, html)
        return
    if len(runs) > 1:
        raise UsageError(f"{len(runs)} RUNs are given; several are reported on a page: --html FILE")
    from rich.console import Console

    from dspy_proact.report import Corrected, corrected_document, print_corrected, print_summary, show, summary_document

    run = next(iter(runs))
    summary, check = _summary(run, corpus)
    corrected = None if ratings is None else Corrected(summary, ratings_of(ratings, summary))
    if as_json:
        whole = summary_document(summary, by) | ({"results": dict(check.document)} if check else {})
        whole |= {"corrected": corrected_document(corrected)} if corrected else {}
        print_json(whole)
    else:
        console = Console(soft_wrap=False)
        print_summary(summary, console, by, explain)
        show(console, *(check.lines if check else ()))
        if corrected:
            print_corrected(corrected, console, explain)
        if not explain:
            print_more()
    if not check and not summary.complete:
        say("The run is not complete; repeat the command that began it to go on.")
    elif not as_json:
        page = ["report", *chosen.words, run, "--html", "page.html"]
        say_next(*(["rejudge", run, "--corpus", check.corpus] if check else page))


def _summary(path: Path, corpus: str | None) -> "tuple[Summary, ResultsCheck | None]":
    """The summary of a run or a results file, and the check of the latter."""
    from dspy_proact.benchmarks.registry import benchmark_named
    from dspy_proact.report import summarize
    from dspy_proact.runs import RunFolder

    if not is_results(path):
        if corpus is not None:
            raise UsageError("--corpus is for results files; a run knows its corpus")
        return summarize(RunFolder(path)), None
    results = benchmark_named(DEFAULT).read_results(path)
    return results.summary, results.check(corpus)


def _write_page(runs: Sequence[Path], by: Sequence[str], html: Path) -> None:
    from dspy_proact.kept import refuse_overwrite, write_whole
    from dspy_proact.report.page import page

    if html == STANDARD_OUTPUT:
        click.echo(page([summary_of(run) for run in runs], by).encode())
        return
    refuse_overwrite(html, *runs)
    if html.is_file() and html.read_bytes()[: len(_PAGE)].lower() != _PAGE:
        raise UsageError(f"{html}: exists and is not a page; name another file")
    write_whole(html, page([summary_of(run) for run in runs], by))
    say(f"The page is in {html}; open it in a browser.")
    say_next(*{1: ["show", *runs], 2: ["compare", *runs]}.get(len(runs), ["leaderboard", *runs]))
