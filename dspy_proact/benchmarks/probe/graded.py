"""Answers to the sample's tasks that its authors graded by hand, for a judge to grade again.

The authors are language-model agents: agreement with them says how a judge does on answers that were written to be of
four qualities, and nothing about people.
"""

import hashlib
import json
import time
from typing import Any, Literal

from dspy_proact.benchmarks.benchmark import HumanGrade
from dspy_proact.benchmarks.probe.corpus import DATA, load_tasks
from dspy_proact.benchmarks.probe.scoring import IdentificationVerdict, ParametersVerdict
from dspy_proact.benchmarks.probe.settings import ProbeSettings
from dspy_proact.benchmarks.probe.task import ProbeView, Solution
from dspy_proact.benchmarks.responses import Responses
from dspy_proact.runs import Case, CaseSet, CorpusRecord, Event, RoleIdentity, StageKey
from dspy_proact.types import Frozen

_NAME = "graded answers"


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
    """The authors' word on every answer, and on each facet of a description."""
    rows: list[HumanGrade] = []
    for each in sample_graded_descriptions():
        answer = Solution(bottleneck=each.description, faults=("evidence", "action", "parameters"))
        words = {"judgment": each.verdict.judgment, **each.verdict.facets.model_dump()}
        rows += [HumanGrade(each.task, answer, word, "authors", part, item=each.key) for part, word in words.items()]
    actions = {task.key: task.gold.action for task in load_tasks("sample")}
    for each in sample_graded_parameters():
        faults = ("evidence", "bottleneck")
        answer = Solution(action=actions[each.task], parameters=each.parameters, faults=faults)
        rows.append(HumanGrade(each.task, answer, each.verdict.judgment, "authors", "judgment", item=each.key))
    return rows


def responses_of_graded() -> Responses:
    """Every description and every set of parameters as an answer with nothing else in it, without its grade."""
    tasks = load_tasks("sample")
    by_key, cases, answers = {task.key: task for task in tasks}, list[Case](), dict[str, Any]()
    for graded in (*sample_graded_descriptions(), *sample_graded_parameters()):
        task = by_key[graded.task]
        meta = {"person": task.person, "task": graded.task, "quality": graded.quality}
        cases.append(Case(graded.key, task.person, task.difficulty, ProbeView.of(task), meta))
        if isinstance(graded, GradedDescription):
            answer = Solution(bottleneck=graded.description, faults=("evidence", "action", "parameters"))
        else:
            faults = ("evidence", "bottleneck")
            answer = Solution(action=task.gold.action, parameters=graded.parameters, faults=faults)
        answers[graded.key] = answer.model_dump(mode="json")
    identified = json.dumps([tasks.sha256, [*map(list, answers.items())]], ensure_ascii=False, sort_keys=True)
    sha256 = hashlib.sha256(identified.encode()).hexdigest()
    record = CorpusRecord(name=_NAME, revision=None, rows=len(cases), cases=len(cases), ignored_fields={})
    return Responses(
        name=_NAME,
        parent=sha256,
        identity=RoleIdentity(model="authors", program="by hand", prompt="", decoding={}),
        case_set=CaseSet(tuple(cases), record, sha256),
        stages=tuple(
            Event(key=StageKey(case=key, epoch=1, stage="response"), answer=answer, calls=(), time=time.time())
            for key, answer in answers.items()
        ),
        embedded=False,
        benchmark="probe",
        settings=ProbeSettings().model_dump(mode="json"),
    )
