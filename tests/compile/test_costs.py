"""What a compiled assistant cost is told by intervals: beyond the usual margins, within them, or not to be told."""

from typing import Any

import assistants
import pytest
from dspy_proact.benchmarks.proactbench.compile.assistant.costs import Costs

from dspy_proact.benchmarks.proactbench.types import Phase
from dspy_proact.programs import CardNumber, CardUsage
from dspy_proact.programs.card import Change

ZERO = CardNumber(value=0.0, reason="no pair differs")


def number(value: float, low: float | None = None, high: float | None = None) -> CardNumber:
    return CardNumber(value=value, low=low, high=high, reason=None if low is not None else "none")


def change(difference: CardNumber, **changes: Any) -> Change:
    of = {"count": 20, "total": 20, "before": number(0.5, 0.3, 0.7), "after": number(0.5, 0.3, 0.7)}
    return Change(**(of | {"difference": difference} | changes))


def usage(tokens: int) -> CardUsage:
    return CardUsage(prompt_tokens=tokens, completion_tokens=0, usd=None)


def costs(**changes: Any) -> Costs:
    """Of a compile for RECOVERY that is within all margins, intervals and all, but for what is given."""
    of: dict[str, Any] = {
        "offers": change(number(0.01, -0.02, 0.04)),
        "phases": dict.fromkeys(Phase, change(number(0.0, -0.04, 0.04))),
        "length": change(number(1.05, 0.95, 1.15)),
        "tokens": change(number(1.2, 1.1, 1.3)),
        "usage_before": usage(1000),
        "usage_after": usage(1200),
    }
    return Costs.of(assistants.card(**(of | changes)))


def test_where_every_interval_is_within_its_margin_nothing_was_paid():
    assert costs() == Costs((), (), alike=False)
    assert costs().nothing


def phases(critical: Change) -> dict[Phase, Change]:
    return dict.fromkeys(Phase, change(number(0.0, -0.04, 0.04))) | {Phase.CRITICAL: critical}


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("unwanted offers", {"offers": change(number(0.01, -0.05, 0.07))}),
        ("unwanted offers", {"offers": change(number(0.0))}),
        ("unwanted offers", {"offers": change(number(0.01, -0.02, 0.04), most=number(0.03, 0.0, 0.06))}),
        ("CRITICAL", {"phases": phases(change(number(0.02, -0.06, 0.1)))}),
        ("CRITICAL", {"phases": phases(change(ZERO, least=number(-0.03, -0.06, 0.0)))}),
        ("length", {"length": change(number(1.05, 0.8, 1.3))}),
        ("tokens", {"tokens": change(number(1.2, 0.8, 1.6))}),
        ("tokens", {"tokens": None}),
    ],
    ids=["offers", "no interval", "unread offers", "phase", "unread in a phase", "length", "tokens", "older card"],
)
def test_what_may_have_passed_its_margin_could_not_be_told(name: str, changes: dict[str, Any]):
    """Each had a point estimate within its margin, and nothing was said to be paid."""
    found = costs(**changes)
    assert (found.beyond, found.untold, found.nothing) == ((), (name,), False)
    assert found.doubt == f"whether more than the usual margins was paid could not be told of {name}"


def test_what_passed_its_margin_is_told_with_its_interval_and_the_rest_may_be_in_doubt():
    found = costs(offers=change(number(0.5, 0.3, 0.7)), length=change(number(1.05, 0.8, 1.3)), tokens=None)
    assert found.beyond == ("unwanted offers +50 [+30, +70] points",)
    assert found.doubt == "whether more was paid could not be told of length and tokens"


def test_what_the_compile_was_for_is_no_cost():
    tuned = dict.fromkeys(Phase, change(number(0.0, -0.04, 0.04))) | {Phase.RECOVERY: change(number(-0.5, -0.7, -0.3))}
    assert costs(phases=tuned).nothing


def test_where_nothing_changed_nothing_was_paid_though_nothing_has_an_interval():
    alike = {"phases": dict.fromkeys(Phase, change(ZERO)), "length": change(number(1.0)), "tokens": change(number(1.0))}
    found = costs(offers=change(ZERO), usage_after=usage(1000), **alike)
    assert (found.nothing, found.doubt) == (True, "")
