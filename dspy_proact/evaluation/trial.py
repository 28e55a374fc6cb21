"""What `try` runs: a program on a few cases beside the bare model, or a judge on its worked cases.

Everything is asked at once, nothing is kept on disk, and no score is computed; that is what `Evaluation` is for.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel

from dspy_proact.calls import Call, collect_calls, was_cut
from dspy_proact.errors import Halt, UsageError
from dspy_proact.evaluation.ask import Ask
from dspy_proact.evaluation.benchmark import Benchmark, Start
from dspy_proact.evaluation.checks import require_inputs
from dspy_proact.evaluation.compiled import takes_system_prompt
from dspy_proact.evaluation.evaluation import require_no_model
from dspy_proact.evaluation.participant import Roles, answering, role_of
from dspy_proact.evaluation.people import worked_cases_of
from dspy_proact.evaluation.registry import benchmark_named
from dspy_proact.evaluation.replay import Prompt, prompts_of
from dspy_proact.models import AnyModel, Gate, Model, ModelSpec, open_model
from dspy_proact.runs import (
    Case,
    Failure,
    Scored,
    Settings,
    attempted,
    cut_label,
    majority_label,
    orderly_interrupt,
    run_to_end,
)
from dspy_proact.switch import Switch

T = TypeVar("T")
STOPPED = "stopped"
"""The error of what a halt left out."""


@dataclass(frozen=True)
class Side:
    """One answer and its grades, as far as they came."""

    answer: BaseModel | None
    """None also where it was not asked for, as that of a worked case."""
    verdicts: tuple[Scored[Any], ...]
    """Those that could be read; of several, none where a halt left some out."""
    label: str | None
    """What they come to, by the cuts of the judge, if it has any; None without one."""
    unread: tuple[str, ...]
    """Why each of its other verdicts could not be read."""
    error: str | None
    """Why the answer is missing, or all verdicts are, beginning with a short word; None where neither is."""
    calls: tuple[Call, ...]
    """Every attempt, in the order in which they ended."""
    truncated: bool = False
    """Whether any reply that the answer was made of was cut at its limit."""

    @property
    def scored(self) -> Scored[Any] | None:
        """The first verdict; None without one."""
        return next(iter(self.verdicts), None)

    @property
    def failed(self) -> bool:
        """Whether it was tried and something is missing; what a halt left out has not failed."""
        return bool(self.unread) or self.error not in (None, STOPPED)


@dataclass(frozen=True)
class Pair:
    """The answers to one case."""

    case: Case
    prompted: Side | None
    """Of the program on trial; None where there is none."""
    bare: Side
    """Of the benchmark's own program, without a prompt."""

    @property
    def sides(self) -> tuple[Side, ...]:
        """Those that were asked for."""
        return (self.bare,) if self.prompted is None else (self.prompted, self.bare)


@dataclass(frozen=True)
class Tried:
    """What came of a handful of questions."""

    pairs: tuple[Pair, ...]
    halt: Halt | None
    """What stopped it; None where it came to its end."""

    def __repr__(self) -> str:
        return f"Tried({len(self.pairs)} cases, {f'stopped: {self.halt}' if self.halt else 'done'})"

    @property
    def sides(self) -> list[Side]:
        """Those of all pairs."""
        return [side for pair in self.pairs for side in pair.sides]

    @property
    def begun(self) -> bool:
        """Whether there is anything to show."""
        return any(side.answer or side.verdicts or side.failed for side in self.sides)

    @property
    def failed(self) -> bool:
        """Whether something was tried and is missing."""
        return any(side.failed for side in self.sides)


class Trial:
    """Asks a program on trial and the benchmark's own for answers, and a judge for a grade of each.

    On trial is `program`, a module or the file of a compiled one, or else the benchmark's with `system_prompt`. Nobody
    grades where `judge` is None. The other arguments, and the `UsageError`, are those of `Evaluation`.
    """

    def __init__(
        self,
        model: ModelSpec | str = "embedded",
        judge: ModelSpec | str | None = "embedded",
        *,
        benchmark: "Benchmark[Any, Any] | str | None" = None,
        settings: Settings | None = None,
        program: Any = None,
        system_prompt: str | None = None,
        gate: Gate | None = None,
        roles: Roles | None = None,
    ):
        declared, self._gate = benchmark_named(benchmark), gate or Gate()
        settings = settings or declared.settings_type()
        declared = settings.applied_to(declared)
        named = [ModelSpec.of(spec).name for spec in (model, judge) if spec is not None]
        require_no_model(declared, settings, named, program)
        tried = answering(
            declared, settings, model, roles or {}, self._gate, program=program, system_prompt=system_prompt
        )
        settings, handles = tried.ask.settings, tried.ask.roles
        self._declared, self.models = declared, tuple(tried.models)
        self.program = None if (program, system_prompt) == (None, None) else tried.ask.program
        self._asks = [tried.ask]
        if self.program is not None:
            bare = declared.program(settings, Start(), handles)
            self._asks.append(Ask.in_run(bare, tried.ask.lm, settings, handles))
        judging = None if judge is None else declared.judge(settings, Start())
        self._grading = None if judge is None else Ask.in_run(None, None, settings)
        if judge is not None and judging is not None:
            judged_by = open_model(judge, role_of(declared, "judge"), self._gate)
            self.models = (tried.model, judged_by, *tried.further.values())
            self._grading = Ask.in_run(judging, judged_by.lm, settings)

    def __repr__(self) -> str:
        return f"Trial({self._declared.name!r}, {', '.join(f'{one.role.name}={one.name}' for one in self.models)})"

    @property
    def takes_prompt(self) -> bool:
        """Whether the benchmark's program takes a system prompt."""
        tried = self._asks[0]
        return takes_system_prompt(self._declared, tried.settings, tried.roles)

    def prompts(self, case: Case) -> list[Prompt]:
        """What each model is sent first about a case, on trial and then bare; no call is made."""
        self._require([case])
        tested, judge = ([one for one in self.models if one.role.name == role] for role in ("assistant", "judge"))
        answering = [(model, ask) for model in tested for ask in self._asks if ask.lm]
        judging = [(model, self._grading) for model in judge if self._grading]
        return prompts_of(self._declared, case, answering, judging)

    def run(self, cases: Sequence[Case]) -> Tried:
        """Ask everything at once and wait for the end of it.

        A failure takes the place of what it left out. After a limit or a fault for good, what is in flight is awaited;
        Ctrl-C drops it. What came until then is in the result. Raises a `UsageError` where a key is missing or a case
        needs the answers before it, and `Interrupted` where Ctrl-C came twice.
        """
        return run_to_end(self.arun(cases))

    async def arun(self, cases: Sequence[Case]) -> Tried:
        """Async version of `run`."""
        self._require(cases)
        votes = 1 if self._grading else 0
        work = [_Work(self._declared, case, ask, self._grading, votes) for case in cases for ask in self._asks]
        sides, halt = await _at_once(work, self.models, self._gate)
        following = iter(sides)
        pairs = [Pair(case, next(following) if self.program is not None else None, next(following)) for case in cases]
        return Tried(tuple(pairs), halt)

    def _require(self, cases: Sequence[Case]) -> None:
        if chained := next((case.key for case in cases if case.chain), None):
            raise UsageError(f"{chained}: as set, it takes the answers before it, which a trial does not ask for")
        self._declared.models.require(cases, self.program, ())
        require_inputs(self._declared, self._asks[0].program, cases)


