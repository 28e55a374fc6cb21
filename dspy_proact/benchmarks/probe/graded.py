"""The sample's answers that were graded by hand, to be graded by a judge."""

import hashlib
import json
import time

from dspy_proact.benchmarks.probe.cases import TaskEntry
from dspy_proact.benchmarks.probe.corpus import (
    GradedDescription,
    GradedParameters,
    load_tasks,
    sample_graded_descriptions,
    sample_graded_parameters,
)
from dspy_proact.benchmarks.probe.settings import ProbeSettings
from dspy_proact.benchmarks.probe.solution import Solution
from dspy_proact.benchmarks.probe.view import ProbeView
from dspy_proact.benchmarks.responses import Responses
from dspy_proact.runs import Case, CaseSet, CorpusRecord, Event, RoleIdentity, StageKey

_NAME = "graded answers"


def responses_of_graded() -> Responses:
    """Every description and every set of parameters, each an answer with nothing else in it; the grades stay behind."""
    tasks = load_tasks("sample")
    entries = {each.key: each for each in tasks.entries}
    views = {key: ProbeView.of(tasks.task(key)) for key in entries}
    graded = [*sample_graded_descriptions(), *sample_graded_parameters()]
    answers = [_answer(each, views[each.task]) for each in graded]
    cases = tuple(_case(each, entries[each.task], views[each.task]) for each in graded)
    told = [[each.key, answer.model_dump(mode="json")] for each, answer in zip(graded, answers, strict=True)]
    sha256 = hashlib.sha256(json.dumps([tasks.sha256, told], ensure_ascii=False, sort_keys=True).encode()).hexdigest()
    record = CorpusRecord(name=_NAME, revision=None, rows=len(cases), cases=len(cases), ignored_fields={})
    return Responses(
        name=_NAME,
        parent=sha256,
        identity=RoleIdentity(model="authors", program="by hand", prompt="", decoding={}),
        case_set=CaseSet(cases, record, sha256),
        stages=tuple(_stage(each.key, answer) for each, answer in zip(graded, answers, strict=True)),
        embedded=False,
        benchmark="probe",
        settings=ProbeSettings().model_dump(mode="json"),
    )


def _answer(graded: GradedDescription | GradedParameters, view: ProbeView) -> Solution:
    if isinstance(graded, GradedDescription):
        return Solution(bottleneck=graded.description, faults=("evidence", "action", "parameters"))
    return Solution(action=view.gold.action, parameters=graded.parameters, faults=("evidence", "bottleneck"))


def _case(graded: GradedDescription | GradedParameters, entry: TaskEntry, view: ProbeView) -> Case:
    meta = {"person": entry.person, "task": graded.task, "quality": graded.quality}
    return Case(key=graded.key, group=entry.person, stratum=entry.difficulty, view=view, meta=meta)


def _stage(key: str, answer: Solution) -> Event:
    stage = StageKey(case=key, epoch=1, stage="response")
    return Event(key=stage, answer=answer.model_dump(mode="json"), calls=(), time=time.time())
