"""Benchmarks of proactive assistants, and judges and assistants as DSPy programs that can be compiled.

Names are imported when they are first used, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dspy_proact.apps import opened_app as opened_app
    from dspy_proact.audit.audit import Audit as Audit
    from dspy_proact.benchmarks.proactbench.benchmark import ProactBench as ProactBench
    from dspy_proact.benchmarks.proactbench.cases import cases_of as cases_of
    from dspy_proact.benchmarks.proactbench.cases import responses_of_results as responses_of_results
    from dspy_proact.benchmarks.proactbench.corpus.dialogues import Corpus as Corpus
    from dspy_proact.benchmarks.proactbench.corpus.dialogues import load_corpus as load_corpus
    from dspy_proact.benchmarks.proactbench.corpus.results import read_results as read_results
    from dspy_proact.benchmarks.proactbench.programs import ASSISTANT as ASSISTANT
    from dspy_proact.benchmarks.proactbench.programs import JUDGE as JUDGE
    from dspy_proact.benchmarks.proactbench.programs import Assistant as Assistant
    from dspy_proact.benchmarks.proactbench.programs import Judge as Judge
    from dspy_proact.benchmarks.proactbench.programs import OfferDetector as OfferDetector
    from dspy_proact.benchmarks.proactbench.report.results import export_results as export_results
    from dspy_proact.benchmarks.proactbench.report.results import summarize_results as summarize_results
    from dspy_proact.benchmarks.proactbench.types import AssistantView as AssistantView
    from dspy_proact.benchmarks.proactbench.types import Dialogue as Dialogue
    from dspy_proact.benchmarks.proactbench.types import Grade as Grade
    from dspy_proact.benchmarks.proactbench.types import JudgeView as JudgeView
    from dspy_proact.benchmarks.proactbench.types import Phase as Phase
    from dspy_proact.benchmarks.proactbench.types import Response as Response
    from dspy_proact.benchmarks.proactbench.types import Rubric as Rubric
    from dspy_proact.benchmarks.proactbench.types import Trigger as Trigger
    from dspy_proact.benchmarks.proactbench.types import Turn as Turn
    from dspy_proact.benchmarks.proactbench.types import Verdict as Verdict
    from dspy_proact.compile.assistant_target import AssistantTarget as AssistantTarget
    from dspy_proact.compile.compile import Compile as Compile
    from dspy_proact.compile.judge_target import JudgeTarget as JudgeTarget
    from dspy_proact.errors import ContentError as ContentError
    from dspy_proact.errors import Halt as Halt
    from dspy_proact.errors import ProactError as ProactError
    from dspy_proact.evaluation.benchmark import Benchmark as Benchmark
    from dspy_proact.evaluation.benchmark import CallForecast as CallForecast
    from dspy_proact.evaluation.benchmark import CorpusFacts as CorpusFacts
    from dspy_proact.evaluation.benchmark import ModelDefaults as ModelDefaults
    from dspy_proact.evaluation.benchmark import Rule as Rule
    from dspy_proact.evaluation.benchmark import Start as Start
    from dspy_proact.evaluation.compiled import load_assistant as load_assistant
    from dspy_proact.evaluation.compiled import load_judge as load_judge
    from dspy_proact.evaluation.evaluation import Evaluation as Evaluation
    from dspy_proact.evaluation.evaluation import Rejudging as Rejudging
    from dspy_proact.evaluation.execution import Execution as Execution
    from dspy_proact.evaluation.people import HumanGrade as HumanGrade
    from dspy_proact.evaluation.people import Part as Part
    from dspy_proact.evaluation.people import People as People
    from dspy_proact.evaluation.published import Published as Published
    from dspy_proact.evaluation.published import PublishedRow as PublishedRow
    from dspy_proact.evaluation.ratings import RatedItem as RatedItem
    from dspy_proact.evaluation.ratings import Ratings as Ratings
    from dspy_proact.evaluation.responses import Responses as Responses
    from dspy_proact.evaluation.results import ResultsFormat as ResultsFormat
    from dspy_proact.evaluation.reward import Reward as Reward
    from dspy_proact.evaluation.reward import reward as reward
    from dspy_proact.evaluation.transcript import transcript as transcript
    from dspy_proact.evaluation.trial import Trial as Trial
    from dspy_proact.exchange.every_eval_ever import export_every_eval_ever as export_every_eval_ever
    from dspy_proact.exchange.hub_results import export_hub as export_hub
    from dspy_proact.exchange.inspect_log import export_inspect as export_inspect
    from dspy_proact.exchange.mlflow_rows import export_mlflow as export_mlflow
    from dspy_proact.exchange.training_rows import export_dpo as export_dpo
    from dspy_proact.exchange.training_rows import export_rl as export_rl
    from dspy_proact.exchange.training_rows import export_sft as export_sft
    from dspy_proact.generation.generation import Generation as Generation
    from dspy_proact.models import Gate as Gate
    from dspy_proact.models import Limits as Limits
    from dspy_proact.models import ModelSpec as ModelSpec
    from dspy_proact.models import open_model as open_model
    from dspy_proact.programs.artefact import read_artefact as read_artefact
    from dspy_proact.programs.artefact import read_judge as read_judge
    from dspy_proact.recipe import Recipe as Recipe
    from dspy_proact.report import Comparison as Comparison
    from dspy_proact.report import Corrected as Corrected
    from dspy_proact.report import Reading as Reading
    from dspy_proact.report import Summary as Summary
    from dspy_proact.report import compare as compare
    from dspy_proact.report import compare_corrected as compare_corrected
    from dspy_proact.report import export_csv as export_csv
    from dspy_proact.report import export_parquet as export_parquet
    from dspy_proact.report import print_comparison as print_comparison
    from dspy_proact.report import print_corrected as print_corrected
    from dspy_proact.report import print_leaderboard as print_leaderboard
    from dspy_proact.report import print_reading as print_reading
    from dspy_proact.report import print_summary as print_summary
    from dspy_proact.report import summarize as summarize
    from dspy_proact.report import summary_document as summary_document
    from dspy_proact.report.corrected import peoples_ratings as peoples_ratings
    from dspy_proact.report.leaderboard import leaderboard as leaderboard
    from dspy_proact.report.least_score import assert_score as assert_score
    from dspy_proact.report.pairs import load_pairs as load_pairs
    from dspy_proact.report.pairs import print_pairs as print_pairs
    from dspy_proact.report.plan import labelling_plan as labelling_plan
    from dspy_proact.report.ratings import draw_of as draw_of
    from dspy_proact.report.ratings import load_ratings as load_ratings
    from dspy_proact.report.ratings import rated_items as rated_items
    from dspy_proact.report.ratings import rating_sheet as rating_sheet
    from dspy_proact.report.study import studies as studies
    from dspy_proact.report.study import study as study
    from dspy_proact.report.study_text import print_studies as print_studies
    from dspy_proact.report.study_text import print_study as print_study
    from dspy_proact.runs import Case as Case
    from dspy_proact.runs import CaseSet as CaseSet
    from dspy_proact.runs import Measure as Measure
    from dspy_proact.runs import Nouns as Nouns
    from dspy_proact.runs import RunFolder as RunFolder
    from dspy_proact.runs import Scope as Scope
    from dspy_proact.runs import Scored as Scored
    from dspy_proact.runs import Settings as Settings
    from dspy_proact.runs import Shard as Shard
    from dspy_proact.runs import merge_runs as merge_runs
    from dspy_proact.stats import Estimate as Estimate

_ROOMS = {
    "apps": "opened_app",
    "audit.audit": "Audit",
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
    "evaluation.reward": "Reward reward",
    "exchange.every_eval_ever": "export_every_eval_ever",
    "exchange.hub_results": "export_hub",
    "exchange.inspect_log": "export_inspect",
    "exchange.mlflow_rows": "export_mlflow",
    "exchange.training_rows": "export_dpo export_rl export_sft",
    "errors": "ContentError Halt ProactError",
    "generation.generation": "Generation",
    "models": "Gate Limits ModelSpec open_model",
    "programs.artefact": "read_artefact read_judge",
    "recipe": "Recipe",
    "report": (
        "Comparison Corrected Reading Summary compare compare_corrected export_csv export_parquet "
        "print_comparison print_corrected print_leaderboard print_reading print_summary summarize summary_document"
    ),
    "report.corrected": "peoples_ratings",
    "report.leaderboard": "leaderboard",
    "report.least_score": "assert_score",
    "report.pairs": "load_pairs print_pairs",
    "report.plan": "labelling_plan",
    "report.ratings": "draw_of load_ratings rated_items rating_sheet",
    "report.study": "studies study",
    "report.study_text": "print_studies print_study",
    "runs": "Case CaseSet Measure Nouns RunFolder Scope Scored Settings Shard merge_runs",
    "stats": "Estimate",
}
"""Names by the module that they are imported from, separated by blanks."""
_HOMES = {name: room for room, names in _ROOMS.items() for name in names.split()}
__all__ = sorted(_HOMES)  # noqa: PLE0605 # pyright: ignore[reportUnsupportedDunderAll] - checkers read the imports


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
