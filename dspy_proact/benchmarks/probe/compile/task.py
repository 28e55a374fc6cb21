"""An agent of PROBE as what is tuned: on tasks of some people, by a judge that does not report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

import dspy

from dspy_proact.benchmarks.probe.agents import AgentModule
from dspy_proact.benchmarks.probe.compile.grader import Grader
from dspy_proact.benchmarks.probe.compile.people import folds_of
from dspy_proact.benchmarks.probe.compile.training import PROPOSAL, AgentTraining
from dspy_proact.benchmarks.probe.compiled import mark_of
from dspy_proact.benchmarks.probe.corpus import TaskCorpus
from dspy_proact.benchmarks.probe.scoring import ProbeGrade
from dspy_proact.benchmarks.probe.task import PARTS, ProbeView, Solution
from dspy_proact.compile.candidate import Chosen
from dspy_proact.compile.excerpts import Excerpts
from dspy_proact.compile.folds import Fold, split
from dspy_proact.errors import ContentError
from dspy_proact.programs import Recipe

SHOWN = 30_000
"""Characters of an input that a proposer is shown: the beginning of every item, where there are 80 of them."""


@dataclass(frozen=True)
class TaskItem:
    """A task with what is right of it, which no example holds."""

    key: str
    """Opaque; examples carry it beside an agent's inputs."""
    unit: str
    """The person, whose tasks folds keep together."""
    view: ProbeView

    @property
    def mark(self) -> str:
        """Of the task, whatever the ids and the order of its items."""
        return mark_of(self.view)

    @property
    def example(self) -> dspy.Example:
        """The inputs of an agent, and the key."""
        task = self.view.task
        example = dspy.Example(key=self.key, world=task.world, documents=list(task.items), actions=list(task.actions))
        return example.with_inputs("world", "documents", "actions")


@dataclass(frozen=True)
class AgentTask:
    """How an agent is tuned to a corpus.

    Args:
        start: Where tuning starts.
        items: Every task of the corpus.
        recipe: Folds, seed and optimizer.
        agent_lm: Under the agent.
        tuning: Whose verdicts optimizers see.
        reporting: Whose verdicts test.
        proposer_lm: Writes instructions.
        width: TaskCorpus at once.
    """

    start: AgentModule
    items: Sequence[TaskItem]
    recipe: Recipe
    agent_lm: dspy.LM
    tuning: Grader
    reporting: Grader
    proposer_lm: dspy.LM
    width: int
    shown: Excerpts = field(default_factory=lambda: Excerpts(SHOWN))
    """Of tasks, to the proposer."""
    role: str = "assistant"

    def folds(self) -> tuple[Fold[TaskItem], ...]:
        """As `folds_of` makes them."""
        return folds_of(self.items, self.recipe)

    def training(self, train: Sequence[TaskItem], before: Mapping[str, ProbeGrade | None]) -> AgentTraining:
        """TaskCorpus in two parts; what the reporting judge found before is not looked at."""
        del before
        learn, compare = split(train, self.recipe.seed)
        return AgentTraining(
            student=self.start.deepcopy(),
            learn=[item.example for item in learn],
            compare=[item.example for item in compare],
            groups={item.key: item.unit for item in train},
            task_lm=self.agent_lm,
            proposer_lm=self.proposer_lm,
            proposal=PROPOSAL,
            width=self.width,
            views={item.key: item.view for item in train},
            grader=self.tuning,
            shown=self.shown,
        )

    def finished(self, chosen: Chosen[AgentModule], training: AgentTraining) -> AgentModule:
        """The agent that was chosen."""
        del training
        return chosen.program

    def test(self, tuned: AgentModule, item: TaskItem) -> ProbeGrade | None:
        """What the reporting judge finds; no answer is an empty one."""
        try:
            with dspy.context(lm=self.agent_lm, trace=None):
                solution = Solution.model_validate(tuned(**item.example.inputs()).toDict())
        except ContentError:
            solution = Solution(faults=PARTS)
        return self.reporting.grade(item.view, solution)

    def score(self, results: Mapping[str, ProbeGrade | None], items: Sequence[TaskItem]) -> float | None:
        """Mean overall."""
        known = [grade.overall for item in items if (grade := results[item.key])]
        return fmean(known) if known else None


def items_of(tasks: TaskCorpus) -> tuple[TaskItem, ...]:
    """Every task of a corpus, in its order."""
    return tuple(TaskItem(each.key, each.person, ProbeView.of(tasks.task(each.key))) for each in tasks.entries)
