"""What was sent and what came back for a case of a run, request by request.

Requests are not kept: they follow from the case, the program and the replies before. A transcript asks the program once
more, answers it from the log of calls, and compares the hash of each request with the logged one.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from dspy_proact.calls import LoggedCall, StageKey
from dspy_proact.errors import ProactError, UsageError
from dspy_proact.evaluation.benchmark import Benchmark
from dspy_proact.evaluation.evaluation import Evaluation
from dspy_proact.evaluation.registry import benchmark_of
from dspy_proact.evaluation.responses import Responses
from dspy_proact.kept import StageCalls
from dspy_proact.models import EMBEDDED, ModelSpec
from dspy_proact.runs import RoleIdentity, RunFolder, Work, latest
from dspy_proact.runs.chains import Chains


@dataclass(frozen=True)
class Exchange:
    """A request and what came of it."""

    call: LoggedCall
    request: Mapping[str, Any] | None
    """As DSPy words it: model, system text, messages and parameters; None where it cannot be rendered."""

    @property
    def parts(self) -> Sequence[Mapping[str, Any]]:
        """The parts of the reply: text, thoughts and tool calls, each with its `type`; none without a reply."""
        return ((self.call.response or {}).get("message") or {}).get("parts", ())


@dataclass(frozen=True)
class StageTranscript:
    """The exchanges of a stage, in the order of asking."""

    key: StageKey
    exchanges: tuple[Exchange, ...]
    problem: str = ""
    """Why requests cannot be rendered, a sentence; empty where all of them are."""


class _Ended(BaseException):
    """The log has no reply to the next request; no `Exception`, of which DSPy and agents make their own."""


class _Replayed(StageCalls):
    """A stage that is asked once more: everything is answered from its logged calls, and its requests are kept."""

    def __init__(self, calls: Sequence[LoggedCall], key: StageKey, begun: int):
        super().__init__(None, key, begun)
        self._calls = {call.request: call for call in calls if call.begun == begun}
        self.requests: dict[str, Mapping[str, Any]] = {}

    def reply(self, name: str, request: Callable[[], dict[str, Any]]) -> LoggedCall:
        """The logged call; raises `_Ended` where there is no reply."""
        self.requests[name] = request()
        call = self._calls.get(name)
        if call is None or call.response is None:
            raise _Ended
        return call


def transcript(
    folder: RunFolder, case: str, epoch: int = 1, benchmark: Benchmark[Any, Any] | str | None = None, **programs: Any
) -> list[StageTranscript]:
    """The stages of a case in an epoch, in the order of their first call.

    Args:
        folder: Of the run.
        case: Its key.
        epoch: Counted from 1.
        benchmark: Where it is of a person's own file.
        programs: `program` and `judge_program` of the run, where they are compiled: modules or files.

    Raises:
        UsageError: No call on such a case is logged, or the benchmark is not known here.
        RunError: The run is damaged.
    """
    stages = dict[StageKey, list[LoggedCall]]()
    for call in folder.calls():
        if call.key and (call.key.case, call.key.epoch) == (case, epoch):
            stages.setdefault(call.key, []).append(call)
    if not stages:
        raise UsageError(f"{folder.path}: no call on the case {case!r} in epoch {epoch} is logged")
    try:
        evaluation = _rebuilt(folder, benchmark, programs)
        (selected,) = (one for one in evaluation.case_set.cases if one.key == case)
    except (ProactError, ValueError) as error:
        problem = f"cannot be rendered: {error}"
        return [StageTranscript(key, _exchanges(calls, {}), problem) for key, calls in stages.items()]
    differing = evaluation.manifest.identity.differences(folder.manifest().identity)
    names = [name for name in differing if name not in ("corpus", "parent")]
    problem = f"requests were made with another {', '.join(names)}" if names else ""
    chains = Chains(evaluation.case_set.cases, (), folder.events(), evaluation.answer_type)
    earlier = chains.earlier(Work(selected, epoch))
    answers = {event.key: event.answer for event in latest(folder.events()).values() if event.key.case == case}
    answer = answers.get(StageKey(case=case, epoch=epoch, stage="response"))

    async def again(key: StageKey) -> None:
        """Do a stage once more."""
        if key.stage == "response":
            await evaluation.answer(selected, earlier)
        elif answer:
            await evaluation.grade(selected, evaluation.answer_type.model_validate(answer), key.judge)

    return [_stage(partial(again, key), key, calls, problem) for key, calls in stages.items()]


def _rebuilt(folder: RunFolder, benchmark: Benchmark[Any, Any] | str | None, programs: Mapping[str, Any]) -> Evaluation:
    """The run's evaluation, made anew from its manifest and corpus; raises a `UsageError` where that cannot be."""
    manifest = folder.manifest()
    identity = manifest.identity
    declared = benchmark_of(identity.benchmark, benchmark)
    settings = declared.settings_type.model_validate(identity.settings)
    try:
        cases = declared.read(manifest.corpus.name, settings, manifest.corpus.revision)
    except UsageError:  # it was moved; what the run keeps of it will do where no case needs another's answer
        cases = Responses.of_run(folder, declared).case_set
    return Evaluation(
        cases,
        EMBEDDED if declared.rule(settings) else _spec(identity.assistant),
        [_spec(judge) for judge in identity.judges] or None,
        benchmark=declared,
        settings=settings,
        roles={name: _spec(role) for name, role in identity.roles.items()},
        system_prompt=manifest.system_prompt if identity.assistant.program == "prompt" else None,
        judge_prompt="official" if any(judge.program == "official" for judge in identity.judges) else "default",
        **programs,
    )


def _spec(role: RoleIdentity) -> ModelSpec:
    return ModelSpec(name=role.model, api_base=role.endpoint, params=dict(role.decoding))


def _stage(
    again: Callable[[], Coroutine[Any, Any, None]], key: StageKey, calls: Sequence[LoggedCall], problem: str
) -> StageTranscript:
    requests = dict[str, Mapping[str, Any]]()
    for begun in sorted({call.begun for call in calls}):
        stage = _Replayed(calls, key, begun)
        with stage.opened(), suppress(_Ended, ProactError):  # as it ended in the run
            asyncio.run(again())
        requests |= stage.requests
    exchanges = _exchanges(calls, requests)
    missing = sum(exchange.request is None for exchange in exchanges)
    reason = problem or "the program asks something else now"
    shortfall = f"{missing} of {len(calls)} requests cannot be rendered: {reason}" if missing else ""
    return StageTranscript(key, exchanges, shortfall)


def _exchanges(calls: Sequence[LoggedCall], requests: Mapping[str, Mapping[str, Any]]) -> tuple[Exchange, ...]:
    return tuple(Exchange(call, requests.get(call.request)) for call in calls)
