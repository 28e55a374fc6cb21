"""Who grades in a trial: one judge or several, each with its model under one program."""

from collections.abc import Sequence
from dataclasses import dataclass

from dspy_proact.benchmarks.benchmark import Start
from dspy_proact.benchmarks.compiled import compiled_program
from dspy_proact.benchmarks.evaluation import Named, open_judges
from dspy_proact.benchmarks.proactbench.benchmark import ProactBench
from dspy_proact.benchmarks.proactbench.programs import JUDGE, Judge
from dspy_proact.benchmarks.proactbench.types import Grade, Phase
from dspy_proact.models import Gate, Model
from dspy_proact.runs import Settings, consensus, cut_label


@dataclass(frozen=True)
class Jury:
    """Judges with one program and a model each."""

    program: Judge
    models: Sequence[Model]

    def grade(self, phase: Phase, given: Sequence[Grade]) -> Grade:
        """The grade of one judge's verdicts on a response, at least one: its program cuts their mean level.

        Without cuts it is the commonest; of several that tie, the worst.
        """
        cut, best_first = self.program.cuts.get(phase), tuple(Grade)
        return cut_label(given, best_first, cut) if cut else consensus(given, best_first)


def open_jury(judge: Named, gate: Gate, *, start: Start | None = None) -> Jury:
    """Make judges callable; the program holds for each of them, in any order.

    Raises:
        UsageError: None is named, or one twice; the start cannot be used; a model cannot be called as asked.
    """
    program = compiled_program(ProactBench(), Settings(), start or Start(), "judge")
    return Jury(program, open_judges(judge, JUDGE, gate))
