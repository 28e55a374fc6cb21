"""A training set of an agent: tasks of some people, graded by the tuning judge."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock

import dspy

from dspy_proact.benchmarks.probe.agents import AgentModule
from dspy_proact.benchmarks.probe.compile.grader import Grader
from dspy_proact.benchmarks.probe.scoring import ProbeGrade
from dspy_proact.benchmarks.probe.task import ProbeView, Solution
from dspy_proact.compile.excerpts import Excerpts
from dspy_proact.compile.training import Proposal, Training

NO_VERDICT = 0.5
"""Score of a solution whose verdict cannot be read: the judge's failure is not the agent's."""
UNREAD = "The judge's verdict on this answer could not be read."


class ProposeQuestion(dspy.Signature):
    """Write a better instruction for one question that is put to an agent.

    The agent finds the one bottleneck in a person's mailbox, calendar and folders, says what it is, and resolves it
    with one action. Keep what the question asks for; state principles, and do not mention single people or tasks.
    """

    instruction: str = dspy.InputField(desc="the instruction of this question now")
    shortfalls: list[str] = dspy.InputField(desc="answers of the agent, and how they were graded")
    tip: str = dspy.InputField(desc="what to try")
    improved_instruction: str = dspy.OutputField(desc="the instruction alone")


PROPOSAL = Proposal(
    ProposeQuestion,
    (
        "Say how to tell what is still open and holds others up from what is settled, out of date or merely loud.",
        "Have it cross-check: what one item leaves open another one tells, by the names that they have in common.",
        "Have it be definite and sparing: no item, person, date or value that nothing bears out.",
    ),
)


@dataclass(frozen=True)
class AgentTraining(Training[AgentModule]):
    """Tasks to learn from and to compare on."""

    views: Mapping[str, ProbeView]
    """All of these, by key; what is right of any other task is out of reach."""
    grader: Grader
    """With the tuning judge."""
    shown: Excerpts
    """Of mailboxes."""
    _found: dict[tuple[str, str], ProbeGrade | None] = field(default_factory=dict, repr=False, compare=False)
    _turn: Lock = field(default_factory=Lock, repr=False, compare=False)

    @property
    def excerpts(self) -> Excerpts:
        """Of what an agent is asked."""
        return self.shown

    def score(self, example: dspy.Example, prediction: dspy.Prediction) -> float:
        """The paper's overall of the three stages."""
        grade = self._grade(example, prediction)
        return grade.overall if grade else NO_VERDICT

    def feedback(self, example: dspy.Example, prediction: dspy.Prediction) -> str:
        """How each stage did, in numbers and in the words of facets; nothing of what is right."""
        grade = self._grade(example, prediction)
        return "\n".join(_told(grade)) if grade else UNREAD

    def shortfall(self, example: dspy.Example, prediction: dspy.Prediction) -> str:
        """What it answered, and how that did."""
        solution = _solution(prediction)
        titles = {item.id: getattr(item, "subject", None) or getattr(item, "title", "") for item in example.documents}
        named = ", ".join(titles.get(each, "an item that there is not") for each in solution.evidence)
        return (
            f"Evidence: {named or 'none'}\nBottleneck: {solution.bottleneck or 'none'}\n"
            f"Action: {solution.action or 'none'} {solution.parameters}\n{self.feedback(example, prediction)}"
        )

    def _grade(self, example: dspy.Example, prediction: dspy.Prediction) -> ProbeGrade | None:
        """Asked once of a solution, which score and feedback are both made of."""
        solution = _solution(prediction)
        place = example.key, solution.model_dump_json(exclude={"touched", "turns"})
        with self._turn:
            if place in self._found:
                return self._found[place]
        found = self.grader.grade(self.views[example.key], solution)
        with self._turn:
            self._found[place] = found
        return found


def _solution(prediction: dspy.Prediction) -> Solution:
    return Solution.model_validate(prediction.toDict())


def _told(grade: ProbeGrade) -> list[str]:
    search, facets = grade.search, grade.identified.facets.model_dump() if grade.identified else {}
    wrong = [f"{name} {word}" for name, word in facets.items() if word not in {"correct", "n/a"}]
    action = "right" if grade.action_right else "not the one that resolves it"
    lines = [
        f"Search: precision {search.precision:.2f}, recall {search.recall:.2f}; {len(grade.wrong)} of the items that "
        f"it named are no evidence, {len(grade.missed)} are missing.",
        f"Identification: {grade.identification:g}; {', '.join(wrong) or ('all right' if facets else 'nothing said')}.",
        f"Resolution: {grade.task:g}; the action is {action}.",
    ]
    if grade.resolved:
        told = {"missing": grade.resolved.missing, "wrong": grade.resolved.incorrect}
        lines += [f"Parameters {name}: {', '.join(names)}." for name, names in told.items() if names]
    return [*lines, *([f"Faults of form: {', '.join(grade.faults)}."] if grade.faults else [])]
