"""What was sent and what came back for a case of a run, request by request.

Requests of programs of ours are not kept: they follow from the case, the program and the replies before. A transcript
asks the program once more, answers it from the log of calls, and compares the hash of each request with the logged one.
Others are read from `messages.jsonl`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from dspy_proact.apps import App, RecordedApp
from dspy_proact.calls import LoggedCall, StageKey
from dspy_proact.errors import ProactError, UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.evaluation import Evaluation, Rejudging
from dspy_proact.evaluation.execution import Execution
from dspy_proact.evaluation.registry import benchmark_of
from dspy_proact.evaluation.replay import Replay
from dspy_proact.evaluation.responses import Responses
from dspy_proact.kept import Request
from dspy_proact.models import EMBEDDED, EMBEDDER, ModelSpec
from dspy_proact.runs import Manifest, RoleIdentity, RunFolder, Work, latest
from dspy_proact.runs.chains import Chains


@dataclass(frozen=True)
class Exchange:
    """A request and what came of it."""

    call: LoggedCall
    request: Request | None
    """None where it cannot be rendered, and of texts of which vectors were made."""


@dataclass(frozen=True)
class StageTranscript:
    """The exchanges of a stage, in the order of ending."""

    key: StageKey
    exchanges: tuple[Exchange, ...]
    problem: str = ""
    """Why requests cannot be rendered, a sentence; empty where all of them are."""
    left_out: str = ""
    """What was not kept, or may not have been, since the inputs are private; empty where everything was."""


def transcript(
    folder: RunFolder, case: str, epoch: int = 1, benchmark: Benchmark[Any, Any] | str | None = None, **programs: Any
) -> list[StageTranscript]:
    """The stages of a case in an epoch, counted from 1, in the order of their first call.

    The `benchmark` is named where it is of a person's own file and its requests were not kept, and so are `programs`,
    the run's `program` and `judge_program`, modules or files. Raises a `UsageError` where no call on such a case is
    logged, and a `RunError` where the run is damaged.
    """
    manifest, stages = folder.manifest(), dict[StageKey, list[LoggedCall]]()
    for call in folder.calls():
        if call.key and (call.key.case, call.key.epoch) == (case, epoch):
            stages.setdefault(call.key, []).append(call)
    if not stages:
        raise UsageError(f"{folder.path}: no call on the case {case!r} in epoch {epoch} is logged")
    kept = folder.requests(call for calls in stages.values() for call in calls)
    rendering: _Rendering | str | None = None
    transcripts = list[StageTranscript]()
    for key, calls in stages.items():
        own = {call.request: kept[call.request] for call in calls if call.request in kept}
        requests = {name: request for name, request in own.items() if not isinstance(request, str)}
        reason = next((request for request in own.values() if isinstance(request, str)), "")
        if any(call.request not in requests and call.role != EMBEDDER for call in calls):
            rendering = rendering or _rendering(folder, case, epoch, benchmark, programs)
            reason = reason or (rendering if isinstance(rendering, str) else rendering.problem)
            requests |= {} if isinstance(rendering, str) else rendering.requests(key, calls)
        exchanges = tuple(Exchange(call, requests.get(call.request)) for call in calls)
        missing = sum(exchange.request is None and exchange.call.role != EMBEDDER for exchange in exchanges)
        problem = f"{missing} of {len(calls)} requests cannot be rendered: {reason}" if missing else ""
        transcripts.append(StageTranscript(key, exchanges, problem, _left_out(manifest, key, calls)))
    return transcripts


def _left_out(manifest: Manifest, key: StageKey, calls: Sequence[LoggedCall]) -> str:
    if manifest.keeps_inputs:
        copied = manifest.corpus.private and any(call.reused for call in calls)
        return "thoughts of reused replies are here only if the run that made them kept them" if copied else ""
    role = "judge" if key.stage == "verdict" else "assistant"
    what = "thoughts and messages" if role in manifest.stored else "thoughts"
    mend = "`keep_inputs` keeps them in a new run without `scope.reuse`"
    return f"{what} were not kept, since the inputs are private; {mend}"


@dataclass(frozen=True)
class _Rendering:
    """A run's evaluation made anew, and what is known of a case of it."""

    evaluation: Execution
    work: Work
    earlier: Sequence[Any]
    answer: Any
    """Its answer; None without one."""
    problem: str
    """Why requests may differ."""

    def requests(self, key: StageKey, calls: Sequence[LoggedCall]) -> dict[str, Request]:
        """The requests of a stage, of every beginning of it, by their hashes."""
        stage = partial(self.evaluation.answer, self.work.case, self.earlier)
        if key.stage == "verdict":
            if self.answer is None:
                return {}
            stage = partial(self.evaluation.grade, self.work.case, self.answer, key.judge)
        requests = dict[str, Request]()
        for begun in sorted({call.begun for call in calls}):
            replay = Replay(key, begun, calls)
            replay.run(stage)
            requests |= replay.requests
        return requests


