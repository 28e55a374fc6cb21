"""What the runner asks of a benchmark, and the values that pass between them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from pydantic import BaseModel

from dspy_proact.runs.measure import Measure
from dspy_proact.runs.nouns import Nouns
from dspy_proact.types import Frozen

CONTROL = "CONTROL"
"""The stratum of control cases, where nothing was to be gained: reported beside the strata and never among them."""
Answer = TypeVar("Answer", bound=BaseModel)
Detail = TypeVar("Detail", bound=BaseModel)


class Settings(Frozen):
    """What a benchmark can be set to, as part of a run's identity; this one has nothing to set."""


@dataclass(frozen=True)
class Case:
    """One thing to answer and to grade."""

    key: str
    """Unique in the benchmark."""
    group: str
    """What cases share that are not independent: the unit of clustering."""
    stratum: str
    """What scores are reported by."""
    view: BaseModel
    """What the programs may see of it."""
    meta: Mapping[str, str | int] = field(default_factory=dict[str, str | int])
    """What only grouping and export read."""


@dataclass(frozen=True)
class Scored(Generic[Detail]):
    """A graded answer."""

    score: float
    """In [0, 1], higher is better."""
    label: str
    """One of the benchmark's labels."""
    detail: Detail
    """The benchmark's own frozen model of the grading."""
    verified: bool | None = None
    """Whether what the grader quotes stands in the answer; None where there is nothing to check."""
    parts: Mapping[str, float] = field(default_factory=dict[str, float])
    """Named finite numbers beside the score, of which measures are made."""


class Benchmark(Protocol[Answer, Detail]):
    """A set of cases, a program under test and a grader."""

    name: str
    strata: Sequence[str]
    """Every stratum, in the order of reports."""
    labels: Sequence[str]
    """Every label, from best to worst; the first is a full pass."""
    control_labels: Sequence[str]
    """Every label of control cases, from best to worst; empty where the benchmark has none."""
    judges: Sequence[str]
    """Names of the graders; each grades every answer. Empty where the benchmark grades by itself, without a model."""
    nouns: Nouns
    measures: Sequence[Measure]
    """What reports give beside scores, in their order."""
    settings: Settings
    answer_type: type[Answer]
    detail_type: type[Detail]

    def cases(self) -> Sequence[Case]:
        """Every case, in a fixed order, with unique keys."""
        ...

    async def answer(self, case: Case) -> Answer:
        """Call the program under test; raises a `StageError` when there is no answer."""
        ...

    async def grade(self, case: Case, answer: Answer, judge: str | None) -> Scored[Detail]:
        """Have one of the judges grade an answer, or grade it oneself where judge is None.

        Raises:
            StageError: There is no grade.
        """
        ...
