"""Which assistant a command is about: the bare chat, a prompt of a person's, or a compiled program."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dspy_proact.cli.options.kinds import path_option
from dspy_proact.cli.options.verb import Bundle, Heading, Section
from dspy_proact.errors import UsageError
from dspy_proact.plain_text import encodable

if TYPE_CHECKING:
    from dspy_proact.benchmarks.proactbench.programs import Assistant


@dataclass(frozen=True)
class NamedAssistant:
    """The assistant that a person names: by what it is told, or by its program."""

    system_prompt: str | None = None
    program: Path | None = None

    def read(self) -> "Assistant":
        """As `assistant_of` does."""
        return assistant_of(self.system_prompt, self.program)


def assistant_of(system_prompt: str | None, program: Path | None = None) -> "Assistant":
    """The assistant that a person names; raises `UsageError` where two are named, or one cannot be read."""
    from dspy_proact.benchmarks.compiled import load_assistant
    from dspy_proact.benchmarks.proactbench.programs import Assistant

    if program is None:
        return Assistant(text_of(system_prompt))
    if system_prompt is not None:
        raise UsageError("--program has a prompt of its own; leave --system-prompt out")
    return load_assistant(program)


def text_of(given: str | None) -> str | None:
    """TEXT as it is, or what stands in the file of @FILE; raises `UsageError` where that cannot be read.

    Where TEXT is the name of a file, it is said that the name itself is the prompt.
    """
    from dspy_proact.cli.views.message import say

    if given is None or not given.startswith("@"):
        if given is not None and encodable(given) != given:
            raise UsageError("the system prompt is not UTF-8 text")
        if given and _is_file(given):
            say(f"The prompt is the text {given!r} itself. There is a file of that name: for what is in it, @{given}")
        return given
    path = Path(given.removeprefix("@"))
    try:
        return path.read_text(encoding="utf-8-sig").strip()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        why = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else why
        raise UsageError(f"{path}: cannot be read: {why}") from error


def _is_file(given: str) -> bool:
    """Whether it is the name of a file; what is too long for a name is none."""
    try:
        return Path(given).is_file()
    except (OSError, ValueError):
        return False


SYSTEM_PROMPT = click.Option(
    ["--system-prompt"], metavar="TEXT|@FILE", help="What the assistant is told. Default: nothing."
)
PROGRAM = path_option("--program", "A compiled assistant instead, as `optimize assistant` writes it.")
ASSISTANT = Bundle("assistant", (Section(Heading.MODELS, (SYSTEM_PROMPT, PROGRAM)),), NamedAssistant)
