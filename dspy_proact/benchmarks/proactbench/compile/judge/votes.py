"""Several verdicts on one response."""

from dataclasses import dataclass

import dspy

from dspy_proact.benchmarks.proactbench.compile.judge.labels import LEVELS
from dspy_proact.benchmarks.proactbench.programs import Judge
from dspy_proact.benchmarks.proactbench.types import Verdict
from dspy_proact.benchmarks.proactbench.views import JudgeView
from dspy_proact.errors import ContentError


@dataclass(frozen=True)
class Votes:
    """The verdicts on one response."""

    verdicts: tuple[Verdict | None, ...]
    """One a vote; None where it could not be read."""

    @property
    def read(self) -> list[Verdict]:
        """Those that could be read."""
        return [verdict for verdict in self.verdicts if verdict is not None]

    @property
    def level(self) -> float | None:
        """Mean level of the verdicts in [0, 2]: FAIL 0, PARTIAL 1, PASS 2; None where none could be read."""
        levels = [LEVELS.index(verdict.grade) for verdict in self.read]
        return sum(levels) / len(levels) if levels else None


def vote(judge: Judge, view: JudgeView, response: str, lm: dspy.LM, count: int) -> Votes:
    """A judge's verdicts on a response by one model, each under a rollout of its own."""
    lms = lm, *(lm.copy(rollout_id=number) for number in range(1, count))
    return Votes(tuple(_verdict(judge, view, response, each) for each in lms))


def _verdict(judge: Judge, view: JudgeView, response: str, lm: dspy.LM) -> Verdict | None:
    try:
        with dspy.context(lm=lm, trace=None):
            return judge.judge_now(view, response)
    except ContentError:
        return None
