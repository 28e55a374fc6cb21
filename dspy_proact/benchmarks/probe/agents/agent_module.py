"""What all agents have in common: a DSPy module that works a task, awaited or not, and ends with a `Solution`."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

import dspy

from dspy_proact.benchmarks.probe.agents.sitting import Sitting, wording
from dspy_proact.benchmarks.probe.corpus import Action, Email, Item, Organisation, World
from dspy_proact.benchmarks.probe.settings import Bounds
from dspy_proact.benchmarks.probe.solution import Solution
from dspy_proact.benchmarks.probe.tools import Toolbox
from dspy_proact.benchmarks.probe.view import TaskView
from dspy_proact.calls import collect_calls
from dspy_proact.models import Embedder
from dspy_proact.programs import Direct
from dspy_proact.programs.asking import Asking, ask, ask_now, rendered, run_now

_STAND_IN = TaskView(
    world=World(
        person="{person}",
        occupation="{occupation}",
        about="{about}",
        relationships=(),
        organisation=Organisation(company_name="{company}", department="{department}", team_size=1, reporting_to=""),
    ),
    items=(Email(id="{id}", subject="{subject}", sender="{sender}", timestamp="{time}", body="{body}"),),
    actions=(Action(id="{action}", type="{type}", required=("{name}",)),),
)


class AgentModule(dspy.Module):
    """An agent.

    Args:
        bounds: How far it may go.
        embedder: By which it searches; None searches by words.

    Attributes:
        name: By which a person chooses it.
    """

    name: str
    card: Any = None
    """What its compile showed; None where it is not compiled."""
    learned_from: frozenset[str] = frozenset()
    """Marks of the tasks that it was compiled on."""

    def __init__(self, bounds: Bounds | None = None, embedder: Embedder | None = None):
        super().__init__()
        self.bounds, self._embedder = bounds or Bounds(), embedder

    def forward(self, world: World, documents: Sequence[Item], actions: Sequence[Action]) -> dspy.Prediction:
        """A prediction with the fields of a `Solution`.

        Args:
            world: The person's.
            documents: All items.
            actions: All that can be done.

        Raises:
            StageError: There is no answer.
        """
        return run_now(self._predicted(ask_now, TaskView(world=world, items=tuple(documents), actions=tuple(actions))))

    async def aforward(self, world: World, documents: Sequence[Item], actions: Sequence[Action]) -> dspy.Prediction:
        """The same, awaited."""
        return await self._predicted(ask, TaskView(world=world, items=tuple(documents), actions=tuple(actions)))

    async def solve(self, task: TaskView, asking: Direct | None = None) -> Solution:
        """As `Agent` says."""
        if asking:
            return await self._solution(asking, task)
        said = await self.acall(world=task.world, documents=list(task.items), actions=list(task.actions))
        return Solution.model_validate(said.toDict())

    def expected(self, task: TaskView) -> list[Mapping[str, Any]]:
        """As `Agent` says."""
        raise NotImplementedError

    @property
    def instruction(self) -> str:
        """What its first question tells a model to do."""
        signature: Any = self.predictors()[0].signature
        return signature.instructions

    def fingerprint(self) -> str:
        """Hash of what it says to its model."""
        view, told = _STAND_IN, dict[str, list[Mapping[str, Any]]]()
        values = {"world": view.world, "documents": list(view.items), "actions": list(view.actions), "steps": []}
        values |= {"bottleneck": "{bottleneck}", "evidence": [], "action": "{action}", "parameters": {}}
        for name, predictor in self.named_predictors():
            told[name] = list(rendered(predictor, wording(), values | {"left": 1, "most": 1}))
        return hashlib.sha256(json.dumps(told, ensure_ascii=False, sort_keys=True).encode()).hexdigest()

    async def _worked(self, sitting: Sitting) -> Mapping[str, Any]:
        """What it says of the parts of a solution."""
        raise NotImplementedError

    async def _predicted(self, asking: Asking, task: TaskView) -> dspy.Prediction:
        return dspy.Prediction(**(await self._solution(asking, task)).model_dump())

    async def _solution(self, asking: Asking, task: TaskView) -> Solution:
        embedder = self._embedder
        embed = embedder and (embedder.embed_now if asking is ask_now else embedder.embed)
        with closing(Toolbox(task.items, self.bounds, embed)) as tools, collect_calls() as calls:
            sitting = Sitting(asking, task, tools, self.bounds.calls)
            solution = sitting.solution(await self._worked(sitting))
        truncated = any(call.finish_reason == "length" for call in calls)
        return solution.model_copy(update={"truncated": truncated})


def known(task: TaskView) -> dict[str, Any]:
    """The inputs of a question beside what was found."""
    return {"world": task.world, "actions": list(task.actions)}


def first(predictor: dspy.Predict, **inputs: Any) -> list[Mapping[str, Any]]:
    """The messages of a first question to a predictor."""
    return list(rendered(predictor, wording(), inputs))
