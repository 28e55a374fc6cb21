"""What `try` prints, as text and as JSON: answers side by side, lists of cases, and worked cases."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from dspy_proact.calls import Usage
from dspy_proact.cli.exit_status import exit_status
from dspy_proact.cli.next_step import CALLS, Next, Typed, say_next
from dspy_proact.cli.options.models import EMBEDDED, NamedModel
from dspy_proact.cli.views.message import message_of, print_json, say
from dspy_proact.cli.views.runs import say_of_card
from dspy_proact.errors import UsageError
from dspy_proact.evaluation.benchmark import Benchmark, Start
from dspy_proact.evaluation.compiled import compiled_program
from dspy_proact.evaluation.participant import program_name, role_of
from dspy_proact.evaluation.people import WorkedCase, worked_cases_of
from dspy_proact.evaluation.trial import Pair, Side
from dspy_proact.evaluation.trial import examine as put_to
from dspy_proact.models import AnyModel, Gate, Model, open_model
from dspy_proact.plain_text import printable
from dspy_proact.report import Reading
from dspy_proact.report.numbers import counted, document
from dspy_proact.report.reading import grounds_document, print_sections, reading_column, sections_document
from dspy_proact.report.terminal import Sheet, in_a_line, readable, show, standard_output
from dspy_proact.runs import Case, Outcome, Settings, VerdictRecord, answer_text
from dspy_proact.stand_in import STAND_IN, demonstration

_INDENT = 4
_SHORTEST = 40
"""Characters of a case that a list shows at least."""
_MOST = 2000
"""Characters of a case that is shown without its earlier turns and the like."""
Declared = Benchmark[Any, Any]


def _spent(models: Sequence[AnyModel], sides: Iterable[Side]) -> dict[str, Usage]:
    """Usage by role at the price of its model, every attempt counted."""
    calls = [call for side in sides for call in side.calls]
    return {
        model.role.name: Usage.of([call for call in calls if call.role == model.role.name], model.price)
        for model in models
    }


def _spent_lines(models: Sequence[AnyModel], sides: Iterable[Side]) -> Iterator[str]:
    for role, usage in _spent(models, sides).items():
        cost = f"cost unknown ({usage.reason})" if usage.usd is None else f"USD {usage.usd:.4f}"
        yield f"{role}: {usage.attempts}, {usage.tokens}, {cost}"


# Cases


def reading_of(
    declared: Declared, case: Case, side: Side | None = None, answer: Any = None, judge: str | None = None
) -> Reading:
    """A case as `show` has it, with what came of a side, whose `answer` may be there already."""
    answer = answer or (side and side.answer)
    fields = answer.model_dump(mode="json") if answer else {}
    outcome = Outcome(
        stratum=case.stratum,
        group=case.group,
        state="pending",
        key=case.key,
        response=answer_text(fields) if answer else None,
        truncated=side is not None and side.truncated,
        view=case.view.model_dump(mode="json"),
    )
    if side and side.error:
        outcome = outcome.unscored(f"no verdict: {side.error}" if answer else side.error)
    verdicts = [
        VerdictRecord.of(scored, scored.detail.model_dump(mode="json"), judge)
        for scored in (side.verdicts if side else ())
    ]
    return Reading.of(outcome.graded(verdicts, declared.labels) if verdicts else outcome, declared.name)


def _gist(reading: Reading) -> tuple[str, str]:
    """The message that awaits an answer, with its speaker: the last of a chat, or the first field."""
    chats = (section for section in reading.sections if section.kind == "chat")
    section = next(chats, reading.sections[0])
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
    width = standard_output().width - _INDENT
    for case in cases:
        begin = f"{case.stratum:<8}  "
        message = " ".join(_gist(reading_of(declared, case))[1].split())
        room = max(_SHORTEST, width - len(begin))
        clipped = message if len(message) <= room else f"{message[: room - 3]}..."
        click.echo(f"{printable(case.key)}\n{' ' * _INDENT}{printable(begin + clipped)}")


# Trials


def print_tried(
    declared: Declared, pairs: Sequence[Pair], models: Sequence[AnyModel], prompted: str, in_full: bool, as_json: bool
) -> None:
    """Print what came of a trial whose first sides are made with what `prompted` says, and its cost by model."""
    embedded = any(model.embedded for model in models)
    if as_json:
        if embedded:
            say(STAND_IN)
        print_json([_pair_document(declared, pair, models, in_full) for pair in pairs])
        return
    others = (f"{' judged by' if m.role.name == 'judge' else f', {m.role.name}'} {m.name}" for m in models[1:])
    click.echo(printable("".join([models[0].name, *others])))
    if embedded:
        click.echo(STAND_IN)
    click.echo()
    sheet = Sheet()
    for pair in pairs:
        case, reading = pair.case, reading_of(declared, pair.case)
        sheet.line(readable(f"{case.stratum}  {case.key}".strip() or "your conversation"), "bold reverse")
        if in_full:
            print_sections(sheet, reading.sections)
        else:
            who, text = _gist(reading)
            sheet.line(in_a_line(who), "bold")
            sheet.text(readable(text if len(text) <= _MOST else f"{text[:_MOST]}... (--whole shows it all)"))
            sheet.line()
        names = [f"with {prompted}", "without it"] if pair.prompted else ["the bare model"]
        judge = next((model.name for model in models if model.role.name == "judge"), None)
        labels = declared.labels if case.key else ()
        readings = (
            (name, reading_of(declared, case, side, judge=judge)) for name, side in zip(names, pair.sides, strict=True)
        )
        # Side by side where it fits.
        sheet.columns([reading_column(name, reading, labels, sheet.styled) for name, reading in readings])
    for line in _spent_lines(models, (side for pair in pairs for side in pair.sides)):
        click.echo(printable(line))


def _pair_document(declared: Declared, pair: Pair, models: Sequence[AnyModel], in_full: bool) -> dict[str, Any]:
    """One case with its answers: an object of the list of `try --json`, which scripts read.

    Key and stratum have the benchmark's nouns as names; both are null for a conversation of a person's own. `with` is
    null where there was neither a prompt nor a program. `error` begins with a short word; an answer or a grade that a
    halt left out has `stopped`. If `in_full`, `sections` has all of the case.
    """

    def of(side: Side) -> dict[str, Any]:
        reading = reading_of(declared, pair.case, side)
        return {
            "response": reading.answer,
            "truncated": reading.outcome.truncated if side.answer else None,
            "grade": reading.outcome.label,
            "score": side.scored.score if side.scored else None,
            **grounds_document(next(iter(reading.grounds), None)),
            "error": side.error,
        }

    sections = reading_of(declared, pair.case).sections
    return {
        declared.nouns.case: pair.case.key or None,
        declared.nouns.stratum: pair.case.stratum or None,
        **({"sections": sections_document(sections)} if in_full else {}),
        "with": None if pair.prompted is None else of(pair.prompted),
        "without": of(pair.bare),
        "usage": {role: document(usage) for role, usage in _spent(models, pair.sides).items()},
    }


# Worked cases


def examine(
    declared: Declared,
    settings: Settings,
    named: NamedModel,
    program: Path | None,
    gate: Gate,
    in_full: bool,
    as_json: bool,
) -> int:
    """Ask a judge about the worked cases of its rules, and show which it gets right; the exit status.

    Raises a `UsageError` where the judge cannot be called as asked, or the benchmark has no worked cases.
    """
    if not (cases := worked_cases_of(declared)):
        raise UsageError(f"--judge-cases: {declared.name} declares no worked cases; leave it out")
    judge = compiled_program(declared, settings, Start(file=program), "judge")
    model = open_model(named.spec(EMBEDDED), role_of(declared, "judge"), gate)
    card = getattr(judge, "card", None)
    say_of_card("--judge-program", card, "judge", [model.name])
    if card and "cases after" in card.counts:
        say("--judge-program: was compiled with --guard cases on these cases, so the result is not a test of it.")
    say(f"Asking for {counted(len(cases) * getattr(judge, 'votes', 1), 'verdict')}.")
    tried = put_to(declared, judge, model, gate, settings)
    judged = list(zip(cases, tried.sides, strict=True))
    if tried.begun and as_json:
        if model.embedded:
            say(STAND_IN)
        print_json([_judged_document(declared, *item, model, in_full) for item in judged])
    elif tried.begun:
        name = program_name(judge)
        _print_judged(declared, judged, model, model.name if name == "default" else f"{model.name} ({name})", in_full)
    if tried.halt:
        say(f"Stopped: {message_of(tried.halt)}")
    else:
        typed = Typed()
        again = [*typed.options("--benchmark", "--set"), *typed.model("--judge", model.name)]
        again += [*typed.options("--judge-program", *CALLS)]
        say_next(Next.JUDGE_TRIED, "Compare it with people:", options=again)
    return exit_status(tried.halt, unscored=tried.failed)


def _print_judged(
    declared: Declared, judged: Sequence[tuple[WorkedCase, Side]], model: Model, name: str, in_full: bool
) -> None:
    """Print how often a judge of this name is right, what its calls used, and each case; one it misses as `show` does.

    A case without a grade is neither right nor missed.
    """
    console, graded = standard_output(), [side.label == worked.label for worked, side in judged if side.label]
    none, unread = len(judged) - len(graded), sum(len(side.unread) for _, side in judged)
    verdicts = counted(unread + sum(len(side.verdicts) for _, side in judged), "verdict")
    show(
        console,
        f"{demonstration([('judge', model.name)])}{name} gives the grade that the rule gives in {sum(graded)} of "
        f"{counted(len(graded), 'worked case')}{f'; {none} more without a grade' if none else ''}.",
        *_spent_lines([model], (side for _, side in judged)),
        *([f"{unread} of {verdicts} could not be read."] if unread else []),
    )
    sheet = Sheet(console)
    for worked, side in judged:
        right = f"judge {side.label or '-'}, by the rule {worked.label}"
        sheet.line(in_a_line(f"{worked.name} ({worked.rule}): {right}"))
        if side.label == worked.label or not (side.label or side.failed):
            continue
        reading = reading_of(declared, worked.case, side, worked.answer, model.name)
        if in_full:
            print_sections(sheet, reading.sections)
        sheet.line(in_a_line(f"why: {worked.why}"))
        sheet.columns([reading_column("response", reading, declared.labels, sheet.styled)])


def _judged_document(declared: Declared, worked: WorkedCase, side: Side, model: Model, in_full: bool) -> dict[str, Any]:
    """An object of the list of `try --judge-cases --json`.

    `grade` is the judge's and `expected` the rule's; without a verdict `grade` and `right` are null and `error` begins
    with a short word. `grades` has those of all its verdicts, `reasons`, `quotes` and `points` are of the first, and
    `unread` has why others could not be read. If `in_full`, `sections` has the case, and `response` what is graded.
    """
    reading = reading_of(declared, worked.case, side, worked.answer)
    return {
        "case": worked.name,
        "rule": worked.rule,
        declared.nouns.stratum: worked.case.stratum,
        **({"sections": sections_document(reading.sections), "response": reading.answer} if in_full else {}),
        "expected": worked.label,
        "why": worked.why,
        "grade": side.label,
        "grades": [verdict.label for verdict in side.verdicts],
        "right": side.label == worked.label if side.label else None,
        **grounds_document(next(iter(reading.grounds), None)),
        "error": side.error,
        "unread": list(side.unread),
        "usage": {role: document(usage) for role, usage in _spent([model], [side]).items()},
    }
