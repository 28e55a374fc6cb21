"""Rules that name evidence without understanding, and do nothing else: they make no call.

A search that does not beat them has found nothing, and a corpus on which a rule does well leaks its answers.
"""

import re
from collections import Counter
from collections.abc import Sequence

from dspy_proact.benchmarks.probe.agents.tools import ToolRow
from dspy_proact.benchmarks.probe.settings import BaselineName
from dspy_proact.benchmarks.probe.task import PARTS, Item, Solution, TaskView, World
from dspy_proact.evaluation.text_ranking import WordRanking, ranked

_URGENT = re.compile(
    r"\b(urgent\w*|asap|immediate\w*|critical\w*|deadlines?|overdue|blocked|blocking|blockers?|bottlenecks?|delay\w*|"
    r"escalat\w*|waiting|stuck|pending|at risk|right away|today)\b",
    re.IGNORECASE,
)
_PREFIXES = {"email": "email", "event": "calendar", "document": "document"}
"""By kind, how the official ids of distractors begin."""


def world_text(world: World) -> str:
    """What is known of a person's work and people before anything is read."""
    at = world.organisation
    words = [world.occupation, world.about, world.work_style, at.department, *at.key_meetings]
    words += [*world.current_priorities, *world.pain_points]
    words += [f"{known.name} {known.relationship_context}" for known in world.relationships]
    return "\n".join(words)


def by_rule(task: TaskView, rule: BaselineName, take: int) -> Solution:
    """The items that a rule names, `take` of them if it leaves that open; the other parts of the answer are faults."""
    items, records = task.items, [ToolRow.of(item) for item in task.items]
    named: Sequence[Item] | None = None
    scores: Sequence[float] = ()
    match rule:
        case "longest":
            scores = [len(record.words) for record in records]
        case "kind":  # every item of the rarest kind
            kinds = Counter(item.kind for item in items)
            rarest = min(kinds, key=lambda kind: kinds[kind], default=None)
            named = [item for item in items if item.kind == rarest]
        case "id":  # items whose id begins as those of another kind do, as evidence of the official generator may
            others = {kind: {*_PREFIXES.values()} - {prefix} for kind, prefix in _PREFIXES.items()}
            named = [item for item in items if item.id.partition("_")[0] in others[item.kind]]
        case "urgent":  # the items with most words of urgency; none without any
            scores = [len(_URGENT.findall(record.words)) for record in records]
        case "bm25":  # the items nearest to the words of the person's world
            scores = WordRanking([record.words for record in records]).scores(world_text(task.world))
        case _:
            named = items[:take] if rule == "first" else items
    named = [items[index] for index in ranked(scores)[:take]] if named is None else named  # of equal ones the first
    ids, every = (tuple(item.id for item in group) for group in (named, items))
    return Solution(evidence=ids, touched=every, turns=0, faults=PARTS[1:])
