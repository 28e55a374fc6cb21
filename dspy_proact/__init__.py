"""ProactBench with a judge and a proactive assistant that are DSPy programs.

Names are imported when they are first used, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dspy_proact.benchmarks import Execution, Responses
    from dspy_proact.benchmarks.proactbench import Evaluation, ProactBench, Rejudging
    from dspy_proact.corpus import Corpus, Ratings, load_corpus, load_ratings, read_results
    from dspy_proact.errors import Halt, ProactError
    from dspy_proact.models import Gate, Limits, ModelSpec, open_model
    from dspy_proact.programs import ASSISTANT, JUDGE, Assistant, Judge, OfferDetector, load_assistant
    from dspy_proact.report import (
        Comparison,
        Summary,
        compare,
        print_comparison,
        print_summary,
        summarize,
        summary_document,
    )
    from dspy_proact.report.proactbench import leaderboard, print_leaderboard, study, summarize_results
    from dspy_proact.runs import RunFolder, Scope
    from dspy_proact.stats import Estimate
    from dspy_proact.types import Dialogue, Grade, Phase, Response, Rubric, Trigger, Turn, Verdict
    from dspy_proact.views import AssistantView, JudgeView

__all__ = [
    "ASSISTANT",
    "JUDGE",
    "Assistant",
    "AssistantView",
    "Comparison",
    "Corpus",
    "Dialogue",
    "Estimate",
    "Evaluation",
    "Execution",
    "Gate",
    "Grade",
    "Halt",
    "Judge",
    "JudgeView",
    "Limits",
    "ModelSpec",
    "OfferDetector",
    "Phase",
    "ProactBench",
    "ProactError",
    "Ratings",
    "Rejudging",
    "Response",
    "Responses",
    "Rubric",
    "RunFolder",
    "Scope",
    "Summary",
    "Trigger",
    "Turn",
    "Verdict",
    "compare",
    "leaderboard",
    "load_assistant",
    "load_corpus",
    "load_ratings",
    "open_model",
    "print_comparison",
    "print_leaderboard",
    "print_summary",
    "read_results",
    "study",
    "summarize",
    "summarize_results",
    "summary_document",
]

_ROOMS = {
    "benchmarks": ["Execution", "Responses"],
    "benchmarks.proactbench": ["Evaluation", "ProactBench", "Rejudging"],
    "corpus": ["Corpus", "Ratings", "load_corpus", "load_ratings", "read_results"],
    "errors": ["Halt", "ProactError"],
    "models": ["Gate", "Limits", "ModelSpec", "open_model"],
    "programs": ["ASSISTANT", "JUDGE", "Assistant", "Judge", "OfferDetector", "load_assistant"],
    "report": [
        "Comparison",
        "Summary",
        "compare",
        "print_comparison",
        "print_summary",
        "summarize",
        "summary_document",
    ],
    "report.proactbench": ["leaderboard", "print_leaderboard", "study", "summarize_results"],
    "runs": ["RunFolder", "Scope"],
    "stats": ["Estimate"],
    "types": ["Dialogue", "Grade", "Phase", "Response", "Rubric", "Trigger", "Turn", "Verdict"],
    "views": ["AssistantView", "JudgeView"],
}
_HOMES = {name: room for room, names in _ROOMS.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
