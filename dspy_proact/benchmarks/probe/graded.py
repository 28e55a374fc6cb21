"""Answers to the sample's tasks that its authors graded by hand, for a judge to grade again.

The authors are language-model agents: agreement with them says how a judge does on answers that were written to be of
four qualities, and nothing about people.
"""

from typing import Any, Literal

from dspy_proact.benchmarks.benchmark import HumanGrade
from dspy_proact.benchmarks.probe.corpus import DATA, load_tasks
from dspy_proact.benchmarks.probe.scoring import IdentificationVerdict, ParametersVerdict
from dspy_proact.benchmarks.probe.task import Solution
from dspy_proact.types import Frozen

_RATER = "authors"


class GradedDescription(Frozen):
    """A description of a task's bottleneck, and its grade."""

    key: str
    task: str
    quality: Literal["full", "detail missing", "wrong blocker", "generic"]
    """What it was written to be."""
    description: str
    verdict: IdentificationVerdict


class GradedParameters(Frozen):
    """Parameters of a task's right action, and their grade."""

    key: str
    task: str
    quality: Literal["good", "paraphrase", "partial", "wrong"]
    """What they were written to be."""
    parameters: dict[str, Any]
    verdict: ParametersVerdict


def sample_graded_descriptions() -> tuple[GradedDescription, ...]:
    """Four descriptions per task, in the order of their file."""
    lines = (DATA / "sample" / "graded_descriptions.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(map(GradedDescription.model_validate_json, lines))


def sample_graded_parameters() -> tuple[GradedParameters, ...]:
    """Four sets of parameters per task, in the order of their file."""
    lines = (DATA / "sample" / "graded_parameters.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(map(GradedParameters.model_validate_json, lines))


def human_grades() -> list[HumanGrade]:
    """The authors' judgment of every answer, each facet of a description, and whether parameters would resolve."""
    grades: list[HumanGrade] = []
    for each in sample_graded_descriptions():
        answer = Solution(bottleneck=each.description, faults=("evidence", "action", "parameters"))
        levels = {"description": each.verdict.judgment, **each.verdict.facets.model_dump()}
        grades += [HumanGrade(each.task, answer, level, _RATER, part, item=each.key) for part, level in levels.items()]
    actions = {task.key: task.gold.action for task in load_tasks("sample")}
    for each in sample_graded_parameters():
        given, faults = each.parameters, ("evidence", "bottleneck")
        answer = Solution(action=actions[each.task], parameters=given, faults=faults)
        levels = {"parameters": each.verdict.judgment, "would_resolve": each.verdict.would_resolve}
        grades += [HumanGrade(each.task, answer, level, _RATER, part, item=each.key) for part, level in levels.items()]
    return grades
