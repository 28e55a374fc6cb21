"""PROBE for the runner: the tasks of a corpus, the agent under test, the judges."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from dspy_proact.benchmarks.probe.corpus.grade import ProbeGrade
from dspy_proact.benchmarks.probe.grading import (
    FAILED,
    PARTIAL,
    SOLVED,
    graded,
    is_described,
    is_filled,
    label_of,
    parts_of,
)
from dspy_proact.benchmarks.probe.judging import ProbeJudge
from dspy_proact.benchmarks.probe.oracles import shown, with_given
from dspy_proact.benchmarks.probe.settings import ProbeSettings
from dspy_proact.benchmarks.probe.solution import PARTS, Agent, Solution
from dspy_proact.benchmarks.probe.view import ProbeView
from dspy_proact.errors import ContentError
from dspy_proact.models import Model
from dspy_proact.programs import Direct
from dspy_proact.runs import Benchmark, Case, CaseSet, ExpectedCall, Measure, Nouns, Scored

DIFFICULTIES = ("easy", "medium", "hard")
SOLUTION_TOKENS = (150, 4000)
"""Of an answer in one call: assumed, from the tersest to one that thinks aloud."""
VERDICT_TOKENS = (150, 600)
"""Of a verdict: assumed."""
_ASSUMED_WORDS = 60
_UNREADABLE = ("empty", "unreadable", "calls")
"""Reasons for which an answer is missing or malformed, which is the model's doing."""


class Probe(Benchmark[Solution, ProbeGrade]):
    """Binds tasks to an agent, its model and the judges.

    Args:
        case_set: As `case_set_of` makes it.
        agent: The program under test; None where answers are there already.
        model: Under it; None for an agent that asks no model.
        judge: The program that grades.
        judges: Models under it; none where there is nothing to judge.
        settings: As the agent was made.
    """

    name = "probe"
    labels: Sequence[str] = (SOLVED, PARTIAL, FAILED)
    nouns = Nouns(
        case="task",
        cases="tasks",
        stratum="difficulty",
        strata="difficulties",
        group="person",
        groups="people",
        row="sample",
        rows="samples",
    )
    measures = (
        Measure(name="precision", title="precision", parts=("precision",)),
        Measure(name="recall", title="recall", parts=("recall",)),
        Measure(name="f1", title="F1", parts=("f1",)),
        Measure(name="identification", title="identification", parts=("identification",)),
        Measure(name="task", title="task", parts=("task",)),
        Measure(name="overall", title="overall", parts=("overall",)),
        Measure(name="end_to_end", title="end to end", parts=("end_to_end",)),
        Measure(name="read_task", title="read task", parts=("read_task",)),
        Measure(name="read_overall", title="read overall", parts=("read_overall",)),
        Measure(name="touched_f1", title="touched F1", parts=("touched_f1",)),
        Measure(name="apart", title="word apart", parts=("apart",)),
        Measure(name="unknown_ids", title="unknown ids", parts=("unknown_ids",)),
        Measure(name="faulty", title="faulty", parts=("faulty",)),
        Measure(name="turns", title="turns", parts=("turns",)),
    )
    answer_type = Solution
    assumption = (
        f"Judges are counted as asked about a description of {_ASSUMED_WORDS} words and the parameters of the right "
        "action where there is no answer yet; agents with several calls cannot be told."
    )

    def __init__(
        self,
        case_set: CaseSet,
        agent: Agent | None,
        model: Model | None,
        judge: ProbeJudge,
        judges: Sequence[Model],
        *,
        settings: ProbeSettings,
    ):
        self.case_set = case_set
        self.settings: ProbeSettings = settings  # pyright: ignore[reportIncompatibleVariableOverride]  # set once
        there = {case.stratum for case in case_set.cases}
        self.strata: Sequence[str] = tuple(each for each in DIFFICULTIES if each in there)
        self._agent, self._judge = agent, judge
        self._answering = Direct(model.lm) if model else None
        self._grading = {each.name: Direct(each.lm) for each in judges}
        self.judges: Sequence[str] = tuple(self._grading)

    @classmethod
    def view_type(cls, stratum: str) -> type[BaseModel]:
        """Of every difficulty the same."""
        assert stratum in DIFFICULTIES, "PROBE makes its own cases"
        return ProbeView

    async def answer(self, case: Case) -> Solution:
        """The agent's answer; one that is missing or malformed as a whole is an empty one, with all of its faults."""
        assert self._agent is not None, "answers that are there are not asked for"
        view, oracle = _view(case), self.settings.oracle
        try:
            solution = await self._agent.solve(shown(oracle, view), self._answering)
        except ContentError as error:
            if error.reason not in _UNREADABLE:
                raise
            solution = Solution(faults=PARTS)
        return with_given(oracle, solution, view.gold)

    async def grade(self, case: Case, answer: Solution, judge: str | None) -> Scored[ProbeGrade]:
        """Ids counted, and what a judge says of the description and of the parameters, where there is any."""
        view, asking = _view(case), self._grading[judge] if judge else None
        described, filled = is_described(answer, self.settings), is_filled(answer, view.gold)
        assert asking or not (described or filled), "what is described or filled in is graded by judges"
        identified = await self._judge.identification.judge(view, answer.bottleneck, asking) if described else None
        resolved = await self._judge.resolution.judge(view, answer.parameters, asking) if filled else None
        grade = graded(view, answer, self.settings, identified, resolved)
        return Scored(grade.overall, label_of(grade), grade, parts=parts_of(grade, answer))

    def answer_calls(self, case: Case) -> Sequence[ExpectedCall] | None:
        """The one call of `single`; none of a baseline; what else an agent asks depends on the answers."""
        if self.settings.baseline != "none":
            return []
        if self.settings.agent != "single" or self._agent is None:
            return None
        return [ExpectedCall(self._agent.expected(shown(self.settings.oracle, _view(case))), SOLUTION_TOKENS)]

    def grade_calls(self, case: Case, answer: Solution | None) -> Sequence[ExpectedCall]:
        """What both judges are asked."""
        view = _view(case)
        assumed = Solution(
            bottleneck="word " * _ASSUMED_WORDS, action=view.gold.action, parameters=view.gold.parameters
        )
        solution = answer or (assumed if self.settings.baseline == "none" else Solution())
        asked: list[list[dict[str, Any]]] = []
        if is_described(solution, self.settings):
            asked.append(self._judge.identification.messages(view, solution.bottleneck))
        if is_filled(solution, view.gold):
            asked.append(self._judge.resolution.messages(view, solution.parameters))
        return [ExpectedCall(messages, VERDICT_TOKENS) for messages in asked]


def _view(case: Case) -> ProbeView:
    assert isinstance(case.view, ProbeView), "PROBE makes its own cases"
    return case.view
