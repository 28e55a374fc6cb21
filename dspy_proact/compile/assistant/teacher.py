"""The teacher: the same assistant with a hint in its adapter. A bare assistant has next to nothing to teach itself."""

from collections.abc import Sequence
from importlib.resources import files

import dspy

from dspy_proact.compile.assistant.panel import Panel
from dspy_proact.compile.assistant.probe import Probe, TamedChat
from dspy_proact.programs import Assistant
from dspy_proact.types import Grade

HINT = files("dspy_proact.compile.assistant").joinpath("hint.txt").read_text("utf-8").strip()


def teacher_of(student: Assistant) -> Assistant:
    """A copy that is hinted at; its students are not."""
    teacher = student.deepcopy()
    teacher.adapter = TamedChat(HINT)
    return teacher


def worked_examples(student: Assistant, probes: Sequence[Probe], panel: Panel, most: int) -> list[dspy.Example]:
    """Responses of the student's teacher that the tuning judge passes, as demos; as many as asked for, if there are."""
    teacher = teacher_of(student)
    examples: list[dspy.Example] = []
    for probe in probes:
        if len(examples) == most:
            break
        played = panel.play(teacher, [probe])[probe.key]
        if played.verdict and played.verdict.grade is Grade.PASS:
            inputs = probe.example.inputs().toDict()
            examples.append(dspy.Example(augmented=True, **inputs, response=played.response))
    return examples
