"""What is ProactBench's own in reports: leaderboard, results files of the official evaluator, human study, offers."""

from dspy_proact.benchmarks.proactbench.report.check import Check, check_document, check_lines, check_results
from dspy_proact.benchmarks.proactbench.report.labelling_plan import LabellingPlan, labelling_plan
from dspy_proact.benchmarks.proactbench.report.labelling_plan_text import plan_document, plan_headline, print_plan
from dspy_proact.benchmarks.proactbench.report.particulars import sections
from dspy_proact.benchmarks.proactbench.report.peoples_ratings import draw_of, peoples_ratings
from dspy_proact.benchmarks.proactbench.report.results import summarize_results
from dspy_proact.benchmarks.proactbench.report.results_export import export_results
from dspy_proact.benchmarks.proactbench.report.study import Study, items_of, study
from dspy_proact.benchmarks.proactbench.report.study_document import study_document
from dspy_proact.benchmarks.proactbench.report.study_headline import study_headline
from dspy_proact.benchmarks.proactbench.report.study_part import Choices
from dspy_proact.benchmarks.proactbench.report.study_text import print_study

__all__ = [
    "Check",
    "Choices",
    "LabellingPlan",
    "Study",
    "check_document",
    "check_lines",
    "check_results",
    "draw_of",
    "export_results",
    "items_of",
    "labelling_plan",
    "peoples_ratings",
    "plan_document",
    "plan_headline",
    "print_plan",
    "print_study",
    "sections",
    "study",
    "study_document",
    "study_headline",
    "summarize_results",
]
