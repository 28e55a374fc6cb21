"""`dspy-proact report`: the scores of a run."""

from pathlib import Path

import click


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def report(run: Path, as_json: bool) -> None:
    """Print the scores of RUN, the folder of a finished or unfinished run."""
    from dspy_proact.cli.saying import say
    from dspy_proact.report import summarize
    from dspy_proact.runs import RunFolder

    summary = summarize(RunFolder(run))
    show(summary, as_json)
    if not summary.complete:
        say("The run is not complete; the command that began it goes on.")
    elif not as_json:
        say(f"Next: dspy-proact report {run} --json")


def show(summary: object, as_json: bool) -> None:
    """Print a summary on standard output."""
    import json

    from rich.console import Console

    from dspy_proact.report import Summary, document, print_summary

    assert isinstance(summary, Summary)
    if as_json:
        click.echo(json.dumps(document(summary), indent=2, allow_nan=False))
    else:
        print_summary(summary, Console(soft_wrap=False))
