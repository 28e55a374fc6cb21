"""Existing responses, to be graded again."""

import hashlib
import json
import time
from dataclasses import dataclass, field
from typing import Any, Self

from pydantic import ValidationError

from dspy_proact.benchmarks.benchmark import Benchmark
from dspy_proact.benchmarks.registry import benchmark_of
from dspy_proact.calls import Price
from dspy_proact.errors import RunError, UsageError
from dspy_proact.runs import Case, CaseRecord, CaseSet, CorpusRecord, Event, RoleIdentity, RunFolder, StageKey, latest

_GRADED = "graded answers"
_COPIED = Price(prompt=0.0, completion=0.0, cached=None, reason="responses were copied, no call was made")


@dataclass(frozen=True)
class Responses:
    """Responses of a run or of a file, of any benchmark."""

    name: str
    """Path of the run or file."""
    parent: str
    """Digest of the run's identity, or sha256 of the file."""
    identity: RoleIdentity
    case_set: CaseSet
    stages: tuple[Event, ...]
    """The response or failure of each case and epoch, without its calls, which were paid for by the first run."""
    embedded: bool
    benchmark: str | None = None
    """Name of the benchmark; None for the default one."""
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    """Of the benchmark, as JSON."""
    epochs: int = 1
    overridden: tuple[str, ...] = ()
    """Decoding parameters that were not the preset's."""
    system_prompt: str | None = None
    card: str | None = None
    """What the card of its program says, where that was compiled."""
    learned_on: int = 0
    """Rows of the corpus that its program was compiled on."""
    price: Price = _COPIED

    def __repr__(self) -> str:
        return f"Responses({self.name!r}, {len(self.stages):,} of {len(self.case_set.cases):,} cases)"

    @classmethod
    def of_run(cls, folder: RunFolder, benchmark: Benchmark[Any, Any] | str | None = None) -> Self:
        """The responses of a run; a benchmark of a person's own file must be named.

        Raises a `UsageError` where there is no such benchmark, or no inputs were kept, and a `RunError` where the run
        is none of it, or damaged.
        """
        manifest = folder.manifest()
        identity = manifest.identity
        declared = benchmark_of(identity.benchmark, benchmark)
        if identity.benchmark != declared.name:
            raise RunError(
                f"{folder.path}: a run of {identity.benchmark!r}, which cannot be rejudged as {declared.name}"
            )
        if not manifest.keeps_inputs:
            raise UsageError(f"{folder.path}: holds no inputs that could be judged; make it with eval --keep-inputs")
        settings = declared.settings_type.model_validate(identity.settings)
        rule = declared.unasked(settings)  # which stands in place of a model under a name of its own
        answered = (
            event.model_copy(update={"calls": ()}) for event in folder.events() if event.key.stage == "response"
        )
        stages = tuple(event for event in latest(answered).values() if event.answer or event.failure)
        if not stages:
            raise RunError(f"{folder.path}: no response in it yet; the command that began it goes on")
        cases = tuple(_case(declared, record, folder) for record in folder.cases_of({e.key.case for e in stages}))
        return cls(
            name=str(folder.path),
            parent=identity.digest(),
            identity=identity.assistant,
            case_set=CaseSet(cases, manifest.corpus, identity.corpus),
            stages=stages,
            embedded=identity.assistant.model == "embedded" or (manifest.embedded and identity.assistant.model == rule),
            benchmark=identity.benchmark,
            settings=identity.settings,
            epochs=manifest.epochs,
            overridden=manifest.overrides.get("assistant", ()),
            system_prompt=manifest.system_prompt,
            card=manifest.cards.get("assistant"),
            learned_on=manifest.learned_on,
        )

    @classmethod
    def of_human_grades(cls, declared: Benchmark[Any, Any]) -> Self:
        """Every answer that people graded, once, without their grades; its case is the one that it answers.

        Raises:
            UsageError: Nobody graded anything, or an answer is to a case that the sample does not have.
        """
        if not (grades := declared.human_grades()):
            raise UsageError(f"{declared.name}: there are no people's ratings to agree with; declare `human_grades`")
        settings = declared.settings_type()
        known = {case.key: case for case in declared.read("sample", settings).cases}
        cases, answers = dict[str, Case](), dict[str, Any]()
        for grade in grades:
            if grade.case not in known:
                raise UsageError(
                    f"{declared.name}: a human grade is of the case {grade.case!r}, which the sample lacks"
                )
            case, key = known[grade.case], grade.item or grade.case
            cases[key] = Case(key, case.group, case.stratum, case.view, {**case.meta, "case": case.key})
            answers[key] = grade.answer.model_dump(mode="json")
        identified = json.dumps([declared.name, [*answers.items()]], ensure_ascii=False, sort_keys=True)
        sha256 = hashlib.sha256(identified.encode("utf-8", "surrogatepass")).hexdigest()
        record = CorpusRecord(name=_GRADED, revision=None, rows=len(cases), cases=len(cases), ignored_fields={})
        return cls(
            name=_GRADED,
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


def _case(benchmark: Benchmark[Any, Any], record: CaseRecord, folder: RunFolder) -> Case:
    """A case as it was kept; raises `RunError` where what is to be seen of it is damaged."""
    try:
        view = benchmark.view_type(record.stratum).model_validate(record.view)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise RunError(f"{folder.path}: the case {record.key!r} is damaged at 'view.{where}'") from error
    return Case(key=record.key, group=record.group, stratum=record.stratum, view=view, meta=record.meta)
