"""A compile, done while a person watches, and what came of it."""

import json
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console

from dspy_proact.benchmarks.proactbench.compile.assistant.assistant_compile import AssistantCompile
from dspy_proact.benchmarks.proactbench.compile.judge.judge_compile import JudgeCompile
from dspy_proact.benchmarks.proactbench.programs import JudgeCard
from dspy_proact.benchmarks.probe.compile.agent_compile import AgentCompile
from dspy_proact.benchmarks.probe.compile.judges_compile import JudgesCompile
from dspy_proact.cli.options.kinds import Output
from dspy_proact.cli.views.agent_card_text import print_agent_card
from dspy_proact.cli.views.assistant_card_text import draw_front, print_assistant_card
from dspy_proact.cli.views.card_text import card_document
from dspy_proact.cli.views.compile_progress import CompileProgress, forecast_document, forecast_text
from dspy_proact.cli.views.judge_card_text import print_judge_card
from dspy_proact.cli.views.message import print_more, say, say_next, say_stopped
from dspy_proact.cli.views.program_diff import unchanged
from dspy_proact.errors import Halt
from dspy_proact.programs.artefact import Artefact, AssistantArtefact, JudgeArtefact, SeveralArtefact
from dspy_proact.report import show

AnyCompile = JudgeCompile | AssistantCompile | AgentCompile | JudgesCompile


def compile_shown(compiling: AnyCompile, output: Output, use: Sequence[str | Path], told: str = "") -> int:
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
    print_card(artefact, output.as_json)
    progress.say_unworded(artefact.card.provenance.recipe.optimizer)
    if finished.paid == 0:
        say("Nothing was left to do: every answer stood in the record, and no call was made.")
    if isinstance(artefact, AssistantArtefact) and (picture := draw_front(finished.path, artefact.card)):
        say(f"The candidates are drawn in {picture}.")
    say_next(*use, finished.path, before=f"The program is in {finished.path}. {told}".rstrip())
    card = artefact.card
    return 3 if (card.unread if isinstance(card, JudgeCard) else card.unscored) else 0


def print_card(artefact: Artefact, as_json: bool, explain: bool | None = None) -> None:
    """Print the card of a compiled program on standard output.

    Args:
        artefact: The program.
        as_json: Instead of text.
        explain: Whether what the numbers rest on is printed; None where the command has no option for it.
    """
    if as_json:
        click.echo(json.dumps(card_document(artefact.card), indent=2, allow_nan=False))
        return
    if isinstance(artefact, JudgeArtefact):
        print_judge_card(artefact, bool(explain))
    elif isinstance(artefact, SeveralArtefact):
        print_agent_card(artefact, bool(explain))
    else:
        print_assistant_card(artefact, bool(explain))
    if unchanged(artefact):
        begun = "Nothing better was found: the file is the program that the compile began with."
        show(Console(soft_wrap=False), begun)
    if not explain:
        print_more("dspy-proact optimize show FILE " if explain is None else "")


def _print_forecast(compiling: AnyCompile, as_json: bool) -> None:
    forecast = compiling.forecast()
    if as_json:
        click.echo(json.dumps(forecast_document(forecast), indent=2))
        return
    for line in [*forecast_text(forecast), "Dry run: no calls were made."]:
        click.echo(line)
