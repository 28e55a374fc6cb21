"""What bounds the score of an agent: blind rules from below, oracles from above.

A rule names evidence without understanding, does nothing else and makes no call. A search that does not beat the rules
has found nothing, and a corpus on which a rule does well leaks its answers. An oracle gives a part of the answer away,
so that it shows where points are lost:

    oracle        the agent sees                                   full score
    evidence      only the right items                             search
    bottleneck    these, and a note that describes the bottleneck  search, identification
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dspy_proact.benchmarks.probe.agents.tools import Record, WordRanking, ranked
from dspy_proact.benchmarks.probe.settings import BaselineName, OracleName
from dspy_proact.benchmarks.probe.task import Document, Gold, Item, ProbeView, Solution, TaskView
from dspy_proact.programs import Direct

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

    async def solve(self, task: TaskView, asking: Direct | None = None) -> Solution:
        """The items that the rule names; the other parts of the answer are faults."""
        named = tuple(item.id for item in _RULES[self.name](task, self._take))
        every = tuple(item.id for item in task.items)
        return Solution(evidence=named, touched=every, turns=0, faults=("bottleneck", "action", "parameters"))

    def expected(self, task: TaskView) -> list[Mapping[str, Any]]:
        """Nothing is asked."""
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
    words += [f"{each.name} {each.relationship_context}" for each in world.relationships]
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


def shown(oracle: OracleName, view: ProbeView) -> TaskView:
    """What an agent sees of a task under an oracle."""
    task = view.task
    if oracle == "none":
        return task
    items = tuple(item for item in task.items if item.id in view.gold.evidence)
    if oracle == "bottleneck":
        note = Document(id="known-matter", title="What is the matter, as is known", content=view.gold.description)
        items = (note, *items)
    return task.model_copy(update={"items": items})


def with_given(oracle: OracleName, solution: Solution, gold: Gold) -> Solution:
    """The answer with what the oracle gave away in place of what the agent made of it."""
    if oracle == "none":
        return solution
    given: dict[str, Any] = {"evidence": gold.evidence, "touched": gold.evidence}
    if oracle == "bottleneck":
        given["bottleneck"] = gold.description
    faults = tuple(fault for fault in solution.faults if fault not in given)
    return solution.model_copy(update={**given, "faults": faults})
