"""How far a run is, told piece by piece: by its own clocks, grades, failures and cost."""

import io
import re

import pytest
from proact_run import JUDGE, MODEL, answered, failed, graded, manifest, trigger
from rich.console import Console

from dspy_proact.calls import Call, Price
from dspy_proact.cli.views import progress
from dspy_proact.cli.views.run_progress import RunProgress

CASES = [trigger(f"d{number}") for number in range(3)]
PRICED = Price(prompt=0.001, completion=0.01, cached=None, reason="a list")


def call(role, **tokens):
    return Call(role=role, started=1.0, latency=0.5, finish_reason="stop", **tokens)


def watched(of):
    """A run of three triggers, watched: one passes, one fails, one has no response."""
    one, other, third = CASES
    asked = call("assistant", prompt_tokens=1000, completion_tokens=100)
    with RunProgress(of) as shown:
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
        "1 of 3 triggers: PASS 1, USD 4.50",
        "2 of 3 triggers: PASS 1, failed 1, USD 4.50",
        "3 of 3 triggers: PASS 1, FAIL 1, failed 1, USD 6.50",
    ]


def test_no_cost_is_told_that_is_not_known(capsys):
    unknown = Price(prompt=None, completion=None, cached=None, reason="no list has it")
    watched(manifest(model=MODEL, assistant_price=unknown, judge_prices={JUDGE: PRICED}))
    assert "USD" not in capsys.readouterr().err


@pytest.mark.parametrize("width", [60, 80])
def test_on_a_terminal_a_bar_names_its_clocks_and_the_same_stands_below(monkeypatch, width):
    stream = io.StringIO()
    terminal = Console(file=stream, force_terminal=True, width=width, color_system=None, legacy_windows=False)
    monkeypatch.setattr(progress, "Console", lambda **_: terminal)
    watched(manifest(assistant_price=PRICED, judge_prices={JUDGE: PRICED}))
    assert re.search(
        r"triggers \S+ 3/3 so far 0:00:00 left \S+ *\nPASS 1, FAIL 1, failed 1, USD 6.50", stream.getvalue()
    )
