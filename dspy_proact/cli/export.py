"""`dspy-proact export`: a run in other forms."""

from pathlib import Path

import click

_ENDINGS = {"proactbench": ".jsonl", "csv": ".csv", "parquet": ".parquet"}


def _beside(run: Path, ending: str) -> Path:
    """A file beside the run's folder, however the folder was named; relative where the folder was."""
    whole = run.resolve()
    named = whole.with_name(f"{whole.name}{ending}")
    return run.with_name(named.name) if run.name == whole.name else named


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(list(_ENDINGS)),
    required=True,
    help="proactbench: a results file in the official format; csv and parquet: a row a verdict.",
)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="The file. Default: RUN with its ending.")
def export(run: Path, form: str, out: Path | None) -> None:
    """Write RUN, the folder of a run, as a file; a file of that name is replaced."""
    from dspy_proact.cli.views.message import say
    from dspy_proact.cli.views.next import say_next
    from dspy_proact.report import export_csv, export_parquet, summarize
    from dspy_proact.report.proactbench import export_results
    from dspy_proact.runs import RunFolder

    folder = RunFolder(run)
    summary = summarize(folder)
    path = out or _beside(run, _ENDINGS[form])
    if form == "csv":
        export_csv(summary, path)
    elif form == "parquet":
        export_parquet(summary, path)
    else:
        for lost in export_results(folder, summary, path):
            say(f"not in it: {lost}")
    click.echo(str(path))
    if form == "proactbench":
        say_next("report", path)
    else:
        say(f"The table is in {path}.")
