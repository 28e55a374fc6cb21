"""Lines and tables on a terminal."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dspy_proact.plain_text import printable


def cell(text: str) -> Text:
    """Text of a file as it is: one line, no markup, nothing that a terminal obeys."""
    return Text(printable(text).replace("\n", "\\n"))


def table(headings: Sequence[str], *sections: Iterable[Sequence[str]], fold: bool = True) -> Table:
    """Rows below headings, the first of names, which may fold, the others of numbers; a line parts the sections."""
    shown = Table(box=SIMPLE_HEAD, padding=0, show_edge=False)
    shown.add_column(cell(headings[0]), overflow="fold" if fold else "ellipsis", no_wrap=not fold)
    for heading in headings[1:]:
        shown.add_column(cell(heading), justify="right", no_wrap=True)
    for rows in sections:
        for row in rows:
            shown.add_row(*map(cell, row))
        shown.add_section()
    return shown


def show(console: Console, *told: str | Table) -> None:
    """Print lines, as they are, and tables."""
    for each in told:
        console.print(cell(each) if isinstance(each, str) else each)


def each_reason(reasons: Iterable[tuple[str, str | None]]) -> Iterator[str]:
    """Every reason once, after the names of all that it concerns; names without a reason are left out."""
    concerned: defaultdict[str, list[str]] = defaultdict(list)
    for name, reason in reasons:
        if reason:
            concerned[reason].append(name)
    yield from (f"{', '.join(names)}: {reason}." for reason, names in concerned.items())
