"""Worked cases of the judge's rules: for each rule and its neighbour a response, the grade that follows, and why.

They are the judge's prompt as examples, written for this project, with one plain answer each. They say whether a judge
keeps to its rules, and nothing about how hard real responses are to grade.
"""

import json
from importlib.resources import files

from dspy_proact.benchmarks.proactbench.types import Grade
from dspy_proact.benchmarks.proactbench.views import JudgeView
from dspy_proact.types import Frozen

DATA = files("dspy_proact.benchmarks.proactbench") / "data"


class JudgeCase(Frozen):
    """A response whose grade follows from one rule."""

    name: str
    rule: str
    """What it is about, such as `Questions` or a phase."""
    view: JudgeView
    response: str
    grade: Grade
    why: str


def judge_cases() -> tuple[JudgeCase, ...]:
    """The 40 cases, those of a rule beside its neighbours."""
    held = json.loads((DATA / "judge_cases.json").read_text(encoding="utf-8"))
    views = {
        scene: JudgeView.model_validate({**shown, "turn": len(shown["conversation"])})
        for scene, shown in held["scenes"].items()
    }
    return tuple(JudgeCase(view=views[case.pop("scene")], **case) for case in held["cases"])
