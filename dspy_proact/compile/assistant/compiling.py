"""A compile of the assistant from top to bottom: before, fold by fold, on everything, and what came of it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean

import dspy

from dspy_proact.calls import Call, collect_calls
from dspy_proact.compile.assistant.guards import Guard
from dspy_proact.compile.assistant.optimizers import Bench, Tuned
from dspy_proact.compile.assistant.panel import Panel, Played, scores
from dspy_proact.compile.assistant.probe import Probe, of_phases
from dspy_proact.compile.assistant.withholding import Withheld
from dspy_proact.compile.effort import Effort
from dspy_proact.compile.folds import Fold, grouped_folds
from dspy_proact.compile.study import journal
from dspy_proact.errors import UsageError
from dspy_proact.programs import Assistant
from dspy_proact.types import Phase

_LEAST = 2
"""Units of a training set: one to learn from, one to compare candidates on."""


@dataclass(frozen=True)
class AssistantPlan:
    """How an assistant is compiled."""

    effort: Effort
    folds: int = 5
    phases: tuple[Phase, ...] = (Phase.RECOVERY,)
    """Whose triggers it is tuned on."""
    margins: Mapping[Guard, float] = field(default_factory=dict[Guard, float])
    """Of the guards that are asked for."""


@dataclass(frozen=True)
class Reported:
    """What the reporting judge found at every probe."""

    played: Mapping[str, Played]
    calls: tuple[Call, ...]
    """That the assistant took; those that DSPy's memory answered are not among them."""


@dataclass(frozen=True)
class CompiledAssistant:
    """What came of a compile."""

    tuned: Tuned
    """On everything."""
    before: Reported
    """By the start."""
    after: Reported
    """Each probe by a program that never saw its unit."""
    fold_scores: tuple[float | None, ...]
    """Mean score of each fold's program on its chosen test triggers; None where none could be graded."""
    withheld: Withheld


def compile_assistant(
    start: Assistant,
    probes: Sequence[Probe],
    plan: AssistantPlan,
    *,
    tuning: Panel,
    reporting: Panel,
    proposer_lm: dspy.LM,
    journals: Path | None = None,
    told: Callable[[str], None] = lambda _: None,
) -> CompiledAssistant:
    """Compile and test out of fold, then compile on everything.

    Args:
        start: Stays as it is.
        probes: Of the corpus; those of one unit are on one side of every fold.
        plan: Optimizer, folds, phases and guards.
        tuning: Whose judge optimizers see.
        reporting: Whose judge tests.
        proposer_lm: Writes prompts.
        journals: Folder in which studies are written down.
        told: Is given a line now and then.

    Raises:
        UsageError: The chosen triggers are of fewer personas or scenarios than the folds need.
        Halt: A limit was reached, a provider is down, or the person asked to stop.
    """
    folds = dealt(probes, plan)
    bench = Bench(plan.effort, tuning, proposer_lm, plan.phases, plan.margins)
    told(f"{len(probes)} turns, {len(folds)} folds: the assistant as it is")
    before = _reported(reporting, start, probes)
    played: dict[str, Played] = {}
    calls: list[Call] = []
    means: list[float | None] = []
    for number, fold in enumerate(folds, start=1):
        told(f"fold {number} of {len(folds)}: compiling on {len(fold.train)} turns, testing on {len(fold.test)}")
        tuned = bench.tuned(start, fold.train, journal(journals, f"fold-{number}"))
        tested = _reported(reporting, tuned.program, fold.test)
        played |= tested.played
        calls += tested.calls
        graded = scores(tested.played, of_phases(fold.test, plan.phases))
        means.append(fmean(graded) if graded else None)
    told(f"compiling on all {len(probes)} turns")
    tuned = bench.tuned(start, probes, journal(journals, "all"))
    after = Reported({probe.key: played[probe.key] for probe in probes}, tuple(calls))
    return CompiledAssistant(tuned, before, after, tuple(means), replace(bench.withheld))


def dealt(probes: Sequence[Probe], plan: AssistantPlan) -> tuple[Fold[Probe], ...]:
    """Folds that are balanced by the chosen triggers; what else a unit has goes with them.

    Raises:
        UsageError: There are fewer units than folds, or a fold leaves fewer than two units to learn from.
    """
    chosen = of_phases(probes, plan.phases)
    units = {probe.unit for probe in chosen}
    if len(units) < plan.folds:
        raise _too_few(chosen, units, plan)
    tests = [{probe.unit for probe in fold.test} for fold in grouped_folds(chosen, plan.folds, plan.effort.seed)]
    if any(len(units - test) < _LEAST for test in tests):
        raise _too_few(chosen, units, plan)
    for place, unit in enumerate(sorted({probe.unit for probe in probes} - units)):
        tests[place % len(tests)].add(unit)
    return tuple(
        Fold(
            tuple(probe for probe in probes if probe.unit not in test),
            tuple(probe for probe in probes if probe.unit in test),
        )
        for test in tests
    )


def _too_few(chosen: Sequence[Probe], units: Collection[str], plan: AssistantPlan) -> UsageError:
    names = ", ".join(plan.phases)
    return UsageError(
        f"{len(chosen)} triggers of {names} in {len(units)} personas or scenarios cannot make {plan.folds} folds and "
        "leave two of them to learn from in each; give another number of --folds, further phases with --phase, or a "
        "larger corpus"
    )


def _reported(panel: Panel, assistant: Assistant, probes: Sequence[Probe]) -> Reported:
    with collect_calls() as calls:
        played = panel.play(assistant, probes)
    return Reported(played, tuple(call for call in calls if call.role == "assistant"))
