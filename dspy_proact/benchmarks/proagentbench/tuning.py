"""How ProAgentBench's program is compiled: to the value at a cost, on earlier moments, without worked examples."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dspy_proact.benchmarks.proagentbench.moments import ProAgentBenchSettings
from dspy_proact.evaluation.tuning import CardRows, Feedback, Tuning, proposals_of
from dspy_proact.runs import Case, Scored


class OwnTuning(Tuning):
    """Compiles the program that says when and how to help."""

    strata = ("earlier",)
    # Worked examples would carry what was on people's screens into a file that is passed on.
    proposals = proposals_of(demos=False)
    rows = CardRows(measures=("accuracy", "false_alarm", "acted", "value", "intention", "lexical_similarity"))

    def feedback(self, case: Case, answer: Any, scored: Scored[Any] | None) -> Feedback:
        """The value at a cost c from its range, -c to 1, to [0, 1]; at a cost of 1 its mean rises as accuracy does."""
        usual = super().feedback(case, answer, scored)
        if scored is None:
            return usual
        cost = ProAgentBenchSettings.of(self.settings).cost
        wrong = "helped where none was sought" if answer.need_help else "silent where help was sought"
        return replace(usual, score=(scored.parts["value"] + cost) / (1 + cost), error=usual.error and wrong)

    def notes(self, demos: int, raters: Sequence[str]) -> Sequence[str]:
        """What was tuned for."""
        cost = ProAgentBenchSettings.of(self.settings).cost
        aim = f"tuned for the value of help, where help that was not sought costs {cost:g}"
        return [*super().notes(demos, raters), aim]
