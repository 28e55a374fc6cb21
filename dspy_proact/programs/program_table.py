"""A program as a notebook shows it."""

from typing import Any

from dspy_proact.plain_text import html_table


def program_line(program: Any) -> str:
    """Its name and how many worked examples it shows."""
    return f"{type(program).__name__}({program.name!r}, demos={program.demos})"


def program_html(program: Any) -> str:
    """The same with its instruction, as a table."""
    rows = [
        (type(program).__name__, program.name),
        ("instruction", program.instruction or "none"),
        ("demos", str(program.demos)),
    ]
    return html_table((), rows)
