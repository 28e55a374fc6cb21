"""What a terminal shows first, its lines up to the first table, as HTML for a notebook."""

from collections.abc import Callable
from io import StringIO
from typing import Any

from rich.console import Console
from rich.text import Text

from dspy_proact.report.terminal import Table


def front_html(printing: Callable[[Console], None]) -> str:
    """The lines and the table.

    Args:
        printing: Prints lines and tables to a console by `show`, a table among them.
    """
    paper = _Paper()
    printing(paper)
    first = next(place for place, told in enumerate(paper.told) if isinstance(told, Table))
    lines = [told.plain for told in paper.told[:first] if isinstance(told, Text)]
    table = paper.told[first]
    assert isinstance(table, Table), "looked for above"
    return table.html(filter(None, lines))


class _Paper(Console):
    """Keeps what is printed to it."""

    def __init__(self) -> None:
        super().__init__(file=StringIO())
        self.told: list[Any] = []

    def print(self, *objects: Any, **_: Any) -> None:
        self.told += objects
