"""Rules that name evidence without understanding, and do nothing else: they make no call.

A search that does not beat them has found nothing, and a corpus on which a rule does well leaks its answers.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dspy_proact.benchmarks.probe.agents.tools import Record, WordRanking, ranked
from dspy_proact.benchmarks.probe.settings import BaselineName
from dspy_proact.benchmarks.probe.task import Item, Solution, TaskView

_URGENT = re.compile(
    r"\b(urgent\w*|asap|immediate\w*|critical\w*|deadlines?|overdue|blocked|blocking|blockers?|bottlenecks?|delay\w*|"
    r"escalat\w*|waiting|stuck|pending|at risk|right away|today)\b",
    re.IGNORECASE,
)
_PREFIXES = {"email": "email", "event": "calendar", "document": "document"}
"""By kind, how the official ids of distractors begin."""


class Blind:
    """An agent that is a rule.

    Args:
        rule: By its name.
        take: How many items it names, if it names a number of them.
    """

    def __init__(self, rule: BaselineName, take: int):
        self.name, self._take = rule, take

    async def solve(self, task: TaskView, asking: Any = None) -> Solution:
        """The items that the rule names; the other parts of the answer are faults."""
        named = tuple(item.id for item in _RULES[self.name](task, self._take))
        every = tuple(item.id for item in task.items)
        return Solution(evidence=named, touched=every, turns=0, faults=("bottleneck", "action", "parameters"))

    def expected(self, task: TaskView) -> list[Mapping[str, Any]]:
        """No messages."""
        return []

    def fingerprint(self) -> str:
        """sha256, in hexadecimal, of the rule's name and number."""
        return hashlib.sha256(f"{self.name} {self._take}".encode()).hexdigest()


def _longest(task: TaskView, take: int) -> Sequence[Item]:
    return _best(task, [len(Record.of(item).words) for item in task.items])[:take]


def _rarest_kind(task: TaskView, _: int) -> Sequence[Item]:
    """Every item of the rarest kind; of equally rare kinds the one that comes first."""
    counts = Counter(item.kind for item in task.items)
    kind = min(counts, key=lambda kind: counts[kind], default=None)
    return [item for item in task.items if item.kind == kind]


def _odd_id(task: TaskView, _: int) -> Sequence[Item]:
    """Every item whose id begins as those of another kind do, as happens to evidence of the official generator."""
    others = {kind: {*_PREFIXES.values()} - {prefix} for kind, prefix in _PREFIXES.items()}
    return [item for item in task.items if item.id.partition("_")[0] in others[item.kind]]


def _urgent(task: TaskView, take: int) -> Sequence[Item]:
    """The items with most words of urgency; none without any."""
    counts = [len(_URGENT.findall(Record.of(item).words)) for item in task.items]
    return _best(task, counts)[: min(take, sum(count > 0 for count in counts))]


def _nearest(task: TaskView, take: int) -> Sequence[Item]:
    """The items that BM25 finds by the words of the person's world."""
    world, at = task.world, task.world.organisation
    words = [world.occupation, world.about, world.work_style, at.department, *at.key_meetings]
    words += [*world.current_priorities, *world.pain_points]
    words += [f"{known.name} {known.relationship_context}" for known in world.relationships]
    scores = WordRanking([Record.of(item) for item in task.items]).scores("\n".join(words))
    return [task.items[place] for place in ranked(scores)[:take]]


def _best(task: TaskView, scores: Sequence[float]) -> list[Item]:
    """The items with the highest score first; equal ones in their order."""
    return [task.items[place] for place in sorted(range(len(scores)), key=lambda place: -scores[place])]


_RULES: Mapping[str, Callable[[TaskView, int], Sequence[Item]]] = {
    "first": lambda task, take: task.items[:take],
    "longest": _longest,
    "kind": _rarest_kind,
    "id": _odd_id,
    "urgent": _urgent,
    "bm25": _nearest,
    "everything": lambda task, _: task.items,
}
