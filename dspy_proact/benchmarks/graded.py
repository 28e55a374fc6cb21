"""The answers that people graded, of any benchmark, to be graded by a judge."""

import hashlib
import json
import time
from typing import Any

from dspy_proact.benchmarks.benchmark import Benchmark
from dspy_proact.benchmarks.responses import Responses
from dspy_proact.errors import UsageError
from dspy_proact.runs import Case, CaseSet, CorpusRecord, Event, RoleIdentity, StageKey

_NAME = "graded answers"


def responses_of_grades(declared: Benchmark[Any, Any]) -> Responses:
    """Every answer that people graded, once, without their grades; its case is the one that it answers.

    Raises:
        UsageError: Nobody graded anything, or an answer is to a case that the sample does not have.
    """
    grades = declared.human_grades()
    if not grades:
        raise UsageError(f"{declared.name}: there are no people's ratings to agree with; declare `human_grades`")
    settings = declared.settings_type()
    known = {case.key: case for case in declared.read("sample", settings).cases}
    cases, answers = dict[str, Case](), dict[str, Any]()
    for grade in grades:
        if grade.case not in known:
            raise UsageError(f"{declared.name}: a human grade is of the case {grade.case!r}, which the sample lacks")
        case = known[grade.case]
        meta = {**case.meta, "case": case.key}
        key = grade.item or grade.case
        cases[key] = Case(key, case.group, case.stratum, case.view, meta)
        answers[key] = grade.answer.model_dump(mode="json")
    identified = json.dumps([declared.name, [*answers.items()]], ensure_ascii=False, sort_keys=True)
    sha256 = hashlib.sha256(identified.encode("utf-8", "surrogatepass")).hexdigest()
    record = CorpusRecord(name=_NAME, revision=None, rows=len(cases), cases=len(cases), ignored_fields={})
    return Responses(
        name=_NAME,
        parent=sha256,
        identity=RoleIdentity(model="graded", program="by hand", prompt="", decoding={}),
        case_set=CaseSet(tuple(cases.values()), record, sha256),
        stages=tuple(
            Event(key=StageKey(case=key, epoch=1, stage="response"), answer=answer, calls=(), time=time.time())
            for key, answer in answers.items()
        ),
        embedded=False,
        benchmark=declared.name,
        settings=settings.model_dump(mode="json"),
    )
