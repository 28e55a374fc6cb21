"""One case to read: what was asked, what was answered, and what each verdict says, as a value, as JSON and as text."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic_core import to_jsonable_python
from rich.console import Console
from rich.text import Text

from dspy_proact.errors import RunError
from dspy_proact.evaluation.registry import reporting_of
from dspy_proact.evaluation.reporting import Grounds, PageSection, quoted, sections_of
from dspy_proact.report.numbers import fields_of
from dspy_proact.report.terminal import Sheet, in_a_line, marked, readable
from dspy_proact.runs import Nouns, Outcome

if TYPE_CHECKING:
    from dspy_proact.evaluation.benchmark import Benchmark

_ROLES = {"system", "user", "assistant"}


@dataclass(frozen=True)
class ChatMessage:
    """A message of a conversation."""

    role: str
    """`system`, `user` or `assistant`."""
    content: str


@dataclass(frozen=True)
class Reading:
    """One case in one epoch, to be read."""

    outcome: Outcome
    sections: tuple[PageSection, ...]
    """What was asked, in the order of reading."""
    grounds: tuple[Grounds, ...]
    """Of each of the outcome's verdicts, in their order."""
    answer: str | None
    """As text; None where there is none."""
    details: tuple[PageSection, ...] = ()
    """What the case declares beside that."""

    @property
    def texts(self) -> Iterator[str]:
        """Every text in it."""
        yield from (text for section in (*self.sections, *self.details) for _, text in section.items)
        yield self.answer or ""
        for grounds in self.grounds:
            yield grounds.reasons
            yield from (text for point in grounds.points for text in point)

    def messages(self, prompt: str | None) -> Iterator[ChatMessage]:
        """What the assistant saw: a conversation, or in one message what is none; the system prompt comes first.

        What stands before a conversation is the system's, after the prompt.
        """
        sections = [section for section in self.sections if not section.hidden]
        chat = next((section for section in sections if section.kind == "chat" and _is_conversation(section)), None)
        if not chat and (turns := _turns_of(self.outcome.view)):
            # Sections that are made of a view show these fields among the others.
            others = ([item for item in section.items if item[0] != "user message"] for section in sections)
            rest = [replace(section, items=tuple(items)) for section, items in zip(sections, others, strict=True)]
            chat = PageSection("conversation", "chat", turns)
            sections = [chat, *(section for section in rest if section.items and section.title != "history")]
        before = list(sections[: sections.index(chat)]) if chat else []
        system = [text for section in before for _, text in section.items]
        if texts := list(filter(None, (prompt, *system))):
            yield ChatMessage("system", "\n\n".join(texts))
        if chat:
            yield from (ChatMessage(role, text) for role, text in chat.items)
        rest = [section for section in sections if section is not chat and section not in before]
        texts = [text for section in rest for _, text in section.items]
        if rest:  # a lone text was sent as it is
            alone = not chat and len(texts) == 1
            yield ChatMessage("user", texts[0] if alone else "\n\n".join(section.as_text for section in rest))

    def with_inputs(self, declared: "Benchmark[Any, Any]") -> "Reading":
        """A copy whose sections are the inputs of the program under test alone, of a benchmark with a view."""
        assert declared.view, "its answers can be judged"
        inputs = to_jsonable_python(declared.inputs(declared.view.model_validate(self.outcome.view)))
        return replace(self, outcome=replace(self.outcome, view=inputs), sections=tuple(sections_of(inputs)))

    @classmethod
    def of(cls, outcome: Outcome, benchmark: str) -> "Reading":
        """An outcome as its benchmark words it; raises a `RunError` where view or verdict is not what that writes."""
        reporting = reporting_of(benchmark)
        try:
            answer = None if outcome.response is None else reporting.answer(outcome.response)
            sections, grounds = tuple(reporting.sections(outcome.view)), tuple(map(reporting.grounds, outcome.verdicts))
            return cls(outcome, sections, grounds, answer, reporting.details(outcome.meta))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise RunError(f"{outcome.key!r} cannot be read: {type(error).__name__}") from error


