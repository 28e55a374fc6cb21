"""Trials as a person and a script read them: responses with a prompt beside those without, and lists of triggers."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click
from pydantic import BaseModel
from rich.console import Console
from rich.text import Text

from dspy_proact.calls import Call, Usage
from dspy_proact.cli.views.message import say
from dspy_proact.models import Model
from dspy_proact.plain_text import printable
from dspy_proact.report import (
    STAND_IN,
    Grounds,
    Section,
    Sheet,
    document,
    grade_style,
    grounds_text,
    in_a_line,
    marked,
    print_sections,
    quoted,
    readable,
    sections_document,
)
from dspy_proact.runs import Case

if TYPE_CHECKING:
    from dspy_proact.benchmarks.proactbench.trial import Pair, Side

_INDENT = 4
_SHORTEST = 40
"""Characters of a message that a list of triggers shows at least."""


class Spending:
    """What calls have used, by role, at the price of its model.

    Args:
        models: Each of a role of its own; None for a role that nobody has.
    """

    def __init__(self, *models: Model | None):
        self._prices = {model.role.name: model.price for model in models if model}

    def of(self, calls: Iterable[Call]) -> dict[str, Usage]:
        """Usage by role, every attempt counted."""
        calls = list(calls)
        return {role: Usage.of([call for call in calls if call.role == role], p) for role, p in self._prices.items()}

    def lines(self, calls: Iterable[Call]) -> Iterator[str]:
        """A line per role, for a person."""
        for role, usage in self.of(calls).items():
            cost = f"cost unknown ({usage.reason})" if usage.usd is None else f"USD {usage.usd:.4f}"
            tokens = f"{usage.prompt_tokens:,} tokens in, {usage.completion_tokens:,} out"
            yield f"{role}: {usage.calls:,} calls, {tokens}, {cost}"


def print_tried(
    pairs: "Sequence[Pair]", model: Model, judge: Model | None, prompted: str, *, whole: bool, as_json: bool
) -> None:
    """Print what came of a trial on standard output.

    Args:
        pairs: Responses to each conversation.
        model: Under test.
        judge: None where nobody grades.
        prompted: What the responses on trial are written with, such as `the prompt`.
        whole: Whether the earlier turns and the rubric are printed too.
        as_json: Instead of text.
    """
    spending, embedded = Spending(model, judge), model.embedded or (judge is not None and judge.embedded)
    if as_json:
        if embedded:
            say(STAND_IN)
        documents = [pair_document(pair, spending, whole) for pair in pairs]
        click.echo(json.dumps(documents, indent=2, allow_nan=False))
        return
    click.echo(printable(f"{model.name} judged by {judge.name}" if judge else model.name))
    if embedded:
        click.echo(STAND_IN)
    click.echo()
    view = SideBySide(Console(), prompted, whole)
    for pair in pairs:
        view.show(pair)
    for line in spending.lines(call for pair in pairs for call in pair.calls):
        click.echo(printable(line))


def pair_document(pair: "Pair", spending: Spending, whole: bool = False) -> dict[str, Any]:
    """One conversation with its responses: an object of the list of `try --json`, which scripts read.

    `trigger` and `phase` are null for a conversation of a person's own, `with` where there was neither a prompt nor a
    program. `error` begins with a short word; a response or verdict that a halt left out has `stopped`. If `whole`,
    `sections` has the conversation and the rubric.
    """
    from dspy_proact.benchmarks.proactbench.cases import user_message

    before = {"sections": sections_document(sections_of(pair.case.view))} if whole else {}
    return {
        "trigger": pair.case.key or None,
        "phase": pair.case.stratum or None,
        "user_message": user_message(pair.case),
        **before,
        "with": None if pair.prompted is None else _side(pair.prompted),
        "without": _side(pair.bare),
        "usage": {role: document(usage) for role, usage in spending.of(pair.calls).items()},
    }


def sections_of(view: BaseModel) -> list[Section]:
    """What there is to read of a view."""
    from dspy_proact.benchmarks.proactbench.report import sections

    return list(sections(view.model_dump(mode="json")))


def _side(side: "Side") -> dict[str, Any]:
    response, verdict = side.response, side.verdict
    return {
        "response": response.text if response else None,
        "truncated": response.truncated if response else None,
        "grade": str(verdict.grade) if verdict else None,
        "reasoning": verdict.reasoning if verdict else None,
        "evidence": [quote.model_dump() for quote in verdict.evidence] if verdict else [],
        "error": side.error,
    }


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
        sides = [(pair.prompted, f"with {self._prompted}"), (pair.bare, "without it")]
        named = [(pair.bare, "the bare model")] if pair.prompted is None else sides
        self._sheet.columns([_column(side, name, self._sheet.styled) for side, name in named if side])


def _column(side: "Side", name: str, styled: bool) -> tuple[Text, Text, Text]:
    """Heading, response, and notes, which may be empty: verdict, quotes that are not found, and what is missing."""
    from dspy_proact.benchmarks.proactbench.types import Grade

    heading, verdict, response = Text(name, style="bold"), side.verdict, side.response
    if verdict:
        heading.append(": ").append(str(verdict.grade), style=grade_style(verdict.grade, tuple(Grade)))
    if response is None:
        return heading, Text(f"no response: {in_a_line(side.error or '')}", style="red"), Text()
    notes: list[Text] = []
    if response.truncated:
        notes.append(Text("cut at the token limit", style="yellow"))
    if side.error:
        notes.append(Text(f"no verdict: {in_a_line(side.error)}", style="red"))
    if verdict:
        notes += grounds_text(Grounds(verdict.reasoning, verdict.evidence), "judge", response.text)
    spans = quoted(verdict.evidence if verdict else ())
    return heading, marked(response.text, spans, styled), Text("\n").join(notes)


def print_triggers(cases: Sequence[Case], as_json: bool) -> None:
    """Print keys with phase, scenario and message: two lines each, or JSON with the whole message."""
    from dspy_proact.benchmarks.proactbench.cases import user_message

    if as_json:
        listed = [
            {"trigger": case.key, "phase": case.stratum, "scenario": case.group, "user_message": user_message(case)}
            for case in cases
        ]
        click.echo(json.dumps(listed, indent=2))
        return
    width = Console().width - _INDENT
    for case in cases:
        begin = f"{case.stratum:<8}  {case.meta['scenario_id']}  "
        message = " ".join(user_message(case).split())
        room = max(_SHORTEST, width - len(begin))
        clipped = message if len(message) <= room else f"{message[: room - 3]}..."
        click.echo(f"{printable(case.key)}\n{' ' * _INDENT}{printable(begin + clipped)}")
