"""A benchmark bound to the cases and models of one run: what the runner runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from dspy_proact.benchmarks.ask import Ask
from dspy_proact.benchmarks.benchmark import Benchmark
from dspy_proact.benchmarks.own_file import located, require_answer, require_grade
from dspy_proact.runs import Case, CaseSet, ExpectedCall, Scored, Settings


@dataclass(frozen=True)
class Bound:
    """A declaration with the cases, programs and models of a run."""

    declared: Benchmark[Any, Any]
    case_set: CaseSet
    settings: Settings
    under_test: Ask | None
    """The program under test; None where answers exist already."""
    judges: Mapping[str, Ask]
    """The judge's program on each model, by the model's name; empty where no judge grades."""
    judge: Any = None
    """The judge's program; None where answers are graded without a model."""

    @property
    def name(self) -> str:
        """Of the benchmark."""
        return self.declared.name

    @property
    def labels(self) -> Sequence[str]:
        """From best to worst."""
        return self.declared.labels

    @property
    def control_labels(self) -> Sequence[str]:
        """Of control cases, from best to worst."""
        return self.declared.control_labels

    @property
    def answer_type(self) -> type[BaseModel]:
        """As what answers are read from disk."""
        return self.declared.answer_type

    @property
    def strata(self) -> Sequence[str]:
        """Those that reports give, in their order."""
        return self.declared.strata_of(self.case_set)

    async def answer(self, case: Case) -> BaseModel:
        """Call the program under test; raises a `StageError` when there is no answer."""
        assert self.under_test is not None, "answers that exist are not asked for"
        with located(self.declared, "answer"):
            answer = await self.declared.answer(case, self.under_test)
        require_answer(self.declared, answer)
        return answer

    async def grade(self, case: Case, answer: Any, judge: str | None) -> Scored[Any]:
        """Grade an answer by one of the judges, or without one; raises a `StageError` when there is no grade."""
        ask = self.judges[judge] if judge else Ask.in_run(None, None, self.settings)
        with located(self.declared, "grade"):
            scored = await self.declared.grade(case, answer, ask)
        require_grade(self.declared, case, scored)
        return scored

    def answer_calls(self, case: Case) -> Sequence[ExpectedCall] | None:
        """The first calls of `answer`; None where they cannot be told."""
        assert self.under_test is not None, "answers that exist are not asked for"
        return self.declared.answer_calls(case, self.under_test.program, self.settings)

    def grade_calls(self, case: Case, answer: Any) -> Sequence[ExpectedCall] | None:
        """Those of `grade`, likewise."""
        return self.declared.grade_calls(case, answer, self.judge, self.settings)
