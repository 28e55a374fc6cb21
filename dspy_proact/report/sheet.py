"""Long texts of others on a terminal: indented, beside each other, quotes marked, and nothing in them obeyed."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dspy_proact.plain_text import printable

WIDE = 100
"""Columns from which two responses stand beside each other."""
_INDENT = 2
_QUOTE_STYLE = "bold underline"
_QUOTE_MARKS = "»", "«"


class Sheet:
    """Prints texts. Where the console takes no styles they are plain, and no line is broken.

    Args:
        console: Its width and its kind decide.
    """

    def __init__(self, console: Console):
        self._console = console
        self.styled = console.is_terminal and console.color_system is not None

    def line(self, text: str | Text = "", style: str = "") -> None:
        """Print a heading, or an empty line."""
        self.text(text, style, indent=0)

    def text(self, text: str | Text, style: str = "", indent: int = _INDENT) -> None:
        """Print a text; what begins at the edge is no text of others."""
        told = Text(text, style) if isinstance(text, str) else text
        if self.styled:
            self._console.print(Padding(told, (0, 0, 0, indent)))
        else:
            lines = (f"{' ' * indent}{line}".rstrip() for line in told.plain.split("\n"))
            self._console.out("\n".join(lines), highlight=False)

    def columns(self, columns: Sequence[Sequence[Text]]) -> None:
        """Print columns of heading, text and notes, which may be empty: beside each other where there is room."""
        if self.styled and self._console.width >= WIDE and len(columns) > 1:
            table = Table.grid(padding=(0, 2), expand=True)
            for _ in columns:
                table.add_column(ratio=1, overflow="fold")
            for parts in zip(*columns, strict=True):
                table.add_row(*parts)
            self._console.print(table)
            self.line()
            return
        for heading, text, notes in columns:
            self.line(heading)
            self.text(text)
            if notes:
                self.line(notes)
            self.line()


def marked(text: str, spans: Iterable[tuple[int, int]], styled: bool) -> Text:
    """A text with parts of it underlined, or between marks where there are no styles.

    Args:
        text: Of a model.
        spans: Start and end of each part, in order.
        styled: Whether there are styles.
    """
    before, after = ("", "") if styled else _QUOTE_MARKS
    shown, end = Text(), 0
    for start, stop in spans:
        shown.append(readable(text[end:start]))
        shown.append(f"{before}{readable(text[start:stop])}{after}", style=_QUOTE_STYLE)
        end = stop
    return shown.append(readable(text[end:]))


def readable(text: str) -> str:
    """The text of a model without anything that a terminal obeys; tabs and ends of lines as they are meant."""
    return printable(text.replace("\r\n", "\n").expandtabs(4))


def in_a_line(text: str) -> str:
    """The same in one line, so that nothing in it looks like the next heading."""
    return " ".join(readable(text).split())
