"""The calls that a run of ProactBench makes."""

from collections.abc import Sequence
from typing import Any

from dspy_proact.benchmarks.proactbench.types import AssistantView, ControlView, JudgeView, Response, conversation_of
from dspy_proact.runs import Case, ExpectedCall, Settings

ASSUMED_WORDS = 300
"""Of a response that is not written yet, in the judge's prompt."""
RESPONSE_TOKENS = (250, 3800)
"""Of one response: from the tersest to the most talkative of the published models, on average (264 and 3,792)."""
VERDICT_TOKENS = (450, 550)
"""Of one verdict, likewise (457 and 520)."""


def answer_calls(case: Case, program: Any, settings: Settings) -> Sequence[ExpectedCall]:
    """The bare chat, or what a prompt makes of it."""
    return [ExpectedCall(program.messages(AssistantView.of(conversation_of(case.view)).inputs), RESPONSE_TOKENS)]


def grade_calls(case: Case, answer: Response | None, judge: Any, settings: Settings) -> Sequence[ExpectedCall]:
    """The judge's question, or the detector's."""
    from dspy_proact.benchmarks.proactbench.programs import OfferDetector

    assert isinstance(case.view, JudgeView | ControlView), "ProactBench makes its own cases"
    program: Any = OfferDetector() if isinstance(case.view, ControlView) else judge
    inputs = case.view.inputs(answer.text if answer else "word " * ASSUMED_WORDS)
    return [ExpectedCall(program.messages(inputs), VERDICT_TOKENS)]
