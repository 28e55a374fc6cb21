"""`dspy-proact rejudge`: another judge on responses that exist."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dspy_proact.cli.options import Settings, with_settings
from dspy_proact.errors import UsageError

if TYPE_CHECKING:
    from dspy_proact.benchmarks import Responses
    from dspy_proact.report import Agreement, Summary

_UNJUDGED = "None of these responses was graded before, so that there are no two judges to compare."


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--corpus", metavar="sample|proactbench[@REV]|FILE", help="What a results file answers.")
@with_settings
def rejudge(run: Path, corpus: str | None, settings: Settings) -> int:
    """Have other judges grade the responses of RUN, the folder of a run or a results file; no response is paid again.

    The responses are copied into a new run, which names its parent; then the two gradings are compared. A results file
    holds no conversations, so that it needs the --corpus that it answers.
    """
    from rich.console import Console

    from dspy_proact.benchmarks.proactbench import Rejudging
    from dspy_proact.cli.eval import PAPER_JUDGE
    from dspy_proact.cli.executing import execute, show_forecasts
    from dspy_proact.cli.report import show, summary_of
    from dspy_proact.cli.saying import say
    from dspy_proact.report import agreement_document, agreement_lines, cell, summary_document

    responses = _responses(run, corpus)
    judges = settings.judges or (("embedded",) if responses.embedded else (PAPER_JUDGE,))
    rejudging = Rejudging(responses, gate=settings.gate, **settings.calling(judges))
    path = settings.out or rejudging.default_folder
    if settings.dry_run:
        show_forecasts([(rejudging, path)], None, settings)
        return 0
    ended = execute([(rejudging, path)], None, settings)
    if ended.finished:
        child = summary_of(path)
        agreement = _agreement(summary_of(run), child)
        if settings.as_json:
            judges = {"judges": agreement_document(agreement)} if agreement else {"judges": None, "reason": _UNJUDGED}
            click.echo(json.dumps(summary_document(child) | judges, indent=2, allow_nan=False))
        else:
            show([child], as_json=False)
            console = Console(soft_wrap=False)
            for line in agreement_lines(agreement) if agreement else [_UNJUDGED]:
                console.print(cell(line))
            say(f"Next: dspy-proact compare {run} {path}")
    return ended.close()


def _agreement(parent: "Summary", child: "Summary") -> "Agreement | None":
    """How the judges of both agree; None where they graded no response in common."""
    from dspy_proact.report import compare

    try:
        return compare(parent, child).agreement
    except UsageError:
        return None


def _responses(run: Path, corpus: str | None) -> "Responses":
    """The responses of a run, or of a results file with its corpus."""
    from dspy_proact.benchmarks import Responses
    from dspy_proact.benchmarks.proactbench import ProactBench, responses_of_results
    from dspy_proact.cli.report import corpus_of
    from dspy_proact.corpus import read_results
    from dspy_proact.runs import RunFolder

    if not run.is_file():
        if corpus is not None:
            raise UsageError("--corpus is for results files; a run knows its corpus")
        return Responses.of_run(RunFolder(run), ProactBench)
    results = read_results(run)
    answered = corpus_of(results, corpus)
    if answered is None:
        raise UsageError(f"{run}: a results file holds no conversations; name the corpus that it answers with --corpus")
    return responses_of_results(results, answered)
