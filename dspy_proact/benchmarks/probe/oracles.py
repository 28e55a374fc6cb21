"""What an oracle gives away, so that it shows where the points are lost; the settings of a run name it.

    oracle        the agent sees                           scores full
    evidence      the right items alone                    search
    bottleneck    these, and a note of what is the matter  search, identification

Nothing else that is right is handed on.
"""

from typing import Any

from dspy_proact.benchmarks.probe.corpus import Document, Gold
from dspy_proact.benchmarks.probe.settings import OracleName
from dspy_proact.benchmarks.probe.solution import Solution
from dspy_proact.benchmarks.probe.view import ProbeView, TaskView

_NOTE = "known-matter"
"""Id of the note."""


def shown(oracle: OracleName, view: ProbeView) -> TaskView:
    """What an agent sees of a task."""
    task = view.task
    if oracle == "none":
        return task
    items = tuple(item for item in task.items if item.id in view.gold.evidence)
    if oracle == "bottleneck":
        note = Document(id=_NOTE, title="What is the matter, as is known", content=view.gold.description)
        items = (note, *items)
    return task.model_copy(update={"items": items})


def with_given(oracle: OracleName, solution: Solution, gold: Gold) -> Solution:
    """The answer with what was given away in the place of what the agent made of it."""
    if oracle == "none":
        return solution
    given: dict[str, Any] = {"evidence": gold.evidence, "touched": gold.evidence}
    if oracle == "bottleneck":
        given["bottleneck"] = gold.description
    faults = tuple(fault for fault in solution.faults if fault not in given)
    return solution.model_copy(update={**given, "faults": faults})
