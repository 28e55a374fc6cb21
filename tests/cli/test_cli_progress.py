"""How far a run is, told piece by piece: by its own clocks, grades, failures and cost."""

import io
import re
from dataclasses import replace

import pytest
from proact_run import JUDGE, MODEL, answered, failed, graded, manifest, trigger
from rich.console import Console

from dspy_proact.calls import Call, Price
from dspy_proact.cli.views import progress
from dspy_proact.cli.views.progress import RunProgress
from dspy_proact.runs import CONTROL, Event, GradeRecord, Scope, StageKey

CASES = [trigger(f"d{number}") for number in range(3)]
PRICED = Price(prompt=0.001, completion=0.01, cached=None, reason="a list")


def call(role, **tokens):
    return Call(role=role, started=1.0, latency=0.5, finish_reason="stop", **tokens)


def watched(of):
    """A run of three triggers, watched: one passes, one fails, one has no response."""
    one, other, third = CASES
    asked = call("assistant", prompt_tokens=1000, completion_tokens=100)
    with RunProgress(of, Scope()) as shown:
        shown.started(3, 5)
        shown.ended(answered(one, "yes", asked), False)
        shown.ended(graded(one, "PASS", call("judge", prompt_tokens=2000, completion_tokens=50)), True)
        shown.ended(failed(third, "empty"), True)
        shown.ended(answered(other, "no", asked), False)
        shown.ended(graded(other, "FAIL"), True)


def test_lines_tell_what_came_of_it_and_what_it_cost(capsys):
    watched(manifest(assistant_price=PRICED, judge_prices={JUDGE: PRICED}))
    assert capsys.readouterr().err.splitlines() == [
        "2 of 5 triggers are done already.",
        "1 of 3 triggers; verdicts: PASS 1; USD 4.50",
        "2 of 3 triggers; verdicts: PASS 1; failed 1; USD 4.50",
        "3 of 3 triggers; verdicts: PASS 1, FAIL 1; failed 1; USD 6.50",
    ]


def test_no_cost_is_told_that_is_not_known(capsys):
    unknown = Price(prompt=None, completion=None, cached=None, reason="no list has it")
    watched(manifest(model=MODEL, assistant_price=unknown, judge_prices={JUDGE: PRICED}))
    assert "USD" not in capsys.readouterr().err


def test_answers_are_counted_where_they_are_more_than_triggers_and_their_grades_apart(capsys):
    control = replace(trigger("c"), stratum=CONTROL)
    of = manifest(JUDGE, "openai/k", control_labels=("HELD_BACK", "UNWANTED"))
    held = GradeRecord(score=1.0, label="HELD_BACK", verified=None, detail={})
    looked = Event(
        key=StageKey(case=control.key, epoch=1, stage="verdict", judge=JUDGE), grade=held, calls=(), time=3.0
    )
    with RunProgress(of, Scope(epochs=2, controls=True)) as shown:
        shown.started(3, 8)
        for epoch in (1, 2):
            shown.ended(graded(CASES[0], "PARTIAL", epoch=epoch), False)
            shown.ended(graded(CASES[0], "FAIL", judge="openai/k", epoch=epoch), True)
        shown.ended(looked, False)
        shown.ended(failed(control, "refused", judge="openai/k"), True)
    assert capsys.readouterr().err.splitlines() == [
        "5 of 8 answers are done already.",
        "1 of 3 answers; verdicts: PARTIAL 1, FAIL 1",
        "2 of 3 answers; verdicts: PARTIAL 2, FAIL 2",
        "3 of 3 answers; verdicts: PARTIAL 2, FAIL 2; control turns: HELD_BACK 1;",
        "  failed 1",
    ]


@pytest.mark.parametrize("width", [60, 80])
def test_on_a_terminal_a_bar_names_its_clocks_and_the_same_stands_below(monkeypatch, width):
    stream = io.StringIO()
    terminal = Console(file=stream, force_terminal=True, width=width, color_system=None, legacy_windows=False)
    monkeypatch.setattr(progress, "Console", lambda **_: terminal)
    watched(manifest(assistant_price=PRICED, judge_prices={JUDGE: PRICED}))
    assert re.search(
        r"triggers \S+ 3/3 so far 0:00:00 left \S+ *\nverdicts: PASS 1, FAIL 1; failed 1; USD 6.50", stream.getvalue()
    )
