"""What the program sees of a moment, and the calls that a run of ProAgentBench makes."""

from collections.abc import Sequence
from typing import Any

from dspy_proact.benchmarks.proagentbench.moments import MomentView, ProAgentBenchSettings
from dspy_proact.images import scaled
from dspy_proact.runs import Case, ExpectedCall, Settings

_ANSWER_TOKENS = (30, 600)
"""Of an answer: assumed."""


def agent_inputs(view: Any) -> dict[str, Any]:
    """What is seen, without the truth."""
    assert isinstance(view, MomentView), "the benchmark makes its own cases"
    seen = {"activity": list(view.activity), "current": view.current, "memory": view.memory}
    return seen | ({"screenshot": view.screenshot} if view.screenshot else {})


def answer_calls(case: Case, program: Any, settings: Settings) -> Sequence[ExpectedCall]:
    """The question as often as there are samples; a second stage is not foreseen."""
    wanted, shot = ProAgentBenchSettings.of(settings), case.view_as(MomentView).screenshot
    images = (scaled(shot.width, shot.height),) if shot else ()
    return [ExpectedCall(program.messages(agent_inputs(case.view)), _ANSWER_TOKENS, images)] * wanted.samples
