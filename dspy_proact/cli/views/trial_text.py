"""Responses with a prompt beside those without it, as a person reads them, the judge's quotes marked inside."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from dspy_proact.cli.views.trial_document import sections_of
from dspy_proact.report import (
    Grounds,
    Sheet,
    grade_style,
    grounds_text,
    in_a_line,
    marked,
    print_sections,
    quoted,
    readable,
)

if TYPE_CHECKING:
    from dspy_proact.benchmarks.proactbench.trial import Pair, Side
    from dspy_proact.benchmarks.proactbench.types import Response


class SideBySide:
    """Prints pairs of responses: in two columns on a wide terminal, else one under another.

    Where the console takes no styles it is plain text, quotes stand between » and «, and no line is broken.

    Args:
        console: Its width and its kind decide.
        prompted: What the responses on trial are written with, such as `the prompt`.
        whole: Whether the earlier turns and the rubric are printed too.
    """

    def __init__(self, console: Console, prompted: str, whole: bool = False):
        self._sheet, self._prompted, self._whole = Sheet(console), prompted, whole

    def show(self, pair: "Pair") -> None:
        """Print what was said, the user's message at least, and each response with its verdict."""
        from dspy_proact.benchmarks.proactbench.cases import user_message

        heading = f"{pair.case.stratum}  {pair.case.key}".strip() or "your conversation"
        self._sheet.line(readable(heading), "bold reverse")
        if self._whole:
            print_sections(self._sheet, sections_of(pair.case.view))
        else:
            self._sheet.line("user", "bold")
            self._sheet.text(readable(user_message(pair.case)))
            self._sheet.line()
        self._sheet.columns([_column(side, name, self._sheet.styled) for side, name in self._named(pair)])

    def _named(self, pair: "Pair") -> "Iterator[tuple[Side, str]]":
        if pair.prompted is None:
            yield pair.bare, "the bare model"
        else:
            yield pair.prompted, f"with {self._prompted}"
            yield pair.bare, "without it"


def _column(side: "Side", name: str, styled: bool) -> tuple[Text, Text, Text]:
    """Heading, response, and notes, which may be empty: verdict, quotes that are not found, and what is missing."""
    from dspy_proact.benchmarks.proactbench.types import Grade

    heading, verdict = Text(name, style="bold"), side.verdict
    if verdict:
        heading.append(": ").append(str(verdict.grade), style=grade_style(verdict.grade, tuple(Grade)))
    if side.response is None:
        return heading, Text(f"no response: {in_a_line(side.error or '')}", style="red"), Text()
    spans = quoted(verdict.evidence if verdict else ())
    return heading, marked(side.response.text, spans, styled), Text("\n").join(_notes(side, side.response))


def _notes(side: "Side", response: "Response") -> Iterator[Text]:
    if response.truncated:
        yield Text("cut at the token limit", style="yellow")
    if side.error:
        yield Text(f"no verdict: {in_a_line(side.error)}", style="red")
    if side.verdict:
        yield from grounds_text(Grounds(side.verdict.reasoning, side.verdict.evidence), "judge", response.text)
