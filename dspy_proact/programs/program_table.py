"""A program as a notebook shows it."""

from typing import Any

from dspy_proact.plain_text import html_table


def program_line(program: Any) -> str:
    """Its name and how many worked examples it shows."""
    return f"{type(program).__name__}({program.name!r}, demos={program.demos})"


def program_html(program: Any) -> str:
    """A program with its name, instruction and number of worked examples, as an HTML table."""
    rows = [
        (type(program).__name__, program.name),
        ("instruction", program.instruction or "none"),
        ("demos", str(program.demos)),
    ]
    return html_table((), rows)
