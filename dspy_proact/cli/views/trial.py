"""`try`, as a person and a script read it: responses side by side, lists of triggers, and a judge on worked cases."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click
from pydantic import BaseModel
from rich.console import Console
from rich.text import Text

from dspy_proact.benchmarks.benchmark import Start
from dspy_proact.calls import Call, Usage
from dspy_proact.cli.views.message import Typed, say, say_next
from dspy_proact.cli.views.runs import say_of_card
from dspy_proact.models import Model
from dspy_proact.plain_text import printable
from dspy_proact.report import (
    MEASURES_NOTHING,
    STAND_IN,
    Grounds,
    Section,
    Sheet,
    counted,
    document,
    grade_style,
    grounds_text,
    in_a_line,
    marked,
    print_sections,
    quoted,
    readable,
    sections_document,
    show,
    table,
)
from dspy_proact.runs import Case

if TYPE_CHECKING:
    from pathlib import Path

    from dspy_proact.benchmarks.proactbench.examination import Examined, JudgedCase
    from dspy_proact.benchmarks.proactbench.jury import Jury
    from dspy_proact.benchmarks.proactbench.trial import Pair, Side
    from dspy_proact.models import Gate, ModelSpec


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


def examine(judge: "ModelSpec", program: "Path | None", gate: "Gate", *, whole: bool, as_json: bool) -> int:
    """Ask a judge about the worked cases of its rules, and show which it gets right; the exit status.

    Raises:
        UsageError: The judge cannot be called as asked.
    """
    from dspy_proact.benchmarks.proactbench.corpus import judge_cases
    from dspy_proact.benchmarks.proactbench.examination import Examination
    from dspy_proact.benchmarks.proactbench.jury import open_jury

    jury, cases = open_jury(judge, gate, start=Start(file=program)), judge_cases()
    card = jury.program.card
    say_of_card("--judge-program", card, "judge", [judge.name])
    if card and "cases after" in card.counts:
        say("--judge-program: was compiled with --guard cases on these cases, so this is no test of it.")
    say(f"Asking for {counted(len(cases) * jury.program.votes, 'verdict')}.")
    examined = Examination(jury, gate).run(cases)
    if examined.begun and as_json:
        if jury.models[0].embedded:
            say(STAND_IN)
        documents = examination_document(examined, jury.models[0], whole)
        click.echo(json.dumps(documents, indent=2, allow_nan=False))
    elif examined.begun:
        print_examination(examined, jury, whole)
    if examined.halt:
        say(f"Stopped: {examined.halt}")
    else:
        typed = Typed()
        again = [*typed.model("--judge", judge.name), *typed.options("--judge-program"), *typed.calls()]
        say_next("agree", *again, before="Compare it with people:")
    return examined.exit_status


def print_examination(examined: "Examined", jury: "Jury", whole: bool) -> None:
    """Print which cases the judge gets right, what its calls used, and the missed ones with reasons.

    Args:
        examined: Begun at least.
        jury: One judge.
        whole: Whether conversation, rubric and response of the others are printed too.
    """
    model, program = jury.models[0], jury.program.name
    name = model.name if program == "default" else f"{model.name} ({program})"
    console, stand_in = Console(), MEASURES_NOTHING if model.embedded else ""
    show(console, f"{stand_in}{name} {_count(examined)}.")
    words = {True: "yes", False: "no", None: "-"}
    rows = [
        (judged.case.name, judged.case.rule, judged.case.grade, judged.grade or "-", words[judged.right])
        for judged in examined.cases
    ]
    show(console, table(("case", "rule", "by the rule", "judge", "right"), rows, fold=False))
    show(console, *Spending(model).lines(call for judged in examined.cases for call in judged.calls))
    if unread := sum(len(judged.unread) for judged in examined.cases):
        verdicts = counted(unread + sum(len(judged.verdicts) for judged in examined.cases), "verdict")
        show(console, f"{unread} of {verdicts} could not be read.")
    sheet = Sheet(console)
    for judged in examined.cases:
        if judged.right is False or judged.failed:
            sheet.line()
            for line in _missed(judged):
                sheet.text(readable(line))
            if whole:
                print_sections(sheet, sections_of(judged.case.view))
                sheet.line("response", "bold")
                sheet.text(readable(judged.case.response))


def _count(examined: "Examined") -> str:
    """In how many cases the judge is right, and in how many that is not known."""
    graded, count = [judged for judged in examined.cases if judged.grade], len(examined.cases)
    if not graded:
        return f"gives no grade in any of {count} worked cases"
    right = f"{sum(judged.right is True for judged in graded)} of {counted(len(graded), 'worked case')}"
    none = count - len(graded)
    left = f"; {none} of {count} {'has' if none == 1 else 'have'} no grade" if none else ""
    return f"gives the grade that the rule gives in {right}{left}"


def _missed(judged: "JudgedCase") -> Iterator[str]:
    case, verdicts = judged.case, judged.verdicts
    yield f"{case.name}: {case.grade}. {case.why}"
    if judged.grade is None:
        yield f"No verdict: {in_a_line(judged.error or '')}"
    elif [verdict.grade for verdict in verdicts] != [judged.grade]:
        yield f"The judge: {judged.grade}, which its program makes of {counted(len(verdicts), 'verdict')}."
    for verdict in verdicts:
        yield f"The judge: {verdict.grade}. {in_a_line(verdict.reasoning)}"


def examination_document(examined: "Examined", model: Model, whole: bool = False) -> list[dict[str, Any]]:
    """The list of `try --judge-cases --json`: an object a case.

    `grade` is the judge's and `expected` the rule's; without a verdict `grade` and `right` are null and `error` begins
    with a short word. `grades` has those of all its verdicts, `reasoning` and `evidence` are of the first, and `unread`
    has why others could not be read. Where the whole is asked for, `sections` has the conversation and the rubric, and
    `response` what is graded.
    """
    return [_document(judged, model, whole) for judged in examined.cases]


def _document(judged: "JudgedCase", model: Model, whole: bool) -> dict[str, Any]:
    case, verdict = judged.case, next(iter(judged.verdicts), None)
    shown = {
        "sections": sections_document(sections_of(case.view)),
        "response": case.response,
    }
    return {
        "case": case.name,
        "rule": case.rule,
        "phase": str(case.view.rubric.phase),
        **(shown if whole else {}),
        "expected": str(case.grade),
        "why": case.why,
        "grade": judged.grade and str(judged.grade),
        "grades": [str(judged.grade) for judged in judged.verdicts],
        "right": judged.right,
        "reasoning": verdict.reasoning if verdict else None,
        "evidence": [quote.model_dump() for quote in verdict.evidence] if verdict else [],
        "error": judged.error,
        "unread": list(judged.unread),
        "usage": {role: document(usage) for role, usage in Spending(model).of(judged.calls).items()},
    }
