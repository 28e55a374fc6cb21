from collections.abc import Mapping
from typing import Any

import dspy

from dspy_proact.benchmarks.probe.agents.agent_module import AgentModule, known
from dspy_proact.benchmarks.probe.agents.questions import CriticiseAttempt, Step
from dspy_proact.benchmarks.probe.agents.react import ReAct, Trial
from dspy_proact.benchmarks.probe.agents.sitting import Sitting
from dspy_proact.benchmarks.probe.settings import Bounds
from dspy_proact.benchmarks.probe.view import TaskView
from dspy_proact.models import Embedder

_TRIAL = 4
"""Requests that are kept for a trial's end: a conclusion, a critique, and their repairs."""
_LACKED = "I tried before, and this was lacking."
_LESSONS = 2
"""Of the latest trials, that the next one is shown."""


class Reflexion(AgentModule):
    """Tries with tools, judges itself by what it saw, and tries again with what was lacking.

    Its own judge sees what the agent saw and nothing of what is right. Of several trials the one with the best score
    of its own counts, of equal ones the last.
    """

    name = "reflexion"

    def __init__(self, bounds: Bounds | None = None, embedder: Embedder | None = None):
        super().__init__(bounds, embedder)
        self.react = ReAct(bounds, embedder)
        self.criticise = dspy.Predict(CriticiseAttempt)

    def expected(self, task: TaskView) -> list[Mapping[str, Any]]:
        """Its first choice."""
        return self.react.first_choice(task, self._turns)

    @property
    def _turns(self) -> int:
        """Of each trial."""
        return max(1, self.bounds.turns // self.bounds.trials)

    async def _worked(self, sitting: Sitting) -> Mapping[str, Any]:
        bounds, lessons = self.bounds, list[Step]()
        best, highest = dict[str, Any](), -1.0
        for number in range(bounds.trials):
            if number and sitting.left < _TRIAL:
                break
            trial = await self.react.tried(sitting, self._turns, lessons[-_LESSONS:], reserved=_TRIAL)
            if number and not trial.told:
                continue
            score, lacking = await self._criticised(sitting, trial)
            if score >= highest:
                best, highest = dict(trial.told), score
            if score >= bounds.threshold:
                break
            lessons.append(Step(thought=_LACKED, tool="reflect", argument="", observation=lacking))
        return best

    async def _criticised(self, sitting: Sitting, trial: Trial) -> tuple[float, str]:
        """Its own score in [0, 1] of a trial, and what was lacking; 0 where it cannot be read."""
        told = trial.told
        said = await sitting.ask(
            self.criticise,
            **known(sitting.task),
            steps=list(trial.steps),
            evidence=list(told.get("evidence", ())),
            bottleneck=told.get("bottleneck", ""),
            action=told.get("action", ""),
            parameters=dict(told.get("parameters", {})),
        )
        score = said.get("score", -1.0)
        if not 0 <= score <= 1:
            sitting.fault("steps")
            score = 0.0
        return score, said.get("lacking", "")[: self.bounds.observation]
