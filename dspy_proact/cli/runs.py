"""`dspy-proact runs`: the runs of a folder, in a list."""

from pathlib import Path
from typing import Any

import click

from dspy_proact.cli.options.kinds import json_option
from dspy_proact.cli.options.verb import Heading, Section, verb
from dspy_proact.cli.views.message import print_json, say


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

    from dspy_proact.errors import UsageError
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
    from dspy_proact.errors import RunError
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
