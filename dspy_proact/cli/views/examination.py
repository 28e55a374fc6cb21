"""An examination of a judge: asked for, and shown to a person or a script."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from dspy_proact.benchmarks.benchmark import Start
from dspy_proact.cli.views.message import Typed, say, say_next
from dspy_proact.cli.views.runs import say_of_card
from dspy_proact.cli.views.trial import Spending, sections_of
from dspy_proact.models import Model
from dspy_proact.report import (
    MEASURES_NOTHING,
    STAND_IN,
    Sheet,
    counted,
    document,
    in_a_line,
    print_sections,
    readable,
    sections_document,
    show,
    table,
)

if TYPE_CHECKING:
    from pathlib import Path

    from dspy_proact.benchmarks.proactbench.examination import Examined, JudgedCase
    from dspy_proact.benchmarks.proactbench.jury import Jury
    from dspy_proact.models import Gate, ModelSpec


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