def _rendering(
    folder: RunFolder, case: str, epoch: int, benchmark: Benchmark[Any, Any] | str | None, programs: Mapping[str, Any]
) -> _Rendering | str:
    """What renders the requests of a case, or why that cannot be."""
    try:
        evaluation = _rebuilt(folder, benchmark, programs)
    except (ProactError, ValueError) as error:
        return str(error)
    selected = next((one for one in evaluation.case_set.cases if one.key == case), None)
    if selected is None:
        return f"the corpus {evaluation.case_set.corpus.name} has no such case any more"
    differing = evaluation.manifest.identity.differences(folder.manifest().identity)
    names = [name for name in differing if name != "parent"]
    problem = f"they were made with another {', '.join(names)}" if names else "the program asks something else now"
    chains = Chains(evaluation.case_set.cases, (), folder.events(), evaluation.answer_type)
    work = Work(selected, epoch)
    answers = {event.key: event.answer for event in latest(folder.events()).values()}
    answer = answers.get(StageKey(case=case, epoch=epoch, stage="response"))
    typed = evaluation.answer_type.model_validate(answer) if answer else None
    return _Rendering(evaluation, work, chains.earlier(work), typed, problem)


def _rebuilt(folder: RunFolder, benchmark: Benchmark[Any, Any] | str | None, programs: Mapping[str, Any]) -> Execution:
    """The run's evaluation, made anew from its manifest and corpus; raises a `UsageError` where that cannot be."""
    manifest = folder.manifest()
    identity = manifest.identity
    declared = benchmark_of(identity.benchmark, benchmark)
    settings = declared.settings_type.model_validate(identity.settings)
    judges = [_spec(judge) for judge in identity.judges] or None
    official = any(judge.program == "official" for judge in identity.judges)
    alike: Any = {"benchmark": declared, "settings": settings, "judge_prompt": "official" if official else "default"}
    if identity.parent:
        return Rejudging(Responses.of_run(folder, declared), judges, **alike, **programs)
    try:
        cases = declared.read(manifest.corpus.name, settings, manifest.corpus.revision)
    except UsageError:  # it was moved; what the run keeps of it will do where no case needs another's answer
        cases = Responses.of_run(folder, declared).case_set
    return Evaluation(
        cases,
        _tested(identity.assistant) if declared.rule(settings) is None else EMBEDDED,
        judges,
        roles={name: _spec(role) for name, role in identity.roles.items()},
        system_prompt=manifest.system_prompt if identity.assistant.program == "prompt" else None,
        **alike,
        **programs,
    )


def _tested(role: RoleIdentity) -> ModelSpec | App:
    return RecordedApp(role.model, role.app) if role.app else _spec(role)


def _spec(role: RoleIdentity) -> ModelSpec:
    return ModelSpec(name=role.model, api_base=role.endpoint, params=dict(role.decoding))
