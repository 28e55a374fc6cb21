"""Two runs of which the second is of a trained model, what it was trained on, and what was chosen: without a model."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from builders.runs import manifest, outcome, summary
from dspy_proact.benchmarks.proactbench.benchmark import ProactBench
from dspy_proact.benchmarks.proactbench.types import NOUNS
from dspy_proact.report.measured import ControlCases
from dspy_proact.report.summary import Summary
from dspy_proact.runs import CONTROL
from dspy_proact.trained.card import TrainedCard
from dspy_proact.trained.preference import PairChoices
from dspy_proact.trained.trained_on import TrainedOn

BASE, TUNED = "hosted_vllm/qwen3", "hosted_vllm/qwen3-tuned"
SCORES_BY, REWARDED_BY, PREFERS = "openai/gpt-5.4", "anthropic/claude-opus-4-7", "gemini/gemini-2.5-pro"
PEOPLE = 20
"""Personas, each with a scenario."""


def run_of_model(
    model: str,
    grades: Sequence[str | None],
    controls: Sequence[str | None] = (),
    *,
    judge: str = SCORES_BY,
    words: int = 10,
    controls_in: str = "dd",
    **of: Any,
) -> Summary:
    """A run in which the case at each place has that grade, and the control turn that label; people share them."""

    def one(number: int, grade: str | None, stratum: str = "EMERGENT") -> Any:
        person = f"p{number % PEOPLE:02d}"
        key = f"{'c' if stratum == CONTROL else 'd'}{number}__t1"
        made = outcome(key, grade, group=f"{person}:S", stratum=stratum, meta={"persona": person, "turn": 1})
        return made if grade is None else replace(made, response=f"{model} {' word' * (words - 1)}".strip())

    harm = {"HELD_BACK": 1.0, "UNWANTED": 0.0}
    turns = [one(number, label and "PASS", CONTROL) for number, label in enumerate(controls)]
    turns = [
        replace(made, label=label, score=harm[label]) if label else made
        for made, label in zip(turns, controls, strict=True)
    ]
    declared = ProactBench().controls
    assert declared, "it has control turns"
    cases = ControlCases(tuple(turns), None, True, "UNWANTED", NOUNS, declared) if turns else ControlCases()
    return summary(
        *(one(number, grade) for number, grade in enumerate(grades)),
        path=f"runs/{model.rpartition('/')[2]}",
        model=model,
        judges=(judge,),
        controls=cases,
        manifest=manifest(judge, model=model, controls=controls_in if turns else None, **of),
    )


def trained_on(*names: str, judges: Sequence[str] = (REWARDED_BY,), **changes: Any) -> TrainedOn:
    """Rows that name these people."""
    known = {"without_unit": {}, "reserved": 0, "rows": 30, "judged": True}
    return TrainedOn(("rows.jsonl",), names=frozenset(names), judges=tuple(judges), **(known | changes))


def chosen(sides: Sequence[float | None], *judges: str, ties: int = 0) -> PairChoices:
    """What was chosen at the case at each place: 1 for the trained model, 0 against it."""
    return PairChoices(
        judges=judges or (PREFERS,),
        path=None,
        scores={f"d{number}__t1": side for number, side in enumerate(sides)},
        tuned=sum(side == 1 for side in sides),
        base=sum(side == 0 for side in sides),
        ties=ties,
        fewest=sum(side in (0, 1) for side in sides) // max(1, len(judges)),
        alike=0,
        first=0,
        chosen=0,
    )


def good_card(**changes: Any) -> TrainedCard:
    """A card on which an improvement is claimed: 100 cases of 20 people, of which 45 fail before and pass after."""
    fields = {
        "base": run_of_model(BASE, ["FAIL"] * 50 + ["PASS"] * 50, ["HELD_BACK"] * 40),
        "tuned": run_of_model(TUNED, ["PASS"] * 45 + ["FAIL"] * 5 + ["PASS"] * 50, ["HELD_BACK"] * 40),
        "declared": ProactBench(),
        "trained": trained_on("somebody else"),
        "choices": chosen([1.0, 0.0] * 50),
    }
    return TrainedCard(**(fields | changes))
