"""`dspy-proact merge`: the runs of shards as one run."""

from collections.abc import Sequence
from pathlib import Path

import click

from dspy_proact.cli.next_step import Next, say_next
from dspy_proact.cli.options import option
from dspy_proact.cli.options.verb import Heading, Section, verb
from dspy_proact.cli.views.message import print_json, say
from dspy_proact.errors import UsageError

_COUNTED = ("run", "case", "event", "call")
"""Control cases are cases too, and a failure is an event like an answer or a verdict."""


@verb(
    "merge",
    Section(
        Heading.OUTPUT,
        option.path("--out", "Folder of the merged run; one that is there is added to."),
        option.flag("--partial", "Merge although shards, or replies of batches, are missing."),
        option.as_json("what was merged"),
    ),
    first="--out --partial --json",
    example="dspy-proact merge runs/shard-* --out runs/all",
    brief="Put the runs of shards together.",
)
@click.argument("runs", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="RUN...")
def merge(runs: Sequence[Path], out: Path | None, partial: bool, as_json: bool) -> None:
    """Put the folders of runs together, such as those of `eval --shard`: the run that one process makes.

    Answers, verdicts and calls are copied as they are, and no model is asked. The runs must be of one identity, and of
    different cases; results that are equal count once. Repeat the command after a kill, or when a shard went on since.
    """
    from dspy_proact.report.numbers import counted
    from dspy_proact.runs import merge_runs

    if out is None:
        raise UsageError("--out: name the folder of the merged run")
    merged = merge_runs(runs, out, partial=partial)
    if as_json:
        print_json(merged.document)
    else:
        number, cases, events, calls = (counted(getattr(merged, f"{noun}s"), noun) for noun in _COUNTED)
        click.echo(f"{number}: {cases}, {events} and {calls} added to {out}.")
    for remark in merged.remarks:
        say(remark)
    say_next(Next.MERGED, run=out)
