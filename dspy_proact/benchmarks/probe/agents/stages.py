from collections.abc import Mapping
from typing import Any

import dspy

from dspy_proact.benchmarks.probe.agents.agent_module import AgentModule, first, known
from dspy_proact.benchmarks.probe.agents.questions import IdentifyBottleneck, ResolveBottleneck, SearchDocuments
from dspy_proact.benchmarks.probe.agents.sitting import Sitting
from dspy_proact.benchmarks.probe.settings import Bounds
from dspy_proact.benchmarks.probe.view import TaskView
from dspy_proact.models import Embedder


class Stages(AgentModule):
    """Search, identify, resolve: each stage sees only what the ones before it found."""

    name = "stages"

    def __init__(self, bounds: Bounds | None = None, embedder: Embedder | None = None):
        super().__init__(bounds, embedder)
        self.search = dspy.Predict(SearchDocuments)
        self.identify = dspy.Predict(IdentifyBottleneck)
        self.resolve = dspy.Predict(ResolveBottleneck)

    def expected(self, task: TaskView) -> list[Mapping[str, Any]]:
        """Its search."""
        return first(self.search, world=task.world, documents=list(task.items))

    async def _worked(self, sitting: Sitting) -> Mapping[str, Any]:
        task = sitting.task
        sitting.tools.touch_all()
        found = await sitting.ask(self.search, world=task.world, documents=list(task.items))
        named = {each.strip() for each in found.get("evidence", ())}
        shown = [item for item in task.items if item.id in named]
        identified = await sitting.ask(self.identify, world=task.world, documents=shown)
        resolved = await sitting.ask(
            self.resolve,
            **known(task),
            documents=shown,
            bottleneck=identified.get("bottleneck", ""),
        )
        return {**found, **identified, **resolved}
