"""Runs and results files as numbers: aggregated, compared, ranked, as JSON, on a terminal, and in other forms.

Each noun has a document, which is its JSON, and a text, which a terminal prints. What one benchmark says of its own
stands in a room of its own.
"""

from dspy_proact.report.agreement import Agreement, agreement_document, agreement_lines
from dspy_proact.report.comparison import Comparison, compare
from dspy_proact.report.comparison_text import comparison_document, print_comparison
from dspy_proact.report.corrected import (
    EACH_ITS_OWN,
    Corrected,
    CorrectedComparison,
    PeoplesRatings,
    compare_corrected,
    corrected_comparison_document,
    corrected_document,
    print_corrected,
    print_corrected_comparison,
)
from dspy_proact.report.export import export_csv, export_parquet
from dspy_proact.report.headline import comparison_headline, headline
from dspy_proact.report.leaderboard import (
    Leaderboard,
    leaderboard,
    leaderboard_document,
    leaderboard_headline,
    print_leaderboard,
)
from dspy_proact.report.measured import Grader
from dspy_proact.report.numbers import (
    MEASURES_NOTHING,
    STAND_IN,
    coefficient,
    counted,
    document,
    percent,
    points_of,
    probability,
    share,
    signed,
)
from dspy_proact.report.particulars import Grounds, Section, particulars_of, quoted
from dspy_proact.report.reading import (
    Reading,
    grade_style,
    grounds_text,
    outcome_document,
    print_reading,
    print_sections,
    reading_document,
    sections_document,
)
from dspy_proact.report.summary import Scores, Summary, summarize
from dspy_proact.report.summary_text import print_summary, summary_document
from dspy_proact.report.terminal import Sheet, Table, cell, each_reason, in_a_line, marked, readable, show, table
from dspy_proact.runs import Evidence, GivenVerdict, Outcome

__all__ = [
    "EACH_ITS_OWN",
    "MEASURES_NOTHING",
    "STAND_IN",
    "Agreement",
    "Comparison",
    "Corrected",
    "CorrectedComparison",
    "Evidence",
    "GivenVerdict",
    "Grader",
    "Grounds",
    "Leaderboard",
    "Outcome",
    "PeoplesRatings",
    "Reading",
    "Scores",
    "Section",
    "Sheet",
    "Summary",
    "Table",
    "agreement_document",
    "agreement_lines",
    "cell",
    "coefficient",
    "compare",
    "compare_corrected",
    "comparison_document",
    "comparison_headline",
    "corrected_comparison_document",
    "corrected_document",
    "counted",
    "document",
    "each_reason",
    "export_csv",
    "export_parquet",
    "grade_style",
    "grounds_text",
    "headline",
    "in_a_line",
    "leaderboard",
    "leaderboard_document",
    "leaderboard_headline",
    "marked",
    "outcome_document",
    "particulars_of",
    "percent",
    "points_of",
    "print_comparison",
    "print_corrected",
    "print_corrected_comparison",
    "print_leaderboard",
    "print_reading",
    "print_sections",
    "print_summary",
    "probability",
    "quoted",
    "readable",
    "reading_document",
    "sections_document",
    "share",
    "show",
    "signed",
    "summarize",
    "summary_document",
    "table",
]
