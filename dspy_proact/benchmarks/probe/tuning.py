"""How PROBE's agents and judges are compiled: by instructions alone, for a worked example would be a whole mailbox."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from dspy_proact.benchmarks.probe.forecast import SOLUTION_TOKENS
from dspy_proact.benchmarks.probe.judging import questions_of
from dspy_proact.benchmarks.probe.settings import ProbeSettings
from dspy_proact.benchmarks.probe.task import PARTS, ProbeView, Solution
from dspy_proact.compile.training import Proposal
from dspy_proact.compile.tuning import (
    GradedAnswer,
    GradedAnswers,
    ProposeJudge,
    ProposeProgram,
    ScoredPrediction,
    Tuning,
)
from dspy_proact.errors import UsageError
from dspy_proact.evaluation.ratings import Ratings
from dspy_proact.programs.artefact import ProgramRole
from dspy_proact.runs import Case, ExpectedCall

PROPOSALS: Mapping[ProgramRole, Proposal] = {
    "assistant": Proposal(
        ProposeProgram,
        (
            "Say how to tell what is still open and holds others up from what is settled, out of date or merely loud.",
            "Have it cross-check: what one item leaves open another one tells, by the names that they have in common.",
            "Have it be definite and sparing: no item, person, date or value that nothing bears out.",
        ),
    ),
    "judge": Proposal(
        ProposeJudge,
        (
            "Say what counts as the same in other words.",
            "Say what a judge should not be taken in by.",
            "Draw the line between missing, wrong and not applying more clearly.",
        ),
    ),
}


class OwnTuning(Tuning):
    """How PROBE's programs are compiled."""

    demos = False
    no_answer = Solution(faults=PARTS)
    measures = ("f1", "identification", "task", "end_to_end")
    titles: ClassVar[Mapping[str, str]] = {"f1": "search (F1)"}

    def require(self, role: ProgramRole) -> None:
        """Raise a `UsageError` where what is set cannot be tuned, or has no effect."""
        settings = ProbeSettings.of(self.settings)
        if role == "judge":
            if name := min(settings.model_fields_set, default=None):
                why = "the answers that people graded are shown to judges alike, whatever is set"
                raise UsageError(
                    f"`settings.{name}`: a compile of the judge reads no setting of probe; {why}. Leave it out"
                )
            return
        super().require(role)
        if settings.agent not in ("single", "stages"):
            why = "what it asks depends on answers"
            raise UsageError(f"`settings.agent={settings.agent}`: {why}; tune single or stages")
        if settings.oracle != "none":
            raise UsageError(f"`settings.oracle={settings.oracle}`: cannot be tuned; leave it out")
        settings.require_effect(settings.model_fields_set)

    def proposal(self, role: ProgramRole) -> Proposal:
        """In PROBE's words."""
        return PROPOSALS[role]

    def calls(self, program: Any, case: Case) -> Sequence[ExpectedCall]:
        """The first question; each further one is counted as long."""
        return [ExpectedCall(program.expected(case.view_as(ProbeView).task), SOLUTION_TOKENS)]

    def shortfall(self, case: Case, answer: Solution, told: str) -> str:
        """What it answered, and how that did."""
        items = case.view_as(ProbeView).task.items
        titles = {item.id: getattr(item, "subject", None) or getattr(item, "title", "") for item in items}
        named = ", ".join(titles.get(id_, "an item that there is not") for id_ in answer.evidence)
        return (
            f"Evidence: {named or 'none'}\nBottleneck: {answer.bottleneck or 'none'}\n"
            f"Action: {answer.action or 'none'} {answer.parameters}\n{told}"
        )

    def graded(self, ratings: Ratings | None) -> GradedAnswers:
        """What people graded, as an answer to each of the two judges: what the other one is asked about is left out."""
        people, items = super().graded(ratings), list[GradedAnswer]()
        for item in people.items:
            assert isinstance(item.answer, Solution), "people grade the benchmark's own answers"
            done = {part: grades for part, grades in item.grades.items() if part == "parameters"}
            said, key = {part: grades for part, grades in item.grades.items() if part != "parameters"}, item.key
            for grades, other in ((said, {"action": "", "parameters": {}}), (done, {"bottleneck": ""})):
                alone = item.answer.model_copy(update=other)
                if grades and questions_of(item.case.view_as(ProbeView), alone, ProbeSettings()):
                    items.append(replace(item, key=key, answer=alone, grades=grades))
                key = f"{item.key} (parameters)" if said else key
        return replace(people, items=tuple(items))

    def judge_shortfall(self, item: GradedAnswer, verdict: ScoredPrediction, told: str) -> str:
        """The answer, what was expected, and where judge and people differ."""
        inputs = self.judge_inputs(item.case, item.answer)
        shown = inputs.get("description") or f"{inputs['given']}, expected {inputs['expected']}"
        return f"Answer: {shown}\n{told}\nThe judge's reasons: {verdict.prediction.reasoning}"

    def notes(self, demos: int) -> Sequence[str]:
        """None of worked examples."""
        del demos
        return ["people are the sample's authors, who are language-model agents"]
