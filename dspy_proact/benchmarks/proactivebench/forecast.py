"""The calls that a run of ProactiveBench makes, with the images that they show."""

from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO
from typing import Any

from dspy_proact.benchmarks.proactivebench.trajectory import ProactiveBenchSettings, Sample, Trajectory, right_answers
from dspy_proact.images import measured, scaled
from dspy_proact.runs import Case, ExpectedCall, Settings

_ANSWER_TOKENS, _VERDICT_TOKENS, _ASSUMED = (10, 300), (20, 100), "word " * 30
"""Of an answer and of a verdict, and an open answer: assumed."""


def judge_inputs(case: Case, text: str, settings: Settings) -> dict[str, Any]:
    """What the judge is shown of an open answer."""
    environment = case.view_as(Sample).played(ProactiveBenchSettings.of(settings))
    return {"question": environment.question(), "right_answers": right_answers(environment)[0], "answer": text}


def answer_calls(case: Case, program: Any, settings: Settings) -> Sequence[ExpectedCall]:
    """The first steps, with the images that they show."""
    wanted, sample = ProactiveBenchSettings.of(settings), case.view_as(Sample)
    made = sample.played(wanted)
    path, crop, most = made.path(made.start), made.crop(made.start), wanted.longest
    size = measured(BytesIO(sample.images.load(made.world, path)), path, sample.images.source_of(made.world, path))
    shown = scaled(*((round(crop[2] - crop[0]), round(crop[3] - crop[1])) if crop else size), most)
    solved = sum(2 if made.world.name == "ROD" else entry.num_images for entry in sample.examples)
    call = ExpectedCall(program.messages({"sample": sample}), _ANSWER_TOKENS, images=(shown,) * (solved + 1))
    if wanted.program == "open" or wanted.reference:
        return [call]
    return [call, replace(call, images=(shown,) * (solved + 1 + wanted.history))]


def grade_calls(case: Case, answer: Trajectory | None, judge: Any, settings: Settings) -> Sequence[ExpectedCall]:
    """One question about an open answer."""
    inputs = judge_inputs(case, answer.steps[0].text if answer else _ASSUMED, settings)
    return [ExpectedCall(judge.messages(inputs), _VERDICT_TOKENS)] if judge else []
