"""How PROBE's agents and judges are compiled: by instructions alone, for a worked example would be a whole mailbox."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dspy_proact.benchmarks.probe.judging import questions_of
from dspy_proact.benchmarks.probe.settings import ProbeSettings
from dspy_proact.benchmarks.probe.task import PARTS, ProbeView, Solution
from dspy_proact.errors import UsageError
from dspy_proact.evaluation.ratings import RatedItem
from dspy_proact.evaluation.tuning import CardRows, Feedback, ScoredPrediction, Tuning, proposals_of
from dspy_proact.programs.artefact import ProgramRole
from dspy_proact.runs import Case, Scored


class OwnTuning(Tuning):
    """How PROBE's programs are compiled."""

    proposals = proposals_of(
        assistant=(
            "Say how to tell what is still open and holds others up from what is settled, out of date or merely loud.",
            "Have it cross-check: what one item leaves open another one tells, by the names that they have in common.",
            "Have it be definite and sparing: no item, person, date or value that nothing bears out.",
        ),
        judge=(
            "Say what counts as the same in other words.",
            "Say what a judge should not be taken in by.",
            "Draw the line between missing, wrong and not applying more clearly.",
        ),
        demos=False,
    )
    no_answer = Solution(faults=PARTS)
    rows = CardRows(measures=("f1", "identification", "task", "end_to_end"), titles={"f1": "search (F1)"})

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

    def feedback(self, case: Case, answer: Solution, scored: Scored[Any] | None) -> Feedback:
        """How each stage did; for those who have not seen it with what it answered."""
        usual, items = super().feedback(case, answer, scored), case.view_as(ProbeView).task.items
        titles = {item.id: getattr(item, "subject", None) or getattr(item, "title", "") for item in items}
        evidence = ", ".join(titles.get(id_, "an item that there is not") for id_ in answer.evidence)
        shortfall = (
            f"Evidence: {evidence or 'none'}\nBottleneck: {answer.bottleneck or 'none'}\n"
            f"Action: {answer.action or 'none'} {answer.parameters}\n{usual.text}"
        )
        return replace(usual, shortfall=shortfall)

    def judge_items(self, item: RatedItem) -> Sequence[RatedItem]:
        """An answer to each of the two judges: what the other one is asked about is left out."""
        assert isinstance(item.answer, Solution), "people grade the benchmark's own answers"
        done = {part: grades for part, grades in item.grades.items() if part == "parameters"}
        rest, key = {part: item.grades[part] for part in item.grades if part not in done}, item.key
        items: list[RatedItem] = []
        for grades, other in ((rest, {"action": "", "parameters": {}}), (done, {"bottleneck": ""})):
            alone = item.answer.model_copy(update=other)
            if grades and questions_of(item.case.view_as(ProbeView), alone, ProbeSettings()):
                items.append(replace(item, key=key, answer=alone, grades=grades))
            key = f"{item.key} (parameters)" if rest else key
        return items

    def judge_feedback(self, item: RatedItem, judgement: ScoredPrediction) -> Feedback:
        """Where judge and people differ; for those who have not seen it the answer, and what was expected."""
        usual, inputs = super().judge_feedback(item, judgement), self.question(item.case, item.answer).inputs
        shown = inputs.get("description") or f"{inputs['given']}, expected {inputs['expected']}"
        reasons = f"The judge's reasons: {judgement.prediction.reasoning}"
        return replace(usual, shortfall=f"Answer: {shown}\n{usual.text}\n{reasons}")

    def notes(self, demos: int, raters: Sequence[str]) -> Sequence[str]:
        """None of worked examples."""
        del demos, raters
        return ["people are the sample's authors, who are language-model agents"]
