"""The cases of a run as a list, a line each."""

import textwrap
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import click
from rich.cells import cell_len, set_cell_size

from dspy_proact.cli.views.beside import Beside
from dspy_proact.cli.views.looked import Looked
from dspy_proact.plain_text import printable
from dspy_proact.runs import CONTROL, Glance, differing_epochs

_LEAST_KEY = 28
"""Columns of a key at least, and so many that an excerpt has room for."""
_EXCERPT = 40
_LONGEST = 2000
"""Characters of a response that may end up in a line: a window is wider than none."""
_BEFORE = 20
"""Characters before the text that was looked for."""
_OTHERWISE = "asked otherwise"
"""Mark of a case that the other run was asked in other words."""


@dataclass(frozen=True)
class CaseList:
    """A list of cases.

    Args:
        looked: What it is of.
        width: Columns of the terminal.
        beside: What stands beside it; None where nothing does.
        text: What was looked for, if anything.
    """

    looked: Looked
    width: int
    beside: Beside | None = None
    text: str | None = None

    def print(self, shown: Sequence[Glance], found: Sequence[Glance]) -> None:
        """Print some cases, and how many there are.

        Args:
            shown: Those that are listed.
            found: Those that apply.
        """
        otherwise = self.beside.otherwise(shown) if self.beside else set[str]()
        if shown:
            for line in self._lines(shown, otherwise):
                click.echo(line)
            click.echo()
        each = ", each epoch counted" if self.looked.epochs > 1 else ""
        left = f", {len(shown):,} of them above; --limit {len(found)} lists all" if len(shown) < len(found) else ""
        click.echo(textwrap.fill(printable(f"{self._counted(found)}{each}{left}."), self.width))
        if otherwise:
            told = "the other run asks something else under this key; it is not to be compared"
            click.echo(textwrap.fill(f"[{_OTHERWISE}]: {told}.", self.width))

    def _counted(self, found: Sequence[Glance]) -> str:
        """How many of all there are, control cases apart."""
        nouns, told = self.looked.nouns, list[str]()
        for controls, plural in ((False, nouns.cases), (True, nouns.controls)):
            some, total = (
                sum((glance.stratum == CONTROL) is controls for glance in glances)
                for glances in (found, self.looked.glances)
            )
            if total or not controls:
                told.append(f"{some:,} of {total:,} {plural}")
        return " and ".join(told)

    def _lines(self, shown: Sequence[Glance], otherwise: Collection[str]) -> Iterator[str]:
        nouns, epochs = self.looked.nouns, self.looked.epochs
        moved = differing_epochs(self.looked.glances) if epochs > 1 else set[str]()
        columns: list[tuple[str, Callable[[Glance], str]]] = [
            *([("epoch", lambda each: str(each.epoch))] if epochs > 1 else []),
            (nouns.stratum, lambda each: each.stratum),
            ("grade", lambda each: each.label or each.state),
        ]
        if self.beside is not None:
            columns.append(("beside", self._beside))
        cells = [[name, *(printable(cell(each)) for each in shown)] for name, cell in columns]
        widths = [max(map(cell_len, column)) for column in cells]
        longest = max(len(nouns.case), *(len(glance.key) for glance in shown))
        key = min(longest, max(_LEAST_KEY, self.width - sum(widths) - len(widths) - 1 - _EXCERPT))
        keys = [nouns.case, *map(printable, self.looked.abridged([glance.key for glance in shown], key))]
        excerpts = zip(shown, self.looked.excerpts(shown), strict=True)
        told = ["", *(self._told(each, response, moved, otherwise) for each, response in excerpts)]
        for name, text, *row in zip(keys, told, *cells, strict=True):
            parts = [set_cell_size(each, width) for each, width in zip([name, *row], [key, *widths], strict=True)]
            line = " ".join([*parts, text])
            yield line.rstrip() if cell_len(line) <= self.width else set_cell_size(line, self.width).rstrip()

    def _beside(self, glance: Glance) -> str:
        other = self.beside.of(glance) if self.beside else None
        return (other.label or other.state) if other else "-"

    def _told(self, glance: Glance, response: str, moved: Collection[str], otherwise: Collection[str]) -> str:
        """What is to be known of a case, and some of the response."""
        marks = [
            *(["unverified"] if glance.unverified else []),
            *(["verdicts differ"] if glance.split else []),
            *(["epochs differ"] if glance.key in moved else []),
            *([_OTHERWISE] if glance.key in otherwise else []),
            *([glance.reason] if glance.reason else []),
        ]
        marked = f"[{', '.join(marks)}] " if marks else ""
        found = response.casefold().find(self.text.casefold()) if self.text else -1
        start = max(0, found - _BEFORE)
        excerpt = " ".join(response[start : start + _LONGEST].split())
        return printable(f"{marked}{'...' if start else ''}{excerpt}")
