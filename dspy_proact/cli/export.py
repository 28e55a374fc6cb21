"""`dspy-proact export`: a run in other forms."""

from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from dspy_proact.cli.options.benchmark import READ_BENCHMARK, Chosen
from dspy_proact.cli.options.verb import Heading, Section, verb
from dspy_proact.errors import UsageError

_ENDINGS = {"official": ".jsonl", "csv": ".csv", "parquet": ".parquet"}
_STANDARD_OUTPUT = Path("-")
_FOLDER = Path("exports")
"""Where a file goes that is not named: not among runs, so that a pattern of runs stays one."""


@verb(
    "export",
    Section(
        Heading.OUTPUT,
        (
            click.Option(
                ["--format", "form"],
                type=click.Choice(list(_ENDINGS)),
                required=True,
                help="official: a results file of the benchmark's own evaluator; csv, parquet: a row per verdict.",
            ),
            click.Option(
                ["--out"],
                type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
                metavar="FILE|-",
                help="The file; - for standard output. Default: exports/RUN with an ending.",
            ),
        ),
    ),
    READ_BENCHMARK,
    first="--format --out --benchmark",
    example="dspy-proact export runs/mine --format csv",
    brief="Write a run as a file for other tools.",
)
@click.argument("run", type=click.Path(path_type=Path))
def export(run: Path, form: str, out: Path | None, chosen: Chosen) -> None:
    """Write RUN, the folder of a run, as a file. An existing file of that name is replaced."""
    from dspy_proact.cli.views.message import say, say_next
    from dspy_proact.report import export_csv, export_parquet, summarize
    from dspy_proact.runs import RunFolder

    chosen.require(run)
    folder = RunFolder(run)
    summary = summarize(folder)
    with _file(out, run, _ENDINGS[form]) as path:
        if form == "csv":
            export_csv(summary, path)
        elif form == "parquet":
            export_parquet(summary, path)
        else:
            for lost in chosen.known(run).write_results(folder, summary, path):
                say(f"Not in the file: {lost}")
    if out == _STANDARD_OUTPUT:
        return
    click.echo(str(path))
    if form == "official":
        say_next("report", path)
    else:
        say(f"The table is in {path}.")


@contextmanager
def _file(out: Path | None, run: Path, ending: str) -> Generator[Path]:
    """The file to write: the one that is named, else one called like the run's folder, however that was named.

    What is for standard output is printed at the end.

    Raises:
        UsageError: Its folder cannot be made.
    """
    from dspy_proact.kept import refuse_overwrite

    if out == _STANDARD_OUTPUT:
        with TemporaryDirectory() as folder:
            path = Path(folder) / f"export{ending}"
            yield path
            click.echo(path.read_bytes(), nl=False)
        return
    if out:
        refuse_overwrite(out, run)
        yield out
        return
    try:
        _FOLDER.mkdir(exist_ok=True)
    except OSError as error:
        raise UsageError(f"{_FOLDER}: cannot be made: {error.strerror}; name a file with --out") from error
    try:
        yield _FOLDER / f"{run.resolve().name}{ending}"
    finally:
        with suppress(OSError):  # it stays where anything is in it
            _FOLDER.rmdir()
