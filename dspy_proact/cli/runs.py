"""`dspy-proact runs`: the runs in a folder, as a list or as a page with the page of each."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import click

from dspy_proact.cli.options import option
from dspy_proact.cli.options.paths import summary_of
from dspy_proact.cli.options.scope import labels_section, tags_of
from dspy_proact.cli.options.verb import verb
from dspy_proact.cli.views.message import console, message_of, print_json, say
from dspy_proact.cli.views.pages import refuse_all_but, write_page
from dspy_proact.errors import ProactError, UsageError

if TYPE_CHECKING:
    from dspy_proact.report.run_list import ListedRun


@verb(
    "runs",
    labels_section(
        "Only runs with this tag; repeatable: with all of them.",
        "Only runs with this text in their note.",
        option.text("--commit", "HASH", "Only runs that were begun at this git commit, or its first digits."),
        option.path("--html", "Write a page that lists them, and the page of each into a folder beside it."),
        option.as_json("the list"),
    ),
    first="--tag --note --commit --html --json",
    example="dspy-proact runs runs --tag prompt=short",
    brief="List runs.",
)
@click.argument("folder", default="runs", type=click.Path(path_type=Path, file_okay=False))
def runs(
    folder: Path,
    tags: tuple[tuple[str, str], ...],
    note: str | None,
    commit: str | None,
    html: Path | None,
    as_json: bool,
) -> None:
    """List the runs in FOLDER and below it, the latest first; FOLDER is `runs` where none is named.

    run is the end of the folder's name; score is the mean score of what was graded, 0 to 100, with its 95 % interval;
    scored is how many cases of the corpus have a grade. Tags and note are those that `eval` was given.
    """
    from dspy_proact.kept import Kind, content_of
    from dspy_proact.report.numbers import counted
    from dspy_proact.report.run_list import list_runs

    if html and as_json:
        raise UsageError("--html and --json are mutually exclusive")
    if html and (html == option.STANDARD_OUTPUT or html.is_dir()):
        raise UsageError(f"--html {html}: name a file; the pages of the runs are written into a folder beside it")
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; name the one that holds runs")
    listed = list_runs(folder, tags_of(tags), note or "", commit or "")
    chosen = bool(tags or note or commit)
    if chosen and (unknown := sum(run.reason is not None for run in listed)):
        listed = [run for run in listed if run.reason is None]
        without = "repeat the command without --tag, --note and --commit to see why"
        say(f"What cannot be read is left out: {counted(unknown, 'run')}; {without}.")
    if as_json:
        print_json([run.document for run in listed])
    elif not listed:
        content = content_of(folder)
        why = "" if content.kind in (Kind.FOLDER, Kind.RUNS) else f": {content.problem('a folder of runs')}"
        say(f"{folder}: no {'such run' if chosen else 'run'} in it{why or '.'}")
    elif html:
        _write_index(html, folder, listed)
    else:
        _print_list(listed)


def _print_list(listed: "Sequence[ListedRun]") -> None:
    """Print a table of runs, below what is wrong with those that cannot be read."""
    from dspy_proact.plain_text import shortened
    from dspy_proact.report.numbers import percent
    from dspy_proact.report.terminal import table

    for run in listed:
        if run.reason:
            say(run.reason)
    columns = {
        "run": [run.name.rpartition("--")[2] for run in listed],
        **{name: [getattr(run, name) or "-" for run in listed] for name in ("benchmark", "model", "judge")},
        "score": [percent(run.score) for run in listed],
        "scored": [run.count for run in listed],
        **{name: [getattr(run, name) or "-" for run in listed] for name in ("state", "created")},
        "tags": [run.labels for run in listed],
        "note": [shortened(run.note or "") for run in listed],
        "commit": [run.short_commit for run in listed],
        "path": [str(run.path) for run in listed],
    }
    shown = {name: cells for name, cells in columns.items() if any(cells)}
    console().print(table(list(shown), zip(*shown.values(), strict=True), fold=False), soft_wrap=True)


def _write_index(html: Path, folder: Path, listed: "Sequence[ListedRun]") -> None:
    """Write the page of a list, and the pages of its runs, each at its run's place below a folder beside it."""
    from dspy_proact.kept import write_file
    from dspy_proact.report.page import page, runs_page

    beside, pages = html.with_name(f"{html.stem}-pages"), dict[Path, str]()
    if beside.is_symlink():
        raise UsageError(f"{beside}: is a link, and pages are written into no linked folder; name another file")

    def made() -> str:
        for run in (run for run in listed if run.reason is None):
            below = run.path.relative_to(folder)  # of the folder itself it is empty
            file = beside / below.parent / f"{run.name}.html"
            try:
                if any((beside / part).is_symlink() for part in below.parents):
                    raise UsageError(f"{file.parent}: leads through a link; name another file")
                refuse_all_but(file)
                text = page([summary_of(run.path)])
                file.parent.mkdir(parents=True, exist_ok=True)
                write_file(file, text)
            except (OSError, ProactError) as error:
                why = f"{file}: {error.strerror}" if isinstance(error, OSError) else message_of(error)
                say(f"{run.path}: has no page: {why}")
                continue
            pages[run.path] = quote(str(file.relative_to(html.parent)).encode(errors="surrogateescape"))
        return runs_page(listed, pages)

    write_page(html, [run.path for run in listed], made)
