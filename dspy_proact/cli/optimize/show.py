"""`dspy-proact optimize show`: the card of a compiled program, its prompt, or what the compile changed in it."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dspy_proact.cli.options.kinds import explain_option, flag_option, json_option, path_option, text_option
from dspy_proact.cli.options.verb import Heading, Section, first_typed, verb
from dspy_proact.cli.views.message import say
from dspy_proact.errors import UsageError

if TYPE_CHECKING:
    from dspy_proact.programs.artefact import Artefact

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
        flag_option("--as-prompt", "Print only its system prompt, or one for each of its questions."),
        flag_option("--no-demos", "With --as-prompt: leave out its worked examples."),
        flag_option("--diff", "Print how its prompt differs from the one that the compile began with."),
        path_option("--start", "With --diff: the compiled program that it began with."),
        text_option("--system-prompt", "TEXT|@FILE", "With --diff: the system prompt that it began with."),
        text_option("--benchmark", "FILE.py", "Your own benchmark, for which it was compiled."),
        explain_option(),
        json_option("the card, or with --diff both programs,"),
    ),
    first="--as-prompt --no-demos --diff --start --system-prompt --explain --json --benchmark",
    example="dspy-proact optimize show compiles/mine/assistant.json --as-prompt",
    brief="Print the card of a compiled program, or its prompt.",
)
@click.argument("file", type=click.Path(path_type=Path))
def show(
    file: Path,
    benchmark: str | None,
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
    from dspy_proact.benchmarks.compiled import require_current
    from dspy_proact.benchmarks.registry import benchmark_named
    from dspy_proact.cli.views.compilation import print_card
    from dspy_proact.plain_text import printable
    from dspy_proact.programs.artefact import read_artefact

    if diff and as_prompt:
        raise UsageError("--as-prompt prints the prompt and nothing else; leave it out, or leave --diff out")
    form = "--as-prompt" if as_prompt else "--diff" if diff else ""
    if flag := first_typed(but=("--benchmark", form, *_READ[form])):
        raise UsageError(
            f"{flag} is about {_ABOUT[flag]}; {'leave it out' if form else 'name that too, or leave it out'}"
        )
    artefact = read_artefact(file)
    if benchmark and (named := benchmark_named(benchmark).name) != artefact.benchmark:
        raise UsageError(f"--benchmark {named}: {file} was compiled for {artefact.benchmark}; leave it out")
    require_current(artefact, file)
    if diff:
        from dspy_proact.cli.views.card import print_diff

        print_diff(artefact, start, system_prompt, as_json)
        return
    if not as_prompt:
        print_card(artefact, as_json, explain)
        return
    prompt = _prompt(artefact, no_demos, file)
    terminal = sys.stdout.isatty()
    click.echo(printable(prompt) if terminal else prompt)
    if terminal and printable(prompt) != prompt:
        say("Characters that a terminal would obey are shown as escapes; piped into a file they are as they are.")


def _prompt(artefact: "Artefact", no_demos: bool, file: Path) -> str:
    """The system prompt of a compiled assistant; raises a `UsageError` if there is none."""
    from dspy_proact.benchmarks.compiled import load_assistant
    from dspy_proact.cli.views.card import lines_of

    if artefact.role == "judge":
        raise UsageError(f"{file}: a compiled judge, which is no system prompt; use it with --judge-program")
    try:
        program = load_assistant(file)
    except UsageError:  # of a person's own file, which a program does not name
        program = None
    if program is None or not hasattr(program, "system_prompt"):
        if no_demos and not artefact.demos:
            raise UsageError("--no-demos: it has no worked examples; leave it out")
        return "\n".join(lines_of(artefact.states, demos=not no_demos))
    prompt = program.instruction if no_demos else program.system_prompt
    if not prompt:
        kept = "says nothing beside its worked examples; leave --no-demos out"
        bare = "says nothing to its model; the compile kept the bare chat"
        raise UsageError(f"{file}: {kept if program.system_prompt else bare}")
    return prompt
