"""What `try` runs: a program on a few cases beside the bare model, or a judge on its worked cases.

Everything is asked at once, nothing is kept on disk, and no score is computed; that is what `Evaluation` is for.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from pydantic import BaseModel

from dspy_proact.benchmarks.ask import Ask
from dspy_proact.benchmarks.benchmark import Benchmark, Start, WorkedCase
from dspy_proact.benchmarks.compiled import compiled_program, module_or_file
from dspy_proact.benchmarks.evaluation import role_of
from dspy_proact.benchmarks.registry import benchmark_named
from dspy_proact.calls import Call, collect_calls
from dspy_proact.errors import Halt, UsageError
from dspy_proact.models import Gate, Model, ModelSpec, open_model
from dspy_proact.runs import (
    Case,
    Failure,
    Scored,
    Settings,
    attempted,
    consensus,
    cut_label,
    orderly_interrupt,
    run_to_end,
)

T = TypeVar("T")
STOPPED = "stopped"
"""The error of what a halt left out."""


@dataclass(frozen=True)
class Attempted:
    """What every question has, whatever came of it."""

    error: str | None
    """Why something is missing, beginning with a short word; None where nothing is."""
    calls: tuple[Call, ...]
    """Every attempt, in the order in which they ended."""

    @property
    def failed(self) -> bool:
        """Whether it was tried and something is missing; what a halt left out has not failed."""
        return self.error is not None and self.error != STOPPED


@dataclass(frozen=True)
class Ended:
    """How a handful of questions ended."""

    halt: Halt | None
    """What stopped it; None where it came to its end."""
    begun: bool
    """Whether there is anything to show."""
    missing: bool
    """Whether something that was tried failed."""

    @property
    def exit_status(self) -> int:
        """That of the halt; else 3 where something failed, and 0 where nothing did."""
        return self.halt.exit_status if self.halt else 3 if self.missing else 0


@dataclass(frozen=True)
class Side(Attempted):
    """One answer and its grade, as far as they came."""

    answer: BaseModel | None
    scored: Scored[Any] | None


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
class Tried(Ended):
    """What came of a trial."""

    pairs: tuple[Pair, ...]

    def __repr__(self) -> str:
        return f"Tried({len(self.pairs)} cases, {f'stopped: {self.halt}' if self.halt else 'done'})"


class Trial:
    """Asks a program on trial and the benchmark's own for answers, and a judge for a grade of each.

    Args:
        model: Under both programs.
        judge: None where nobody grades.
        benchmark: By its name, the path of its file, or itself.
        settings: Of the benchmark; its defaults where None.
        program: On trial: a module, or the file of a compiled one.
        system_prompt: On trial, in place of a program.
        gate: How calls are made.

    Raises:
        UsageError: Models, settings and programs do not fit together.
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
    ):
        declared, self._gate = benchmark_named(benchmark), gate or Gate()
        settings = settings or declared.settings_type()
        self.program, file = module_or_file(program)
        start = Start(system_prompt, file)
        declared.require(settings, [ModelSpec.of(each).name for each in (model, judge) if each is not None], start)
        companions = declared.companions(settings, self._gate)
        self._declared = declared
        if self.program is None and start != Start():
            self.program = compiled_program(declared, settings, start, "assistant", companions)
        opened = open_model(model, role_of(declared, "assistant"), self._gate)
        tested = replace(opened, companions=tuple(companions))
        asked = None if declared.unasked(settings) else tested.lm
        bare = declared.program(settings, Start(), companions)
        self._asks = [Ask.in_run(each, asked, settings) for each in (self.program, bare) if each is not None]
        judging = None if judge is None else declared.judge(settings, Start())
        self._grading, self.models = None, (tested,)
        if judge is not None and judging is None:
            self._grading = Ask.in_run(None, None, settings)
        elif judge is not None:
            self.models = tested, open_model(judge, role_of(declared, "judge"), self._gate)
            self._grading = Ask.in_run(judging, self.models[1].lm, settings)

    def __repr__(self) -> str:
        return f"Trial({self._declared.name!r}, {', '.join(f'{each.role.name}={each.name}' for each in self.models)})"

    def run(self, cases: Sequence[Case]) -> Tried:
        """Ask everything at once and wait for the end of it.

        A failure takes the place of what it left out. After a limit or a fault for good, what is in flight is awaited;
        Ctrl-C drops it. What came until then is in the result. Raises a `UsageError` where a key is missing or a case
        needs the answers before it, and `Interrupted` where Ctrl-C came twice.
        """
        return run_to_end(self.arun(cases))

    async def arun(self, cases: Sequence[Case]) -> Tried:
        """Async version of `run`."""
        if chained := next((case.key for case in cases if case.chain), None):
            raise UsageError(f"{chained}: as set, it takes the answers before it, which a trial does not ask for")
        work = [partial(self._side, ask, case) for case in cases for ask in self._asks]
        found, halt = await _at_once(work, self.models, self._gate)
        sides = iter(found)
        pairs = [Pair(case, next(sides) if self.program is not None else None, next(sides)) for case in cases]
        begun = any(side.answer or side.failed for side in found)
        return Tried(halt, begun, any(side.failed for side in found), tuple(pairs))

    async def _side(self, ask: Ask, case: Case, room: asyncio.Semaphore) -> Side:
        answer = scored = error = None
        with collect_calls() as calls:
            try:
                async with room:
                    answer, error = _came(await attempted(self._declared.answer(case, ask)))
                    if answer is not None and self._grading is not None:
                        scored, error = _came(await attempted(self._declared.grade(case, answer, self._grading)))
            except (Halt, asyncio.CancelledError):  # the switch knows why; the task ends with what it has
                error = STOPPED
        return Side(error, tuple(calls), answer, scored)


