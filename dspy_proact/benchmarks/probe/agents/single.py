from collections.abc import Mapping
from typing import Any

import dspy

from dspy_proact.benchmarks.probe.agents.agent_module import AgentModule, first, known
from dspy_proact.benchmarks.probe.agents.questions import SolveTask
from dspy_proact.benchmarks.probe.agents.sitting import Sitting
from dspy_proact.benchmarks.probe.settings import Bounds
from dspy_proact.benchmarks.probe.view import TaskView
from dspy_proact.models import Embedder


class Single(AgentModule):
    """One question with everything in it: the published setting."""

    name = "single"

    def __init__(self, bounds: Bounds | None = None, embedder: Embedder | None = None):
        super().__init__(bounds, embedder)
        self.solve_task = dspy.Predict(SolveTask)

    def expected(self, task: TaskView) -> list[Mapping[str, Any]]:
        """Its only question."""
        return first(self.solve_task, **_shown(task))

    async def _worked(self, sitting: Sitting) -> Mapping[str, Any]:
        sitting.tools.touch_all()
        return await sitting.ask(self.solve_task, **_shown(sitting.task))


def _shown(task: TaskView) -> dict[str, Any]:
    return {**known(task), "documents": list(task.items)}
