"""Lines and tables on a terminal."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import StringIO
from typing import Any

from rich.box import SIMPLE_HEAD, Box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from dspy_proact.plain_text import html_table, printable

_PLAIN_HEAD = Box(str(SIMPLE_HEAD).replace("─", "-"), ascii=True)
_USUAL_WIDTH = 80
_LEAST_NAME = 12
"""Characters to which a column of names may be folded beside numbers, before the table is parted."""


def cell(text: str) -> Text:
    """Text of a file as it is: one line, no markup, nothing that a terminal obeys."""
    return Text(printable(text).replace("\n", "\\n"))


class TerminalTable:
    """A table that comes in parts, each with the names, where the terminal has no room for all of its columns."""

    def __init__(self, headings: Sequence[Text], sections: Sequence[Sequence[Sequence[Text]]], names: int, fold: bool):
        self._headings, self._sections, self._names, self._fold = headings, sections, names, fold

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        box = SIMPLE_HEAD if console.encoding.startswith("utf") else _PLAIN_HEAD
        for number, part in enumerate(self._parts(options.max_width)):
            yield from [Text("")] if number else []
            shown = RichTable(box=box, padding=0, show_edge=False)
            for index in part:
                named, folds = index == self._names, self._fold and index == self._names
                overflow, justify = "fold" if folds else "ellipsis", "left" if named else "right"
                shown.add_column(self._headings[index], justify=justify, overflow=overflow, no_wrap=not folds)
            for section in self._sections:
                for row in section:
                    shown.add_row(*(row[index] for index in part))
                shown.add_section()
            yield shown

    def html(self, above: Iterable[str] = ()) -> str:
        """The whole table for a notebook, below lines of text."""
        sections = [[[text.plain for text in row] for row in section] for section in self._sections]
        return html_table([heading.plain for heading in self._headings], *sections, above=above)

    def _parts(self, room: int) -> Iterator[list[int]]:
        """The columns of each part, by their places: the names, and as many others as there is room for."""
        rows = [self._headings, *(row for section in self._sections for row in section)]
        lines = ([line for row in rows for line in row[index].split()] for index in range(len(self._headings)))
        widths = [max((line.cell_len for line in column), default=0) for column in lines]
        name, rest = widths[self._names], sum(widths) - widths[self._names] + len(widths) - 1
        if self._fold:
            name = min(name, _LEAST_NAME if min(name, _LEAST_NAME) + rest <= room else room // 2)
        part, taken = [self._names], name
        for index, width in enumerate(widths):
            if index == self._names:
                continue
            if len(part) > 1 and taken + 1 + width > room:
                yield sorted(part)
                part, taken = [self._names], name
            part.append(index)
            taken += 1 + width
        yield sorted(part)


def table(
    headings: Sequence[str | Text], *sections: Iterable[Sequence[str]], fold: bool = True, names: int = 0
) -> TerminalTable:
    """Rows below headings, in parts where the terminal is too narrow; a line parts the sections.

    A row is numbers and a name, in the column `names`, which may `fold`.
    """
    heads = [heading if isinstance(heading, Text) else cell(heading) for heading in headings]
    return TerminalTable(heads, [[[*map(cell, row)] for row in rows] for rows in sections], names, fold)


def standard_output() -> Console:
    """Standard output, as wide as the terminal; a width of 0, at which nothing would be seen, is none."""
    console = Console()
    console.width = console.width or _USUAL_WIDTH
    return console


def show(console: Console | None, *lines: RenderableType) -> None:
    """Print lines, as they are, and tables; to standard output where there is no console."""
    console = console or standard_output()
    for line in lines:
        console.print(cell(line) if isinstance(line, str) else line)


def reason_lines(reasons: Iterable[tuple[str, str | None]]) -> Iterator[str]:
    """Every reason once, after the names of all that it concerns; names without a reason are left out."""
    concerned: defaultdict[str, list[str]] = defaultdict(list)
    for name, reason in reasons:
        if reason and name not in concerned[reason]:
            concerned[reason].append(name)
    yield from (f"{', '.join(names)}: {reason}." for reason, names in concerned.items())


WIDE = 100
"""Columns from which two responses stand beside each other."""


class Sheet:
    """Prints texts. Where the console takes no styles they are plain, and no line is broken.

    Without a console they go to standard output.
    """

    def __init__(self, console: Console | None = None):
        self._console = console or standard_output()
        self.styled = self._console.is_terminal and self._console.color_system is not None

    def line(self, text: str | Text = "", style: str = "") -> None:
        """Print a heading, or an empty line."""
        self.text(text, style, indent=0)

    def text(self, text: str | Text, style: str = "", indent: int = 2) -> None:
        """Print a text; what begins at the edge is no text of others."""
        shown = Text(text, style) if isinstance(text, str) else text
        if self.styled:
            self._console.print(Padding(shown, (0, 0, 0, indent)))
        else:
            lines = (f"{' ' * indent}{line}".rstrip() for line in shown.plain.split("\n"))
            self._console.out("\n".join(lines), highlight=False)

    def columns(self, columns: Sequence[Sequence[Text]]) -> None:
        """Print columns of heading, text and notes, which may be empty: beside each other where there is room."""
        if self.styled and self._console.width >= WIDE and len(columns) > 1:
            table = RichTable.grid(padding=(0, 2), expand=True)
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
    """The text of a model with spans of it, in order, underlined, or between marks where there are no styles."""
    before, after = ("", "") if styled else ("»", "«")
    shown, end = Text(), 0
    for start, stop in spans:
        shown.append(readable(text[end:start]))
        shown.append(f"{before}{readable(text[start:stop])}{after}", style="bold underline")
        end = stop
    return shown.append(readable(text[end:]))


def readable(text: str) -> str:
    """The text of a model without anything that a terminal obeys; tabs and ends of lines as they are meant."""
    return printable(text.replace("\r\n", "\n").expandtabs(4))


def in_a_line(text: str) -> str:
    """The text of a model in one line, so that nothing in it looks like the next heading."""
    return " ".join(readable(text).split())


def front_html(printing: Callable[[Console], None]) -> str:
    """The lines and the table that a function prints to a console by `show`, as HTML."""
    paper = _Paper()
    printing(paper)
    first = next(index for index, item in enumerate(paper.printed) if isinstance(item, TerminalTable))
    lines = [line.plain for line in paper.printed[:first] if isinstance(line, Text)]
    table = paper.printed[first]
    assert isinstance(table, TerminalTable), "looked for above"
    return table.html(filter(None, lines))


class _Paper(Console):
    """Keeps what is printed to it."""

    def __init__(self) -> None:
        super().__init__(file=StringIO())
        self.printed: list[Any] = []

    def print(self, *objects: Any, **_: Any) -> None:
        self.printed += objects
