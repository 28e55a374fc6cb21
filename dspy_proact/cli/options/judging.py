"""By which words and cuts judges grade."""

from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dspy_proact.cli.options.kinds import choice_option, path_option
from dspy_proact.cli.options.verb import Bundle, Heading, Section

if TYPE_CHECKING:
    from dspy_proact.programs.artefact import Artefact


@dataclass(frozen=True)
class Judging:
    """A prompt of ours or of the official package, or a compiled program."""

    prompt: Literal["default", "official"]
    file: Path | None
    """Of the compiled program."""

    @cached_property
    def program(self) -> "Artefact | None":
        """What stands in it; raises `UsageError` where it cannot be read."""
        if self.file is None:  # nothing slow is imported for what may make no call
            return None
        from dspy_proact.programs.artefact import read_judge

        return read_judge(self.file)


def _judging(*, judge_prompt: Literal["default", "official"], judge_program: Path | None) -> Judging:
    return Judging(judge_prompt, judge_program)


_WORDS = "`official` takes the judge's words from the installed official package."
_OPTIONS = (
    choice_option("--judge-prompt", ("default", "official"), _WORDS),
    path_option("--judge-program", "A compiled judge, as `optimize judge` writes it."),
)
JUDGING = Bundle("judging", (Section(Heading.JUDGE, _OPTIONS),), _judging)
_TRIED = path_option("--judge-program", "With --judge-cases: a compiled judge, as `optimize judge` writes it.")
JUDGE_PROGRAM = Bundle("judging", (Section(Heading.JUDGE, (_TRIED,)),), partial(_judging, judge_prompt="default"))
"""The same where no other words are taken."""
