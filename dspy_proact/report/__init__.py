"""Runs and results files as numbers: aggregated, compared, ranked, as JSON, on a terminal, and in other forms.

Each noun has a document, which is its JSON, and a text, which a terminal prints. What one benchmark says of its own
stands in a room of its own.
"""

from dspy_proact.report.agreement import Agreement, agree_between, agree_within
from dspy_proact.report.agreement_document import agreement_document
from dspy_proact.report.agreement_text import agreement_lines
from dspy_proact.report.comparison import Comparison, compare
from dspy_proact.report.comparison_document import comparison_document
from dspy_proact.report.comparison_text import print_comparison
from dspy_proact.report.export import export_csv, export_parquet
from dspy_proact.report.numbers import STAND_IN, cell, coefficient, counted, percent, points_of, probability
from dspy_proact.report.outcome import Evidence, GivenVerdict, Outcome
from dspy_proact.report.proactbench.check import Check, check_results
from dspy_proact.report.proactbench.check_document import check_document
from dspy_proact.report.proactbench.check_text import check_lines
from dspy_proact.report.proactbench.leaderboard import Leaderboard, leaderboard
from dspy_proact.report.proactbench.leaderboard_document import leaderboard_document
from dspy_proact.report.proactbench.leaderboard_text import print_leaderboard
from dspy_proact.report.proactbench.results import summarize_results
from dspy_proact.report.proactbench.results_export import export_results
from dspy_proact.report.proactbench.study import Study, items_of, study
from dspy_proact.report.proactbench.study_document import study_document
from dspy_proact.report.proactbench.study_part import Choices
from dspy_proact.report.proactbench.study_text import print_study
from dspy_proact.report.scatter import ScatterPoint, scatter_svg
from dspy_proact.report.summary import Grader, Scores, Summary, summarize
from dspy_proact.report.summary_document import summary_document
from dspy_proact.report.summary_text import print_summary

__all__ = [
    "STAND_IN",
    "Agreement",
    "Check",
    "Choices",
    "Comparison",
    "Evidence",
    "GivenVerdict",
    "Grader",
    "Leaderboard",
    "Outcome",
    "ScatterPoint",
    "Scores",
    "Study",
    "Summary",
    "agree_between",
    "agree_within",
    "agreement_document",
    "agreement_lines",
    "cell",
    "check_document",
    "check_lines",
    "check_results",
    "coefficient",
    "compare",
    "comparison_document",
    "counted",
    "export_csv",
    "export_parquet",
    "export_results",
    "items_of",
    "leaderboard",
    "leaderboard_document",
    "percent",
    "points_of",
    "print_comparison",
    "print_leaderboard",
    "print_study",
    "print_summary",
    "probability",
    "scatter_svg",
    "study",
    "study_document",
    "summarize",
    "summarize_results",
    "summary_document",
]
