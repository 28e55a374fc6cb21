"""`dspy-proact runs` and `export`: the runs of a folder in a list, and a run as a file for other tools."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from dspy_proact.cli.options.benchmark import READ_BENCHMARK, Chosen
from dspy_proact.cli.options.kinds import STANDARD_OUTPUT, file_option, json_option
from dspy_proact.cli.options.verb import Heading, Section, verb
from dspy_proact.cli.views.message import print_json, say, say_next
from dspy_proact.errors import RunError, UsageError

_ENDINGS = {"official": ".jsonl", "csv": ".csv", "parquet": ".parquet"}
_FOLDER = Path("exports")
"""Where a file goes that is not named: not among runs, so that a pattern of runs stays one."""


@verb(
    "runs",
    Section(Heading.OUTPUT, json_option("the list")),
    first="--json",
    example="dspy-proact runs runs",
    brief="List runs.",
)
@click.argument("folder", default="runs", type=click.Path(path_type=Path, file_okay=False))
def runs(folder: Path, as_json: bool) -> None:
    """List the runs in FOLDER, which is `runs` where none is named, the latest first.

    run is the end of the folder's name; score is the mean score of what was graded, 0 to 100, as `report` has it.
    """
    from rich.console import Console

    from dspy_proact.report import show, table
    from dspy_proact.runs import RunFolder

    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; name the one that holds runs")
    found = [_row(path) for path in sorted(folder.iterdir()) if RunFolder(path).exists]
    found.sort(key=lambda row: row["created"] or "", reverse=True)
    if as_json:
        print_json(found)
        return
    if not found:
        say(f"{folder}: no run in it.")
        return
    for row in found:
        if row["reason"]:
            say(f"{row['path']}: {row['reason']}")
    names = ("run", "benchmark", "model", "judge", "score", "state", "created", "path")
    rows = (["-" if row[name] is None else str(row[name]) for name in names] for row in found)
    show(Console(soft_wrap=True), table(names, rows, fold=False))


def _row(path: Path) -> dict[str, Any]:
    """What the list says of a run; one that cannot be read says so, with the reason."""
    from dspy_proact.report import summarize
    from dspy_proact.runs import RunFolder

    row: dict[str, Any] = dict.fromkeys(("benchmark", "model", "judge", "score", "created", "reason"))
    row |= {"path": str(path), "run": path.name.rpartition("--")[2]}
    try:
        summary = summarize(RunFolder(path))
    except RunError as error:
        return row | {"state": "cannot be read", "reason": str(error)}
    manifest, score = summary.manifest, summary.micro.weighted.value
    pending, unscored = summary.count("pending"), summary.count("unscored")
    return row | {
        "benchmark": summary.benchmark,
        "model": summary.model_name,
        "judge": " + ".join(summary.judge_names.values()) or None,
        "score": None if score is None else round(100 * score, 1),
        "state": f"{pending} pending" if pending else f"{unscored} unscored" if unscored else "complete",
        "created": manifest.created[:16] if manifest else None,
    }


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
