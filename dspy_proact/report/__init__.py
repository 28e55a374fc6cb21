"""Runs and results files as numbers: aggregated, compared, ranked, as JSON, on a terminal, and in other forms.

Each noun has a document, which is its JSON, and a text, which a terminal prints. How they show one benchmark
is in its folder, as `Reporting` and `Controls`.
"""
# pyright: reportUnusedImport=false

from dspy_proact.evaluation.controls import Controls as Controls
from dspy_proact.evaluation.reporting import Addition as Addition
from dspy_proact.evaluation.reporting import Column as Column
from dspy_proact.evaluation.reporting import Grounds as Grounds
from dspy_proact.evaluation.reporting import PageSection as PageSection
from dspy_proact.evaluation.reporting import Reporting as Reporting
from dspy_proact.report.comparison import Comparison, compare
from dspy_proact.report.comparison_text import comparison_document, print_comparison
from dspy_proact.report.corrected import (
    Corrected,
    PeoplesRatings,
    compare_corrected,
    corrected_comparison_document,
    corrected_document,
    print_corrected,
    print_corrected_comparison,
)
from dspy_proact.report.export import export_csv, export_parquet
from dspy_proact.report.leaderboard import leaderboard
from dspy_proact.report.leaderboard_text import leaderboard_document, print_leaderboard
from dspy_proact.report.reading import Reading, print_reading, reading_document
from dspy_proact.report.several import SeveralRuns, compare_several, print_several, several_document
from dspy_proact.report.summary import Summary, summarize
from dspy_proact.report.summary_text import print_summary, summary_document
