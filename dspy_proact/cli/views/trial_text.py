"""Responses with a prompt beside those without it, as a person reads them, the judge's quotes marked inside."""

from collections.abc import Iterator, Sequence

import click
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dspy_proact.benchmarks.proactbench import Pair, Side, user_message
from dspy_proact.plain_text import printable
from dspy_proact.report import quoted
from dspy_proact.types import Quote, Response, Verdict

_WIDE = 100
"""Columns from which two responses stand beside each other."""
_INDENT = 2
_GRADE_STYLES = {"PASS": "bold green", "PARTIAL": "bold yellow", "FAIL": "bold red"}
_QUOTE_STYLE = "bold underline"
_QUOTE_MARKS = "»", "«"


class SideBySide:
    """Prints pairs of responses: in two columns on a wide terminal, else one under another.

    Where the console takes no styles it is plain text, quotes stand between » and «, and no line is broken.

    Args:
        console: Its width and its kind decide.
        prompted: What the responses on trial are written with, such as `the prompt`.
    """

    def __init__(self, console: Console, prompted: str):
        self._console, self._prompted = console, prompted
        self._styled = console.is_terminal and console.color_system is not None

    def show(self, pair: Pair) -> None:
        """Print the user's message and each response with its verdict."""
        heading = f"{pair.case.stratum}  {pair.case.key}".strip() or "your conversation"
        self._line(Text(_readable(heading), style="bold reverse"))
        self._line(Text("user", style="bold"))
        self._text(Text(_readable(user_message(pair.case))))
        self._line(Text())
        columns = [_column(side, name, self._styled) for side, name in self._named(pair)]
        if self._styled and self._console.width >= _WIDE and len(columns) > 1:
            self._beside(columns)
            self._line(Text())
            return
        for heading, response, notes in columns:
            self._line(heading)
            self._text(response)
            if notes:
                self._line(notes)
            self._line(Text())

    def _named(self, pair: Pair) -> Iterator[tuple[Side, str]]:
        if pair.prompted is None:
            yield pair.bare, "the bare model"
        else:
            yield pair.prompted, f"with {self._prompted}"
            yield pair.bare, "without it"

    def _beside(self, columns: Sequence[tuple[Text, Text, Text]]) -> None:
        table = Table.grid(padding=(0, 2), expand=True)
        for _ in columns:
            table.add_column(ratio=1, overflow="fold")
        for parts in zip(*columns, strict=True):
            table.add_row(*parts)
        self._console.print(table)

    def _line(self, text: Text) -> None:
        self._text(text, indent=0)

    def _text(self, text: Text, indent: int = _INDENT) -> None:
        if self._styled:
            self._console.print(Padding(text, (0, 0, 0, indent)))
        else:
            click.echo("\n".join(f"{' ' * indent}{line}".rstrip() for line in text.plain.split("\n")))


def _column(side: Side, name: str, styled: bool) -> tuple[Text, Text, Text]:
    """Heading, response, and notes, which may be empty: verdict, quotes that are not found, and what is missing."""
    heading, verdict = Text(name, style="bold"), side.verdict
    if verdict:
        heading.append(": ").append(str(verdict.grade), style=_GRADE_STYLES[verdict.grade])
    if side.response is None:
        return heading, Text(f"no response: {_in_a_line(side.error or '')}", style="red"), Text()
    response = _marked(side.response, verdict.evidence if verdict else (), styled)
    return heading, response, Text("\n").join(_notes(side, side.response))


def _notes(side: Side, response: Response) -> Iterator[Text]:
    if response.truncated:
        yield Text("cut at the token limit", style="yellow")
    if side.error:
        yield Text(f"no verdict: {_in_a_line(side.error)}", style="red")
    if side.verdict:
        yield from _grounds(side.verdict)


def _grounds(verdict: Verdict) -> Iterator[Text]:
    yield Text(f"judge: {_in_a_line(verdict.reasoning)}", style="italic")
    for quote in verdict.evidence:
        if not quote.counts:
            why = "too short to show anything" if quote.short else "not in the response"
            yield Text(f'quoted, but {why}: "{_in_a_line(quote.text)}"', style="yellow")


def _marked(response: Response, evidence: Sequence[Quote], styled: bool) -> Text:
    """The response with the judge's quotes underlined, or between marks where there are no styles."""
    before, after = ("", "") if styled else _QUOTE_MARKS
    marked, end = Text(), 0
    for start, stop in quoted(evidence):
        marked.append(_readable(response.text[end:start]))
        marked.append(f"{before}{_readable(response.text[start:stop])}{after}", style=_QUOTE_STYLE)
        end = stop
    return marked.append(_readable(response.text[end:]))


def _readable(text: str) -> str:
    """The text of a model without anything that a terminal obeys; tabs and ends of lines as they are meant."""
    return printable(text.replace("\r\n", "\n").expandtabs(4))


def _in_a_line(text: str) -> str:
    """The same in one line, so that nothing in it looks like the next heading."""
    return " ".join(_readable(text).split())
