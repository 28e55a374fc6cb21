"""Runs and results files as numbers: aggregated, compared, ranked, as JSON, on a terminal, and in other forms."""

from dspy_proact.report.agreement import Agreement, agree_between, agree_within
from dspy_proact.report.comparing import comparison_document, print_comparison
from dspy_proact.report.comparison import Comparison, compare
from dspy_proact.report.document import agreement_document, document
from dspy_proact.report.export import export_csv, export_parquet, export_results
from dspy_proact.report.leaderboard import Leaderboard, leaderboard
from dspy_proact.report.numbers import STAND_IN, cell, coefficient, counted, percent, points_of, probability
from dspy_proact.report.outcome import Evidence, GivenVerdict, Outcome
from dspy_proact.report.ranking import leaderboard_document, print_leaderboard
from dspy_proact.report.results import Check, check_document, check_lines, check_results, summarize_results
from dspy_proact.report.scatter import ScatterPoint, scatter_svg
from dspy_proact.report.study import Study, items_of, study
from dspy_proact.report.study_part import Choices
from dspy_proact.report.studying import print_study, study_document
from dspy_proact.report.summary import Grader, Scores, Summary, summarize
from dspy_proact.report.terminal import agreement_lines, print_summary

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
    "document",
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
]
