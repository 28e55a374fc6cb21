"""The teacher: the same assistant with a hint in its adapter. A bare assistant has next to nothing to teach itself."""

from collections.abc import Sequence
from importlib.resources import files

import dspy

from dspy_proact.compile.assistant.examiner import Examiner
from dspy_proact.compile.assistant.probe import Probe, TamedChat
from dspy_proact.programs import Assistant
from dspy_proact.types import Grade

HINT = files("dspy_proact.compile.assistant").joinpath("hint.txt").read_text("utf-8").strip()


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
