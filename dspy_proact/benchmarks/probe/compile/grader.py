"""Who says what a solution of a task is worth."""

from dataclasses import dataclass

import dspy

from dspy_proact.benchmarks.probe.judging import ProbeJudge
from dspy_proact.benchmarks.probe.scoring import ProbeGrade, graded, is_described, is_filled
from dspy_proact.benchmarks.probe.settings import ProbeSettings
from dspy_proact.benchmarks.probe.task import ProbeView, Solution
from dspy_proact.errors import ContentError
from dspy_proact.programs.asking import ask_now, run_now


@dataclass(frozen=True)
class Grader:
    """Both judges on one model."""

    lm: dspy.LM
    judge: ProbeJudge
    settings: ProbeSettings

    def grade(self, view: ProbeView, solution: Solution) -> ProbeGrade | None:
        """What is found about a solution; None where a verdict on it cannot be read."""
        described, filled = is_described(solution, self.settings), is_filled(solution, view.gold)
        judge, identified, resolved = self.judge, None, None
        try:
            with dspy.context(lm=self.lm, trace=None):  # what is found is no step of the agent's
                if described:
                    identified = run_now(judge.identification.judge(view, solution.bottleneck, ask_now))
                if filled:
                    resolved = run_now(judge.resolution.judge(view, solution.parameters, ask_now))
        except ContentError:
            return None
        return graded(view, solution, self.settings, identified, resolved)
