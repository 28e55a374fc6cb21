"""A benchmark bound to the cases and models of one run: what the runner runs."""

import asyncio
import traceback
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from dspy_proact.benchmarks.ask import Ask
from dspy_proact.benchmarks.benchmark import Benchmark
from dspy_proact.errors import ProactError, SetupFault
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
            return await self.declared.answer(case, self.under_test)

    async def grade(self, case: Case, answer: Any, judge: str | None) -> Scored[Any]:
        """Grade an answer by one of the judges, or without one; raises a `StageError` when there is no grade."""
        with located(self.declared, "grade"):
            return await self.declared.grade(case, answer, self.judges[judge] if judge else None)

    def answer_calls(self, case: Case) -> Sequence[ExpectedCall] | None:
        """The first calls of `answer`; None where they cannot be told."""
        assert self.under_test is not None, "answers that exist are not asked for"
        return self.declared.answer_calls(case, self.under_test.program, self.settings)

    def grade_calls(self, case: Case, answer: Any) -> Sequence[ExpectedCall] | None:
        """Those of `grade`, likewise."""
        return self.declared.grade_calls(case, answer, self.judge, self.settings)


@contextmanager
def located(declared: Benchmark[Any, Any], what: str) -> Generator[None]:
    """Turn a fault in a person's own file into a sentence that names file and line; those of the package stay.

    Raises:
        SetupFault: In place of an exception that is none of ours.
    """
    try:
        yield
    except (ProactError, asyncio.CancelledError):
        raise
    except Exception as error:
        raise fault_of(declared, what, error) from error


def fault_of(declared: Benchmark[Any, Any], what: str, error: Exception) -> BaseException:
    """The fault of a person's file as a sentence; the error itself where the benchmark is one of the package."""
    if declared.file is None:
        return error
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(declared.file)]
    where = f"{declared.file}:{own[-1].lineno}" if own else str(declared.file)
    return SetupFault(f"{where}: `{what}` failed: {type(error).__name__}: {error}")
