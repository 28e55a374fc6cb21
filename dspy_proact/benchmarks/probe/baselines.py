"""Rules that name evidence without reading with any understanding, and do nothing else: they make no call.

A search that does not beat them has found nothing, and a corpus on which one of them does well tells its answers.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dspy_proact.benchmarks.probe.corpus import Item, World
from dspy_proact.benchmarks.probe.settings import BaselineName
from dspy_proact.benchmarks.probe.solution import Solution
from dspy_proact.benchmarks.probe.tools import Record, WordRanking, ranked
from dspy_proact.benchmarks.probe.view import TaskView
from dspy_proact.programs import Direct

_URGENT = re.compile(
    r"\b(urgent\w*|asap|immediate\w*|critical\w*|deadlines?|overdue|blocked|blocking|blockers?|bottlenecks?|delay\w*|"
    r"escalat\w*|waiting|stuck|pending|at risk|right away|today)\b",
    re.IGNORECASE,
)
_PREFIXES = {"email": "email", "event": "calendar", "document": "document"}
"""By kind what the official ids of distractors begin with."""


class Blind:
    """An agent that is a rule.

    Args:
        rule: By its name.
        take: How many items it names, where it names a number of them.
    """

    def __init__(self, rule: BaselineName, take: int):
        self.name, self._rule, self._take = rule, _RULES[rule], take

    async def solve(self, task: TaskView, asking: Direct | None = None) -> Solution:
        """The items that the rule names, and no more; its other fields are missing, and said to be."""
        named = tuple(item.id for item in self._rule(task, self._take))
        every = tuple(item.id for item in task.items)
        return Solution(evidence=named, touched=every, turns=0, faults=("bottleneck", "action", "parameters"))

    def expected(self, task: TaskView) -> list[Mapping[str, Any]]:
        """Nothing is asked."""
        return []

    def fingerprint(self) -> str:
        """sha256, in hexadecimal, of the rule's name and number."""
        return hashlib.sha256(f"{self.name} {self._take}".encode()).hexdigest()


def first(task: TaskView, take: int) -> Sequence[Item]:
    """The first items, as they lie."""
    return task.items[:take]


def longest(task: TaskView, take: int) -> Sequence[Item]:
    """The longest items."""
    return _best(task, [len(Record.of(item).words) for item in task.items])[:take]


def rarest_kind(task: TaskView, _: int) -> Sequence[Item]:
    """Every item of the kind that there is least of; of equally rare ones the one that comes first."""
    counts = Counter(item.kind for item in task.items)
    kind = min(counts, key=lambda kind: counts[kind], default=None)
    return [item for item in task.items if item.kind == kind]


def odd_id(task: TaskView, _: int) -> Sequence[Item]:
    """Every item whose id begins as those of another kind do, which happens to evidence of the official generator."""
    known = set(_PREFIXES.values())
    begun = [(item, item.id.partition("_")[0]) for item in task.items]
    return [item for item, prefix in begun if prefix in known - {_PREFIXES[item.kind]}]


def urgent(task: TaskView, take: int) -> Sequence[Item]:
    """The items with most words of urgency; none without any."""
    counts = [len(_URGENT.findall(Record.of(item).words)) for item in task.items]
    return _best(task, counts)[: min(take, sum(count > 0 for count in counts))]


def nearest(task: TaskView, take: int) -> Sequence[Item]:
    """The items that BM25 finds by the words of the person's world."""
    scores = WordRanking([Record.of(item) for item in task.items]).scores_now(_words_of(task.world))
    return [task.items[place] for place in ranked(scores)[:take]]


def everything(task: TaskView, _: int) -> Sequence[Item]:
    """Every item."""
    return task.items


_RULES: Mapping[str, Callable[[TaskView, int], Sequence[Item]]] = {
    "first": first,
    "longest": longest,
    "kind": rarest_kind,
    "id": odd_id,
    "urgent": urgent,
    "bm25": nearest,
    "everything": everything,
}


def _best(task: TaskView, scores: Sequence[float]) -> list[Item]:
    """The items with the highest score first; equals as they lie."""
    return [task.items[place] for place in sorted(range(len(scores)), key=lambda place: -scores[place])]


def _words_of(world: World) -> str:
    at = world.organisation
    said = [world.occupation, world.about, world.work_style, at.department, *at.key_meetings]
    said += [*world.current_priorities, *world.pain_points]
    said += [f"{each.name} {each.relationship_context}" for each in world.relationships]
    return "\n".join(said)
