"""The guard of a judge's compile: worked cases that the start gets right are not lost."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import dspy

from dspy_proact.benchmarks.proactbench.compile.judge.cuts import level_of
from dspy_proact.benchmarks.proactbench.compile.judge.labels import LEVELS
from dspy_proact.benchmarks.proactbench.compile.judge.votes import Votes, vote
from dspy_proact.benchmarks.proactbench.corpus import JudgeCase
from dspy_proact.benchmarks.proactbench.programs import Judge
from dspy_proact.benchmarks.proactbench.types import Phase
from dspy_proact.compile.side_by_side import side_by_side
from dspy_proact.programs.artefact import Cuts

JudgeGuard = Literal["cases"]
JUDGE_GUARDS: tuple[JudgeGuard, ...] = get_args(JudgeGuard)
Given = Mapping[str, Votes]
"""A judge's verdicts on each case, by name."""


@dataclass(frozen=True)
class CaseGuard:
    """Puts the cases to judges.

    Args:
        cases: With the grade that the rules give.
        lm: Under the judges.
        votes: Verdicts on each case.
        width: Cases at once.
    """

    cases: Sequence[JudgeCase]
    lm: dspy.LM
    votes: int = 1
    width: int = 1

    def given(self, judge: Judge) -> Given:
        """What a judge says of the cases."""
        work = [partial(vote, judge, case.view, case.response, self.lm, self.votes) for case in self.cases]
        return {case.name: votes for case, votes in zip(self.cases, side_by_side(work, self.width), strict=True)}

    def right(self, given: Given, cuts: Mapping[Phase, Cuts]) -> frozenset[str]:
        """Names of the cases whose grade is that of the rules, by these cuts."""
        return frozenset(
            case.name
            for case in self.cases
            if (level := level_of(given[case.name], cuts[case.view.rubric.phase])) is not None
            and LEVELS[level] is case.grade
        )

    def kept(
        self, given: Given, before: frozenset[str], cuts: Mapping[Phase, Cuts], otherwise: Mapping[Phase, Cuts]
    ) -> dict[Phase, Cuts]:
        """The cuts, and other ones in a phase where they would lose a case that was right before."""
        lost = before - self.right(given, cuts)
        losing = {case.view.rubric.phase for case in self.cases if case.name in lost}
        return {phase: otherwise[phase] if phase in losing else cut for phase, cut in cuts.items()}


def digest_of(cases: Sequence[JudgeCase]) -> str:
    """sha256, in hexadecimal, of what is asked and expected."""
    return hashlib.sha256("\n".join(case.model_dump_json() for case in cases).encode()).hexdigest()
