"""Existing responses, to be graded again."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ValidationError

from dspy_proact.calls import Price
from dspy_proact.errors import RunError, UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.ratings import RatedItem, Ratings, digest
from dspy_proact.evaluation.registry import benchmark_of
from dspy_proact.kept import Kind, content_of
from dspy_proact.runs import (
    CONTROL,
    Case,
    CaseRecord,
    CaseSet,
    CorpusRecord,
    Failure,
    RoleIdentity,
    RunFolder,
    Settings,
    StageEvent,
    StageKey,
    latest,
)

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
    stages: tuple[StageEvent, ...]
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
    variant: str | None = None
    """What a person calls that prompt, or the program."""
    card: str | None = None
    """What the card of its program says, where that was compiled."""
    learned_on: int = 0
    """Rows of the corpus that its program was compiled on."""
    strata: tuple[str, ...] = ()
    """Of the run; empty where they follow from the cases."""
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
            raise UsageError(f"{folder.path}: holds no inputs that could be judged; make the run with `keep_inputs`")
        settings = declared.settings_type.model_validate(identity.settings)
        model = identity.assistant.model
        rule = declared.rule(settings)  # which stands in place of a model under a name of its own
        answered = (
            event.model_copy(update={"calls": (), "attempts": 0})
            for event in folder.events()
            if event.key.stage == "response"
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
            embedded=model == "embedded" or (manifest.embedded and rule is not None and model == rule.name),
            benchmark=identity.benchmark,
            settings=identity.settings,
            epochs=manifest.epochs,
            overridden=manifest.overrides.get("assistant", ()),
            system_prompt=manifest.system_prompt,
            variant=manifest.variant,
            card=manifest.cards.get("assistant"),
            learned_on=manifest.learned_on,
            strata=manifest.strata,
        )

    @classmethod
    def of_ratings(cls, ratings: Ratings, benchmark: Benchmark[Any, Any] | str | None = None) -> Self:
        """The answers that somebody rated, once, without the ratings themselves and a judge's grades.

        Their run is that of the study's items, rated or not: ratings that come later add to what is graded, and what
        was graded before is not paid for again. A benchmark of a person's own file must be named. Raises a `UsageError`
        where an item is known by its labels only, so that there is nothing to grade.
        """
        declared, rated = benchmark_of(ratings.benchmark, benchmark), ratings.rated
        if lacking := [item.key for item in rated if not item.judgeable]:
            raise UsageError(
                f"{ratings.name}: no conversation or no response of {len(lacking)} items is known, {lacking[0]!r} the "
                "first, so that no judge can grade them; leave `judge` out, or name ratings that come with what was "
                "rated, such as those of a run that keeps its inputs"
            )
        sha256 = digest([declared.name, [item.seen for item in ratings.items]])
        models = {str(name) for item in ratings.items if (name := item.meta.get("response_model"))}
        model = "several models" if len(models) > 1 else next(iter(models), "unnamed models")
        count, commit = len(ratings.items), ratings.source.commit
        record = CorpusRecord(name=ratings.name, revision=commit, rows=count, cases=count, ignored_fields={})
        return cls(
            name=ratings.name,
            parent=sha256,
            identity=RoleIdentity(model=model, program="unknown", prompt="", decoding={}),
            case_set=CaseSet(tuple(item.case for item in rated), record, sha256),
            stages=tuple(_stage(item) for item in rated),
            embedded=model == "embedded",
            benchmark=declared.name,
            settings=declared.settings_type().model_dump(mode="json"),
        )


def existing_responses(
    declared: Benchmark[Any, Any], path: Path, corpus: str | None, settings: Settings
) -> Sequence[Responses]:
    """Answers to be judged again: those of a run, which knows its corpus, or those of each model in a results file.

    Raises a `UsageError` where there is no run, a corpus is named beside one, or the benchmark reads no results files.
    """
    if content_of(path).kind is Kind.FILE:
        if declared.results is None or declared.results.responses is None:
            raise UsageError(f"{path}: {declared.name} reads no results files; name the folder of a run")
        return declared.results.responses(path, corpus, settings)
    if corpus is not None:
        raise UsageError("`corpus` is for results files; a run knows its corpus")
    return [Responses.of_run(RunFolder(path), declared)]


def response_stage(case: str, answer: BaseModel | None, missing: Failure | None = None) -> StageEvent:
    """The response stage of an answer that exists already, or why there is none that can be graded."""
    key = StageKey(case=case, epoch=1, stage="response")
    kept = answer and answer.model_dump(mode="json")
    return StageEvent(key=key, answer=kept, failure=missing, calls=(), time=time.time())


def _stage(item: RatedItem) -> StageEvent:
    if not (item.text or "").strip():
        empty = Failure(kind="content", reason="empty", detail="the response is blank")
        return response_stage(item.key, None, empty)
    return response_stage(item.key, item.answer)


def _case(benchmark: Benchmark[Any, Any], record: CaseRecord, folder: RunFolder) -> Case:
    """A case as it was kept; raises `RunError` where what is to be seen of it is damaged."""
    kind = benchmark.controls.view if benchmark.controls and record.stratum == CONTROL else benchmark.view
    if kind is None:
        raise UsageError(f"{benchmark.name}: `view` is not declared, so that its answers cannot be judged again")
    try:
        view = kind.model_validate(record.view)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise RunError(f"{folder.path}: the case {record.key!r} is damaged at 'view.{where}'") from error
    return Case(key=record.key, group=record.group, stratum=record.stratum, view=view, meta=record.meta)
