"""How PROBE's agents and judges are compiled: by instructions alone, for a worked example would be a whole mailbox."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import dspy

from dspy_proact.benchmarks.probe.benchmark import SOLUTION_TOKENS
from dspy_proact.benchmarks.probe.judging import description_inputs, identified, parameters_inputs, resolved
from dspy_proact.benchmarks.probe.scoring import ProbeGrade, graded, is_described, is_filled, label_of
from dspy_proact.benchmarks.probe.settings import ProbeSettings
from dspy_proact.benchmarks.probe.task import PARTS, ProbeView, Solution
from dspy_proact.compile.training import Proposal
from dspy_proact.compile.tuning import GradedAnswer, GradedAnswers, ProposeJudge, ProposeProgram, Tuning, Verdict
from dspy_proact.errors import UsageError
from dspy_proact.programs.artefact import ProgramRole
from dspy_proact.runs import Case, ExpectedCall, Scored

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


class ProbeTuning(Tuning):
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
                raise UsageError(f"--set {name}: optimize judge reads no setting of probe; {why}. Leave it out")
            return
        if settings.agent not in ("single", "stages"):
            why = "what it asks depends on answers"
            raise UsageError(f"--set agent={settings.agent}: {why}; tune single or stages")
        for name in ("oracle", "baseline", "embedder", "embedder_api_base", "embedder_price"):
            if (value := getattr(settings, name)) not in ("none", None):
                raise UsageError(f"--set {name}={value}: cannot be tuned; leave it out")

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

    def graded(self, source: Any) -> GradedAnswers:
        """What people graded, as an answer to each of the two judges: what the other one is asked about is left out."""
        people, items = super().graded(source), list[GradedAnswer]()
        settings = ProbeSettings()
        for item in people.items:
            answer, gold = item.answer, item.case.view_as(ProbeView).gold
            assert isinstance(answer, Solution), "people grade the benchmark's own answers"
            said = {part: grades for part, grades in item.grades.items() if part != "parameters"}
            done = {part: grades for part, grades in item.grades.items() if part == "parameters"}
            if said and is_described(answer, settings):
                alone = answer.model_copy(update={"action": "", "parameters": {}})
                items.append(replace(item, answer=alone, grades=said))
            if done and is_filled(answer, gold, settings):
                key = f"{item.key} (parameters)" if said else item.key
                alone = answer.model_copy(update={"bottleneck": ""})
                items.append(replace(item, key=key, answer=alone, grades=done))
        return replace(people, items=tuple(items))

    def judge_inputs(self, case: Case, answer: Any) -> dict[str, Any]:
        """Of the judge of descriptions where there is one, else of that of parameters."""
        if answer.bottleneck:
            return description_inputs(case.view_as(ProbeView), answer.bottleneck)
        return parameters_inputs(case.view_as(ProbeView), answer.parameters)

    def verdict(self, case: Case, answer: Solution, prediction: dspy.Prediction) -> Scored[ProbeGrade]:
        """The grade with one of the verdicts in it."""
        said = (identified(prediction), None) if answer.bottleneck else (None, resolved(prediction))
        grade = graded(case.view_as(ProbeView), answer, ProbeSettings.of(self.settings), *said)
        return Scored(grade.overall, label_of(grade), grade)

    def judge_shortfall(self, item: GradedAnswer, verdict: Verdict, told: str) -> str:
        """The answer, what was expected, and where judge and people differ."""
        inputs = self.judge_inputs(item.case, item.answer)
        shown = inputs.get("description") or f"{inputs['given']}, expected {inputs['expected']}"
        return f"Answer: {shown}\n{told}\nThe judge's reasons: {verdict.prediction.reasoning}"

    def notes(self, demos: int) -> Sequence[str]:
        """None of worked examples."""
        del demos
        return ["people are the sample's authors, who are language-model agents"]
