import re
from collections.abc import Mapping, Sequence
from typing import Any

import dspy

from dspy_proact.benchmarks.probe.agents.agent_module import AgentModule, first, known
from dspy_proact.benchmarks.probe.agents.questions import ConcludeTask, PlanStep, PlanWork, Step
from dspy_proact.benchmarks.probe.agents.sitting import Sitting
from dspy_proact.benchmarks.probe.settings import Bounds
from dspy_proact.benchmarks.probe.tools import Observation, Toolbox, cut
from dspy_proact.benchmarks.probe.view import TaskView
from dspy_proact.models import Embedder

_REFERENCE = re.compile(r"\$(\w+)")


class ReWOO(AgentModule):
    """Plans all uses of tools at once; code does them; then it concludes."""

    name = "rewoo"

    def __init__(self, bounds: Bounds | None = None, embedder: Embedder | None = None):
        super().__init__(bounds, embedder)
        self.plan = dspy.Predict(PlanWork)
        self.conclude = dspy.Predict(ConcludeTask)

    def expected(self, task: TaskView) -> list[Mapping[str, Any]]:
        """Its plan."""
        return first(self.plan, **known(task), most=self.bounds.turns)

    async def _worked(self, sitting: Sitting) -> Mapping[str, Any]:
        told = known(sitting.task)
        planned = await sitting.ask(self.plan, **told, most=self.bounds.turns)
        if "plan" not in planned:
            sitting.fault("steps")
        plan: list[PlanStep] = planned.get("plan", [])
        if len(plan) > self.bounds.turns:
            sitting.fault("turns")
        steps = await _done(plan[: self.bounds.turns], sitting.tools, self.bounds.observation)
        return await sitting.ask(self.conclude, **told, steps=steps)


async def _done(plan: Sequence[PlanStep], tools: Toolbox, longest: int) -> list[Step]:
    """The steps of a plan with what they returned; one that refers to a later one is not done.

    Args:
        plan: In its order.
        tools: What is used.
        longest: Characters of an argument.
    """
    steps, results = list[Step](), dict[str, Observation]()
    names = [re.sub(r"\W", "", planned.var) for planned in plan]
    for name, planned in zip(names, plan, strict=True):
        argument = cut(planned.argument, longest)
        late = [each for each in _REFERENCE.findall(argument) if each in names and each not in results]
        if late:
            observation = Observation(f"Not done: {late[0]} is no step before it.")
        else:
            meant = {f"${each}": _meant(result, planned.tool, tools) for each, result in results.items()}
            argument = cut(_REFERENCE.sub(lambda match, meant=meant: meant.get(match[0], match[0]), argument), longest)
            observation = await tools.use(planned.tool, argument)
        results[name] = observation
        steps.append(Step(thought=name, tool=planned.tool, argument=argument, observation=observation.text))
    return steps


def _meant(result: Observation, tool: str, tools: Toolbox) -> str:
    """What a reference to a result stands for in the argument of a tool."""
    match tool:
        case "sql":
            return ", ".join("'" + id_.replace("'", "''") + "'" for id_ in result.ids)
        case "search":
            return tools.title_of(result.ids[0]) if result.ids else ""
        case _:
            return " ".join(result.ids)
