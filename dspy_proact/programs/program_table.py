"""A program as a notebook shows it."""

from typing import Protocol

from dspy_proact.plain_text import html_table


class Named(Protocol):
    """What is shown of a program."""

    @property
    def name(self) -> str:
        """Which program it is."""
        ...

    @property
    def instruction(self) -> str:
        """What it tells its model to do; empty for nothing."""
        ...

    @property
    def demos(self) -> int:
        """Worked examples that it shows."""
        ...


def program_line(program: Named) -> str:
    """Its name and how many worked examples it shows."""
    return f"{type(program).__name__}({program.name!r}, demos={program.demos})"


def program_html(program: Named) -> str:
    """The same with its instruction, as a table."""
    rows = [
        (type(program).__name__, program.name),
        ("instruction", program.instruction or "none"),
        ("demos", str(program.demos)),
    ]
    return html_table((), rows)
