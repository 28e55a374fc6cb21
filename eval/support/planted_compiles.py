"""Compiles at the server of `planted_models`, and what they have learned."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dspy_proact import AssistantTarget, Compile, Gate, JudgeTarget, Recipe, open_model
from dspy_proact.calls import is_final
from dspy_proact.compile.forecast import CompileObserver, Progress
from dspy_proact.compile.optimizers import silenced
from dspy_proact.compile.target import instructions_of
from dspy_proact.kept import CALLS, CallLog
from dspy_proact.models import ModelSpec
from dspy_proact.optimizer_names import Optimizer
from support.planted_models import PlantedModels
from support.planted_rules import STAGES, rules_in
from support.planted_shop import Task, planted
from support.provider import SimulatedProvider

TRIALS = 20


@dataclass(frozen=True)
class Cell:
    """One compile of a planted task."""

    optimizer: Optimizer
    task: Task
    blind: bool
    """Whether inputs are taken out of the proposer's requests."""
    seed: int


@dataclass(frozen=True)
class Learnt:
    """What the program has learned that it ships."""

    hidden: bool
    """Whether it has the hidden rule where it belongs."""
    wrong: int
    """Other rules in it."""
    picks: Sequence[bool]
    """Of each request to the proposer, without those that have the hidden rule, whether it picked that."""
    calls: int
    """Requests to the program's model."""


def compiled(cell: Cell) -> Learnt:
    """Tune on all items, which makes the program that a compile ships, and leave out its folds."""
    declared, models = planted(cell.task, cell.seed), PlantedModels(cell.blind)
    role = "assistant" if cell.task == "act" else "judge"
    with SimulatedProvider(models) as provider:
        specs = [ModelSpec(name="openai/any", api_base=provider.base(name)) for name in (role, "proposer")]
        if cell.task == "act":
            target = AssistantTarget(model=specs[0], proposer=specs[1], benchmark=declared)
        else:
            target = JudgeTarget(None, *specs, benchmark=declared)
        recipe, gate = Recipe(optimizer=cell.optimizer, trials=TRIALS, seed=cell.seed), Gate(retries=0)
        task = Compile(target, recipe, gate)
        folder = tempfile.TemporaryDirectory()
        with folder, silenced(), CallLog(Path(folder.name, CALLS), task.identity.digest(), is_final) as log:
            opened = {name: open_model(spec, at, gate, log=log) for name, (spec, at) in target.specs.items()}
            task.target = target.opened(opened, gate.concurrency)
            before, progress = task.tested(target.start, target.items), Progress(CompileObserver(), task.forecast(), 0)
            tuned, _ = task.tuned(target.items, before, progress)
    texts = instructions_of(tuned.program)
    own = texts[STAGES.index(declared.hidden.mark)] if cell.task == "cut" else texts[0]
    rules = {rule.sentence for text in texts for rule in rules_in(text, role)}
    picks = [rule == declared.hidden for rule, known in models.picks.values() if declared.hidden not in known]
    wrong = rules - {declared.hidden.sentence}
    return Learnt(declared.hidden.sentence in own, len(wrong), picks, provider.received[role])
