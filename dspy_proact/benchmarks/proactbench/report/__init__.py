"""What is ProactBench's own in reports: leaderboard, results files of the official evaluator, human study, offers."""

from dspy_proact.benchmarks.proactbench.report.labelling import (
    LabellingPlan,
    draw_of,
    items_of,
    labelling_plan,
    peoples_ratings,
    plan_document,
    print_plan,
)
from dspy_proact.benchmarks.proactbench.report.particulars import sections
from dspy_proact.benchmarks.proactbench.report.results import (
    Check,
    check_document,
    check_lines,
    check_results,
    export_results,
    summarize_results,
)
from dspy_proact.benchmarks.proactbench.report.study import Choices, Study, study
from dspy_proact.benchmarks.proactbench.report.study_text import print_study, study_document, study_headline

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
    "print_plan",
    "print_study",
    "sections",
    "study",
    "study_document",
    "study_headline",
    "summarize_results",
]
