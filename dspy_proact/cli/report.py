"""`dspy-proact report`, `compare` and `leaderboard`: the scores of runs and of results files."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dspy_proact.cli.next_step import Next, say_next
from dspy_proact.cli.options import option
from dspy_proact.cli.options.arguments import with_options_of_models, words_of
from dspy_proact.cli.options.benchmark import ANSWERED_CORPUS, READ_BENCHMARK, BenchmarkChoice, corpus_option
from dspy_proact.cli.options.labels import RATINGS, ratings_of
from dspy_proact.cli.options.models import LAZY_GATE, NamedModel, model_options
from dspy_proact.cli.options.verb import Heading, Section, first_typed, verb
from dspy_proact.cli.views.message import console, print_json, print_more, say
from dspy_proact.cli.views.pages import write_over_its_like, write_page
from dspy_proact.errors import UsageError

if TYPE_CHECKING:
    from dspy_proact.models import Gate

_RANKED = "A run of your own stands beside them, ranked where it was made as they were: leaderboard RUN."


@verb(
    "report",
    READ_BENCHMARK,
    ANSWERED_CORPUS,
    Section(
        Heading.SHOWN,
        option.text("--by", "KEY", "Break down by a key of metadata; repeatable.", several=True),
        option.text(
            "--ratings",
            RATINGS,
            "People's ratings of a part of the responses: estimate what they would have given to all. Repeat it for "
            "files of several raters.",
            several=True,
        ),
    ),
    Section(
        Heading.OUTPUT,
        option.file("--html", "Write a page for a browser, of several RUNs too; - for standard output."),
        option.file("--junit", "Write JUnit XML: a test for each case, of several RUNs too; - for standard output."),
        option.explain(),
        option.as_json("the report"),
    ),
    first="--by --corpus --html --junit --ratings --benchmark --explain --json",
    example="dspy-proact report runs/mine --html report.html",
    brief="Print the scores of a run, or write its page.",
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path(path_type=Path))
def report(
    runs: tuple[Path, ...],
    chosen: BenchmarkChoice,
    corpus: str | None,
    by: tuple[str, ...],
    ratings: tuple[str, ...],
    html: Path | None,
    junit: Path | None,
    explain: bool,
    as_json: bool,
) -> None:
    """Print the scores of RUN: the folder of a run, finished or not, the Inspect log of one, or a results file.

    A results file is checked as well, as far as possible without a call; with its --corpus, for dropped cases.

    --html writes one file that works without a network: the numbers, and every case to be read and filtered. Several
    RUNs stand side by side, each compared with the first. --junit writes a test for each case: only the best
    grade passes, and an unscored case is an error.
    """
    chosen.require(*runs)
    if html is not None or junit is not None:
        _write_file_of(runs, chosen, by, html, junit)
        return
    if len(runs) > 1:
        raise UsageError(f"{len(runs)} RUNs are given; several are reported on a page: --html FILE")
    from dspy_proact.report import Corrected, corrected_document, print_corrected, print_summary, summary_document
    from dspy_proact.report.terminal import show

    run = next(iter(runs))
    summary = chosen.summary(run)
    if corpus is not None and summary.manifest:
        raise UsageError("--corpus is for results files; a run knows its corpus")
    check = chosen.check(run, corpus)
    corrected = Corrected(summary, ratings_of(ratings, summary)) if ratings else None
    if as_json:
        document = summary_document(summary, by) | ({"results": dict(check.document)} if check else {})
        document |= {"corrected": corrected_document(corrected)} if corrected else {}
        print_json(document)
    else:
        print_summary(summary, console(), by, explain, with_options_of_models)
        show(console(), *(check.lines if check else ()))
        if corrected:
            print_corrected(corrected, console(), explain)
        print_more(explain)
    if not check and not summary.complete:
        say("The run is not complete; repeat the command that began it to go on.")
    elif not as_json:
        if check:
            say_next(Next.RESULTS_FILE_REPORTED, run=run, corpus=check.corpus)
        else:
            say_next(Next.RUN_FINISHED, benchmark=chosen.words, runs=run)


def _write_file_of(
    runs: Sequence[Path], chosen: BenchmarkChoice, by: Sequence[str], html: Path | None, junit: Path | None
) -> None:
    """Write a page, or the tests, of runs."""
    flag, excluded = ("--junit", ("--html", "--by")) if junit else ("--html", ())
    if other := first_typed((*excluded, "--json", "--explain", "--corpus", "--ratings")):
        raise UsageError(f"{flag} and {other} are mutually exclusive")
    if junit:
        from dspy_proact.report.junit import junit_xml

        def made() -> str:
            return junit_xml([chosen.summary(run) for run in runs])

        if write_over_its_like(junit, runs, made, "JUnit XML", b"<?xml"):
            say(f"The tests are in {junit}.")
    elif html:
        from dspy_proact.report.page import page

        if write_page(html, runs, lambda: page([chosen.summary(run) for run in runs], by)):
            step = Next.PAGE_WRITTEN if len(runs) == 1 else Next.RUNS_FINISHED
            say_next(step, benchmark=None, run=runs, runs=runs)


# Several runs


@verb(
    "compare",
    Section(
        Heading.CASES,
        option.text(
            "--ratings",
            RATINGS,
            "People's ratings of a part of the responses; give it twice: of RUN_A, then of RUN_B.",
            several=True,
        ),
    ),
    READ_BENCHMARK,
    Section(
        Heading.COMPARED,
        option.flag("--card", "Say whether RUN_B, of a trained model, is better."),
        option.text(
            "--trained-on",
            "ROWS",
            "What it was trained on: rows of `export`, or the folder of a reward; repeatable. Without it no claim.",
            several=True,
        ),
        option.text(
            "--rewarded-by",
            "NAME",
            "The judge that rewarded, where --trained-on does not say; repeatable.",
            several=True,
        ),
        option.file("--markdown", "Write the card as Markdown, for the README of the model; - for standard output."),
    ),
    model_options(
        "--judge",
        "With --card: asked which response is better, without the rubric; repeatable. Without it no claim.",
        Heading.JUDGE,
    ),
    LAZY_GATE,
    option.output("the judge's choices. Default: runs/preference--MODELS--JUDGE--ID", "the comparison"),
    Section(Heading.OUTPUT, option.explain()),
    first="--ratings --card --trained-on --judge --dry-run --benchmark --explain --json",
    example="dspy-proact compare runs/before runs/after",
    brief="Compare runs on the cases that they share.",
)
@click.argument("runs", nargs=-1, metavar="RUN_A RUN_B...", type=click.Path(path_type=Path))
def compare(
    runs: tuple[Path, ...],
    ratings: tuple[str, ...],
    chosen: BenchmarkChoice,
    card: bool,
    trained_on: tuple[str, ...],
    rewarded_by: tuple[str, ...],
    markdown: Path | None,
    judge: NamedModel,
    gate: "Callable[[], Gate]",
    output: option.Output,
    explain: bool,
) -> int | None:
    """Compare RUN_B, or each of several, with RUN_A on the cases that they share.

    A RUN is the folder of a run, the Inspect log of one, or a results file. More than two are listed by their score,
    the best first.

    Differences are paired by case and clustered by what cases share, such as a scenario; the smallest detectable
    difference stands beside them. With --ratings of both, how much more people would have given to one of them.

    --card claims an improvement of a trained model only on cases that it was not trained on, by a judge of another
    family than the one that rewarded, and where a judge without the rubric does not prefer the other model.
    """
    if card:
        if len(runs) != 2 or ratings:
            raise UsageError("--card: takes RUN_A and RUN_B, and no --ratings")
        from dspy_proact.cli.views.trained import CardOptions, card_shown

        options = CardOptions(trained_on, rewarded_by, judge, gate, markdown)
        return card_shown(*runs, chosen, options, output, explain)
    if flag := first_typed(but=("--ratings", "--benchmark", "--explain", "--json")):
        raise UsageError(f"{flag}: has no effect without --card")
    if len(runs) < 2:
        raise UsageError(f"compare takes RUN_A and RUN_B, and {'one is' if runs else 'none is'} given")
    if len(runs) > 2:
        if ratings:
            raise UsageError(f"--ratings is for two RUNs, and {len(runs)} are given")
        _compare_several(runs, chosen, output.as_json, explain)
    else:
        _compare_two(runs[0], runs[1], ratings, chosen, output.as_json, explain)
    return None


def _compare_several(runs: Sequence[Path], chosen: BenchmarkChoice, as_json: bool, explain: bool) -> None:
    from dspy_proact.report import compare_several, print_several, several_document

    chosen.require(*runs)
    several = compare_several([chosen.summary(run) for run in runs])
    if as_json:
        print_json(several_document(several))
        return
    print_several(several, console(), explain)
    print_more(explain)
    say_next(Next.RUN_FINISHED, benchmark=chosen.words, runs=runs)


def _compare_two(
    first: Path, second: Path, ratings: Sequence[str], chosen: BenchmarkChoice, as_json: bool, explain: bool
) -> None:
    from dspy_proact.report import (
        compare,
        compare_corrected,
        comparison_document,
        corrected_comparison_document,
        print_comparison,
        print_corrected_comparison,
    )
    from dspy_proact.report.corrected import SEPARATE_RATINGS

    if len(ratings) not in (0, 2):
        times = "once" if len(ratings) == 1 else f"{len(ratings)} times"
        raise UsageError(f"--ratings is given {times}: {SEPARATE_RATINGS}: --ratings A --ratings B")
    chosen.require(first, second)
    a, b = chosen.summary(first), chosen.summary(second)
    comparison, corrected = compare(a, b), None
    if ratings:
        corrected = compare_corrected(comparison, ratings_of(ratings[:1], a), ratings_of(ratings[1:], b))
    if as_json:
        document = comparison_document(comparison)
        document |= {"corrected": corrected_comparison_document(corrected)} if corrected else {}
        print_json(document)
        return
    print_comparison(comparison, console(), explain)
    if corrected:
        print_corrected_comparison(corrected, console(), explain)
    print_more(explain)
    say_next(Next.COMPARED, benchmark=chosen.words, a=first, b=second)


@verb(
    "leaderboard",
    READ_BENCHMARK,
    corpus_option("Rank runs on this corpus, such as one of your own, without published scores."),
    Section(
        Heading.SHOWN,
        option.text("--add", "FILE", "Show scores of others from this JSON file below all rows, unverified.", "added"),
    ),
    Section(
        Heading.OUTPUT,
        option.file("--html", "Write a page for a browser: every model by stratum; - for standard output."),
        option.explain(),
        option.as_json("the leaderboard"),
    ),
    first="--corpus --add --html --benchmark --explain --json",
    example="dspy-proact leaderboard runs/mine --html models.html",
    brief="Rank runs among published scores.",
)
@click.argument("runs", nargs=-1, metavar="[RUN]...", type=click.Path(path_type=Path))
def leaderboard(
    runs: tuple[Path, ...],
    chosen: BenchmarkChoice,
    corpus: str | None,
    added: str | None,
    html: Path | None,
    explain: bool,
    as_json: bool,
) -> None:
    """Print the published scores of a benchmark in order, and each RUN with how its conditions differ.

    A run is ranked among them if it was made under their conditions; any other run, and a results file, stands below
    the line. The strict score ranks, in which unscored cases count 0; published scores leave them out.

    With --corpus the RUNs on it are ranked among themselves, if they have one judge and the same settings.

    --add shows scores of others with their judge, source and date. They are marked as unverified and have no rank.
    """
    from dspy_proact.report import leaderboard as put_in_order
    from dspy_proact.report import leaderboard_document, print_leaderboard

    declared = chosen.known(*runs)
    if html and (flag := first_typed(("--json", "--explain"))):
        raise UsageError(f"--html and {flag} are mutually exclusive")
    board = put_in_order([chosen.summary(run) for run in runs], declared, corpus, added)
    if html:
        from dspy_proact.report.page import leaderboard_page

        write_page(html, runs, lambda: leaderboard_page(board))
        return
    if as_json:
        print_json(leaderboard_document(board))
        return
    print_leaderboard(board, console(), explain)
    print_more(explain)
    if runs:
        say_next(Next.RANKED, benchmark=chosen.words, run=runs[0])
    else:
        conditions = [word for named in board.published.as_published.items() for word in words_of(*named)]
        say_next(Next.PUBLISHED_RANKED, _RANKED, benchmark=chosen.words, conditions=conditions)
