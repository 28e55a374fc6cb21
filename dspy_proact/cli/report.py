"""`dspy-proact report`: the scores of a run or of a results file."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from dspy_proact.corpus import Corpus, Results
    from dspy_proact.report import Summary


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--by", multiple=True, metavar="KEY", help="Break down by life_domain, turn, style, ...; repeatable.")
@click.option("--corpus", metavar="sample|proactbench[@REV]|FILE", help="What a results file answers.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def report(run: Path, by: tuple[str, ...], corpus: str | None, as_json: bool) -> None:
    """Print the scores of RUN, the folder of a finished or unfinished run, or a results file in the official format.

    Of a results file it says besides what is wrong with it, as far as that can be known without a call; with the
    --corpus that it answers, which triggers were dropped.
    """
    from dspy_proact.cli.saying import say
    from dspy_proact.errors import UsageError
    from dspy_proact.report import summarize
    from dspy_proact.runs import RunFolder

    if run.is_file():
        _report_results(run, by, corpus, as_json)
        return
    if corpus is not None:
        raise UsageError("--corpus is for results files; a run knows its corpus")
    summary = summarize(RunFolder(run))
    show([summary], as_json, by=by)
    if not summary.complete:
        say("The run is not complete; the command that began it goes on.")
    elif not as_json:
        say(f"Next: dspy-proact report {run} --json")


def summary_of(path: Path) -> "Summary":
    """The summary of a run's folder or of a results file."""
    from dspy_proact.corpus import read_results
    from dspy_proact.report import summarize, summarize_results
    from dspy_proact.runs import RunFolder

    return summarize_results(read_results(path)) if path.is_file() else summarize(RunFolder(path))


def show(summaries: "Sequence[Summary]", as_json: bool, alone: bool = True, by: Sequence[str] = ()) -> None:
    """Print summaries on standard output; JSON of what is not alone is a list."""
    from rich.console import Console

    from dspy_proact.report import print_summary, summary_document

    if as_json and (summaries or not alone):
        documents = [summary_document(summary, by) for summary in summaries]
        click.echo(json.dumps(documents[0] if alone else documents, indent=2, allow_nan=False))
        return
    for summary in summaries:
        print_summary(summary, Console(soft_wrap=False), by)


def corpus_of(results: "Results", named: str | None) -> "Corpus | None":
    """The corpus that a results file answers: the one that is named, or the sample where it has every trigger."""
    from dspy_proact.corpus import load_corpus

    if named is not None:
        return load_corpus(named)
    sample = load_corpus("sample")
    dialogues = {dialogue.origin.dialogue for dialogue in sample.dialogues}
    answered = {trigger.origin.dialogue for trigger in results.triggers}
    return sample if answered and answered <= dialogues else None


def _report_results(path: Path, by: Sequence[str], corpus: str | None, as_json: bool) -> None:
    from rich.console import Console

    from dspy_proact.cli.saying import say
    from dspy_proact.corpus import read_results
    from dspy_proact.report import cell, check_document, check_lines, check_results, summarize_results, summary_document

    results = read_results(path)
    summary = summarize_results(results)
    check = check_results(results, corpus_of(results, corpus))
    if as_json:
        whole = summary_document(summary, by) | {"results": check_document(check)}
        click.echo(json.dumps(whole, indent=2, allow_nan=False))
        return
    show([summary], as_json, by=by)
    console = Console(soft_wrap=False)
    for line in check_lines(check):
        console.print(cell(line))
    say(f"Next: dspy-proact rejudge {path} --corpus CORPUS --judge MODEL")
