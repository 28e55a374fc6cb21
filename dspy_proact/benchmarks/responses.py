"""Responses that exist: of a run, or of a results file with the corpus that it answers."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from dspy_proact.benchmarks.evaluation import corpus_record
from dspy_proact.benchmarks.proactbench import ProactBench, cases_of
from dspy_proact.calls import Price
from dspy_proact.corpus import Corpus, Results, ResultTrigger
from dspy_proact.errors import ContentError, RunError, UsageError
from dspy_proact.programs import usable
from dspy_proact.runs import (
    CONTROL,
    Case,
    CaseRecord,
    CorpusRecord,
    Event,
    Failure,
    RoleIdentity,
    RunFolder,
    StageKey,
    latest,
)
from dspy_proact.types import Response
from dspy_proact.views import ControlView, JudgeView


@dataclass(frozen=True)
class Responses:
    """What is judged again."""

    name: str
    """Path of the run or file."""
    parent: str
    """Digest of the run's identity, or sha256 of the file."""
    assistant: RoleIdentity
    """Whose responses they are."""
    overrides: tuple[str, ...]
    """Decoding parameters that were not the preset's."""
    system_prompt: str | None
    """What the assistant was told; None for nothing, or where it is not known."""
    learned_on: int
    """Dialogues that its program was compiled on."""
    embedded: bool
    """Whether they are the stand-in's."""
    epochs: int
    corpus: CorpusRecord
    corpus_sha256: str
    cases: tuple[Case, ...]
    stages: tuple[Event, ...]
    """The response of each case and epoch, or why there is none; calls are left behind, for they are paid."""

    @classmethod
    def of_run(cls, folder: RunFolder) -> Self:
        """Those of a run.

        Raises:
            RunError: There is no run, it is damaged, or it is of another benchmark.
        """
        manifest = folder.manifest()
        identity = manifest.identity
        if identity.benchmark != ProactBench.name:
            raise RunError(f"{folder.path}: a run of {identity.benchmark!r}; only {ProactBench.name} can be rejudged")
        ended = [event for event in latest(folder.events()).values() if event.key.stage == "response"]
        stages = tuple(event.model_copy(update={"calls": ()}) for event in ended if event.answer or event.failure)
        if not stages:
            raise RunError(f"{folder.path}: no response in it yet; the command that began it goes on")
        return cls(
            name=str(folder.path),
            parent=identity.digest(),
            assistant=identity.assistant,
            overrides=manifest.overrides.get("assistant", ()),
            system_prompt=manifest.system_prompt,
            learned_on=manifest.learned_on,
            embedded=identity.assistant.model == "embedded",
            epochs=manifest.epochs,
            corpus=manifest.corpus,
            corpus_sha256=identity.corpus,
            cases=tuple(map(_case, folder.cases())),
            stages=stages,
        )

    @classmethod
    def of_results(cls, results: Results, corpus: Corpus) -> Self:
        """Those of a results file, which holds no history: the corpus gives it.

        Triggers of the corpus that the file lacks are kept, as responses that are absent.

        Raises:
            UsageError: The file answers another corpus.
        """
        cases = cases_of(corpus)
        given = {trigger.key: trigger for trigger in results.triggers}
        results.require_of(corpus)
        _require_same(results, given, cases, corpus.name)
        return cls(
            name=results.name,
            parent=results.sha256,
            assistant=RoleIdentity(model=results.model, program="unknown", prompt="", decoding={}),
            overrides=(),
            system_prompt=None,
            learned_on=0,
            embedded=results.model == "embedded",
            epochs=1,
            corpus=corpus_record(corpus),
            corpus_sha256=corpus.sha256,
            cases=cases,
            stages=tuple(_stage(case, given.get(case.key)) for case in cases),
        )


COPIED = Price(prompt=0.0, completion=0.0, cached=None, reason="responses were copied, no call was made")


def _case(record: CaseRecord) -> Case:
    view = (ControlView if record.stratum == CONTROL else JudgeView).model_validate(record.view)
    return Case(key=record.key, group=record.group, stratum=record.stratum, view=view, meta=record.meta)


def _require_same(results: Results, given: dict[str, ResultTrigger], cases: Sequence[Case], corpus: str) -> None:
    """Raise a `UsageError` where triggers of a file are not those of the corpus."""
    views = {case.key: case.view for case in cases}
    for key, trigger in given.items():
        view = views[key]
        assert isinstance(view, JudgeView), "made from a corpus"
        asked = view.conversation[-1].user
        if trigger.rubric != view.rubric or trigger.user_message not in (None, asked):
            raise UsageError(
                f"{results.name}: the trigger {key!r} is worded otherwise in the corpus {corpus!r}; "
                "name the version of the corpus that it answers with --corpus"
            )


def _stage(case: Case, trigger: ResultTrigger | None) -> Event:
    """The response stage that a results file stands for."""
    key = StageKey(case=case.key, epoch=1, stage="response")
    try:
        if trigger is None:
            raise ContentError("absent", "the results file does not have this trigger")
        if trigger.response is None:
            raise ContentError("no_response", "the results file has no response to this trigger")
        answer = Response(text=usable(trigger.response)).model_dump()
    except ContentError as error:
        failure = Failure(kind="content", reason=error.reason, detail=error.detail)
        return Event(key=key, failure=failure, calls=(), time=time.time())
    return Event(key=key, answer=answer, calls=(), time=time.time())