def examine(declared: Benchmark[Any, Any], judge: Any, model: Model, gate: Gate, settings: Settings) -> Tried:
    """Put the worked cases of its rules to a judge, as many times each as its program asks for verdicts.

    The cases have one plain answer each, so that a count of them is no measure of agreement with people. Ends as
    `Trial.run` does; the pairs are aligned with the cases.
    """
    worked, grading = worked_cases_of(declared), Ask.in_run(judge, model.lm, settings)
    work = [_Work(declared, one.case, one.answer, grading, getattr(judge, "votes", 1)) for one in worked]
    sides, halt = run_to_end(_at_once(work, [model], gate))
    return Tried(tuple(Pair(one.case, None, side) for one, side in zip(worked, sides, strict=True)), halt)


async def graded(declared: Benchmark[Any, Any], case: Case, answer: BaseModel, grading: Ask, switch: Switch) -> Side:
    """The grades of an answer that exists, as many as the judge's program asks for; without what a halt left out."""
    votes = getattr(grading.program, "votes", 1)
    return await _Work(declared, case, answer, grading, votes).done(asyncio.Semaphore(), switch)


@dataclass(frozen=True)
class _Work:
    """An answer that is asked for, or there already, and its grades."""

    declared: Benchmark[Any, Any]
    case: Case
    answering: Ask | BaseModel
    grading: Any
    votes: int
    """How often `grading`, an `Ask`, is asked for a grade; 0 where nobody grades."""

    async def done(self, room: asyncio.Semaphore, switch: Switch) -> Side:
        """What came of it; it waits for room, and ends with what it has when it is stopped or cancelled."""
        answer, verdicts, label, unread, error = None, list[Scored[Any]](), None, list[str](), None
        truncated = False
        with collect_calls() as calls:
            try:
                async with room:
                    graded = self.answering
                    if isinstance(graded, Ask):
                        answer, error = _came(await attempted(graded.answer(self.declared, self.case)))
                        truncated = was_cut(calls)
                        graded = answer
                    for _ in range(0 if graded is None else self.votes):
                        verdict, why = _came(await attempted(self.grading.grade(self.declared, self.case, graded)))
                        verdicts += [verdict] if verdict else []
                        unread += [why] if why else []
                if unread and not verdicts:
                    error = unread[0]
                if levels := [verdict.label for verdict in verdicts]:
                    labels = tuple(map(str, self.declared.labels))
                    cut = getattr(self.grading.program, "cuts", {}).get(self.case.stratum)
                    label = cut_label(levels, labels, cut) if cut else majority_label(levels, labels)
            except (Halt, asyncio.CancelledError) as end:  # the task ends with what it has
                if isinstance(end, Halt):
                    switch.pull(end)
                verdicts, unread, error = [], [], STOPPED
        return Side(answer, tuple(verdicts), label, tuple(unread), error, tuple(calls), truncated)


async def _at_once(work: Sequence[_Work], models: Sequence[AnyModel], gate: Gate) -> tuple[list[Side], Halt | None]:
    """What each piece of work comes to, in their order, and what stopped it, if anything did; closes the models."""
    for model in models:
        model.require_key()
    room = asyncio.Semaphore(gate.concurrency)
    tasks = [asyncio.ensure_future(piece.done(room, gate.switch)) for piece in work]

    def drop() -> None:
        for task in tasks:
            task.cancel()

    with orderly_interrupt(gate.switch, drop):
        try:
            return await asyncio.gather(*tasks), gate.switch.halt
        finally:
            for model in models:
                await model.aclose()


def _came(came: T | Failure) -> tuple[T | None, str | None]:
    """What came, or why nothing did, beginning with a short word."""
    if isinstance(came, Failure):
        return None, f"{came.reason}: {came.detail}" if came.detail else came.reason
    return came, None
