"""The assistant as what is tuned: to triggers of the chosen phases, by a judge that does not report."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import dspy

from dspy_proact.benchmarks.proactbench.compile.assistant.examiner import Examined, Examiner, mean_of
from dspy_proact.benchmarks.proactbench.compile.assistant.guards import Guard, Guards
from dspy_proact.benchmarks.proactbench.compile.assistant.probe import Probe, controls_among, of_phases
from dspy_proact.benchmarks.proactbench.compile.assistant.tellable import Withheld
from dspy_proact.benchmarks.proactbench.compile.assistant.training import PROPOSAL, AssistantTraining
from dspy_proact.benchmarks.proactbench.programs import Assistant
from dspy_proact.benchmarks.proactbench.types import Phase
from dspy_proact.compile.candidate import Chosen
from dspy_proact.compile.folds import Fold, grouped_folds, split
from dspy_proact.errors import UsageError
from dspy_proact.programs import Recipe

_LEAST = 2
"""Units of a training set: one to learn from, one to compare candidates on."""


@dataclass(frozen=True)
class AssistantTask:
    """How an assistant is tuned to a corpus.

    Args:
        start: Where tuning starts.
        items: Every trigger and control turn of the corpus.
        recipe: Folds, seed and optimizer.
        phases: Whose triggers it is tuned on.
        margins: Of the guards that are asked for.
        tuning: Whose judge optimizers see.
        reporting: Whose judge tests.
        proposer_lm: Writes prompts.
    """

    start: Assistant
    items: Sequence[Probe]
    recipe: Recipe
    phases: Sequence[Phase]
    margins: Mapping[Guard, float]
    tuning: Examiner
    reporting: Examiner
    proposer_lm: dspy.LM
    role: str = "assistant"
    withheld: Withheld = field(default_factory=Withheld)

    def folds(self) -> tuple[Fold[Probe], ...]:
        """As `folds_of` makes them."""
        return folds_of(self.items, self.phases, self.recipe)

    def training(self, train: Sequence[Probe], before: Mapping[str, Examined]) -> AssistantTraining:
        """Triggers of the chosen phases in two parts; what the reporting judge found before is not looked at."""
        del before
        learn, compare = split(of_phases(train, self.phases), self.recipe.seed)
        units = {probe.unit for probe in compare}
        controls = [probe for probe in controls_among(train) if probe.unit in units]
        probes = [*learn, *compare, *controls]
        return AssistantTraining(
            student=self.start.deepcopy(),
            learn=[probe.example for probe in learn],
            compare=[probe.example for probe in compare],
            groups={probe.key: probe.scenario for probe in probes},
            task_lm=self.tuning.assistant_lm,
            proposer_lm=self.proposer_lm,
            proposal=PROPOSAL,
            width=self.tuning.width,
            probes={probe.key: probe for probe in probes},
            controls=controls,
            examiner=self.tuning,
            guards=Guards(self.margins, self.tuning, train, self.phases),
            withheld=self.withheld,
        )

    def finished(self, chosen: Chosen[Assistant], training: AssistantTraining) -> Assistant:
        """The program that was chosen."""
        del training
        return chosen.program

    def test(self, tuned: Assistant, item: Probe) -> Examined:
        """What the reporting judge finds."""
        return self.reporting.examine(tuned, item)

    def score(self, results: Mapping[str, Examined], items: Sequence[Probe]) -> float | None:
        """Mean score at triggers of the chosen phases."""
        return mean_of(lambda examined: examined.score, results, of_phases(items, self.phases))


def folds_of(probes: Sequence[Probe], phases: Sequence[Phase], recipe: Recipe) -> tuple[Fold[Probe], ...]:
    """Folds that are balanced by the chosen triggers; what else a unit has goes with them.

    Raises:
        UsageError: There are fewer units than folds, or a fold leaves fewer than two units to learn from.
    """
    chosen = of_phases(probes, phases)
    units = {probe.unit for probe in chosen}
    if len(units) < recipe.folds:
        raise _too_few(chosen, units, phases, recipe)
    tests = [{probe.unit for probe in fold.test} for fold in grouped_folds(chosen, recipe.folds, recipe.seed)]
    if any(len(units - test) < _LEAST for test in tests):
        raise _too_few(chosen, units, phases, recipe)
    for place, unit in enumerate(sorted({probe.unit for probe in probes} - units)):
        tests[place % len(tests)].add(unit)
    return tuple(Fold.of(probes, test) for test in tests)


def _too_few(chosen: Sequence[Probe], units: Collection[str], phases: Sequence[Phase], recipe: Recipe) -> UsageError:
    return UsageError(
        f"{len(chosen)} triggers of {', '.join(phases)} in {len(units)} personas or scenarios cannot make "
        f"{recipe.folds} folds and leave two of them to learn from in each; give another number of --folds, further "
        "phases with --phase, or a larger corpus"
    )
