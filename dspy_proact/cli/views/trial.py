"""What `try` prints, as text and as JSON: answers side by side, lists of cases, and worked cases."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel
from rich.console import Console

from dspy_proact.benchmarks.benchmark import Benchmark, Start
from dspy_proact.benchmarks.compiled import compiled_program
from dspy_proact.benchmarks.evaluation import role_of
from dspy_proact.benchmarks.participant import program_name
from dspy_proact.benchmarks.trial import Examination, Examined, JudgedCase, Pair, Side
from dspy_proact.calls import Call, Usage
from dspy_proact.cli.options.models import EMBEDDED, NamedModel
from dspy_proact.cli.views.message import Typed, print_json, say, say_next
from dspy_proact.cli.views.runs import say_of_card
from dspy_proact.errors import UsageError
from dspy_proact.models import Gate, Model, open_model
from dspy_proact.plain_text import printable
from dspy_proact.report import Reading
from dspy_proact.report.numbers import MEASURES_NOTHING, STAND_IN, counted, document
from dspy_proact.report.reading import print_sections, reading_column, sections_document
from dspy_proact.report.terminal import Sheet, in_a_line, readable, show, table
from dspy_proact.runs import Case, GivenVerdict, Outcome, Scored, Settings

_INDENT = 4
_SHORTEST = 40
"""Characters of a case that a list shows at least."""
_MOST = 2000
"""Characters of a case that is shown without its earlier turns and the like."""
Declared = Benchmark[Any, Any]


def _spent(models: Sequence[Model], calls: Iterable[Call]) -> dict[str, Usage]:
    """Usage by role at the price of its model, every attempt counted."""
    calls, prices = list(calls), {model.role.name: model.price for model in models}
    return {role: Usage.of([call for call in calls if call.role == role], price) for role, price in prices.items()}


def _spent_lines(models: Sequence[Model], calls: Iterable[Call]) -> Iterator[str]:
    for role, usage in _spent(models, calls).items():
        cost = f"cost unknown ({usage.reason})" if usage.usd is None else f"USD {usage.usd:.4f}"
        tokens = f"{usage.prompt_tokens:,} tokens in, {usage.completion_tokens:,} out"
        yield f"{role}: {usage.calls:,} calls, {tokens}, {cost}"


# Cases


def reading_of(
    declared: Declared,
    case: Case,
    answer: BaseModel | None = None,
    verdicts: Sequence[Scored[Any]] = (),
    error: str | None = None,
    judge: str | None = None,
) -> Reading:
    """A case as `show` has it, with the answer and the verdicts there are, and the error if one is missing."""
    said = answer.model_dump(mode="json") if answer else {}
    outcome = Outcome(
        stratum=case.stratum,
        group=case.group,
        state="pending",
        key=case.key,
        response=(said["text"] if "text" in said else json.dumps(said, sort_keys=True)) if answer else None,
        truncated=bool(said.get("truncated")),
        view=case.view.model_dump(mode="json"),
    )
    given = [
        GivenVerdict(judge, 1, each.label, each.score, each.verified, each.detail.model_dump(mode="json"), each.parts)
        for each in verdicts
    ]
    if error:
        outcome = outcome.unscored(f"no verdict: {error}" if answer else error)
    return Reading.of(outcome.graded(given, declared.labels) if given else outcome, declared.name)


def _gist(reading: Reading) -> tuple[str, str]:
    """The message that awaits an answer, with its speaker: the last of a chat, or the first field."""
    section = next(iter(reading.sections))
    return section.items[-1] if section.kind == "chat" else section.items[0]


def print_cases(declared: Declared, cases: Sequence[Case], as_json: bool) -> None:
    """Print keys with stratum and what awaits an answer: two lines each, or JSON, with the group too."""
    nouns = declared.nouns
    if as_json:
        listed = [
            {nouns.case: case.key, nouns.stratum: case.stratum, nouns.group: case.group, who: text}
            for case in cases
            for who, text in [_gist(reading_of(declared, case))]
        ]
        print_json(listed)
        return
    width = Console().width - _INDENT
    for case in cases:
        begin = f"{case.stratum:<8}  "
        message = " ".join(_gist(reading_of(declared, case))[1].split())
        room = max(_SHORTEST, width - len(begin))
        clipped = message if len(message) <= room else f"{message[: room - 3]}..."
        click.echo(f"{printable(case.key)}\n{' ' * _INDENT}{printable(begin + clipped)}")


# Trials


def print_tried(
    declared: Declared,
    pairs: Sequence[Pair],
    models: Sequence[Model],
    prompted: str,
    *,
    whole: bool,
    as_json: bool,
) -> None:
    """Print what came of a trial, and what it cost by model; the first of each pair is made with what `prompted` says.

    `whole` prints all of a case, such as earlier turns and the rubric.
    """
    embedded = any(model.embedded for model in models)
    if as_json:
        if embedded:
            say(STAND_IN)
        documents = [_pair_document(declared, pair, models, whole) for pair in pairs]
        print_json(documents)
        return
    click.echo(printable(" judged by ".join(model.name for model in models)))
    if embedded:
        click.echo(STAND_IN)
    click.echo()
    sheet = Sheet(Console())
    for pair in pairs:
        case, reading = pair.case, reading_of(declared, pair.case)
        sheet.line(readable(f"{case.stratum}  {case.key}".strip() or "your conversation"), "bold reverse")
        if whole:
            print_sections(sheet, reading.sections)
        else:
            who, text = _gist(reading)
            sheet.line(in_a_line(who), "bold")
            sheet.text(readable(text if len(text) <= _MOST else f"{text[:_MOST]}... (--whole shows it all)"))
            sheet.line()
        sides = [(pair.prompted, f"with {prompted}"), (pair.bare, "without it" if pair.prompted else "the bare model")]
        judge, labels = next((model.name for model in models[1:]), None), declared.labels if case.key else ()
        readings = (
            (name, reading_of(declared, case, side.answer, [side.scored] if side.scored else [], side.error, judge))
            for side, name in sides
            if side
        )
        # Side by side where it fits.
        sheet.columns([reading_column(name, each, labels, sheet.styled) for name, each in readings])
    for line in _spent_lines(models, (call for pair in pairs for side in pair.sides for call in side.calls)):
        click.echo(printable(line))


def _pair_document(declared: Declared, pair: Pair, models: Sequence[Model], whole: bool) -> dict[str, Any]:
    """One case with its answers: an object of the list of `try --json`, which scripts read.

    Key and stratum have the benchmark's nouns as names; both are null for a conversation of a person's own. `with` is
    null where there was neither a prompt nor a program. `error` begins with a short word; an answer or a grade that a
    halt left out has `stopped`. If `whole`, `sections` has all of the case.
    """
    sections = reading_of(declared, pair.case).sections
    calls = [call for side in pair.sides for call in side.calls]
    return {
        declared.nouns.case: pair.case.key or None,
        declared.nouns.stratum: pair.case.stratum or None,
        **({"sections": sections_document(sections)} if whole else {}),
        "with": None if pair.prompted is None else _side_document(declared, pair.case, pair.prompted),
        "without": _side_document(declared, pair.case, pair.bare),
        "usage": {role: document(usage) for role, usage in _spent(models, calls).items()},
    }


def _side_document(declared: Declared, case: Case, side: Side) -> dict[str, Any]:
    reading = reading_of(declared, case, side.answer, [side.scored] if side.scored else [])
    return {
        "response": reading.answer,
        "truncated": reading.outcome.truncated if side.answer else None,
        "grade": reading.outcome.label,
        "score": side.scored.score if side.scored else None,
        **_grounds_document(reading),
        "error": side.error,
    }


def _grounds_document(reading: Reading) -> dict[str, Any]:
    """Reasons, quotes and further points of the first verdict, under the names that `show --json` has."""
    grounds = next(iter(reading.grounds), None)
    return {
        "reasons": grounds.reasons if grounds else None,
        "quotes": [quote.model_dump() for quote in grounds.quotes] if grounds else [],
        "points": [{"name": name, "text": text} for name, text in grounds.points] if grounds else [],
    }


# Worked cases


def examine(
    declared: Declared,
    settings: Settings,
    named: NamedModel,
    program: Path | None,
    gate: Gate,
    *,
    whole: bool,
    as_json: bool,
) -> int:
    """Ask a judge about the worked cases of its rules, and show which it gets right; the exit status.

    Raises:
        UsageError: The judge cannot be called as asked, or the benchmark has no worked cases.
    """
    if not (cases := declared.worked_cases()):
        raise UsageError(f"--judge-cases: {declared.name} declares no worked cases; leave it out")
    judge = compiled_program(declared, settings, Start(file=program), "judge")
    model = open_model(named.spec(EMBEDDED), role_of(declared, "judge"), gate)
    card = getattr(judge, "card", None)
    say_of_card("--judge-program", card, "judge", [model.name])
    if card and "cases after" in card.counts:
        say("--judge-program: was compiled with --guard cases on these cases, so the result is not a test of it.")
    examination = Examination(declared, judge, model, gate, settings)
    say(f"Asking for {counted(len(cases) * examination.votes, 'verdict')}.")
    examined = examination.run()
    if examined.begun and as_json:
        if model.embedded:
            say(STAND_IN)
        print_json([_judged_document(declared, judged, model, whole) for judged in examined.cases])
    elif examined.begun:
        name = program_name(judge)
        _print_examined(declared, examined, model, model.name if name == "default" else f"{model.name} ({name})", whole)
    if examined.halt:
        say(f"Stopped: {examined.halt}")
    else:
        typed = Typed()
        again = [*typed.options("--benchmark", "--set"), *typed.model("--judge", model.name)]
        again += [*typed.options("--judge-program"), *typed.calls()]
        say_next("agree", *again, before="Compare it with people:")
    return examined.exit_status


def _print_examined(declared: Declared, examined: Examined, model: Model, name: str, whole: bool) -> None:
    """Print which worked cases a judge of this name gets right, what its calls used, and the missed with reasons."""
    console, stand_in = Console(), MEASURES_NOTHING if model.embedded else ""
    words = {True: "yes", False: "no", None: "-"}
    rows = [
        (judged.case.name, judged.case.rule, judged.case.label, judged.label or "-", words[judged.right])
        for judged in examined.cases
    ]
    show(
        console,
        f"{stand_in}{name} {_count(examined)}.",
        table(("case", "rule", "by the rule", "judge", "right"), rows, fold=False),
        *_spent_lines([model], (call for judged in examined.cases for call in judged.calls)),
    )
    if unread := sum(len(judged.unread) for judged in examined.cases):
        verdicts = counted(unread + sum(len(judged.verdicts) for judged in examined.cases), "verdict")
        show(console, f"{unread} of {verdicts} could not be read.")
    sheet = Sheet(console)
    for judged in examined.cases:
        if judged.right is False or judged.failed:
            reading = reading_of(declared, judged.case.case, judged.case.answer, judged.verdicts)
            sheet.line()
            for line in _missed(judged, reading):
                sheet.text(readable(line))
            if whole:
                print_sections(sheet, reading.sections)
                sheet.line("response", "bold")
                sheet.text(readable(reading.answer or ""))


def _count(examined: Examined) -> str:
    """In how many cases the judge is right, and in how many that is not known."""
    graded, count = [judged for judged in examined.cases if judged.label], len(examined.cases)
    if not graded:
        return f"gives no grade in any of {count} worked cases"
    right = f"{sum(judged.right is True for judged in graded)} of {counted(len(graded), 'worked case')}"
    none = count - len(graded)
    left = f"; {none} of {count} {'has' if none == 1 else 'have'} no grade" if none else ""
    return f"gives the grade that the rule gives in {right}{left}"


def _missed(judged: JudgedCase, reading: Reading) -> Iterator[str]:
    case, verdicts = judged.case, judged.verdicts
    yield f"{case.name}: {case.label}. {case.why}"
    if judged.label is None:
        yield f"No verdict: {in_a_line(judged.error or '')}"
    elif [verdict.label for verdict in verdicts] != [judged.label]:
        yield f"The judge: {judged.label}, which its program makes of {counted(len(verdicts), 'verdict')}."
    for verdict, grounds in zip(verdicts, reading.grounds, strict=True):
        yield f"The judge: {verdict.label}. {in_a_line(grounds.reasons)}"


def _judged_document(declared: Declared, judged: JudgedCase, model: Model, whole: bool) -> dict[str, Any]:
    """An object of the list of `try --judge-cases --json`.

    `grade` is the judge's and `expected` the rule's; without a verdict `grade` and `right` are null and `error` begins
    with a short word. `grades` has those of all its verdicts, `reasons`, `quotes` and `points` are of the first, and
    `unread` has why others could not be read. If `whole`, `sections` has the case, and `response` what is graded.
    """
    case, reading = judged.case, reading_of(declared, judged.case.case, judged.case.answer, judged.verdicts)
    shown = {"sections": sections_document(reading.sections), "response": reading.answer}
    return {
        "case": case.name,
        "rule": case.rule,
        declared.nouns.stratum: case.case.stratum,
        **(shown if whole else {}),
        "expected": case.label,
        "why": case.why,
        "grade": judged.label,
        "grades": [each.label for each in judged.verdicts],
        "right": judged.right,
        **_grounds_document(reading),
        "error": judged.error,
        "unread": list(judged.unread),
        "usage": {role: document(usage) for role, usage in _spent([model], judged.calls).items()},
    }
