"""A trial: an assistant on a few conversations beside the bare model, asked at once, for a person to read.

Nothing is kept on disk and no score is made of it; that is what `Evaluation` is for.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from dspy_proact.benchmarks.ask import Ask
from dspy_proact.benchmarks.proactbench.at_once import STOPPED, at_once, told
from dspy_proact.benchmarks.proactbench.benchmark import ProactBench
from dspy_proact.benchmarks.proactbench.jury import Jury
from dspy_proact.benchmarks.proactbench.programs import Assistant
from dspy_proact.benchmarks.proactbench.types import Response, Verdict
from dspy_proact.benchmarks.proactbench.views import JudgeView
from dspy_proact.calls import Call, collect_calls
from dspy_proact.errors import Halt
from dspy_proact.models import Gate, Model
from dspy_proact.runs import Case, Settings, attempted, run_to_end

_DECLARED = ProactBench()


@dataclass(frozen=True)
class Side:
    """One response and its verdict, as far as they came."""

    response: Response | None
    verdict: Verdict | None
    """None also where nobody grades."""
    error: str | None
    """Why the response or the verdict is missing, beginning with a short word; None where nothing is."""
    calls: tuple[Call, ...]
    """Every attempt, in the order in which they ended."""

    @property
    def failed(self) -> bool:
        """Whether it was tried and something is missing; what a halt left out has not failed."""
        return self.error is not None and self.error != STOPPED


@dataclass(frozen=True)
class Pair:
    """The responses to one conversation."""

    case: Case
    prompted: Side | None
    """Of the assistant on trial; None where there is none."""
    bare: Side
    """Of the model that is told nothing."""

    @property
    def sides(self) -> tuple[Side, ...]:
        """Those that were asked for."""
        return (self.bare,) if self.prompted is None else (self.prompted, self.bare)

    @property
    def calls(self) -> tuple[Call, ...]:
        """Those of both sides."""
        return tuple(call for side in self.sides for call in side.calls)


@dataclass(frozen=True)
class Tried:
    """What came of a trial."""

    pairs: tuple[Pair, ...]
    """One a case, in their order."""
    halt: Halt | None
    """What stopped it; None where it came to its end."""

    @property
    def begun(self) -> bool:
        """Whether there is anything to show."""
        return any(side.response or side.failed for pair in self.pairs for side in pair.sides)

    @property
    def exit_status(self) -> int:
        """That of the halt; else 3 where something failed, and 0 where nothing did."""
        if self.halt:
            return self.halt.exit_status
        return 3 if any(side.failed for pair in self.pairs for side in pair.sides) else 0


class Trial:
    """Asks an assistant and the bare model for responses, and a judge for a verdict on each.

    Args:
        assistant: On trial; None for the bare model alone.
        model: Under both.
        jury: One judge, who grades at triggers; None where nobody grades.
        gate: Of all the models.
    """

    def __init__(self, assistant: Assistant | None, model: Model, jury: Jury | None, gate: Gate):
        self._model, self._jury, self._gate = model, jury, gate
        self._bare = Ask.in_run(Assistant(), model.lm, Settings())
        self._prompted = assistant and Ask.in_run(assistant, model.lm, Settings())
        self._grading = jury and Ask.in_run(jury.program, jury.models[0].lm, Settings())

    def run(self, cases: Sequence[Case]) -> Tried:
        """Ask everything at once and wait for the end of it.

        A failure takes the place of what it left out. After a limit or a fault for good, what is in flight is awaited;
        Ctrl-C drops it. What came until then is in the result.

        Raises:
            UsageError: A key is missing.
            Interrupted: Ctrl-C came twice.
        """
        return run_to_end(self.arun(cases))

    async def arun(self, cases: Sequence[Case]) -> Tried:
        """The same, awaited."""
        asked = [ask for ask in (self._prompted, self._bare) if ask]
        work = [partial(self._side, ask, case) for case in cases for ask in asked]
        models = self._model, *(self._jury.models if self._jury else ())
        found, halt = await at_once(work, models, self._gate)
        sides = iter(found)
        pairs = [Pair(case, next(sides) if self._prompted else None, next(sides)) for case in cases]
        return Tried(tuple(pairs), halt)

    async def _side(self, ask: Ask, case: Case, room: asyncio.Semaphore) -> Side:
        response = verdict = error = None
        with collect_calls() as calls:
            try:
                async with room:
                    response, error = told(await attempted(_DECLARED.answer(case, ask)))
                    if response is not None:
                        verdict, error = told(await attempted(self._verdict(case, response)))
            except (Halt, asyncio.CancelledError):  # the switch knows why; the task ends with what it has
                error = STOPPED
        return Side(response, verdict, error, tuple(calls))

    async def _verdict(self, case: Case, response: Response) -> Verdict | None:
        if self._grading is None or not isinstance(case.view, JudgeView):
            return None
        scored = await _DECLARED.grade(case, response, self._grading)
        assert isinstance(scored.detail, Verdict), "a trigger is graded by its rubric"
        return scored.detail
