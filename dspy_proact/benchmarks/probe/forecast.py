"""The calls that a run of PROBE makes."""

from collections.abc import Sequence
from typing import Any

from dspy_proact.benchmarks.probe.settings import ProbeSettings
from dspy_proact.benchmarks.probe.task import ProbeView, Solution, shown
from dspy_proact.runs import Case, ExpectedCall, Settings

SOLUTION_TOKENS = (150, 4000)
"""Of an answer in one call: assumed, from the tersest to one that thinks aloud."""
_VERDICT_TOKENS = (150, 600)
"""Of a verdict: assumed."""
ASSUMED_WORDS = 60
"""Of a description that is not written yet."""


def answer_calls(case: Case, program: Any, settings: Settings) -> Sequence[ExpectedCall] | None:
    """The one call of `single`, and those of `stages`, each counted as long as the first; others' depend on answers."""
    wanted = ProbeSettings.of(settings)
    if wanted.agent not in ("single", "stages"):
        return None
    messages = program.messages(shown(wanted.oracle, case.view_as(ProbeView)).inputs)
    return [ExpectedCall(messages, SOLUTION_TOKENS)] * (len(program.predictors()) if wanted.agent == "stages" else 1)


def grade_calls(case: Case, answer: Solution | None, judge: Any, settings: Settings) -> Sequence[ExpectedCall]:
    """The first request to each judge that has something to judge."""
    from dspy_proact.benchmarks.probe.judging import questions_of

    view, wanted = case.view_as(ProbeView), ProbeSettings.of(settings)
    if answer is None and wanted.baseline == "none":
        words, gold = "word " * ASSUMED_WORDS, view.gold
        answer = Solution(bottleneck=words, action=gold.action, parameters=gold.parameters)
    questions = questions_of(view, answer or Solution(), wanted)
    return [ExpectedCall(judge.messages(inputs), _VERDICT_TOKENS) for inputs in questions.values()]
