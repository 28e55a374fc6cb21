"""`dspy-proact optimize show`: the card of a compiled program, its prompt, or what the compile changed in it."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dspy_proact.cli.options.kinds import explain_option, flag_option, json_option, path_option
from dspy_proact.cli.options.verb import Heading, Section, first_typed, verb
from dspy_proact.errors import UsageError

if TYPE_CHECKING:
    from dspy_proact.programs.artefact import AgentArtefact, AssistantArtefact

_READ = {
    "--as-prompt": ("--no-demos",),
    "--diff": ("--start", "--system-prompt", "--json"),
    "": ("--explain", "--json"),
}
"""Options that each form reads; the card is asked for by none."""
_ABOUT = {
    "--no-demos": "the prompt that --as-prompt prints",
    "--start": "what --diff compares with",
    "--system-prompt": "what --diff compares with",
    "--explain": "the card",
    "--json": "the card, or what --diff prints",
}


@verb(
    "show",
    Section(
        Heading.OUTPUT,
        (
            flag_option("--as-prompt", "Print only its system prompt, or one for each of its questions."),
            flag_option("--no-demos", "With --as-prompt: leave out its worked examples."),
            flag_option("--diff", "Print how its prompt differs from the one that the compile began with."),
            path_option("--start", "With --diff: the compiled program that it began with."),
            click.Option(
                ["--system-prompt"], metavar="TEXT|@FILE", help="With --diff: the system prompt that it began with."
            ),
            explain_option(),
            json_option("the card, or with --diff both programs,"),
        ),
    ),
    first=("--as-prompt", "--no-demos", "--diff", "--start", "--system-prompt", "--explain", "--json"),
    example="dspy-proact optimize show compiles/mine/assistant.json --as-prompt",
    brief="Print the card of a compiled program, or its prompt.",
)
@click.argument("file", type=click.Path(path_type=Path))
def show(
    file: Path,
    as_prompt: bool,
    no_demos: bool,
    diff: bool,
    start: Path | None,
    system_prompt: str | None,
    explain: bool,
    as_json: bool,
) -> None:
    """Print the card of a compiled program, by its FILE or the folder of its compile.

    With --diff, how the compile changed its instruction and worked examples; by default compared with the uncompiled
    program.
    """
    from dspy_proact.cli.views.compilation import print_card
    from dspy_proact.cli.views.message import say
    from dspy_proact.plain_text import printable
    from dspy_proact.programs.artefact import AgentArtefact, JudgeArtefact, JudgesArtefact, read_artefact

    if diff and as_prompt:
        raise UsageError("--as-prompt prints the prompt and nothing else; leave it out, or leave --diff out")
    _require_read("--as-prompt" if as_prompt else "--diff" if diff else "")
    artefact = read_artefact(file)
    if diff:
        from dspy_proact.cli.views.program_diff import print_diff

        print_diff(artefact, start, system_prompt, as_json)
        return
    if not as_prompt:
        print_card(artefact, as_json, explain)
        return
    if isinstance(artefact, JudgeArtefact):
        raise UsageError(f"{file}: a compiled judge, which is no system prompt; use it with --judge-program")
    if isinstance(artefact, JudgesArtefact):
        raise UsageError(f"{file}: compiled judges, which are no system prompt; use them with --judge-program")
    if no_demos and isinstance(artefact, AgentArtefact):
        raise UsageError("--no-demos: an agent has no worked examples; leave it out")
    prompt = _prompts(artefact) if isinstance(artefact, AgentArtefact) else _prompt(artefact, no_demos, file)
    terminal = sys.stdout.isatty()
    click.echo(printable(prompt) if terminal else prompt)
    if terminal and printable(prompt) != prompt:
        say("Characters that a terminal would obey are shown as escapes; piped into a file they are as they are.")


def _require_read(form: str) -> None:
    """Raise a `UsageError` where an option is given that the form does not read."""
    if flag := first_typed(but=(form, *_READ[form])):
        mend = "leave it out" if form else "name that too, or leave it out"
        raise UsageError(f"{flag} is about {_ABOUT[flag]}; {mend}")


def _prompt(artefact: "AssistantArtefact", no_demos: bool, file: Path) -> str:
    """Of an assistant; raises a `UsageError` where it has none."""
    from dspy_proact.programs.artefact import compiled_assistant

    assistant = compiled_assistant(artefact)
    prompt = assistant.instruction if no_demos else assistant.system_prompt
    if not prompt:
        kept = "says nothing beside its worked examples; leave --no-demos out"
        bare = "says nothing to its model; the compile kept the bare chat"
        raise UsageError(f"{file}: {kept if assistant.system_prompt else bare}")
    return prompt


def _prompts(artefact: "AgentArtefact") -> str:
    """Of an agent, which has no worked examples: that of its question, or each under the name of its own."""
    told = {name: state.signature.instructions for name, state in artefact.states.items()}
    if len(told) == 1:
        return next(iter(told.values()))
    return "\n\n".join(f"# {name}\n{instruction}" for name, instruction in told.items())
