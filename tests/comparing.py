"""Comparisons of runs and of outcomes that are made in a test, and what is printed of them."""

import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from proact_run import PHASES, summary_of, trigger
from rich.console import Console

from dspy_proact.benchmarks.proactbench.report.particulars import NOUNS
from dspy_proact.report import Comparison, Summary, compare, print_comparison
from dspy_proact.runs import Case, GivenVerdict, Outcome

SCORES = {"PASS": 1.0, "PARTIAL": 0.5, "FAIL": 0.0}
GRADES = tuple(SCORES)


def spread(scenarios: int, phases: Iterable[str] = PHASES) -> list[Case]:
    """A trigger a scenario and phase, phase by phase."""
    return [
        trigger(f"d{number}", phase, turn=turn, scenario=f"S{number:02d}")
        for turn, phase in enumerate(phases, start=1)
        for number in range(scenarios)
    ]


def compared(
    folder: Path, cases: Sequence[Case], a: Iterable[str | None], b: Iterable[str | None], *judges: str, **of_b: Any
) -> Comparison:
    """Two runs that grade these triggers so; judges and changes are the second's."""
    first = summary_of(folder / "a", zip(cases, a, strict=True))
    return compare(first, summary_of(folder / "b", zip(cases, b, strict=True), *judges, **of_b))


def outcome(
    key: str, grade: str | None, *, group: str = "s", stratum: str = "EMERGENT", epoch: int = 1, **changes: Any
) -> Outcome:
    """What became of a trigger; None: unscored."""
    view = {"conversation": [{"user": f"Ask {key}", "assistant": None}], "rubric": {"phase": stratum}}
    shared = {"key": key, "epoch": epoch, "view": view, "response": "r", "meta": {"turn": 1, "life_domain": group}}
    if grade is None:
        unscored = {"state": "unscored", "reason": "response: empty", "response": None}
        return Outcome(stratum, group, **(shared | unscored | changes))
    verdict = GivenVerdict("j", 1, grade, SCORES[grade], None, {})
    return Outcome(stratum, group, "scored", grade, SCORES[grade], verdicts=(verdict,), **{**shared, **changes})


def summary(*outcomes: Outcome, **changes: Any) -> Summary:
    fields = {
        "path": "run",
        "benchmark": "proactbench",
        "model": "m",
        "judges": ("j",),
        "embedded": False,
        "nouns": NOUNS,
    }
    return Summary(**(fields | {"strata": PHASES, "labels": GRADES, "outcomes": outcomes} | changes))


def printed(comparison: Comparison, width: int = 80, **options: Any) -> str:
    file = io.StringIO()
    print_comparison(comparison, Console(file=file, width=width, **options), explain=True)
    return file.getvalue()


def told(comparison: Comparison) -> str:
    """What is printed, without the breaks of lines."""
    return " ".join(printed(comparison).split())
