"""Lines and tables on a terminal."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from rich.box import SIMPLE_HEAD, Box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table as RichTable
from rich.text import Text

from dspy_proact.plain_text import html_table, printable

_PLAIN_HEAD = Box(str(SIMPLE_HEAD).replace("─", "-"), ascii=True)
_LEAST_NAME = 12
"""Characters to which a column of names may be folded beside numbers, before the table is parted."""


def cell(text: str) -> Text:
    """Text of a file as it is: one line, no markup, nothing that a terminal obeys."""
    return Text(printable(text).replace("\n", "\\n"))


class Table:
    """A table that comes in parts, each with the names, where the terminal has no room for all of its columns."""

    def __init__(self, headings: Sequence[Text], sections: Sequence[Sequence[Sequence[Text]]], names: int, fold: bool):
        self._headings, self._sections, self._names, self._fold = headings, sections, names, fold

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        box = SIMPLE_HEAD if console.encoding.startswith("utf") else _PLAIN_HEAD
        for number, part in enumerate(self._parts(options.max_width)):
            yield from [Text("")] if number else []
            yield self._part(part, box)

    def html(self, above: Iterable[str] = ()) -> str:
        """The whole table for a notebook, below lines of text."""
        sections = [[[each.plain for each in row] for row in section] for section in self._sections]
        return html_table([heading.plain for heading in self._headings], *sections, above=above)

    def _parts(self, room: int) -> Iterator[list[int]]:
        """The columns of each part, by their places: the names, and as many others as there is room for."""
        widths = [self._width(place) for place in range(len(self._headings))]
        name, rest = widths[self._names], sum(widths) - widths[self._names] + len(widths) - 1
        if self._fold:
            name = min(name, _LEAST_NAME if min(name, _LEAST_NAME) + rest <= room else room // 2)
        part, taken = [self._names], name
        for place, width in enumerate(widths):
            if place == self._names:
                continue
            if len(part) > 1 and taken + 1 + width > room:
                yield sorted(part)
                part, taken = [self._names], name
            part.append(place)
            taken += 1 + width
        yield sorted(part)

    def _width(self, place: int) -> int:
        rows = [self._headings, *(row for section in self._sections for row in section)]
        return max((line.cell_len for row in rows for line in row[place].split()), default=0)

    def _part(self, part: Sequence[int], box: Box) -> RichTable:
        shown = RichTable(box=box, padding=0, show_edge=False)
        for place in part:
            named, folds = place == self._names, self._fold and place == self._names
            overflow = "fold" if folds else "ellipsis"
            justify = "left" if named else "right"
            shown.add_column(self._headings[place], justify=justify, overflow=overflow, no_wrap=not folds)
        for section in self._sections:
            for row in section:
                shown.add_row(*(row[place] for place in part))
            shown.add_section()
        return shown


def table(
    headings: Sequence[str | Text], *sections: Iterable[Sequence[str]], fold: bool = True, names: int = 0
) -> Table:
    """Rows below headings, in parts where the terminal is too narrow; a line parts the sections.

    Args:
        headings: Of the columns.
        sections: Rows of names, which may fold, and of numbers.
        fold: Whether the names do.
        names: Place of their column.
    """
    told = [heading if isinstance(heading, Text) else cell(heading) for heading in headings]
    return Table(told, [[[*map(cell, row)] for row in rows] for rows in sections], names, fold)


def show(console: Console, *told: str | Table) -> None:
    """Print lines, as they are, and tables."""
    for each in told:
        console.print(cell(each) if isinstance(each, str) else each)


def each_reason(reasons: Iterable[tuple[str, str | None]]) -> Iterator[str]:
    """Every reason once, after the names of all that it concerns; names without a reason are left out."""
    concerned: defaultdict[str, list[str]] = defaultdict(list)
    for name, reason in reasons:
        if reason and name not in concerned[reason]:
            concerned[reason].append(name)
    yield from (f"{', '.join(names)}: {reason}." for reason, names in concerned.items())
