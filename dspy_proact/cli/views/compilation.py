"""A compile, done while a person watches, and what came of it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from dspy_proact.benchmarks.benchmark import Benchmark
from dspy_proact.cli.options.kinds import Output
from dspy_proact.cli.views.card import draw_front, print_card_text
from dspy_proact.cli.views.compile_progress import CompileProgress, forecast_document, forecast_text
from dspy_proact.cli.views.message import print_more, say, say_next, say_stopped
from dspy_proact.cli.views.program_diff import unchanged
from dspy_proact.compile.compile import Compile
from dspy_proact.errors import Halt
from dspy_proact.programs.artefact import Artefact
from dspy_proact.report import show


def compile_shown(compiling: Compile, output: Output, use: Sequence[str | Path], told: str = "") -> int:
    """Do a compile and say how it ended, or only what it will take.

    Args:
        compiling: Checked already.
        output: Where it is done, and what is printed.
        use: The command to type next, to the option that takes the file of the program.
        told: What is said of it.

    Returns:
        The exit status.
    """
    if output.dry_run:
        _print_forecast(compiling, output.as_json)
        return 0
    folder = output.out or compiling.default_folder
    progress = CompileProgress()
    try:
        with progress:
            finished = compiling.run(folder, progress)
    except Halt as halt:
        progress.say_reached()
        say_stopped(halt, folder)
        return halt.exit_status
    artefact = finished.artefact
    print_card(artefact, output.as_json, declared=compiling.declared)
    progress.say_unworded(artefact.card.provenance.recipe.optimizer)
    if finished.paid == 0:
        say("Nothing was left to do: every answer stood in the record, and no call was made.")
    if picture := draw_front(finished.path, artefact.card):
        say(f"The candidates are drawn in {picture}.")
    say_next(*use, finished.path, before=f"The program is in {finished.path}. {told}".rstrip())
    return 3 if artefact.card.unscored else 0


def print_card(
    artefact: Artefact, as_json: bool, explain: bool | None = None, declared: Benchmark[Any, Any] | None = None
) -> None:
    """Print the card of a compiled program on standard output.

    Args:
        artefact: The program.
        as_json: Instead of text.
        explain: Whether the details are printed; None where the command has no option for it.
        declared: The benchmark, where it is a person's own file.
    """
    if as_json:
        click.echo(json.dumps(artefact.card.document(), indent=2, allow_nan=False))
        return
    print_card_text(artefact, bool(explain))
    if unchanged(artefact, declared):
        begun = "Nothing better was found: the file is the program that the compile began with."
        show(Console(soft_wrap=False), begun)
    if not explain:
        print_more("dspy-proact optimize show FILE " if explain is None else "")


def _print_forecast(compiling: Compile, as_json: bool) -> None:
    forecast = compiling.forecast()
    if as_json:
        click.echo(json.dumps(forecast_document(forecast), indent=2))
        return
    for line in [*forecast_text(forecast), "Dry run: no calls were made."]:
        click.echo(line)
