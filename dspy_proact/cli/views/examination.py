"""An examination of a judge, asked for, shown, and told what is next."""

import json
from typing import TYPE_CHECKING

import click

from dspy_proact.benchmarks.benchmark import Start
from dspy_proact.cli.options.verb import first_typed
from dspy_proact.cli.views.examination_text import examination_document, print_examination
from dspy_proact.cli.views.message import say
from dspy_proact.cli.views.next import Typed, say_next
from dspy_proact.cli.views.program_notes import say_of_card
from dspy_proact.errors import UsageError
from dspy_proact.report import STAND_IN, counted

if TYPE_CHECKING:
    from dspy_proact.cli.options.judging import Judging
    from dspy_proact.models import Gate, ModelSpec

_OF_OTHERS = (
    "--model",
    "--model-api-base",
    "--model-param",
    "--model-price",
    "--program",
    "--corpus",
    "--trigger",
    "--phase",
    "--conversation",
    "--list",
)
"""Options of an assistant, and of where it is tried."""


def examine(judge: "ModelSpec", judging: "Judging", gate: "Gate", *, whole: bool, as_json: bool) -> int:
    """Ask a judge about the worked cases of its rules, and show which it gets right; the exit status.

    Raises:
        UsageError: More than a judge is named, or it cannot be called as asked.
    """
    from dspy_proact.benchmarks.proactbench.corpus import judge_cases
    from dspy_proact.benchmarks.proactbench.examination import Examination
    from dspy_proact.benchmarks.proactbench.jury import open_jury

    _require_alone()
    jury, cases = open_jury(judge, gate, start=Start(file=judging.file)), judge_cases()
    card = jury.program.card
    say_of_card("--judge-program", card, "judge", [judge.name])
    if card and "cases after" in card.counts:
        say("--judge-program: was compiled with --guard cases, by these cases, so that this is no test of it.")
    say(f"Asking for {counted(len(cases) * jury.program.votes, 'verdict')}.")
    examined = Examination(jury, gate).run(cases)
    if examined.begun and as_json:
        if jury.models[0].embedded:
            say(STAND_IN)
        told = examination_document(examined, jury.models[0], whole)
        click.echo(json.dumps(told, indent=2, allow_nan=False))
    elif examined.begun:
        print_examination(examined, jury, whole)
    if examined.halt:
        say(f"Stopped: {examined.halt}")
    else:
        typed = Typed()
        again = [*typed.model("--judge", judge.name), *typed.options("--judge-program"), *typed.calls()]
        say_next("agree", *again, before="Beside people:")
    return examined.exit_status


def _require_alone() -> None:
    """Raise a `UsageError` where more than a judge is named."""
    named = click.get_current_context().params["text"] is not None
    flag = "TEXT" if named else first_typed(_OF_OTHERS)
    if flag:
        raise UsageError(f"--judge-cases tries a judge on cases of its own; leave {flag} out")
