"""How a benchmark asks a program: in a run straight through the gate, in a compile through DSPy."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import dspy
from pydantic import BaseModel

from dspy_proact.evaluation.benchmark import NO_ROLES, Benchmark
from dspy_proact.evaluation.checks import file_of, require_answer, require_grade
from dspy_proact.evaluation.own_file import located
from dspy_proact.models import AllowedModels
from dspy_proact.models.logged import one_answer
from dspy_proact.programs.answer import ours
from dspy_proact.programs.asking import Asking, ask_now, run_here
from dspy_proact.programs.direct import Direct
from dspy_proact.programs.program import Program
from dspy_proact.runs import Case, Scored, Settings


@dataclass(frozen=True)
class Ask:
    """A program, and the model that it speaks through."""

    program: Any
    lm: dspy.LM | None
    settings: Settings
    asking: Asking | None
    """How a program of ours asks with an adapter of its own: in a compile `ask_now`; None without a model."""
    earlier: Sequence[Any] = ()
    """Answers to the cases before this one in its chain, in their order; None for one that could not be used."""
    roles: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The further models of an answer: a `dspy.LM` for each of the benchmark's `roles`, an `Embedder` as `embedder`."""
    allowed: AllowedModels = field(default_factory=AllowedModels, repr=False)
    """Refuses all other models of a run."""

    @classmethod
    def in_run(cls, program: Any, lm: dspy.LM | None, settings: Settings, roles: Mapping[str, Any] = NO_ROLES) -> "Ask":
        """Asks straight through the gate; raises a `UsageError` where the program has a model of its own."""
        allowed = AllowedModels([lm, *roles.values()])
        allowed.require(program)
        return cls(program, lm, settings, Direct(lm) if lm else None, roles=roles, allowed=allowed)

    @classmethod
    def in_compile(
        cls, program: Any, lm: dspy.LM | None, settings: Settings, roles: Mapping[str, Any] = NO_ROLES
    ) -> "Ask":
        """Asks through DSPy, whose traces a compile needs, and blocks meanwhile: for `run_here`."""
        return cls(program, lm, settings, ask_now, roles=roles, allowed=AllowedModels([lm, *roles.values()]))

    async def answer(self, declared: Benchmark[Any, Any], case: Case) -> BaseModel:
        """A benchmark's answer to a case; raises a `StageError` when there is none."""
        with located(declared, "answer"), self._alone(declared):
            answer = await declared.answer(case, self)
        require_answer(declared, answer)
        return answer

    async def grade(self, declared: Benchmark[Any, Any], case: Case, answer: Any) -> Scored[Any]:
        """A benchmark's grade of an answer; raises a `StageError` when there is none."""
        with located(declared, "grade"), self._alone(declared):
            scored = await declared.grade(case, answer, self)
        require_grade(declared, case, scored)
        return scored

    async def __call__(self, **inputs: Any) -> dspy.Prediction:
        """The program's prediction; raises errors of `errors`, such as a `StageError` where there is none."""
        asking = self.asking if isinstance(self.program, Program) else None
        if asking and asking is not ask_now:
            return await self.program.answer_by(asking, **inputs)
        with ours(), dspy.context(lm=self.lm, **self._lean):
            return await (self.program.answer_by(asking, **inputs) if asking else self.program.acall(**inputs))

    @property
    def _lean(self) -> dict[str, Any]:
        """DSPy would remember ten thousand calls, images included, which nothing reads; a compile needs its traces.

        It would warn in every call of a tuple where a signature has a list: views are frozen, and have tuples.
        """
        return {"disable_history": True, "warn_on_type_mismatch": False} | (
            {} if self.asking is ask_now else {"max_trace_size": 0}
        )

    @contextmanager
    def _alone(self, declared: Benchmark[Any, Any]) -> Generator[None]:
        """Inside, whatever is asked through DSPy goes to this model, or to one of the roles, and to no other."""
        ours_alone = file_of(declared) is None and isinstance(self.program, Program | None)
        if ours_alone and self.asking is not ask_now:
            yield  # it asks no other way
            return
        callbacks = [*dspy.settings.callbacks, self.allowed]
        with one_answer(), ours(), dspy.context(lm=self.lm or dspy.settings.lm, callbacks=callbacks, **self._lean):
            yield


class FirstQuestion(BaseException):
    """A question to a program, at which a rehearsal ends; no `Exception`, which a person's code may catch."""

    def __init__(self, inputs: dict[str, Any]):
        super().__init__()
        self.inputs = inputs


@dataclass(frozen=True)
class Rehearsal(Ask):
    """Ends at the first question."""

    async def __call__(self, **inputs: Any) -> dspy.Prediction:
        """Raise a `FirstQuestion`."""
        raise FirstQuestion(inputs)


def first_inputs(declared: Benchmark[Any, Any], case: Case, answer: Any, settings: Settings) -> dict[str, Any] | None:
    """The inputs of the first question that `grade` puts to a judge; None where it asks none. No call is made."""
    try:
        run_here(declared.grade(case, answer, Rehearsal(None, None, settings, ask_now)))
    except FirstQuestion as question:
        return question.inputs
    return None
