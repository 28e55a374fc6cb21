"""How ProAgentBench's program is compiled: to the value at a cost, on earlier moments, without worked examples."""

from collections.abc import Sequence
from typing import Any

from dspy_proact.benchmarks.proagentbench.moments import ProAgentBenchSettings
from dspy_proact.compile.tuning import Tuning
from dspy_proact.runs import Scored


class OwnTuning(Tuning):
    """Compiles the program that says when and how to help."""

    strata = ("earlier",)
    demos = False  # they would carry what was on people's screens into a file that is passed on
    measures = ("accuracy", "false_alarm", "acted", "value", "intention", "lexical_similarity")

    def metric(self, scored: Scored[Any]) -> float:
        """The value at a cost c from its range, -c to 1, to [0, 1]; at a cost of 1 its mean rises as accuracy does."""
        cost = ProAgentBenchSettings.of(self.settings).cost
        return (scored.parts["value"] + cost) / (1 + cost)

    def notes(self, demos: int) -> Sequence[str]:
        """What was tuned for."""
        cost = ProAgentBenchSettings.of(self.settings).cost
        return [*super().notes(demos), f"tuned for the value of help, where help that was not sought costs {cost:g}"]
