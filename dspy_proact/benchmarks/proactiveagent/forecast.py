"""What the agent is asked at a turn, and the calls that a run of ProactiveAgent makes."""

from collections.abc import Sequence
from typing import Any

from dspy_proact.benchmarks.proactiveagent.turns import Assistance, Earlier, ProactiveAgentSettings, TurnView
from dspy_proact.runs import Case, ExpectedCall, Settings

_ANSWER_TOKENS, _VERDICT_TOKENS = (60, 600), (60, 400)
"""Of an answer and of a verdict: assumed."""
_ASSUMED = Assistance(proposals=(" ".join(["word"] * 20),))


def events_of(view: Any) -> dict[str, Any]:
    """The inputs of the agent without its earlier answers."""
    assert isinstance(view, TurnView), "the benchmark makes its own cases"
    return {"events": list(view.events)}


def agent_inputs(case: Case, answers: Sequence[Assistance | None], history: int) -> dict[str, Any]:
    """The inputs of the agent, which is shown its earlier answers where the settings say so."""
    return events_of(case.view) | ({"earlier": Earlier.of(answers, history)} if history else {})


def answer_calls(case: Case, program: Any, settings: Settings) -> Sequence[ExpectedCall]:
    """The one question, with a proposal at each earlier turn."""
    history, turns = ProactiveAgentSettings.of(settings).history, int(case.meta["turn"])
    return [ExpectedCall(program.messages(agent_inputs(case, [_ASSUMED] * (turns - 1), history)), _ANSWER_TOKENS)]


def grade_calls(case: Case, answer: Assistance | None, judge: Any, settings: Settings) -> Sequence[ExpectedCall]:
    """A question a proposal, or one about silence."""
    from dspy_proact.benchmarks.proactiveagent.programs import judge_inputs

    view, proposals = case.view_as(TurnView), (answer or _ASSUMED).proposals or ("",)
    return [ExpectedCall(judge.messages(judge_inputs(view, proposal)), _VERDICT_TOKENS) for proposal in proposals]