def _turns_of(view: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The chat of a view with the fields that `Assistant` takes, `user_message` and `history`; else nothing."""
    message: Any = view.get("user_message")
    history: Any = view.get("history") or []
    try:
        turns = [(role, str(turn[role])) for turn in history for role in ("user", "assistant")]
    except (TypeError, KeyError, IndexError):
        return ()
    return (*turns, ("user", message)) if isinstance(message, str) else ()


def _is_conversation(section: PageSection) -> bool:
    return bool(section.items) and {name for name, _ in section.items} <= _ROLES


def outcome_document(outcome: Outcome, nouns: Nouns) -> dict[str, Any]:
    """What became of a case in one epoch, as JSON; `grade`, `reason` and `response` are null where there is none.

    Key, stratum and group have the benchmark's nouns as names. The shape is a promise.
    """
    return {
        nouns.case: outcome.key,
        nouns.stratum: outcome.stratum,
        nouns.group: outcome.group,
        **fields_of(outcome, "epoch", "state"),
        "grade": outcome.label,
        "score": outcome.score if outcome.label is not None else None,
        **fields_of(outcome, "reason", "response", "truncated"),
        "verdicts": [
            {**fields_of(verdict, "judge", "judge_epoch"), "grade": verdict.label, "verified": verdict.verified}
            for verdict in outcome.verdicts
        ],
        "unread": [{"judge": judge, "reason": failure.reason} for judge, failure in outcome.unread],
        **({"cause": outcome.cause} if outcome.cause else {}),
    }


def reading_document(reading: Reading, nouns: Nouns) -> dict[str, Any]:
    """The document of the outcome, with what was asked and what each verdict rests on."""
    document = outcome_document(reading.outcome, nouns)
    for verdict, grounds in zip(document["verdicts"], reading.grounds, strict=True):
        verdict.update(grounds_document(grounds))
    return document | {"sections": sections_document((*reading.sections, *reading.details))}


def grounds_document(grounds: Grounds | None) -> dict[str, Any]:
    """What a verdict rests on, as JSON: its reasons, quotes and further points; without a verdict none."""
    return {
        "reasons": grounds.reasons if grounds else None,
        "quotes": [quote.model_dump() for quote in grounds.quotes] if grounds else [],
        "points": [{"name": name, "text": text} for name, text in grounds.points] if grounds else [],
    }


def sections_document(sections: Iterable[PageSection]) -> list[dict[str, Any]]:
    """What was asked, as JSON: messages by `speaker`, or terms by `name`, each with its `text`."""
    first = {"chat": "speaker", "terms": "name"}
    return [
        {
            "title": section.title,
            "kind": section.kind,
            "items": [{first[section.kind]: name, "text": text} for name, text in section.items],
        }
        for section in sections
    ]


def print_reading(
    named: Sequence[tuple[str, Reading | None]], labels: Sequence[str], console: Console | None = None
) -> None:
    """Print a case, with the responses of several runs to it; labels are all there are, from best to worst.

    `named` are who answered, and the reading; the first has one, None where a run does not have the case.
    """
    sheet, (_, first) = Sheet(console), named[0]
    assert first, "the run that is shown has the case"
    sheet.line(in_a_line(f"{first.outcome.stratum}  {first.outcome.key}"), "bold reverse")
    print_sections(sheet, (*first.sections, *first.details))
    sheet.columns([reading_column(name, reading, labels, sheet.styled) for name, reading in named])


def print_sections(sheet: Sheet, sections: Iterable[PageSection]) -> None:
    """Print what was asked."""
    for section in sections:
        sheet.line(in_a_line(section.title), "bold underline")
        for name, text in section.items:
            sheet.line(in_a_line(name), "bold")
            sheet.text(readable(text))
        sheet.line()


def grade_style(label: str, labels: Sequence[str]) -> str:
    """Green for the best label, red for the worst, yellow between."""
    return f"bold {'green' if label == labels[0] else 'red' if label == labels[-1] else 'yellow'}"


def reading_column(name: str, reading: Reading | None, labels: Sequence[str], styled: bool) -> tuple[Text, Text, Text]:
    """Heading, response, and notes, which may be empty; without labels no grade is shown."""
    heading = Text(in_a_line(name), style="bold")
    if reading is None:
        return heading, Text("it has no such case", style="red"), Text()
    outcome = reading.outcome
    if labels:
        style = "red" if outcome.label is None else grade_style(outcome.label, labels)
        heading.append(": ").append(outcome.label or outcome.state, style=style)
    if reading.answer is None:
        why = ": ".join(filter(None, ("no response", outcome.reason or outcome.state, outcome.cause)))
        return heading, Text(in_a_line(why), style="red"), Text()
    spans = quoted(quote for grounds in reading.grounds for quote in grounds.quotes)
    return heading, marked(reading.answer, spans, styled), Text("\n").join(_notes(reading, labels))


def _notes(reading: Reading, labels: Sequence[str]) -> Iterator[Text]:
    outcome = reading.outcome
    if outcome.truncated:
        yield Text("cut at the token limit", style="yellow")
    if outcome.state != "scored" and labels:
        yield Text(in_a_line(outcome.reason or outcome.state), style="red")
    for verdict, grounds in zip(outcome.verdicts, reading.grounds, strict=True):
        again = f", verdict {verdict.judge_epoch}" if verdict.judge_epoch > 1 else ""
        judge = f"judge {verdict.judge}" if verdict.judge else "the benchmark itself"
        line = Text(in_a_line(f"{judge}{again}:"), style="bold")
        line.append(" ").append(verdict.label, style=grade_style(verdict.label, labels))
        if verdict.verified is False:
            why = "no quote of it stands in the response"
            if any(quote.counts for quote in grounds.quotes):
                why = "not every quote of it stands in the response"
            elif any(quote.short for quote in grounds.quotes):
                why = "what it quotes is too short to count as evidence"
            line.append(f", unverified: {why}", style="yellow")
        yield line
        if grounds.reasons:
            yield Text(f"reasons: {in_a_line(grounds.reasons)}", style="italic")
        for name, text in grounds.points:
            yield Text(f'"{in_a_line(name)}": {in_a_line(text)}')
        yield from _rejected(grounds, outcome.response or "")
    for judge, failure in outcome.unread:
        why = f"{failure.reason}: {failure.detail}" if failure.detail else failure.reason
        yield Text(in_a_line(f"no verdict of {judge}: {why}"), style="red")


def _rejected(grounds: Grounds, response: str) -> Iterator[Text]:
    """The quotes that are no evidence, and why."""
    for quote in (quote for quote in grounds.quotes if not quote.counts):
        within = quote.text.strip().casefold() in response.casefold()
        missing = f"not in the response{' as words' if within else ''}"
        why = "too short to count as evidence" if quote.short else missing
        yield Text(f'quoted, but {why}: "{in_a_line(quote.text)}"', style="yellow")
