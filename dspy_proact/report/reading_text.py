"""One case on a terminal: what stood there, what was answered, and what each verdict says of it."""

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.text import Text

from dspy_proact.report.ended import GivenVerdict
from dspy_proact.report.outcome import Outcome
from dspy_proact.report.reading import Reading
from dspy_proact.report.section import Grounds, Section, quoted
from dspy_proact.report.sheet import Sheet, in_a_line, marked, readable
from dspy_proact.types import Quote


def print_reading(console: Console, named: Sequence[tuple[str, Reading | None]], labels: Sequence[str]) -> None:
    """Print a case, with the responses of several runs to it.

    Args:
        console: Its width and its kind decide.
        named: Who answered, and how; the first is there, None where a run has none.
        labels: All there are, from best to worst.
    """
    sheet, (_, first) = Sheet(console), named[0]
    assert first, "the run that is shown has the case"
    outcome = first.outcome
    sheet.line(in_a_line(f"{outcome.stratum}  {outcome.key}"), "bold reverse")
    print_sections(sheet, first.sections)
    sheet.columns([_column(name, reading, labels, sheet.styled) for name, reading in named])


def print_sections(sheet: Sheet, sections: Iterable[Section]) -> None:
    """Print what stood there before an answer."""
    for section in sections:
        sheet.line(in_a_line(section.title), "bold underline")
        for name, text in section.items:
            sheet.line(in_a_line(name), "bold")
            sheet.text(readable(text))
        sheet.line()


def grounds_text(grounds: Grounds, judge: str, response: str) -> Iterator[Text]:
    """What a verdict says of a response: its reasons, what it quotes in vain, and what else, a line each."""
    if grounds.reasons:
        yield Text(f"{judge}: {in_a_line(grounds.reasons)}", style="italic")
    for name, text in grounds.points:
        yield Text(f'"{in_a_line(name)}": {in_a_line(text)}')
    for quote in grounds.quotes:
        if not quote.counts:
            yield Text(f'quoted, but {_in_vain(quote, response)}: "{in_a_line(quote.text)}"', style="yellow")


def _unverified(grounds: Grounds) -> str:
    if any(quote.counts for quote in grounds.quotes):
        return "not every quote of it stands in the response"
    if any(quote.short for quote in grounds.quotes):
        return "what it quotes is too short to show anything"
    return "no quote of it stands in the response"


def _in_vain(quote: Quote, response: str) -> str:
    if quote.short:
        return "too short to show anything"
    within = quote.text.strip().casefold() in response.casefold()
    return f"not in the response{' as words' if within else ''}"


def grade_style(label: str, labels: Sequence[str]) -> str:
    """Green for the best label, red for the worst, yellow between."""
    return f"bold {'green' if label == labels[0] else 'red' if label == labels[-1] else 'yellow'}"


def _column(name: str, reading: Reading | None, labels: Sequence[str], styled: bool) -> tuple[Text, Text, Text]:
    """Heading, response, and notes, which may be empty."""
    heading = Text(in_a_line(name), style="bold")
    if reading is None:
        return heading, Text("it has no such case", style="red"), Text()
    outcome = reading.outcome
    heading.append(": ").append(outcome.label or outcome.state, style=_style(outcome, labels))
    if reading.answer is None:
        return heading, Text(in_a_line(f"no response: {outcome.reason or outcome.state}"), style="red"), Text()
    spans = quoted(quote for grounds in reading.grounds for quote in grounds.quotes)
    return heading, marked(reading.answer, spans, styled), Text("\n").join(_notes(reading, labels))


def _style(outcome: Outcome, labels: Sequence[str]) -> str:
    return "red" if outcome.label is None else grade_style(outcome.label, labels)


def _notes(reading: Reading, labels: Sequence[str]) -> Iterator[Text]:
    outcome = reading.outcome
    if outcome.truncated:
        yield Text("cut at the token limit", style="yellow")
    if outcome.state != "scored":
        yield Text(in_a_line(outcome.reason or outcome.state), style="red")
    for verdict, grounds in zip(outcome.verdicts, reading.grounds, strict=True):
        yield _given(verdict, grounds, labels)
        yield from grounds_text(grounds, "reasons", outcome.response or "")
    for judge, reason in outcome.unread:
        yield Text(in_a_line(f"no verdict of {judge}: {reason}"), style="red")


def _given(verdict: GivenVerdict, grounds: Grounds, labels: Sequence[str]) -> Text:
    again = f", verdict {verdict.judge_epoch}" if verdict.judge_epoch > 1 else ""
    told = Text(
        in_a_line(f"{f'judge {verdict.judge}' if verdict.judge else 'the benchmark itself'}{again}:"), style="bold"
    )
    told.append(" ").append(verdict.label, style=grade_style(verdict.label, labels))
    if verdict.verified is False:
        told.append(f", unverified: {_unverified(grounds)}", style="yellow")
    return told
