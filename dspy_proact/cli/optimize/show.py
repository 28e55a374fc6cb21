"""`dspy-proact optimize show`: the card of a compiled program, or its prompt."""

import sys
from pathlib import Path

import click

from dspy_proact.errors import UsageError


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--as-prompt", is_flag=True, help="Print a system prompt to paste anywhere, and nothing else.")
@click.option("--json", "as_json", is_flag=True, help="Print the card as JSON.")
def show(file: Path, as_prompt: bool, as_json: bool) -> None:
    """Print the card of a compiled program, by its FILE or its compile's folder: what was shown, on which data."""
    from dspy_proact.cli.views.compilation import print_card
    from dspy_proact.cli.views.message import say
    from dspy_proact.plain_text import printable
    from dspy_proact.programs import JudgeArtefact, compiled_assistant, read_artefact

    artefact = read_artefact(file)
    if not as_prompt:
        print_card(artefact, as_json)
        return
    if isinstance(artefact, JudgeArtefact):
        raise UsageError(f"{file}: a compiled judge, which is no system prompt; use it with --judge-program")
    prompt = compiled_assistant(artefact).system_prompt
    if not prompt:
        raise UsageError(f"{file}: says nothing to its model; the compile kept the bare chat")
    terminal = sys.stdout.isatty()
    click.echo(printable(prompt) if terminal else prompt)
    if terminal and printable(prompt) != prompt:
        say("Characters that a terminal would obey are shown as escapes; piped into a file they are as they are.")
