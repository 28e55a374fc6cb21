"""A judge on the worked cases of its rules, as a person and as a script read it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import Console

from dspy_proact.cli.views.trial_document import Spending, sections_of
from dspy_proact.models import Model
from dspy_proact.report import (
    MEASURES_NOTHING,
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
    from dspy_proact.benchmarks.proactbench.examination import Examined, JudgedCase
    from dspy_proact.benchmarks.proactbench.jury import Jury


def print_examination(examined: "Examined", jury: "Jury", whole: bool) -> None:
    """Print which cases the judge gets right, what its calls took, and the others with reasons.

    Args:
        examined: Begun at least.
        jury: One judge.
        whole: Whether conversation, rubric and response of the others are printed too.
    """
    model, program = jury.models[0], jury.program.name
    name = model.name if program == "default" else f"{model.name} ({program})"
    console, stand_in = Console(), MEASURES_NOTHING if model.embedded else ""
    show(console, f"{stand_in}{name} {_count(examined)}.")
    rows = [
        (each.case.name, each.case.rule, each.case.grade, each.grade or "-", _word(each)) for each in examined.cases
    ]
    show(console, table(("case", "rule", "by the rule", "judge", "right"), rows, fold=False))
    show(console, *Spending(model).lines(call for each in examined.cases for call in each.calls))
    if unread := sum(len(each.unread) for each in examined.cases):
        verdicts = counted(unread + sum(len(each.verdicts) for each in examined.cases), "verdict")
        show(console, f"{unread} of {verdicts} could not be read.")
    sheet = Sheet(console)
    for each in examined.cases:
        if each.right is False or each.failed:
            sheet.line()
            for line in _missed(each):
                sheet.text(readable(line))
            if whole:
                print_sections(sheet, sections_of(each.case.view))
                sheet.line("response", "bold")
                sheet.text(readable(each.case.response))


def _count(examined: "Examined") -> str:
    """In how many cases the judge is right, and in how many that is not known."""
    graded, count = [each for each in examined.cases if each.grade], len(examined.cases)
    if not graded:
        return f"gives no grade in any of {count} worked cases"
    right = f"{sum(each.right is True for each in graded)} of {counted(len(graded), 'worked case')}"
    none = count - len(graded)
    left = f"; {none} of {count} {'has' if none == 1 else 'have'} no grade" if none else ""
    return f"gives the grade that the rule gives in {right}{left}"


def _word(judged: "JudgedCase") -> str:
    return {True: "yes", False: "no", None: "-"}[judged.right]


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
    return [_document(each, model, whole) for each in examined.cases]


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
        "grades": [str(each.grade) for each in judged.verdicts],
        "right": judged.right,
        "reasoning": verdict.reasoning if verdict else None,
        "evidence": [quote.model_dump() for quote in verdict.evidence] if verdict else [],
        "error": judged.error,
        "unread": list(judged.unread),
        "usage": {role: document(usage) for role, usage in Spending(model).of(judged.calls).items()},
    }
