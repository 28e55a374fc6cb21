"""How PROBE's agents and judges are compiled: by instructions alone, for a worked example would be a whole mailbox."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dspy_proact.benchmarks.probe.judging import questions_of
from dspy_proact.benchmarks.probe.settings import ProbeSettings
from dspy_proact.benchmarks.probe.task import Document, Email, Item, ProbeView, Solution
from dspy_proact.errors import UsageError
from dspy_proact.evaluation.people import parts_of
from dspy_proact.evaluation.ratings import RatedItem
from dspy_proact.evaluation.tuning import Aim, CardRows, Feedback, Tuning, judge_aim, proposals_of
from dspy_proact.programs.artefact import ProgramRole
from dspy_proact.runs import Case, Scored

_FEW, _TITLES = 4, 8
"""Items of a mailbox that a proposer is shown, and titles of others."""


_AGENT = """\
The program looks after one person's work. Unasked it is to find the one bottleneck in the person's e-mails, calendar \
and documents, and to resolve it with one action.
Its score is the mean of three stages. Search: precision and recall (F1) of the items that it names as evidence. \
Identification: 1 where who is held up, by whom or what, in which task and why are right, and deadline, place, \
mechanism and impact too; 0.5 where only the first four are; else 0. Resolution: 0, 0.5 or 1 for the right action with \
the right parameters.
Labels, from best to worst: SOLVED (all of it), PARTIAL, FAILED (nothing)."""


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
        settings.require_effect(settings.model_fields_set)

    def aim(self, role: ProgramRole, predictor: str, words: float | None, harm: float | None) -> Aim:
        """For an agent what its score is made of; for one of the judges the parts that it is asked about."""
        if role == "judge":
            parts, of_parameters = parts_of(self.declared), predictor.startswith("resolution")
            own = [part for part in parts if part.tuned and (part.name == "parameters") == of_parameters]
            return judge_aim(self.declared, own)
        return replace(super().aim(role, predictor, words, harm), purpose=_AGENT)

    def excerpt(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Of a mailbox what was named as evidence and titles of others, of actions the one that was taken."""
        shown = dict(inputs)
        if "world" in inputs:
            shown["world"] = f"{inputs['world'].person}, {inputs['world'].occupation}; today is {inputs['world'].today}"
        if "actions" in inputs:
            taken = [action for action in inputs["actions"] if action.id == outputs.get("action")]
            needs = [f"{action.id} needs {', '.join(action.required)}" for action in taken]
            others = [action.id for action in inputs["actions"] if action not in taken]
            shown["actions"] = [*needs, f"others: {', '.join(others)}"]
        if "documents" in inputs:
            items = list(inputs["documents"])
            named = [item for item in items if item.id in (outputs.get("evidence") or ())] or items
            titles = [_title(item) for item in items if item not in named[:_FEW]]
            shown["documents"] = [_in_short(item) for item in named[:_FEW]]
            shown["documents"] += [f"{len(titles)} others, such as {'; '.join(titles[:_TITLES])}"] if titles else []
        return shown

    def feedback(self, case: Case, answer: Solution, scored: Scored[Any] | None) -> Feedback:
        """How each stage did; the error is that of the first stage that lacks most."""
        usual = super().feedback(case, answer, scored)
        if scored is None or not usual.error:
            return usual
        stages = {
            "search": scored.detail.search.f1,
            **{name: getattr(scored.detail, name) for name in ("identification", "task")},
        }
        return replace(usual, error=f"{min(stages, key=lambda name: stages[name])} falls short")

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

    def notes(self, demos: int, raters: Sequence[str]) -> Sequence[str]:
        """None of worked examples."""
        del demos, raters
        return ["people are the sample's authors, who are language-model agents"]


def _title(item: Item) -> str:
    return item.subject if isinstance(item, Email) else item.title


def _in_short(item: Item) -> str:
    if isinstance(item, Email):
        return f"{item.id}, e-mail of {item.timestamp[:10]} from {item.sender}: {item.subject}. {item.body}"
    if isinstance(item, Document):
        return f"{item.id}, document: {item.title}. {item.content}"
    return f"{item.id}, event on {item.start_time[:16]}: {item.title}. {item.description}"
