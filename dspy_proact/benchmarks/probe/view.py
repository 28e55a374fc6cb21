"""What each role may see of a task of PROBE.

    view          sees
    TaskView      the person's world, the items, and what can be done: all that an agent is handed
    ProbeView     the same and what is right: what a run keeps, and the graders take from it

Nothing in a `TaskView` has a place for gold.
"""

from dspy_proact.benchmarks.probe.corpus import Action, Gold, Item, Task, World
from dspy_proact.types import Frozen


class TaskView(Frozen):
    """What an agent sees."""

    world: World
    items: tuple[Item, ...]
    actions: tuple[Action, ...]


class ProbeView(TaskView):
    """What a run keeps of a task."""

    gold: Gold

    @classmethod
    def of(cls, task: Task) -> "ProbeView":
        """The view of a task."""
        return cls(world=task.world, items=task.items, actions=task.actions, gold=task.gold)

    @property
    def task(self) -> TaskView:
        """What an agent sees; what is right is left behind."""
        return TaskView(world=self.world, items=self.items, actions=self.actions)