@dataclass(frozen=True)
class JudgedCase(Attempted):
    """A worked case, and what the judge made of it."""

    case: WorkedCase
    verdicts: tuple[Scored[Any], ...]
    """Those that could be read; none where a halt left some out."""
    label: str | None
    """What they come to; None where there are none."""
    unread: tuple[str, ...]
    """Why each of its other verdicts could not be read; none where a halt left some out."""

    @property
    def right(self) -> bool | None:
        """Whether it has the label that follows from the rule; None without a label."""
        return None if self.label is None else self.label == self.case.label


@dataclass(frozen=True)
class Examined(Ended):
    """What came of an examination; something is missing where a verdict is, right or wrong."""

    cases: tuple[JudgedCase, ...]


@dataclass(frozen=True)
class Examination:
    """Puts the worked cases of its rules to a judge, as many times each as its program asks for verdicts.

    The cases have one plain answer each, so that a count of them is no measure of agreement with people.
    """

    declared: Benchmark[Any, Any]
    judge: Any
    model: Model
    gate: Gate
    settings: Settings = field(default_factory=Settings)

    @property
    def votes(self) -> int:
        """Verdicts on each case."""
        return getattr(self.judge, "votes", 1)

    def run(self) -> Examined:
        """Ask everything at once and wait for the end of it, as `Trial.run` does."""
        work = [partial(self._judged, case) for case in self.declared.worked_cases()]
        judged, halt = run_to_end(_at_once(work, [self.model], self.gate))
        begun = any(each.label or each.failed for each in judged)
        return Examined(halt, begun, any(each.unread for each in judged), tuple(judged))

    async def _judged(self, worked: WorkedCase, room: asyncio.Semaphore) -> JudgedCase:
        verdicts, unread, error, label = list[Scored[Any]](), list[str](), None, None
        ask = Ask.in_run(self.judge, self.model.lm, self.settings)
        with collect_calls() as calls:
            try:
                async with room:
                    for _ in range(self.votes):
                        graded = await attempted(self.declared.grade(worked.case, worked.answer, ask))
                        verdict, why = _came(graded)
                        verdicts += [verdict] if verdict else []
                        unread += [why] if why else []
                if verdicts:
                    cut = getattr(self.judge, "cuts", {}).get(worked.case.stratum)
                    given, labels = [each.label for each in verdicts], tuple(map(str, self.declared.labels))
                    label = cut_label(given, labels, cut) if cut else consensus(given, labels)
                else:
                    error = unread[0]
            except (Halt, asyncio.CancelledError):  # the switch knows why; the task ends with what it has
                verdicts, unread, error = [], [], STOPPED
        return JudgedCase(error, tuple(calls), worked, tuple(verdicts), label, tuple(unread))


async def _at_once(
    work: Sequence[Callable[[asyncio.Semaphore], Awaitable[T]]], models: Sequence[Model], gate: Gate
) -> tuple[list[T], Halt | None]:
    """What each piece of work comes to, in their order, and what stopped it, if anything did; closes the models.

    A piece of work waits for room before it asks, and ends with what it has when it is stopped or cancelled.
    """
    for model in models:
        model.require_key()
    room = asyncio.Semaphore(gate.concurrency)
    tasks = [asyncio.ensure_future(piece(room)) for piece in work]

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
