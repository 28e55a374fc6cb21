"""`dspy-proact export`: a run in other forms."""

from pathlib import Path
from tempfile import TemporaryDirectory

import click

from dspy_proact.cli.options.benchmark import READ_BENCHMARK, Chosen
from dspy_proact.cli.options.kinds import STANDARD_OUTPUT, file_option
from dspy_proact.cli.options.verb import Heading, Section, verb
from dspy_proact.cli.views.message import say, say_next
from dspy_proact.errors import UsageError

_ENDINGS = {"official": ".jsonl", "csv": ".csv", "parquet": ".parquet"}
_FOLDER = Path("exports")
"""Where a file goes that is not named: not among runs, so that a pattern of runs stays one."""


@verb(
    "export",
    Section(
        Heading.OUTPUT,
        click.Option(
            ["--format", "form"],
            type=click.Choice(list(_ENDINGS)),
            required=True,
            help="official: a results file of the benchmark's own evaluator; csv, parquet: a row per verdict.",
        ),
        file_option("--out", "The file; - for standard output. Default: exports/RUN with an ending."),
    ),
    READ_BENCHMARK,
    first="--format --out --benchmark",
    example="dspy-proact export runs/mine --format csv",
    brief="Write a run as a file for other tools.",
)
@click.argument("run", type=click.Path(path_type=Path))
def export(run: Path, form: str, out: Path | None, chosen: Chosen) -> None:
    """Write RUN, the folder of a run, as a file. An existing file of that name is replaced."""
    from dspy_proact.report import export_csv, export_parquet, summarize
    from dspy_proact.runs import RunFolder

    chosen.require(run)
    folder = RunFolder(run)
    summary = summarize(folder)
    with TemporaryDirectory() as scratch:
        path = _path(out, run, form, Path(scratch))
        if form == "csv":
            export_csv(summary, path)
        elif form == "parquet":
            export_parquet(summary, path)
        else:
            for lost in chosen.known(run).write_results(folder, summary, path):
                say(f"Not in the file: {lost}")
        if out == STANDARD_OUTPUT:
            click.echo(path.read_bytes(), nl=False)
            return
    click.echo(str(path))
    if form == "official":
        say_next("report", path)
    else:
        say(f"The table is in {path}.")


def _path(out: Path | None, run: Path, form: str, scratch: Path) -> Path:
    """The file to write: the one that is named, else one called like the run's folder, however that was named.

    Raises:
        UsageError: Its folder cannot be made, or it would replace what it is made of.
    """
    from dspy_proact.kept import refuse_overwrite

    if out == STANDARD_OUTPUT:
        return scratch / "export"
    if out:
        refuse_overwrite(out, run)
        return out
    try:
        _FOLDER.mkdir(exist_ok=True)
    except OSError as error:
        raise UsageError(f"{_FOLDER}: cannot be made: {error.strerror}; name a file with --out") from error
    return _FOLDER / f"{run.resolve().name}{_ENDINGS[form]}"
