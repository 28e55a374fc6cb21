"""An examination of a judge: the worked cases of its rules, put to it at once, for a person to read.

Nothing is kept on disk. The cases have one plain answer each, so that a count of them is no measure of agreement with
people; that is what `agree` is for.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from dspy_proact.benchmarks.proactbench.at_once import STOPPED, at_once, told
from dspy_proact.benchmarks.proactbench.corpus import JudgeCase
from dspy_proact.benchmarks.proactbench.jury import Jury
from dspy_proact.benchmarks.proactbench.types import Grade, Verdict
from dspy_proact.calls import Call, collect_calls
from dspy_proact.errors import Halt
from dspy_proact.models import Gate
from dspy_proact.programs import Direct
from dspy_proact.runs import attempted, run_to_end


@dataclass(frozen=True)
class JudgedCase:
    """A case, and what the judge made of it."""

    case: JudgeCase
    verdicts: tuple[Verdict, ...]
    """Those that could be read; none where a halt left some out."""
    grade: Grade | None
    """What they come to; None where there are none."""
    error: str | None
    """Why there is no grade, beginning with a short word; None where there is one."""
    unread: tuple[str, ...]
    """Why each of its other verdicts could not be read, likewise; none where a halt left some out."""
    calls: tuple[Call, ...]
    """Every attempt, in the order in which they ended."""

    @property
    def right(self) -> bool | None:
        """Whether it has the grade that follows from the rule; None without a grade."""
        return None if self.grade is None else self.grade is self.case.grade

    @property
    def failed(self) -> bool:
        """Whether it was tried and has no grade; what a halt left out has not failed."""
        return self.error is not None and self.error != STOPPED


@dataclass(frozen=True)
class Examined:
    """What came of an examination."""

    cases: tuple[JudgedCase, ...]
    """In their order."""
    halt: Halt | None
    """What stopped it; None where it came to its end."""

    @property
    def begun(self) -> bool:
        """Whether there is anything to show."""
        return any(each.grade or each.failed for each in self.cases)

    @property
    def exit_status(self) -> int:
        """That of the halt; else 3 where a verdict is missing, and 0 where none is, right or wrong."""
        if self.halt:
            return self.halt.exit_status
        return 3 if any(each.unread for each in self.cases) else 0


class Examination:
    """Asks one judge for its verdicts on each of the cases.

    Args:
        jury: One judge, whose program says how many verdicts.
        gate: Of its model.
    """

    def __init__(self, jury: Jury, gate: Gate):
        self._jury, self._gate = jury, gate
        self._asking = Direct(jury.models[0].lm)

    def run(self, cases: Sequence[JudgeCase]) -> Examined:
        """Ask everything at once and wait for the end of it.

        Raises:
            UsageError: A key is missing.
            Interrupted: Ctrl-C came twice.
        """
        return run_to_end(self.arun(cases))

    async def arun(self, cases: Sequence[JudgeCase]) -> Examined:
        """The same, awaited."""
        work = [partial(self._judged, case) for case in cases]
        judged, halt = await at_once(work, self._jury.models, self._gate)
        return Examined(tuple(judged), halt)

    async def _judged(self, case: JudgeCase, room: asyncio.Semaphore) -> JudgedCase:
        verdicts, unread, error, grade = list[Verdict](), list[str](), None, None
        with collect_calls() as calls:
            try:
                async with room:
                    for _ in range(self._jury.program.votes):
                        asked = self._jury.program.judge(case.view, case.response, self._asking)
                        verdict, why = told(await attempted(asked))
                        verdicts += [verdict] if verdict else []
                        unread += [why] if why else []
                if verdicts:
                    grade = self._jury.grade(case.view.rubric.phase, [each.grade for each in verdicts])
                else:
                    error = unread[0]
            except (Halt, asyncio.CancelledError):  # the switch knows why; the task ends with what it has
                verdicts, unread, error = [], [], STOPPED
        return JudgedCase(case, tuple(verdicts), grade, error, tuple(unread), tuple(calls))
