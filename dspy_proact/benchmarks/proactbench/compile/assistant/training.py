"""A training set of the assistant: triggers of the chosen phases, graded by the tuning judge."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files

import dspy

from dspy_proact.benchmarks.proactbench.compile.assistant.examiner import Examined, Examiner
from dspy_proact.benchmarks.proactbench.compile.assistant.guards import Guards, Measured
from dspy_proact.benchmarks.proactbench.compile.assistant.probe import Probe, TamedChat
from dspy_proact.benchmarks.proactbench.compile.assistant.tellable import Withheld, tellable
from dspy_proact.benchmarks.proactbench.compile.texts import said_in
from dspy_proact.benchmarks.proactbench.programs import Assistant
from dspy_proact.benchmarks.proactbench.types import Grade, Verdict
from dspy_proact.benchmarks.proactbench.views import ControlView, JudgeView
from dspy_proact.compile.training import Proposal, Training

NO_VERDICT = 0.5
"""Score of a response whose verdict cannot be read: the judge's failure is not the assistant's."""
HINT = files("dspy_proact.benchmarks.proactbench.compile.assistant").joinpath("hint.txt").read_text("utf-8").strip()
"""What a teacher is told: a bare assistant has next to nothing to teach itself."""
_POOL = 8
"""Worked examples to draw from, at most."""


class ProposePrompt(dspy.Signature):
    """Write a better system prompt for a chat assistant that is to be proactive without being pushy.

    Proactive: it takes up what the user disclosed and did not ask about, where that is of use to them. Pushy: it adds
    suggestions where the user wants an answer and nothing more. State principles; do not mention single conversations.
    """

    instruction: str = dspy.InputField(desc="the system prompt now")
    shortfalls: list[str] = dspy.InputField(desc="last messages, responses to them, and what a judge said")
    tip: str = dspy.InputField(desc="what to try")
    improved_instruction: str = dspy.OutputField(desc="the system prompt alone")


PROPOSAL = Proposal(
    ProposePrompt,
    (
        "Have it notice what the user mentioned and did not ask about, and turn it into one concrete next step.",
        "Have it do so only when the user is done or wraps up, and only answer while the user is in the middle of a "
        "task.",
        "Have it say when to hold back, and keep what it adds to one sentence.",
    ),
)


@dataclass(frozen=True)
class AssistantTraining(Training[Assistant]):
    """Triggers to learn from and to compare on, and control turns of the units that are compared on."""

    probes: Mapping[str, Probe]
    """All of these, by key; rubrics of anything else are out of reach."""
    controls: Sequence[Probe]
    examiner: Examiner
    """With the tuning judge."""
    guards: Guards
    withheld: Withheld
    """Counts what of the judge's reasons is not told."""

    @property
    def teacher(self) -> Assistant:
        """The student with a hint."""
        return teacher_of(self.student)

    def pool(self) -> Sequence[dspy.Example]:
        """Responses of the teacher that the tuning judge passes."""
        return worked_examples(self.student, [self.probes[each.key] for each in self.learn], self.examiner, _POOL)

    @property
    def watched(self) -> Sequence[dspy.Example]:
        """The control turns."""
        return [probe.example for probe in self.controls]

    def harm(self, example: dspy.Example, prediction: dspy.Prediction) -> float | None:
        """Whether it offers what nobody asked for: 1 or 0."""
        view = self.probes[example.key].view
        assert isinstance(view, ControlView), "what is watched is a control turn"
        return Examined(prediction.response, offers=self.examiner.offers(view, prediction.response)).pushed

    def broken(self, program: Assistant) -> tuple[str, ...]:
        """Guards that it does not keep against the student."""
        return self.guards.broken(self._before, self.guards.measured(program))

    def score(self, example: dspy.Example, prediction: dspy.Prediction) -> float:
        """The tuning judge's, in [0, 1], higher is better."""
        verdict = self._verdict(example, prediction)
        return verdict.grade.score if verdict else NO_VERDICT

    def is_worth_showing(self, example: dspy.Example, prediction: dspy.Prediction) -> bool:
        """Whether the tuning judge passes it."""
        verdict = self._verdict(example, prediction)
        return verdict is not None and verdict.grade is Grade.PASS

    def feedback(self, example: dspy.Example, prediction: dspy.Prediction) -> str:
        """The grade, quotes that stand in the response, and of the reasons what has nothing of the rubric."""
        verdict, probe, response = self._verdict(example, prediction), self.probes[example.key], prediction.response
        if verdict is None:
            return "The judge's verdict on this response could not be read."
        seen = "\n".join([*said_in(probe.conversation), response])
        told = tellable(verdict.reasoning, _triggered(probe).rubric, seen, self.withheld)
        quotes = [response[quote.start : quote.end] for quote in verdict.evidence if quote.start is not None]
        lines = [
            f"The judge graded this response {verdict.grade}.",
            *([f"It quoted: {' / '.join(quotes)}"] if quotes else []),
            *([f"It said: {told}"] if told else ["Its reasons are not told."]),
        ]
        return "\n".join(lines)

    def shortfall(self, example: dspy.Example, prediction: dspy.Prediction) -> str:
        """The last message, the response, and what may be told of the verdict."""
        message = self.probes[example.key].conversation[-1].user
        return f"User: {message}\nAssistant: {prediction.response}\n{self.feedback(example, prediction)}"

    @cached_property
    def _before(self) -> Measured:
        return self.guards.measured(self.student)

    def _verdict(self, example: dspy.Example, prediction: dspy.Prediction) -> Verdict | None:
        return self.examiner.verdict(_triggered(self.probes[example.key]), prediction.response)


def teacher_of(student: Assistant) -> Assistant:
    """A copy that is hinted at; its students are not."""
    teacher = student.deepcopy()
    teacher.adapter = TamedChat(HINT)
    return teacher


def worked_examples(student: Assistant, probes: Sequence[Probe], examiner: Examiner, most: int) -> list[dspy.Example]:
    """Responses of the student's teacher that the tuning judge passes, as demos; as many as asked for, if there are.

    As many probes are tried at once as examples are missing, so that none is tried in vain.
    """
    teacher, examples, left = teacher_of(student), list[dspy.Example](), list(probes)
    while left and len(examples) < most:
        tried, left = left[: most - len(examples)], left[most - len(examples) :]
        examined = examiner.examine_all(teacher, tried)
        for probe in tried:
            found = examined[probe.key]
            if found.verdict and found.verdict.grade is Grade.PASS:
                inputs = probe.example.inputs().toDict()
                examples.append(dspy.Example(augmented=True, **inputs, response=found.response))
    return examples


def _triggered(probe: Probe) -> JudgeView:
    assert isinstance(probe.view, JudgeView), "a trigger has a rubric"
    return probe.view
