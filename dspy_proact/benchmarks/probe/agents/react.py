from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dspy

from dspy_proact.benchmarks.probe.agents.agent_module import AgentModule, first, known
from dspy_proact.benchmarks.probe.agents.questions import ChooseStep, ConcludeTask, Step
from dspy_proact.benchmarks.probe.agents.sitting import Sitting
from dspy_proact.benchmarks.probe.settings import Bounds
from dspy_proact.benchmarks.probe.tools import cut
from dspy_proact.benchmarks.probe.view import TaskView
from dspy_proact.models import Embedder

_RESERVED = 2
"""Requests that are kept for the conclusion and its repair."""


@dataclass(frozen=True)
class Trial:
    """One way through a task."""

    steps: tuple[Step, ...]
    """What was done before it, and in it."""
    told: Mapping[str, Any]
    """What was concluded."""


class ReAct(AgentModule):
    """Uses tools one by one, choosing each by what came before, and concludes."""

    name = "react"

    def __init__(self, bounds: Bounds | None = None, embedder: Embedder | None = None):
        super().__init__(bounds, embedder)
        self.choose = dspy.Predict(ChooseStep)
        self.conclude = dspy.Predict(ConcludeTask)

    def expected(self, task: TaskView) -> list[Mapping[str, Any]]:
        """Its first choice."""
        return self.first_choice(task, self.bounds.turns)

    def first_choice(self, task: TaskView, turns: int) -> list[Mapping[str, Any]]:
        """The messages of the first choice where so many uses of a tool are allowed."""
        return first(self.choose, **known(task), steps=[], left=turns)

    async def _worked(self, sitting: Sitting) -> Mapping[str, Any]:
        return (await self.tried(sitting, self.bounds.turns)).told

    async def tried(
        self, sitting: Sitting, turns: int, before: Sequence[Step] = (), reserved: int = _RESERVED
    ) -> Trial:
        """A way through the task.

        Args:
            sitting: Who is asked.
            turns: The most uses of a tool.
            before: Steps that are shown as done already.
            reserved: Requests that are left for what follows the choices.
        """
        steps, told = list(before), known(sitting.task)
        for left in range(turns, -1, -1):
            if left == 0 or sitting.left <= reserved:
                sitting.fault("turns")
                break
            chosen = await sitting.ask(self.choose, **told, steps=steps, left=left)
            tool, longest = chosen.get("tool"), self.bounds.observation
            thought, argument = (cut(chosen.get(name, ""), longest) for name in ("thought", "argument"))
            if tool is None:
                sitting.fault("steps")
            if tool in (None, "finish"):
                break
            observation = await sitting.tools.use(tool, argument)
            steps.append(Step(thought=thought, tool=tool, argument=argument, observation=observation.text))
        return Trial(tuple(steps), await sitting.ask(self.conclude, **told, steps=steps))
