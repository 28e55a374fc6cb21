"""Benchmarks of proactive assistants, and judges and assistants as DSPy programs that can be compiled.

Names are imported when they are first used, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dspy_proact.benchmarks.proactbench.benchmark import ProactBench
    from dspy_proact.benchmarks.proactbench.cases import cases_of, responses_of_results
    from dspy_proact.benchmarks.proactbench.corpus.dialogues import Corpus, load_corpus
    from dspy_proact.benchmarks.proactbench.corpus.results import read_results
    from dspy_proact.benchmarks.proactbench.programs import ASSISTANT, JUDGE, Assistant, Judge, OfferDetector
    from dspy_proact.benchmarks.proactbench.report.results import export_results, summarize_results
    from dspy_proact.benchmarks.proactbench.types import (
        AssistantView,
        Dialogue,
        Grade,
        JudgeView,
        Phase,
        Response,
        Rubric,
        Trigger,
        Turn,
        Verdict,
    )
    from dspy_proact.compile.assistant_target import AssistantTarget
    from dspy_proact.compile.compile import Compile
    from dspy_proact.compile.judge_target import JudgeTarget
    from dspy_proact.errors import ContentError, Halt, ProactError
    from dspy_proact.evaluation.benchmark import Benchmark, CallForecast, CorpusFacts, ModelDefaults, Rule, Start
    from dspy_proact.evaluation.compiled import load_assistant, load_judge
    from dspy_proact.evaluation.evaluation import Evaluation, Rejudging
    from dspy_proact.evaluation.execution import Execution
    from dspy_proact.evaluation.people import HumanGrade, Part, People
    from dspy_proact.evaluation.published import Published, PublishedRow
    from dspy_proact.evaluation.ratings import RatedItem, Ratings
    from dspy_proact.evaluation.responses import Responses
    from dspy_proact.evaluation.results import ResultsFormat
    from dspy_proact.evaluation.transcript import transcript
    from dspy_proact.evaluation.trial import Trial
    from dspy_proact.models import Gate, Limits, ModelSpec, open_model
    from dspy_proact.programs.artefact import read_artefact, read_judge
    from dspy_proact.recipe import Recipe
    from dspy_proact.report import (
        Comparison,
        Corrected,
        Reading,
        Summary,
        compare,
        compare_corrected,
        export_csv,
        export_parquet,
        leaderboard,
        print_comparison,
        print_corrected,
        print_leaderboard,
        print_reading,
        print_summary,
        summarize,
        summary_document,
    )
    from dspy_proact.report.corrected import peoples_ratings
    from dspy_proact.report.pairs import load_pairs, print_pairs
    from dspy_proact.report.plan import labelling_plan
    from dspy_proact.report.ratings import draw_of, load_ratings, rated_items, rating_sheet
    from dspy_proact.report.study import studies, study
    from dspy_proact.report.study_text import print_studies, print_study
    from dspy_proact.runs import Case, CaseSet, Measure, Nouns, RunFolder, Scope, Scored, Settings
    from dspy_proact.stats import Estimate

__all__ = [
    "ASSISTANT",
    "JUDGE",
    "Assistant",
    "AssistantTarget",
    "AssistantView",
    "Benchmark",
    "CallForecast",
    "Case",
    "CaseSet",
    "Comparison",
    "Compile",
    "ContentError",
    "Corpus",
    "CorpusFacts",
    "Corrected",
    "Dialogue",
    "Estimate",
    "Evaluation",
    "Execution",
    "Gate",
    "Grade",
    "Halt",
    "HumanGrade",
    "Judge",
    "JudgeTarget",
    "JudgeView",
    "Limits",
    "Measure",
    "ModelDefaults",
    "ModelSpec",
    "Nouns",
    "OfferDetector",
    "Part",
    "People",
    "Phase",
    "ProactBench",
    "ProactError",
    "Published",
    "PublishedRow",
    "RatedItem",
    "Ratings",
    "Reading",
    "Recipe",
    "Rejudging",
    "Response",
    "Responses",
    "ResultsFormat",
    "Rubric",
    "Rule",
    "RunFolder",
    "Scope",
    "Scored",
    "Settings",
    "Start",
    "Summary",
    "Trial",
    "Trigger",
    "Turn",
    "Verdict",
    "cases_of",
    "compare",
    "compare_corrected",
    "draw_of",
    "export_csv",
    "export_parquet",
    "export_results",
    "labelling_plan",
    "leaderboard",
    "load_assistant",
    "load_corpus",
    "load_judge",
    "load_pairs",
    "load_ratings",
    "open_model",
    "peoples_ratings",
    "print_comparison",
    "print_corrected",
    "print_leaderboard",
    "print_pairs",
    "print_reading",
    "print_studies",
    "print_study",
    "print_summary",
    "rated_items",
    "rating_sheet",
    "read_artefact",
    "read_judge",
    "read_results",
    "responses_of_results",
    "studies",
    "study",
    "summarize",
    "summarize_results",
    "summary_document",
    "transcript",
]

_ROOMS = {
    "evaluation.benchmark": "Benchmark CallForecast CorpusFacts ModelDefaults Rule Start",
    "evaluation.people": "HumanGrade Part People",
    "evaluation.evaluation": "Evaluation Rejudging",
    "evaluation.execution": "Execution",
    "benchmarks.proactbench.benchmark": "ProactBench",
    "benchmarks.proactbench.cases": "cases_of responses_of_results",
    "evaluation.compiled": "load_assistant load_judge",
    "compile.assistant_target": "AssistantTarget",
    "compile.compile": "Compile",
    "compile.judge_target": "JudgeTarget",
    "benchmarks.proactbench.corpus.dialogues": "Corpus load_corpus",
    "benchmarks.proactbench.corpus.results": "read_results",
    "benchmarks.proactbench.programs": "ASSISTANT Assistant JUDGE Judge OfferDetector",
    "benchmarks.proactbench.report.results": "export_results summarize_results",
    "evaluation.transcript": "transcript",
    "evaluation.trial": "Trial",
    "benchmarks.proactbench.types": (
        "AssistantView Dialogue Grade JudgeView Phase Response Rubric Trigger Turn Verdict"
    ),
    "evaluation.published": "Published PublishedRow",
    "evaluation.ratings": "RatedItem Ratings",
    "evaluation.responses": "Responses",
    "evaluation.results": "ResultsFormat",
    "errors": "ContentError Halt ProactError",
    "models": "Gate Limits ModelSpec open_model",
    "programs.artefact": "read_artefact read_judge",
    "recipe": "Recipe",
    "report": (
        "Comparison Corrected Reading Summary compare compare_corrected export_csv export_parquet leaderboard "
        "print_comparison print_corrected print_leaderboard print_reading print_summary summarize summary_document"
    ),
    "report.corrected": "peoples_ratings",
    "report.pairs": "load_pairs print_pairs",
    "report.plan": "labelling_plan",
    "report.ratings": "draw_of load_ratings rated_items rating_sheet",
    "report.study": "studies study",
    "report.study_text": "print_studies print_study",
    "runs": "Case CaseSet Measure Nouns RunFolder Scope Scored Settings",
    "stats": "Estimate",
}
"""Names by the module that they are imported from, separated by blanks."""
_HOMES = {name: room for room, names in _ROOMS.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
